// Producers and consumers: how quickly work spreads from its source to the other workers.
// `crates/purloin-kernels/src/producers.rs` describes the four kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "input.hpp"
#include "work.hpp"

template <bool BOUNCING, bool AS_LOOP> class Producers {
public:
    explicit Producers(Input& input)
        : producers(BOUNCING ? input.number("producers", 1, 10'000'000) : 1),
          consumers(BOUNCING ? input.number("consumers per producer", 0, 10'000'000, 9)
                             : input.number("tasks", 0, 100'000'000)),
          count(input.number("microseconds per consumer", 0, 1'000'000, BOUNCING ? 10 : 1)
                * steps_per_microsecond()) {
        input.end();
        results.resize(producers * consumers);
    }

    void prepare() { results.assign(results.size(), 0); }

    template <class Runtime> void run(Runtime& runtime) {
        if constexpr (AS_LOOP && !BOUNCING) {
            runtime.for_each(consumers, [this](std::size_t i) { consume(0, i); });
        } else {
            runtime.run([this] {
                Runtime::finish([this](auto& scope) { produce<Runtime>(scope, producers - 1); });
            });
        }
        result = done(results);
    }

    std::string answer() const { return std::to_string(result); }

    bool is_right() const {
        const auto expected = [this](std::size_t i) {
            return work(producers - 1 - i / consumers, i % consumers);
        };
        return result == results.size() && are_right(results, expected);
    }

private:
    const std::size_t producers;
    // Number of consumers of each producer.
    const std::size_t consumers;
    // Number of steps of each consumer.
    const std::uint64_t count;
    // The results of all consumers, producer by producer.
    Results results;
    std::size_t result = 0;

    // Runs a producer that `later` more producers follow.
    template <class Runtime, class Scope> void produce(Scope& scope, std::size_t later) {
        if (later > 0) {
            scope.spawn([this, &scope, later] { produce<Runtime>(scope, later - 1); });
        }
        if constexpr (AS_LOOP) {
            Runtime::for_each_in_task(consumers, [=](std::size_t i) { consume(later, i); });
        } else {
            for (std::size_t i = 0; i < consumers; i++) {
                scope.spawn([=] { consume(later, i); });
            }
        }
    }

    void consume(std::size_t later, std::size_t i) {
        results[(producers - 1 - later) * consumers + i] = work(later, i);
    }

    std::uint32_t work(std::size_t later, std::size_t i) const {
        return steps(count, std::uint64_t{later} << 32 | i);
    }
};
