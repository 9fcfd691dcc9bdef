// Short forks: how soon does the second function of a join begin?
//
// `forks` makes one join after the other, each of two functions that take some microseconds.
// `fanout` splits a short list down to its elements, of which only a few are worth a steal. Both
// repeat that, because one fork is too short to be timed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "input.hpp"
#include "work.hpp"

class Forks {
public:
    explicit Forks(Input& input)
        : count(input.number("microseconds per closure", 0, 1'000'000) * steps_per_microsecond()),
          results(2 * std::size_t{input.number("joins", 1, 10'000'000, 2000)}) {
        input.end();
    }

    void prepare() { results.assign(results.size(), 0); }

    template <class Runtime> void run(Runtime& runtime) {
        runtime.run([this] {
            for (std::size_t i = 0; i < results.size(); i += 2) {
                Runtime::join([=] { results[i] = steps(count, i); },
                              [=] { results[i + 1] = steps(count, i + 1); });
            }
        });
        result = done(results);
    }

    std::string answer() const { return std::to_string(result); }

    bool is_right() const {
        const auto expected = [this](std::size_t i) { return steps(count, i); };
        return result == results.size() && are_right(results, expected);
    }

private:
    // Number of steps of each function.
    const std::uint64_t count;
    // The results of both functions of each join.
    Results results;
    std::size_t result = 0;
};

class Fanout {
public:
    explicit Fanout(Input& input)
        : count(input.number("microseconds per heavy element", 0, 1'000'000)
                * steps_per_microsecond()),
          results(input.number("elements", 1, 10'000'000, 64)),
          every(input.number("elements per heavy element", 1, 10'000'000, 32)),
          repetitions(input.number("repetitions", 1, 1'000'000, 1000)) {
        input.end();
    }

    void prepare() { results.assign(results.size(), 0); }

    template <class Runtime> void run(Runtime& runtime) {
        runtime.run([this] {
            for (std::uint32_t i = 0; i < repetitions; i++) {
                work_on<Runtime>(0, results.size());
            }
        });
        result = done(results);
    }

    std::string answer() const { return std::to_string(result); }

    bool is_right() const {
        const auto expected = [this](std::size_t i) { return work(i); };
        return result == results.size() && are_right(results, expected);
    }

private:
    // Number of steps of a heavy element.
    const std::uint64_t count;
    Results results;
    // One element in this many is heavy.
    const std::size_t every;
    const std::uint32_t repetitions;
    std::size_t result = 0;

    std::uint32_t work(std::size_t i) const { return steps(i % every == 0 ? count : 0, i); }

    // Works on the elements from `first` to before `end`, by joins of halves.
    template <class Runtime> void work_on(std::size_t first, std::size_t end) {
        if (end - first == 1) {
            results[first] = work(first);
            return;
        }
        const std::size_t middle = first + (end - first) / 2;
        Runtime::join([=] { work_on<Runtime>(first, middle); },
                      [=] { work_on<Runtime>(middle, end); });
    }
};
