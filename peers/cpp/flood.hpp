// Flood fill: a task for each cell that is reached, spawned into one finish.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "input.hpp"
#include "work.hpp"

class Flood {
public:
    explicit Flood(Input& input)
        : side(input.number("cells along each side", 1, 256)),
          count(input.number("microseconds per cell", 0, 1'000'000, 2) * steps_per_microsecond()),
          cells(side * side) {
        input.end();
    }

    void prepare() {
        for (auto& cell : cells) {
            cell.store(0, std::memory_order_relaxed);
        }
    }

    template <class Runtime> void run(Runtime& runtime) {
        runtime.run([this] {
            Runtime::finish([this](auto& scope) { fill(scope, side / 2 * (side + 1)); });
        });
        result = done(cells);
    }

    std::string answer() const { return std::to_string(result); }

    bool is_right() const {
        const auto expected = [this](std::size_t i) { return steps(count, i); };
        return result == cells.size() && are_right(cells, expected);
    }

private:
    // The mark of a cell that is being filled. No work has this result: results are odd.
    static constexpr std::uint32_t REACHED = 2;

    const std::size_t side;
    // Number of steps of each cell.
    const std::uint64_t count;
    // 0 for a cell that was not reached, REACHED, or the result of its work.
    std::vector<std::atomic<std::uint32_t>> cells;
    std::size_t result = 0;

    // Reaches a cell, and spawns a task for each of its neighbours if it is the first to do so.
    template <class Scope> void fill(Scope& scope, std::size_t cell) {
        // Relaxed: the end of the finish orders the results before the answer.
        constexpr auto relaxed = std::memory_order_relaxed;
        std::atomic<std::uint32_t>& state = cells[cell];
        std::uint32_t unreached = 0;
        if (state.load(relaxed) != 0
            || !state.compare_exchange_strong(unreached, REACHED, relaxed, relaxed)) {
            return;
        }
        state.store(steps(count, cell), relaxed);
        const std::size_t x = cell % side, y = cell / side;
        if (x > 0) {
            spawn(scope, cell - 1);
        }
        if (x + 1 < side) {
            spawn(scope, cell + 1);
        }
        if (y > 0) {
            spawn(scope, cell - side);
        }
        if (y + 1 < side) {
            spawn(scope, cell + side);
        }
    }

    template <class Scope> void spawn(Scope& scope, std::size_t cell) {
        scope.spawn([this, &scope, cell] { fill(scope, cell); });
    }
};
