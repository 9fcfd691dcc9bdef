import java.util.Arrays;

/**
 * Splits a short list down to its elements, of which only a few are worth a task; again and again.
 */
final class Fanout implements Kernel {
    /** The number of steps of a heavy element. */
    private final long count;

    private final int[] results;

    /** The number of elements per heavy element. */
    private final int every;

    private final int repetitions;
    private int result;

    Fanout(Input input) {
        count = Work.microseconds(input, "microseconds per heavy element");
        results = new int[input.number("elements", 1, 10_000_000, 64)];
        every = input.number("elements per heavy element", 1, 10_000_000, 32);
        repetitions = input.number("repetitions", 1, 1_000_000, 1000);
        input.end();
    }

    @Override
    public void prepare() {
        Arrays.fill(results, 0);
    }

    @Override
    public void runSequentially() {
        for (int repetition = 0; repetition < repetitions; repetition++) {
            workOn(0, results.length);
        }
        result = Work.done(results);
    }

    @Override
    public void runInParallel() {
        for (int repetition = 0; repetition < repetitions; repetition++) {
            Loop.run(0, results.length, 1, this::workOn);
        }
        result = Work.done(results);
    }

    private void workOn(int from, int to) {
        for (int i = from; i < to; i++) {
            results[i] = work(i);
        }
    }

    private int work(int i) {
        return Work.steps(i % every == 0 ? count : 0, i);
    }

    @Override
    public String answer() {
        return Integer.toString(result);
    }

    @Override
    public boolean isRight() {
        return result == results.length && Work.areRight(results, this::work);
    }
}
