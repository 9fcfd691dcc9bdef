// The peers `openmp` and `openmp-llvm`: tasks and loops of OpenMP, with the library of GCC or LLVM.
//
// Start it with the environment variable OMP_STACKSIZE=256M, because OpenMP reads the stack size of
// its threads only there.

#include "peer.hpp"

class OpenMp {
public:
    struct Scope {
        template <class Task> void spawn(Task task) {
#pragma omp task firstprivate(task)
            task();
        }
    };

    explicit OpenMp(int workers) : workers(workers) {}

    template <class Program> void run(Program program) {
#pragma omp parallel num_threads(workers)
#pragma omp single
        program();
    }

    template <class First, class Second> static void join(First first, Second second) {
#pragma omp task shared(second)
        second();
        first();
#pragma omp taskwait
    }

    template <class Body> static void finish(Body body) {
        Scope scope;
#pragma omp taskgroup
        body(scope);
    }

    // Of OpenMP's schedules, `guided` is the one that balances a loop of any shape without a chosen
    // chunk size: `static` does not balance, and `dynamic` takes single iterations.
    template <class Body> void for_each(std::size_t count, Body body) {
#pragma omp parallel for num_threads(workers) schedule(guided)
        for (std::size_t i = 0; i < count; i++) {
            body(i);
        }
    }

    // The library chooses how many tasks share the loop.
    template <class Body> static void for_each_in_task(std::size_t count, Body body) {
#pragma omp taskloop shared(body)
        for (std::size_t i = 0; i < count; i++) {
            body(i);
        }
    }

    template <class Term> std::uint64_t sum(std::uint64_t count, Term term) {
        std::uint64_t sum = 0;
#pragma omp parallel for num_threads(workers) schedule(guided) reduction(+ : sum)
        for (std::uint64_t i = 0; i < count; i++) {
            sum += term(i);
        }
        return sum;
    }

private:
    const int workers;
};

int main(int argc, char** argv) { return peer_main<OpenMp>(argc, argv); }
