import java.util.Arrays;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongUnaryOperator;

/**
 * Parallel loops of several shapes. {@code crates/purloin-kernels/src/loops.rs} describes each
 * shape.
 */
final class Loops implements Kernel {
    /** The number of iterations of the shape {@code tiny}. */
    private static final int TINY = 100_000_000;

    /** The number of elements of a vector. */
    private static final int VECTOR = 1 << 16;

    /** How often the vectors are added. */
    private static final int ADDITIONS = 4000;

    /** The number of iterations of a loop of varying granularity. */
    private static final int VARYING = 100_000;

    /** Runs a body on ranges that together are the numbers below {@code count}. */
    private interface ForEach {
        void run(int count, Loop.Body body);
    }

    private final String shape;

    /** The length of a loop that is not split, or 0. */
    private final int grain;

    /** The largest number of steps of an iteration. */
    private final long longest;

    /**
     * An iteration's part of that number, out of {@link #VARYING}; null if all iterations have the
     * same number of steps.
     */
    private final LongUnaryOperator part;

    /** The results of the iterations; null in the shapes {@code tiny} and {@code vector}. */
    private final int[] results;

    /** The vectors of the shape {@code vector}. */
    private final float[] from = new float[VECTOR];

    private final float[] to = new float[VECTOR];

    /** The sum of the shape {@code tiny}, or the number of right results. */
    private long result;

    Loops(Input input) {
        shape = input.name();
        grain = input.number("grain sizes", 0, TINY, 0);
        input.end();
        long microsecond = Work.stepsPerMicrosecond();
        switch (shape) {
            case "fine":
                part = null;
                longest = microsecond / 50;
                results = new int[10_000_000];
                break;
            case "coarse":
                part = null;
                longest = 100 * microsecond;
                results = new int[2000];
                break;
            case "random":
            case "increasing":
            case "decreasing":
                part = partOf(shape);
                longest = 4 * microsecond;
                results = new int[VARYING];
                break;
            case "tiny":
            case "vector":
                part = null;
                longest = 0;
                results = null;
                break;
            default:
                throw new UsageError("loops: no shape '" + shape + "'");
        }
        Arrays.fill(from, 1);
    }

    private static LongUnaryOperator partOf(String shape) {
        switch (shape) {
            case "increasing":
                return i -> i;
            case "decreasing":
                return i -> VARYING - i;
            default:
                return i -> Long.remainderUnsigned(Random.cheapHash(i), VARYING);
        }
    }

    @Override
    public void prepare() {
        if (results != null) {
            Arrays.fill(results, 0);
        }
        Arrays.fill(to, 0);
    }

    @Override
    public void runSequentially() {
        run((count, body) -> body.run(0, count));
    }

    @Override
    public void runInParallel() {
        if (results != null && grain > 0) {
            Loop.run(0, results.length, grain, this::iterate);
            result = Work.done(results);
            return;
        }
        int workers = ForkJoinTask.getPool().getParallelism();
        // There are at least 64 blocks for each worker, so that a loop of varying granularity is
        // balanced.
        run((count, body) -> Loop.run(0, count, Math.max(1, count / (64 * workers)), body));
    }

    private void run(ForEach forEach) {
        switch (shape) {
            case "tiny":
                LongAdder sum = new LongAdder();
                forEach.run(TINY, (first, end) -> sum.add(sumOfTiny(first, end)));
                result = sum.sum();
                break;
            case "vector":
                for (int i = 0; i < ADDITIONS; i++) {
                    forEach.run(VECTOR, this::addVectors);
                }
                result = rightSums();
                break;
            default:
                forEach.run(results.length, this::iterate);
                result = Work.done(results);
        }
    }

    /** Runs the iterations from {@code first} until before {@code end}. */
    private void iterate(int first, int end) {
        for (int i = first; i < end; i++) {
            results[i] = work(i);
        }
    }

    private int work(int i) {
        long count = part == null ? longest : part.applyAsLong(i) * longest / VARYING;
        return Work.steps(count, i);
    }

    private static long sumOfTiny(int first, int end) {
        long sum = 0;
        for (int i = first; i < end; i++) {
            sum += Random.cheapHash(Random.cheapHash(i)) & 0xff;
        }
        return sum;
    }

    private void addVectors(int first, int end) {
        for (int i = first; i < end; i++) {
            to[i] += 0.5f * from[i];
        }
    }

    private long rightSums() {
        long right = 0;
        for (float sum : to) {
            right += sum == ADDITIONS / 2 ? 1 : 0;
        }
        return right;
    }

    @Override
    public String answer() {
        return Long.toString(result);
    }

    @Override
    public boolean isRight() {
        switch (shape) {
            case "tiny":
                return result == sumOfTiny(0, TINY);
            case "vector":
                return result == VECTOR;
            default:
                return result == results.length && Work.areRight(results, this::work);
        }
    }
}
