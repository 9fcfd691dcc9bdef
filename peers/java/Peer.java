import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Java's fork/join framework as a peer of Purloin's schedulers: runs a kernel sequentially
 * and in a pool, and says how long each has taken. README.md has the protocol.
 */
final class Peer {
    /** The most workers that a pool can have. */
    private static final int MOST_WORKERS = 32767;

    private static final String KERNELS = "barnes-hut, fft, jacobi, lud, multisort and uts";

    private static final int LEAST_WARM_UP = 3;
    private static final int MOST_WARM_UP = 5;
    private static final long WARM_UP_NANOS = TimeUnit.SECONDS.toNanos(4);

    private final Kernel kernel;
    private final ForkJoinPool pool;

    /** Which of the two forms comes first alternates, so that neither is at an advantage. */
    private boolean isParallelFirst = false;

    private Peer(Kernel kernel, int workers) {
        this.kernel = kernel;
        // As by default, but with no spare workers in place of those that wait in a join, and
        // for what is done with an exception that no task has caught.
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
                throw new Mistake("three arguments are needed: KERNEL INPUT WORKERS");
            }
            Input last = new Input("workers", arguments[2]);
            int workers = last.number("their number", 1, MOST_WORKERS);
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
            case "fft":
                return new Fft(input);
            case "jacobi":
                return new Jacobi(input);
            case "lud":
                return new Lud(input);
            case "multisort":
                return new Multisort(input);
            case "uts":
                return new Uts(input);
            default:
                throw new Mistake("there is no kernel '" + name + "', only " + KERNELS);
        }
    }

    private void serve() throws IOException, ExecutionException, InterruptedException {
        warmUp();
        say("ready");
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            if (!line.equals("run")) {
                throw new Mistake("only 'run' is understood, not '" + line + "'");
            }
            Pair pair = runBoth(true);
            String verdict = pair.isRight ? "right " : "wrong ";
            String nanos = pair.sequentialNanos + " " + pair.parallelNanos + " ";
            say(nanos + verdict + pair.answer);
        }
    }

    /** Lets the compiler of the virtual machine see both forms before time counts. */
    private void warmUp() throws ExecutionException, InterruptedException {
        long start = System.nanoTime();
        for (int i = 0; i < MOST_WARM_UP; i++) {
            if (i >= LEAST_WARM_UP && System.nanoTime() - start > WARM_UP_NANOS) {
                break;
            }
            runBoth(false);
        }
    }

    /** What a run of each form has given. */
    private static final class Pair {
        long sequentialNanos;
        long parallelNanos;

        /** Of the form with tasks, which is the one in question. */
        String answer;

        /** Of both. */
        boolean isRight = true;
    }

    private Pair runBoth(boolean isVerified) throws ExecutionException, InterruptedException {
        Pair pair = new Pair();
        for (int i = 0; i < 2; i++) {
            kernel.prepare();
            // So that no run pays for the garbage of another.
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
                // If the stack overflows within the framework, a task may be lost, and who joins
                // it waits for ever. Asked repeatedly, as for a moment nobody may be running.
                secondsStuck = pool.getRunningThreadCount() == 0 ? secondsStuck + 1 : 0;
                if (secondsStuck == 5) {
                    throw new IllegalStateException("no worker runs, but the task is not done");
                }
            }
        }
    }

    /** The reader waits for the line, so that it must not stay in a buffer. */
    private static void say(String line) throws IOException {
        System.out.println(line);
        if (System.out.checkError()) {
            throw new IOException("nobody reads what is written");
        }
    }

    /** Ends the program with one line on standard error. */
    private static synchronized void fail(Throwable e) {
        int status = e instanceof Mistake ? 2 : 1;
        try {
            // The framework wraps what a task throws.
            while (e.getCause() != null) {
                e = e.getCause();
            }
            String message = e instanceof Mistake ? e.getMessage() : e.toString();
            System.err.println("peer: " + message.replaceAll("\\s+", " "));
        } finally {
            // Not an exit in due form, which might wait for what has failed.
            Runtime.getRuntime().halt(status);
        }
    }
}
