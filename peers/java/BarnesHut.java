import java.util.Arrays;

/** Barnes and Hut's n-body simulation: what is far away counts as one body. */
final class BarnesHut implements Kernel {
    private static final double TIME_STEP = 1e-3;

    /** Smaller parts of space are not divided, as bodies may be in one place. */
    private static final int DEPTH = 48;

    private final int count;
    private final int steps;

    /** As {@link Cell} has them. */
    private final double[] bodies;

    /** Accelerations at the last step, three numbers each. */
    private final double[] pulls;

    BarnesHut(Input input) {
        count = input.number("bodies", 1, 10_000_000);
        steps = input.number("steps", 1, 1_000_000, 1);
        input.end();
        bodies = new double[Cell.BODY * count];
        pulls = new double[3 * count];
    }

    /** A ball that is denser towards its centre, at rest. */
    @Override
    public void prepare() {
        Arrays.fill(bodies, 0.0);
        Arrays.fill(pulls, 1.0);
        Random random = new Random(count);
        for (int at = 0; at < bodies.length; at += Cell.BODY) {
            double x;
            double y;
            double z;
            double square;
            do {
                x = 2.0 * random.real() - 1.0;
                y = 2.0 * random.real() - 1.0;
                z = 2.0 * random.real() - 1.0;
                square = x * x + y * y + z * z;
            } while (square < 0.01 || square >= 1.0);
            // The distance, so far spread as volumes are, squared.
            double distance = Math.sqrt(square);
            bodies[at] = 1.0 / count;
            bodies[at + Cell.PLACE] = x * distance;
            bodies[at + Cell.PLACE + 1] = y * distance;
            bodies[at + Cell.PLACE + 2] = z * distance;
        }
    }

    @Override
    public void runSequentially() {
        for (int step = 0; step < steps; step++) {
            double[] corner = corner();
            Cell root = Cell.build(
                    bodies, 0, count, corner[0], corner[1], corner[2], corner[3], DEPTH);
            pull(root, 0, count);
            move(0, count);
        }
    }

    @Override
    public void runInParallel() {
        for (int step = 0; step < steps; step++) {
            double[] corner = corner();
            Cell root = Division.build(
                    bodies, 0, count, corner[0], corner[1], corner[2], corner[3], DEPTH);
            Loop.run(0, count, Loop.BLOCK, (first, end) -> pull(root, first, end));
            Loop.run(0, count, Loop.BLOCK, this::move);
        }
    }

    /** The lowest corner of the cube that all bodies are in, and its side. */
    private double[] corner() {
        double[] corner = new double[4];
        double side = Double.MIN_NORMAL;
        for (int axis = 0; axis < 3; axis++) {
            double least = Double.POSITIVE_INFINITY;
            double most = Double.NEGATIVE_INFINITY;
            for (int at = Cell.PLACE + axis; at < bodies.length; at += Cell.BODY) {
                least = Math.min(least, bodies[at]);
                most = Math.max(most, bodies[at]);
            }
            corner[axis] = least;
            side = Math.max(side, most - least);
        }
        // So that the last is inside.
        corner[3] = side * (1.0 + Math.ulp(1.0));
        return corner;
    }

    /** Computes the accelerations of these bodies. */
    private void pull(Cell root, int first, int end) {
        Pull pull = new Pull();
        for (int i = first; i < end; i++) {
            int place = Cell.BODY * i + Cell.PLACE;
            pull.clear();
            root.pullOn(bodies[place], bodies[place + 1], bodies[place + 2], bodies, pull);
            pulls[3 * i] = pull.x;
            pulls[3 * i + 1] = pull.y;
            pulls[3 * i + 2] = pull.z;
        }
    }

    /** Moves these bodies as they have been accelerated. */
    private void move(int first, int end) {
        for (int i = first; i < end; i++) {
            for (int axis = 0; axis < 3; axis++) {
                int velocity = Cell.BODY * i + Cell.VELOCITY + axis;
                bodies[velocity] += TIME_STEP * pulls[3 * i + axis];
                bodies[Cell.BODY * i + Cell.PLACE + axis] += TIME_STEP * bodies[velocity];
            }
        }
    }

    @Override
    public String answer() {
        return Integer.toString(count);
    }

    /** By summation over all bodies, for some. */
    @Override
    public boolean isRight() {
        double[] before = bodies.clone();
        for (int i = 0; i < count; i++) {
            for (int axis = 0; axis < 3; axis++) {
                int at = Cell.BODY * i + axis;
                before[at + Cell.PLACE] -= TIME_STEP * before[at + Cell.VELOCITY];
            }
        }
        Pull expected = new Pull();
        for (int i = 0; i < count; i += count / 64 + 1) {
            int place = Cell.BODY * i + Cell.PLACE;
            expected.clear();
            expected.add(before, 0, count, before[place], before[place + 1], before[place + 2]);
            double error = square(
                    pulls[3 * i] - expected.x,
                    pulls[3 * i + 1] - expected.y,
                    pulls[3 * i + 2] - expected.z);
            double most = 0.02 * 0.02 * square(expected.x, expected.y, expected.z) + 1e-18;
            // Written such that what is not a number is wrong.
            if (!(error <= most)) {
                return false;
            }
        }
        return true;
    }

    private static double square(double x, double y, double z) {
        return x * x + y * y + z * z;
    }
}
