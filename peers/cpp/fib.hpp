// Fibonacci numbers by the naive recursion. A task does one addition.
#pragma once

#include <cstdint>
#include <string>

#include "input.hpp"

template <class Runtime> std::uint64_t fib(unsigned n) {
    if (n < 2) {
        return n;
    }
    std::uint64_t a, b;
    Runtime::join([&a, n] { a = fib<Runtime>(n - 1); }, [&b, n] { b = fib<Runtime>(n - 2); });
    return a + b;
}

// Returns a Fibonacci number, computed by a loop.
inline std::uint64_t fibonacci(unsigned n) {
    std::uint64_t a = 0, b = 1;
    for (unsigned i = 0; i < n; i++) {
        const std::uint64_t next = a + b;
        a = b;
        b = next;
    }
    return a;
}

class Fib {
public:
    explicit Fib(Input& input) : n(input.number("indices", 0, 60)) { input.end(); }

    void prepare() {}

    template <class Runtime> void run(Runtime& runtime) {
        runtime.run([this] { result = fib<Runtime>(n); });
    }

    std::string answer() const { return std::to_string(result); }

    bool is_right() const { return result == fibonacci(n); }

private:
    const unsigned n;
    std::uint64_t result = 0;
};
