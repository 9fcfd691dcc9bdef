// Parallel loops of several shapes. `crates/purloin-kernels/src/loops.rs` describes each shape.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "input.hpp"
#include "random.hpp"
#include "work.hpp"

class Loops {
public:
    explicit Loops(Input& input)
        : shape(input.name()), grain(input.number("grain sizes", 0, TINY, 0)) {
        input.end();
        const std::uint64_t microsecond = steps_per_microsecond();
        if (shape == "fine") {
            longest = microsecond / 50;
            results.resize(10'000'000);
        } else if (shape == "coarse") {
            longest = 100 * microsecond;
            results.resize(2000);
        } else if (shape == "vector") {
            from.assign(VECTOR, 1.0F);
        } else if (shape != "tiny") {
            part = part_of(shape);
            longest = 4 * microsecond;
            results.resize(VARYING);
        }
    }

    void prepare() {
        results.assign(results.size(), 0);
        to.assign(from.size(), 0.0F);
    }

    template <class Runtime> void run(Runtime& runtime) {
        if (shape == "tiny") {
            result = runtime.sum(TINY, tiny);
        } else if (shape == "vector") {
            for (int i = 0; i < ADDITIONS; i++) {
                add_vectors(runtime);
            }
            result = std::count(to.begin(), to.end(), ADDITIONS / 2.0F);
        } else {
            if (grain == 0) {
                runtime.for_each(results.size(), [this](std::size_t i) { iterate(i); });
            } else {
                runtime.run([this] { by_joins<Runtime>(0, results.size()); });
            }
            result = done(results);
        }
    }

    std::string answer() const { return std::to_string(result); }

    bool is_right() const {
        if (shape == "tiny") {
            std::uint64_t expected = 0;
            for (std::uint64_t i = 0; i < TINY; i++) {
                expected += tiny(i);
            }
            return result == expected;
        }
        if (shape == "vector") {
            return result == VECTOR;
        }
        const auto expected = [this](std::size_t i) { return steps(duration(i), i); };
        return result == results.size() && are_right(results, expected);
    }

private:
    // Number of iterations of the shape `tiny`.
    static constexpr std::uint32_t TINY = 100'000'000;
    // Number of elements of a vector.
    static constexpr std::size_t VECTOR = 1 << 16;
    // How often the vectors are added.
    static constexpr int ADDITIONS = 4000;
    // Number of iterations of a loop of varying granularity.
    static constexpr std::uint64_t VARYING = 100'000;

    const std::string shape;
    // A loop of this many iterations is not split. 0 leaves the splitting to the runtime.
    const std::size_t grain;
    // The largest number of steps of an iteration.
    std::uint64_t longest = 0;
    // Returns an iteration's part of that number, out of VARYING. Null if all iterations have the
    // same number of steps.
    using Part = std::uint64_t (*)(std::uint64_t);
    Part part = nullptr;
    Results results;
    // The vectors of the shape `vector`.
    std::vector<float> from, to;
    // The sum of the shape `tiny`, or the number of right results.
    std::uint64_t result = 0;

    // The body of the shape `tiny`.
    static std::uint64_t tiny(std::uint64_t i) { return cheap_hash(cheap_hash(i)) & 0xff; }

    static Part part_of(const std::string& shape) {
        if (shape == "random") {
            return [](std::uint64_t i) { return cheap_hash(i) % VARYING; };
        }
        if (shape == "increasing") {
            return [](std::uint64_t i) { return i; };
        }
        if (shape == "decreasing") {
            return [](std::uint64_t i) { return VARYING - i; };
        }
        throw UsageError("loops: no shape '" + shape + "'");
    }

    // Returns the number of steps of iteration `i`.
    std::uint64_t duration(std::uint64_t i) const {
        return part == nullptr ? longest : part(i) * longest / VARYING;
    }

    void iterate(std::size_t i) { results[i] = steps(duration(i), i); }

    // Runs the loop by joins down to the grain size.
    template <class Runtime> void by_joins(std::size_t first, std::size_t end) {
        if (end - first <= grain) {
            for (std::size_t i = first; i < end; i++) {
                iterate(i);
            }
            return;
        }
        const std::size_t middle = first + (end - first) / 2;
        Runtime::join([=] { by_joins<Runtime>(first, middle); },
                      [=] { by_joins<Runtime>(middle, end); });
    }

    template <class Runtime> void add_vectors(Runtime& runtime) {
        const float* source = from.data();
        float* target = to.data();
        runtime.for_each(VECTOR, [=](std::size_t i) { target[i] += 0.5F * source[i]; });
    }
};
