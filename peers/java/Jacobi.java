import java.util.Arrays;

/**
 * Jacobi's iteration: in each step, every inner place of a mesh becomes the mean of its neighbours.
 * All tasks of a step end before the next step.
 */
final class Jacobi implements Kernel {
    private final int size;
    private final int steps;
    private double[] mesh;
    private double[] next;
    private long digest;

    /** The mesh after all steps, computed once by plain loops. */
    private double[] expected;

    Jacobi(Input input) {
        size = input.number("rows", 3, 16384);
        steps = input.number("steps", 1, 1_000_000, 10);
        input.end();
        mesh = new double[size * size];
        next = new double[size * size];
    }

    @Override
    public void prepare() {
        fill(mesh);
        System.arraycopy(mesh, 0, next, 0, mesh.length);
    }

    /** Fills the inner places with random numbers from 0 to 1, and the border with ones. */
    private void fill(double[] mesh) {
        Random random = new Random(size);
        Arrays.fill(mesh, 1.0);
        for (int i = 1; i < size - 1; i++) {
            for (int j = 1; j < size - 1; j++) {
                mesh[i * size + j] = random.real();
            }
        }
    }

    @Override
    public void runSequentially() {
        for (int step = 0; step < steps; step++) {
            for (int i = 1; i < size - 1; i++) {
                relax(size, mesh, i, next);
            }
            swap();
        }
        digest = digest(mesh);
    }

    @Override
    public void runInParallel() {
        for (int step = 0; step < steps; step++) {
            double[] from = mesh;
            double[] to = next;
            // One row is enough work for a task.
            Loop.run(1, size - 1, 1, (first, end) -> {
                for (int i = first; i < end; i++) {
                    relax(size, from, i, to);
                }
            });
            swap();
        }
        digest = digest(mesh);
    }

    /** Computes the inner places of row {@code i} after a step. */
    private static void relax(int size, double[] mesh, int i, double[] next) {
        int row = i * size;
        for (int place = row + 1; place < row + size - 1; place++) {
            double vertical = mesh[place - size] + mesh[place + size];
            next[place] = 0.25 * (vertical + mesh[place - 1] + mesh[place + 1]);
        }
    }

    private void swap() {
        double[] before = mesh;
        mesh = next;
        next = before;
    }

    /** Returns a digest of all bits of all numbers, which no order of summation changes. */
    private static long digest(double[] numbers) {
        long digest = 0;
        for (int i = 0; i < numbers.length; i++) {
            digest += Double.doubleToRawLongBits(numbers[i]) * (2L * i + 3);
        }
        return digest;
    }

    @Override
    public String answer() {
        return Long.toUnsignedString(digest);
    }

    @Override
    public boolean isRight() {
        if (expected == null) {
            expected = expected();
        }
        return Arrays.equals(mesh, expected) && digest == digest(expected);
    }

    private double[] expected() {
        double[] before = new double[size * size];
        double[] after = new double[size * size];
        fill(before);
        fill(after);
        for (int step = 0; step < steps; step++) {
            for (int i = 1; i < size - 1; i++) {
                for (int j = 1; j < size - 1; j++) {
                    double vertical = before[(i - 1) * size + j] + before[(i + 1) * size + j];
                    double horizontal = before[i * size + j - 1];
                    after[i * size + j] = 0.25 * (vertical + horizontal + before[i * size + j + 1]);
                }
            }
            double[] done = after;
            after = before;
            before = done;
        }
        return before;
    }
}
