// The programs of the public suite runtime-benchmarks under oneTBB, for `./x user --suite`:
//
//   suite fib|skynet|nqueens|matmul THREADS
//
// Each runs once to warm up and once to be timed, checks its answers, and prints the suite's output. A task with more than
// two children puts them into a task group, and runs the last child itself.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <oneapi/tbb.h>

#include "program.hpp"

namespace {

std::uint64_t fib(unsigned n) {
    if (n < 2) return n;
    std::uint64_t a, b;
    tbb::parallel_invoke([&] { a = fib(n - 1); }, [&] { b = fib(n - 2); });
    return a + b;
}

std::uint64_t skynet(std::uint64_t first, std::uint64_t leaves) {
    if (leaves == 1) return first;
    const std::uint64_t part = leaves / 10;
    std::array<std::uint64_t, 10> sums;
    tbb::task_group tasks;
    for (std::size_t n = 0; n < 9; ++n) {
        tasks.run([&, n] { sums[n] = skynet(first + n * part, part); });
    }
    tasks.run_and_wait([&] { sums[9] = skynet(first + 9 * part, part); });
    std::uint64_t sum = 0;
    for (const auto part_sum : sums) sum += part_sum;
    return sum;
}

constexpr std::size_t QUEENS = 14;
using Columns = std::array<std::uint8_t, QUEENS>;

bool is_legal(const Columns &columns, std::size_t rows, int column) {
    for (std::size_t row = 0; row < rows; ++row) {
        const int distance = std::abs(columns[row] - column);
        if (distance == 0 || distance == static_cast<int>(rows - row)) return false;
    }
    return true;
}

std::uint64_t queens(Columns columns, std::size_t rows) {
    if (rows == QUEENS) return 1;
    Columns places;
    std::size_t count = 0;
    for (std::uint8_t column = 0; column < QUEENS; ++column) {
        if (is_legal(columns, rows, column)) places[count++] = column;
    }
    if (count == 0) return 0;
    std::array<std::uint64_t, QUEENS> ways;
    tbb::task_group tasks;
    for (std::size_t i = 0; i + 1 < count; ++i) {
        columns[rows] = places[i];
        tasks.run([=, &ways] { ways[i] = queens(columns, rows + 1); });
    }
    columns[rows] = places[count - 1];
    tasks.run_and_wait([=, &ways] { ways[count - 1] = queens(columns, rows + 1); });
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += ways[i];
    return sum;
}

constexpr std::size_t SIZE = 2048;
constexpr std::size_t LEAF = 32;

void multiply(const int *a, const int *b, int *c, std::size_t len) {
    if (len <= LEAF) {
        for (std::size_t i = 0; i < len; ++i) {
            for (std::size_t k = 0; k < len; ++k) {
                for (std::size_t j = 0; j < len; ++j) c[i * SIZE + j] += a[i * SIZE + k] * b[k * SIZE + j];
            }
        }
        return;
    }
    const std::size_t half = len / 2, below = half * SIZE;
    tbb::task_group tasks;
    // First the products with the left half of `a`, and then those with the right half.
    for (int round = 0; round < 2; ++round) {
        tasks.run([=] { multiply(a, b, c, half); });
        tasks.run([=] { multiply(a, b + half, c + half, half); });
        tasks.run([=] { multiply(a + below, b, c + below, half); });
        tasks.run_and_wait([=] { multiply(a + below, b + half, c + below + half, half); });
        a += half;
        b += below;
    }
}

struct Matrices {
    std::vector<int> a, b, c;
};

Matrices product() {
    const std::size_t count = SIZE * SIZE;
    Matrices m{std::vector<int>(count, 1), std::vector<int>(count, 1), std::vector<int>(count, 0)};
    multiply(m.a.data(), m.b.data(), m.c.data(), SIZE);
    return m;
}

bool is_right(const Matrices &m) {
    const auto is_size = [](int result) { return result == static_cast<int>(SIZE); };
    return std::all_of(m.c.begin(), m.c.end(), is_size);
}

// Runs a program twice, prints the time of the second run, and checks its answer afterwards.
template <class Program, class Check>
bool measure(tbb::task_arena &arena, Program program, Check is_right) {
    if (!is_right(arena.execute(program))) return false;
    const auto begin = std::chrono::steady_clock::now();
    const auto answer = arena.execute(program);
    const auto time = std::chrono::steady_clock::now() - begin;
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(time);
    std::printf("runs:\n  - iteration_count: 1\n    duration: %lld us\n", static_cast<long long>(micros.count()));
    return is_right(answer);
}

} // namespace

int main(int count, char **arguments) {
    if (count != 3) return fail("suite", "usage: suite fib|skynet|nqueens|matmul THREADS");
    const std::string name = arguments[1];
    const int threads = threads_in(arguments[2]);
    if (threads == 0) return fail("suite", BAD_THREADS);
    // Without this limit, oneTBB starts no more threads than there are cores.
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads));
    tbb::task_arena arena(threads);
    std::printf("threads: %d\n", threads);
    const auto is = [](std::uint64_t right) { return [=](std::uint64_t answer) { return answer == right; }; };
    bool right;
    if (name == "fib") right = measure(arena, [] { return fib(39); }, is(63245986));
    else if (name == "skynet") right = measure(arena, [] { return skynet(0, 100000000); }, is(4999999950000000));
    else if (name == "nqueens") right = measure(arena, [] { return queens({}, 0); }, is(365596));
    else if (name == "matmul") right = measure(arena, product, is_right);
    else return fail("suite", "the programs are fib, skynet, nqueens and matmul");
    if (!right) {
        std::fprintf(stderr, "suite: the answer is wrong\n");
        return 1;
    }
}
