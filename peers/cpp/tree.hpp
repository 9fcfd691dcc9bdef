// The Fibonacci recursion with additional work in each call.
#pragma once

#include <cstdint>
#include <string>

#include "fib.hpp"
#include "input.hpp"
#include "work.hpp"

class Tree {
public:
    explicit Tree(Input& input)
        : n(input.number("indices", 0, 60)),
          count(input.number("microseconds per call", 0, 1'000'000, 1) * steps_per_microsecond()) {
        input.end();
    }

    void prepare() {}

    template <class Runtime> void run(Runtime& runtime) {
        runtime.run([this] { result = tree<Runtime>(n); });
    }

    std::string answer() const { return std::to_string(result); }

    bool is_right() const { return result == fibonacci(n); }

private:
    const unsigned n;
    // Number of additional steps of each call.
    const std::uint64_t count;
    std::uint64_t result = 0;

    template <class Runtime> std::uint64_t tree(unsigned n) const {
        // The result of `steps` is never 0, but the compiler does not know that.
        const std::uint64_t one = steps(count, n) != 0;
        if (n < 2) {
            return n * one;
        }
        std::uint64_t a, b;
        Runtime::join([&a, this, n] { a = tree<Runtime>(n - 1); },
                      [&b, this, n] { b = tree<Runtime>(n - 2); });
        return a + b;
    }
};
