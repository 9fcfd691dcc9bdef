// A peer as a program: runs a kernel sequentially and on a runtime, and reports both times.
// ../README.md describes the protocol.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <pthread.h>
#include <string>

#include "fib.hpp"
#include "flood.hpp"
#include "forks.hpp"
#include "input.hpp"
#include "loops.hpp"
#include "multisort.hpp"
#include "nqueens.hpp"
#include "producers.hpp"
#include "serial.hpp"
#include "tree.hpp"
#include "uts.hpp"

// The stack size of every thread that runs a kernel, in bytes. The deep tree T3L of uts needs it.
constexpr std::size_t STACK_SIZE = std::size_t{256} << 20;

constexpr std::uint32_t MAX_WORKERS = 4096;

using Clock = std::chrono::steady_clock;

// Wakes the runtime's threads and their cores, which slept while the data was prepared.
template <class Runtime> void warm_up(Runtime& runtime) {
    const auto end = Clock::now() + std::chrono::milliseconds(5);
    while (Clock::now() < end) {
        runtime.run([] { fib<Runtime>(16); });
    }
}

// Runs a kernel on fresh data; returns the time in nanoseconds.
template <class Kernel, class Runtime> std::int64_t time(Kernel& kernel, Runtime& runtime) {
    kernel.prepare();
    warm_up(runtime);
    const auto start = Clock::now();
    kernel.run(runtime);
    return std::chrono::nanoseconds(Clock::now() - start).count();
}

// Runs a kernel in both forms for each request, until the input ends.
template <class Kernel, class Runtime> void serve(Input& input, Runtime& runtime) {
    Kernel kernel(input);
    Serial serial;
    // This alternates, so that no form has an advantage.
    bool is_parallel_first = false;
    std::cout << "ready" << std::endl;
    for (std::string request; std::getline(std::cin, request);) {
        if (request != "run") {
            throw UsageError("the only request is 'run', not '" + request + "'");
        }
        std::int64_t sequential = 0, parallel = 0;
        std::string answer;
        bool is_right = true;
        for (const bool is_parallel : {is_parallel_first, !is_parallel_first}) {
            if (is_parallel) {
                parallel = time(kernel, runtime);
                answer = kernel.answer();
            } else {
                sequential = time(kernel, serial);
            }
            is_right = kernel.is_right() && is_right;
        }
        is_parallel_first = !is_parallel_first;
        // `endl` also flushes the line, because the reader waits for it.
        std::cout << sequential << ' ' << parallel << (is_right ? " right " : " wrong ") << answer
                  << std::endl;
    }
}

template <class Runtime>
void serve(const std::string& kernel, Input& input, Runtime& runtime) {
    if (kernel == "fib") {
        serve<Fib>(input, runtime);
    } else if (kernel == "nqueens") {
        serve<Nqueens>(input, runtime);
    } else if (kernel == "uts") {
        serve<Uts>(input, runtime);
    } else if (kernel == "multisort") {
        serve<Multisort>(input, runtime);
    } else if (kernel == "forks") {
        serve<Forks>(input, runtime);
    } else if (kernel == "fanout") {
        serve<Fanout>(input, runtime);
    } else if (kernel == "flood") {
        serve<Flood>(input, runtime);
    } else if (kernel == "loops") {
        serve<Loops>(input, runtime);
    } else if (kernel == "spc") {
        serve<Producers<false, false>>(input, runtime);
    } else if (kernel == "spc-loop") {
        serve<Producers<false, true>>(input, runtime);
    } else if (kernel == "bpc") {
        serve<Producers<true, false>>(input, runtime);
    } else if (kernel == "bpc-loop") {
        serve<Producers<true, true>>(input, runtime);
    } else if (kernel == "tree") {
        serve<Tree>(input, runtime);
    } else {
        throw UsageError("no kernel '" + kernel
                         + "'; the kernels are fib, nqueens, uts, multisort, loops, forks, fanout, "
                           "flood, spc, spc-loop, bpc, bpc-loop and tree");
    }
}

// The arguments of the program, and its exit status.
struct Call {
    int argc;
    char** argv;
    int status = 0;
};

// Runs the program; returns its exit status.
template <class Runtime> int status_of(const Call& call) {
    try {
        if (call.argc != 4) {
            throw UsageError("usage: peer KERNEL INPUT WORKERS");
        }
        Input last("arguments", call.argv[3]);
        const std::uint32_t workers = last.number("workers", 1, MAX_WORKERS);
        last.end();
        const std::string kernel = call.argv[1];
        Input input(kernel, call.argv[2]);
        Runtime runtime(static_cast<int>(workers));
        serve(kernel, input, runtime);
        return 0;
    } catch (const UsageError& error) {
        std::cerr << "peer: " << error.what() << std::endl;
        return 2;
    } catch (const std::exception& error) {
        std::cerr << "peer: " << error.what() << std::endl;
        return 1;
    }
}

// The main function of each peer. A thread with a large stack runs the program, because the first
// thread of a process has a small one.
template <class Runtime> int peer_main(int argc, char** argv) {
    Call call{argc, argv};
    pthread_attr_t attributes;
    pthread_t thread;
    const auto start = [](void* call) -> void* {
        static_cast<Call*>(call)->status = status_of<Runtime>(*static_cast<Call*>(call));
        return nullptr;
    };
    if (pthread_attr_init(&attributes) != 0
        || pthread_attr_setstacksize(&attributes, STACK_SIZE) != 0
        || pthread_create(&thread, &attributes, start, &call) != 0) {
        std::cerr << "peer: cannot start a thread" << std::endl;
        return 1;
    }
    pthread_join(thread, nullptr);
    return call.status;
}
