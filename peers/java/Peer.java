import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Java's fork/join framework as a peer of Purloin's schedulers: runs a kernel sequentially and in a
 * pool, and reports both times. ../README.md describes the protocol.
 */
final class Peer {
    /** The maximum number of workers of a pool. */
    private static final int MAX_WORKERS = 32767;

    private static final String KERNELS = "barnes-hut, fanout, fft, fib, flood, forks, jacobi, loops, "
            + "lud, multisort, nqueens and uts";

    private static final int MIN_WARM_UPS = 3;
    private static final int MAX_WARM_UPS = 5;
    private static final long WARM_UP_NANOS = TimeUnit.SECONDS.toNanos(4);

    private final Kernel kernel;
    private final ForkJoinPool pool;

    /** Whether the parallel form runs first. This alternates, so that no form has an advantage. */
    private boolean isParallelFirst = false;

    private Peer(Kernel kernel, int workers) {
        this.kernel = kernel;
        // The default values, except for two: no spare workers replace those that wait in a join,
        // and an exception that no task catches ends the program.
        pool = new ForkJoinPool(
                workers,
                ForkJoinPool.defaultForkJoinWorkerThreadFactory,
                (thread, e) -> fail(e),
                false,
                workers,
                workers,
                1,
                saturated -> true,
                1,
                TimeUnit.MINUTES);
    }

    public static void main(String[] arguments) {
        try {
            if (arguments.length != 3) {
                throw new UsageError("usage: Peer KERNEL INPUT WORKERS");
            }
            Input last = new Input("arguments", arguments[2]);
            int workers = last.number("workers", 1, MAX_WORKERS);
            last.end();
            Kernel kernel = kernel(arguments[0], new Input(arguments[0], arguments[1]));
            new Peer(kernel, workers).serve();
        } catch (Throwable e) {
            fail(e);
        }
    }

    private static Kernel kernel(String name, Input input) {
        switch (name) {
            case "barnes-hut":
                return new BarnesHut(input);
            case "fanout":
                return new Fanout(input);
            case "fft":
                return new Fft(input);
            case "fib":
                return new Fib(input);
            case "flood":
                return new Flood(input);
            case "forks":
                return new Forks(input);
            case "jacobi":
                return new Jacobi(input);
            case "loops":
                return new Loops(input);
            case "lud":
                return new Lud(input);
            case "multisort":
                return new Multisort(input);
            case "nqueens":
                return new Nqueens(input);
            case "uts":
                return new Uts(input);
            default:
                throw new UsageError("no kernel '" + name + "'; the kernels are " + KERNELS);
        }
    }

    /** Answers requests until the input ends. */
    private void serve() throws IOException, ExecutionException, InterruptedException {
        warmUp();
        say("ready");
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            if (!line.equals("run")) {
                throw new UsageError("the only request is 'run', not '" + line + "'");
            }
            Pair pair = runBoth(true);
            String verdict = pair.isRight ? "right " : "wrong ";
            String nanos = pair.sequentialNanos + " " + pair.parallelNanos + " ";
            say(nanos + verdict + pair.answer);
        }
    }

    /** Runs both forms until the virtual machine has compiled them. */
    private void warmUp() throws ExecutionException, InterruptedException {
        long start = System.nanoTime();
        for (int i = 0; i < MAX_WARM_UPS; i++) {
            if (i >= MIN_WARM_UPS && System.nanoTime() - start > WARM_UP_NANOS) {
                break;
            }
            runBoth(false);
        }
    }

    /** The results of one run of each form. */
    private static final class Pair {
        long sequentialNanos;
        long parallelNanos;

        /** The answer of the form with tasks. */
        String answer;

        /** Whether both answers are right. */
        boolean isRight = true;
    }

    private Pair runBoth(boolean isVerified) throws ExecutionException, InterruptedException {
        Pair pair = new Pair();
        for (int i = 0; i < 2; i++) {
            kernel.prepare();
            // A run must not pay for the garbage of the run before.
            System.gc();
            if (i == 0 == isParallelFirst) {
                pair.parallelNanos = runInParallel();
                pair.answer = kernel.answer();
            } else {
                pair.sequentialNanos = runSequentially();
            }
            pair.isRight &= !isVerified || kernel.isRight();
        }
        isParallelFirst = !isParallelFirst;
        return pair;
    }

    private long runSequentially() {
        long start = System.nanoTime();
        kernel.runSequentially();
        return System.nanoTime() - start;
    }

    private long runInParallel() throws ExecutionException, InterruptedException {
        long start = System.nanoTime();
        ForkJoinTask<?> task = pool.submit(kernel::runInParallel);
        int secondsStuck = 0;
        while (true) {
            try {
                task.get(1, TimeUnit.SECONDS);
                return System.nanoTime() - start;
            } catch (TimeoutException e) {
                // If the stack overflows inside the framework, a task may be lost, and a worker
                // that joins it waits for ever. A pool can have no running worker for a moment, so
                // the run fails only after five seconds.
                secondsStuck = pool.getRunningThreadCount() == 0 ? secondsStuck + 1 : 0;
                if (secondsStuck == 5) {
                    throw new IllegalStateException("all workers wait, but the task has not ended");
                }
            }
        }
    }

    /** Writes a line and flushes it, because the reader waits for it. */
    private static void say(String line) throws IOException {
        System.out.println(line);
        if (System.out.checkError()) {
            throw new IOException("standard output is closed");
        }
    }

    /** Ends the program with one line on standard error. */
    private static synchronized void fail(Throwable e) {
        int status = e instanceof UsageError ? 2 : 1;
        try {
            // The framework wraps the exception of a task.
            while (e.getCause() != null) {
                e = e.getCause();
            }
            String message = e instanceof UsageError ? e.getMessage() : e.toString();
            System.err.println("peer: " + message.replaceAll("\\s+", " "));
        } finally {
            // Not an orderly exit, which might wait for the part that has failed.
            Runtime.getRuntime().halt(status);
        }
    }
}
