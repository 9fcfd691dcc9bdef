import java.util.Arrays;
import java.util.concurrent.RecursiveAction;

/**
 * One join after the other, each of two pieces of work of some microseconds. So it shows how soon
 * the second piece of a join begins.
 */
final class Forks implements Kernel {
    /** The number of steps of each piece. */
    private final long count;

    /** The results of both pieces of each join. */
    private final int[] results;

    private int result;

    Forks(Input input) {
        count = Work.microseconds(input, "microseconds per closure");
        results = new int[2 * input.number("joins", 1, 10_000_000, 2000)];
        input.end();
    }

    @Override
    public void prepare() {
        Arrays.fill(results, 0);
    }

    @Override
    public void runSequentially() {
        for (int i = 0; i < results.length; i++) {
            results[i] = work(i);
        }
        result = Work.done(results);
    }

    @Override
    public void runInParallel() {
        for (int i = 0; i < results.length; i += 2) {
            Piece second = new Piece(this, i + 1);
            second.fork();
            results[i] = work(i);
            second.join();
        }
        result = Work.done(results);
    }

    /** One piece of work as a task. */
    private static final class Piece extends RecursiveAction {
        private static final long serialVersionUID = 1;

        private final transient Forks forks;
        private final int i;

        Piece(Forks forks, int i) {
            this.forks = forks;
            this.i = i;
        }

        @Override
        protected void compute() {
            forks.results[i] = forks.work(i);
        }
    }

    private int work(int i) {
        return Work.steps(count, i);
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
