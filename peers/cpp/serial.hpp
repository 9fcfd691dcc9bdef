// The runtime without parallelism. A kernel on this runtime is plain C++: the sequential form.
//
// Each kernel is written once, generic over a runtime, which is a class like this one. The
// functions that tasks call are static, because tasks run on any thread of the runtime.
#pragma once

#include <cstddef>
#include <cstdint>

class Serial {
public:
    // The tasks of one finish.
    struct Scope {
        template <class Task> void spawn(Task task) { task(); }
    };

    // Calls `program` on a thread of the runtime. Only such a call may create tasks.
    template <class Program> void run(Program program) { program(); }

    // Calls both functions, perhaps at the same time.
    template <class First, class Second> static void join(First first, Second second) {
        first();
        second();
    }

    // Calls `body` with a scope, and returns when all tasks that were spawned into it have ended.
    template <class Body> static void finish(Body body) {
        Scope scope;
        body(scope);
    }

    // Calls `body` with each number below `count`. Call it outside `run`.
    template <class Body> void for_each(std::size_t count, Body body) {
        for (std::size_t i = 0; i < count; i++) {
            body(i);
        }
    }

    // Calls `body` with each number below `count`. Only a task may call it.
    template <class Body> static void for_each_in_task(std::size_t count, Body body) {
        for (std::size_t i = 0; i < count; i++) {
            body(i);
        }
    }

    // Returns the sum of `term` of each number below `count`. Call it outside `run`.
    template <class Term> std::uint64_t sum(std::uint64_t count, Term term) {
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < count; i++) {
            sum += term(i);
        }
        return sum;
    }
};
