// Counting all ways to place n queens on a board, by depth-first search.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "input.hpp"

constexpr int LARGEST_BOARD = 16;

using Columns = std::array<std::uint8_t, LARGEST_BOARD>;

// A square board with queens on its first rows. No queen attacks another one.
struct Board {
    std::uint8_t size;
    // Number of rows that have a queen.
    std::uint8_t rows = 0;
    // The column of each row's queen.
    Columns columns{};

    // Writes the columns of the next row that no queen attacks to `safe`, and returns their number.
    //
    // It is not inlined, so that it runs the same instructions in both forms and on every runtime.
    [[gnu::noinline]] int safe_columns(Columns& safe) const {
        int count = 0;
        for (int column = 0; column < size; column++) {
            if (is_safe(column)) {
                safe[count++] = static_cast<std::uint8_t>(column);
            }
        }
        return count;
    }

    bool is_full() const { return rows == size; }

    // Returns this board with a queen on this column of the next row.
    Board with(std::uint8_t column) const {
        Board board = *this;
        board.columns[board.rows++] = column;
        return board;
    }

private:
    bool is_safe(int column) const {
        for (int distance = 1; distance <= rows; distance++) {
            const int queen = columns[rows - distance];
            if (queen == column || std::abs(queen - column) == distance) {
                return false;
            }
        }
        return true;
    }
};

template <class Runtime>
std::uint64_t divide(const Board& board, const std::uint8_t* columns, int count);

// Returns the number of ways to place queens on the remaining rows.
template <class Runtime> std::uint64_t solutions(const Board& board) {
    if (board.is_full()) {
        return 1;
    }
    // Check for attacks before making tasks, so that no task ends at once in a conflict.
    Columns safe;
    const int count = board.safe_columns(safe);
    return count == 0 ? 0 : divide<Runtime>(board, safe.data(), count);
}

// Counts the solutions whose next queen is on one of `columns`.
template <class Runtime>
std::uint64_t divide(const Board& board, const std::uint8_t* columns, int count) {
    if (count == 1) {
        return solutions<Runtime>(board.with(columns[0]));
    }
    const int half = count / 2;
    std::uint64_t a, b;
    Runtime::join([&] { a = divide<Runtime>(board, columns, half); },
                  [&] { b = divide<Runtime>(board, columns + half, count - half); });
    return a + b;
}

class Nqueens {
public:
    explicit Nqueens(Input& input) : size(input.number("queens", 1, LARGEST_BOARD)) { input.end(); }

    void prepare() {}

    template <class Runtime> void run(Runtime& runtime) {
        const Board empty{static_cast<std::uint8_t>(size)};
        runtime.run([&] { result = solutions<Runtime>(empty); });
    }

    std::string answer() const { return std::to_string(result); }

    bool is_right() const {
        constexpr std::uint64_t SOLUTIONS[LARGEST_BOARD + 1] = {
            1,     1,      0,      0,       2,         10,        4, 40, 92, 352, 724,
            2'680, 14'200, 73'712, 365'596, 2'279'184, 14'772'512};
        return result == SOLUTIONS[size];
    }

private:
    const unsigned size;
    std::uint64_t result = 0;
};
