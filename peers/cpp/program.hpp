// What the programs share that are not kernels: `suite.cpp` and `pagerank.cpp`.
#pragma once

#include <cstdio>
#include <cstdlib>

// Prints a mistake of the user. Returns the exit status.
inline int fail(const char *program, const char *text) {
    std::fprintf(stderr, "%s: %s\n", program, text);
    return 2;
}

constexpr const char *BAD_THREADS = "THREADS is a number from 1 to 4096";

// Returns the number of threads in an argument, or 0 if it is not one.
inline int threads_in(const char *argument) {
    char *end;
    const long threads = std::strtol(argument, &end, 10);
    return *end != 0 || threads < 1 || threads > 4096 ? 0 : static_cast<int>(threads);
}
