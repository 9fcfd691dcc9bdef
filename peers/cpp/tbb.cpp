// The peer `tbb`: tasks and loops of oneTBB.

#include <functional>

#include <oneapi/tbb.h>

#include "peer.hpp"

class OneTbb {
public:
    struct Scope {
        tbb::task_group group;

        template <class Task> void spawn(Task task) { group.run(task); }
    };

    explicit OneTbb(int workers)
        : limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(workers)),
          stack(tbb::global_control::thread_stack_size, STACK_SIZE), arena(workers) {}

    template <class Program> void run(Program program) { arena.execute(program); }

    template <class First, class Second> static void join(First first, Second second) {
        tbb::parallel_invoke(first, second);
    }

    template <class Body> static void finish(Body body) {
        Scope scope;
        body(scope);
        scope.group.wait();
    }

    template <class Body> void for_each(std::size_t count, Body body) {
        arena.execute([&] { tbb::parallel_for(std::size_t{0}, count, body); });
    }

    template <class Body> static void for_each_in_task(std::size_t count, Body body) {
        tbb::parallel_for(std::size_t{0}, count, body);
    }

    template <class Term> std::uint64_t sum(std::uint64_t count, Term term) {
        using Range = tbb::blocked_range<std::uint64_t>;
        const auto sum_of_part = [term](const Range& range, std::uint64_t sum) {
            for (std::uint64_t i = range.begin(); i != range.end(); i++) {
                sum += term(i);
            }
            return sum;
        };
        return arena.execute([&] {
            return tbb::parallel_reduce(Range(0, count), std::uint64_t{0}, sum_of_part,
                                        std::plus<>());
        });
    }

private:
    // By default, oneTBB starts at most as many threads as there are cores.
    tbb::global_control limit;
    tbb::global_control stack;
    tbb::task_arena arena;
};

int main(int argc, char** argv) { return peer_main<OneTbb>(argc, argv); }
