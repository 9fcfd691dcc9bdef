// Artificial work of a given duration, which the compiler cannot shorten.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Does `count` steps of dependent arithmetic, starting with `seed`. Returns a number that depends
// on all steps and is never 0.
//
// The statement `asm` hides the result from the compiler, which must not drop a call that repeats the
// work of an earlier one.
[[gnu::noinline]] inline std::uint32_t steps(std::uint64_t count, std::uint64_t seed) {
    std::uint64_t state = seed;
    for (std::uint64_t i = 0; i < count; i++) {
        // This is a step of Knuth's linear congruential generator.
        state = state * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;
    }
    asm volatile("" : "+r"(state));
    return static_cast<std::uint32_t>(state >> 32) | 1;
}

// Returns the number of steps that an undisturbed core of this machine does in a microsecond. The
// first call measures it.
inline std::uint64_t steps_per_microsecond() {
    static const std::uint64_t measured = [] {
        using Clock = std::chrono::steady_clock;
        constexpr std::uint64_t count = 200'000;
        std::int64_t shortest = INT64_MAX;
        for (std::uint64_t seed = 0; seed < 20; seed++) {
            const auto start = Clock::now();
            // The compiler must not remove the call, whose result is not used.
            volatile std::uint32_t result = steps(count, seed);
            static_cast<void>(result);
            const auto time = std::chrono::nanoseconds(Clock::now() - start).count();
            shortest = std::min<std::int64_t>(shortest, time);
        }
        return count * 1000 / static_cast<std::uint64_t>(std::max<std::int64_t>(shortest, 1));
    }();
    return measured;
}

// The results of pieces of work. The result of a finished piece is not 0.
using Results = std::vector<std::uint32_t>;

// Returns the number of pieces that have done their work. The results may be atomic numbers.
template <class Results> std::size_t done(const Results& results) {
    return results.size() - std::count(results.begin(), results.end(), 0);
}

// Returns whether a sample of the pieces has the `expected` results.
template <class Results, class Expected> bool are_right(const Results& results, Expected expected) {
    for (std::size_t i = 0; i < results.size(); i += results.size() / 16 + 1) {
        if (results[i] != expected(i)) {
            return false;
        }
    }
    return true;
}
