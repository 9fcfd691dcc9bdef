// Parallel merge sort of integers, with a parallel merge.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "input.hpp"
#include "random.hpp"

namespace multisort {

// Minimum number of elements that are sorted or merged in parallel, as in BOTS.
constexpr std::size_t SEQUENTIAL = 2048;

struct Slice {
    std::uint32_t* first;
    std::size_t size;

    Slice to(std::size_t middle) const { return {first, middle}; }
    Slice from(std::size_t middle) const { return {first + middle, size - middle}; }
};

inline void merge_sequentially(Slice a, Slice b, std::uint32_t* merged) {
    std::size_t i = 0, j = 0;
    while (i < a.size && j < b.size) {
        // There is no branch, because the processor would mispredict it every other time.
        const std::uint32_t low = a.first[i], high = b.first[j];
        const bool from_b = high < low;
        merged[i + j] = from_b ? high : low;
        i += !from_b;
        j += from_b;
    }
    merged = std::copy(a.first + i, a.first + a.size, merged + i + j);
    std::copy(b.first + j, b.first + b.size, merged);
}

// Merges two sorted slices into `merged`.
//
// Splits the longer slice at its middle element, and the other slice at the place of that element.
// The two lower parts can then be merged independently of the two upper parts.
template <class Runtime> void merge(Slice a, Slice b, std::uint32_t* merged) {
    if (a.size + b.size < SEQUENTIAL) {
        return merge_sequentially(a, b, merged);
    }
    const Slice longer = a.size < b.size ? b : a, shorter = a.size < b.size ? a : b;
    const std::size_t middle = longer.size / 2;
    std::uint32_t* const end = shorter.first + shorter.size;
    const std::size_t place =
        std::lower_bound(shorter.first, end, longer.first[middle]) - shorter.first;
    Runtime::join(
        [=] { merge<Runtime>(longer.to(middle), shorter.to(place), merged); },
        [=] { merge<Runtime>(longer.from(middle), shorter.from(place), merged + middle + place); });
}

template <class Runtime> void sort_into(Slice numbers, Slice sorted);

// Sorts `numbers`. `scratch` has the same length; its contents are lost.
//
// Two levels of halving make four quarters. The quarters are sorted in place, then merged in pairs
// into `scratch`, and the two pairs are merged back into `numbers`.
template <class Runtime> void sort(Slice numbers, Slice scratch) {
    if (numbers.size < SEQUENTIAL) {
        return std::sort(numbers.first, numbers.first + numbers.size);
    }
    const std::size_t half = numbers.size / 2;
    Runtime::join([=] { sort_into<Runtime>(numbers.to(half), scratch.to(half)); },
                  [=] { sort_into<Runtime>(numbers.from(half), scratch.from(half)); });
    merge<Runtime>(scratch.to(half), scratch.from(half), numbers.first);
}

// Sorts the two halves of `numbers` and merges them into `sorted`.
template <class Runtime> void sort_into(Slice numbers, Slice sorted) {
    const std::size_t half = numbers.size / 2;
    Runtime::join([=] { sort<Runtime>(numbers.to(half), sorted.to(half)); },
                  [=] { sort<Runtime>(numbers.from(half), sorted.from(half)); });
    merge<Runtime>(numbers.to(half), numbers.from(half), sorted.first);
}

// The sums of an array's numbers and of their squares, modulo 2⁶⁴. Two arrays of the same length
// with equal fingerprints are almost certainly permutations of each other.
struct Fingerprint {
    std::uint64_t sum = 0;
    std::uint64_t squares = 0;

    explicit Fingerprint(const std::vector<std::uint32_t>& numbers) {
        for (const std::uint64_t number : numbers) {
            sum += number;
            squares += number * number;
        }
    }

    bool operator==(const Fingerprint& other) const {
        return sum == other.sum && squares == other.squares;
    }
};

} // namespace multisort

class Multisort {
public:
    explicit Multisort(Input& input)
        : unsorted(input.number("integers", 1, 200'000'000)),
          repetitions(input.number("repetitions", 1, 1'000'000, 1)) {
        input.end();
        Xorshift random(0);
        std::generate(unsorted.begin(), unsorted.end(), [&random] { return random.bits(); });
    }

    void prepare() {
        numbers = unsorted;
        // A copy instead of zeros, so that the system supplies all of its memory before the timed
        // run.
        scratch = unsorted;
    }

    template <class Runtime> void run(Runtime& runtime) {
        runtime.run([this] {
            sort<Runtime>();
            for (std::uint32_t i = 1; i < repetitions; i++) {
                std::copy(unsorted.begin(), unsorted.end(), numbers.begin());
                sort<Runtime>();
            }
        });
    }

    std::string answer() const { return "sorted"; }

    bool is_right() const {
        return std::is_sorted(numbers.begin(), numbers.end())
            && multisort::Fingerprint(numbers) == multisort::Fingerprint(unsorted);
    }

private:
    std::vector<std::uint32_t> unsorted;
    const std::uint32_t repetitions;
    std::vector<std::uint32_t> numbers;
    std::vector<std::uint32_t> scratch;

    template <class Runtime> void sort() {
        multisort::sort<Runtime>({numbers.data(), numbers.size()},
                                 {scratch.data(), scratch.size()});
    }
};
