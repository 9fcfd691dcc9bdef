import java.util.concurrent.RecursiveAction;

/** Fibonacci numbers by the naive recursion: a task does one addition. */
final class Fib implements Kernel {
    private final int n;
    private long result;

    Fib(Input input) {
        n = input.number("indices", 0, 60);
        input.end();
    }

    @Override
    public void prepare() {}

    @Override
    public void runSequentially() {
        result = fib(n);
    }

    private static long fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    @Override
    public void runInParallel() {
        result = new Task(n).call();
    }

    /** Computes a Fibonacci number. The task holds its own result, which saves an object. */
    private static final class Task extends RecursiveAction {
        private static final long serialVersionUID = 1;

        private final int n;
        private long result;

        Task(int n) {
            this.n = n;
        }

        @Override
        protected void compute() {
            if (n < 2) {
                result = n;
                return;
            }
            Task b = new Task(n - 2);
            b.fork();
            long a = new Task(n - 1).call();
            b.join();
            result = a + b.result;
        }

        /** Runs the task at once and returns its result. */
        long call() {
            compute();
            return result;
        }
    }

    @Override
    public String answer() {
        return Long.toString(result);
    }

    @Override
    public boolean isRight() {
        long a = 0;
        long b = 1;
        for (int i = 0; i < n; i++) {
            long next = a + b;
            a = b;
            b = next;
        }
        return result == a;
    }
}
