// PageRank in its push form under OpenMP, for `./x user --everyday`:
//
//   pagerank THREADS
//
// The same web and the same rounds as in `peers/user/src/pagerank.rs`. Runs all rounds once to warm up and once to be timed,
// checks the ranks, and prints the time of a round.

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include <omp.h>

#include "program.hpp"

namespace {

constexpr std::size_t PAGES = 100000;
constexpr std::size_t LINKS = 1000000;
constexpr int ROUNDS = 10;

using Ranks = std::vector<double>;

struct Web {
    std::vector<std::size_t> first;
    std::vector<std::size_t> to;
};

Web make_web() {
    std::uint64_t state = 88172645463325252;
    const auto random_page = [&] {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return static_cast<std::size_t>(state % PAGES);
    };
    std::vector<std::vector<std::size_t>> links(PAGES);
    for (std::size_t n = 0; n < LINKS; ++n) {
        const auto from = random_page();
        links[from].push_back(random_page());
    }
    Web web;
    web.first.push_back(0);
    for (const auto &of_page : links) {
        web.to.insert(web.to.end(), of_page.begin(), of_page.end());
        web.first.push_back(web.to.size());
    }
    return web;
}

void push(const Web &web, std::size_t page, const double *ranks, double *sums) {
    const auto begin = web.first[page], end = web.first[page + 1];
    if (begin == end) return;
    const double share = ranks[page] / static_cast<double>(end - begin);
    for (auto link = begin; link < end; ++link) sums[web.to[link]] += share;
}

void push_serially(const Web &web, const double *ranks, double *sums) {
    for (std::size_t page = 0; page < PAGES; ++page) push(web, page, ranks, sums);
}

void push_in_parallel(const Web &web, const double *ranks, double *sums) {
#pragma omp parallel for reduction(+ : sums[:PAGES])
    for (std::size_t page = 0; page < PAGES; ++page) push(web, page, ranks, sums);
}

template <typename Push> Ranks all_rounds(const Web &web, Push push_all) {
    Ranks ranks(PAGES, 1.0 / PAGES);
    for (int round = 0; round < ROUNDS; ++round) {
        Ranks sums(PAGES, 0.0);
        push_all(web, ranks.data(), sums.data());
        std::swap(ranks, sums);
    }
    return ranks;
}

} // namespace

int main(int count, char **arguments) {
    if (count != 2) return fail("pagerank", "usage: pagerank THREADS");
    const int threads = threads_in(arguments[1]);
    if (threads == 0) return fail("pagerank", BAD_THREADS);
    omp_set_num_threads(threads);
    const Web web = make_web();
    const Ranks right = all_rounds(web, push_serially);
    all_rounds(web, push_in_parallel);
    const auto begin = std::chrono::steady_clock::now();
    const Ranks ranks = all_rounds(web, push_in_parallel);
    const auto time = (std::chrono::steady_clock::now() - begin) / ROUNDS;
    for (std::size_t page = 0; page < PAGES; ++page) {
        if (!(std::abs(ranks[page] - right[page]) < 1e-12)) {
            std::fprintf(stderr, "pagerank: the ranks are wrong\n");
            return 1;
        }
    }
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(time);
    std::printf("duration: %lld us\n", static_cast<long long>(micros.count()));
}
