import java.util.Arrays;

/** Barnes and Hut's n-body simulation: a distant group of bodies counts as one body. */
final class BarnesHut implements Kernel {
    private static final double TIME_STEP = 1e-3;

    /** The maximum depth of the tree, which ends it if bodies are at the same place. */
    private static final int DEPTH = 48;

    private final int count;
    private final int steps;

    /** The bodies, in the layout of {@link Cell}. */
    private final double[] bodies;

    /** The accelerations of the last step: three numbers for each body. */
    private final double[] accelerations;

    BarnesHut(Input input) {
        count = input.number("bodies", 1, 10_000_000);
        steps = input.number("steps", 1, 1_000_000, 1);
        input.end();
        bodies = new double[Cell.BODY * count];
        accelerations = new double[3 * count];
    }

    /** Creates a ball of bodies at rest, denser towards its centre. */
    @Override
    public void prepare() {
        Arrays.fill(bodies, 0.0);
        Arrays.fill(accelerations, 1.0);
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
            // The bodies so far are spread evenly; squaring the distance moves them inwards.
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
            accelerate(root, 0, count);
            move(0, count);
        }
    }

    @Override
    public void runInParallel() {
        for (int step = 0; step < steps; step++) {
            double[] corner = corner();
            Cell root = Division.build(
                    bodies, 0, count, corner[0], corner[1], corner[2], corner[3], DEPTH);
            Loop.run(0, count, Loop.BLOCK, (first, end) -> accelerate(root, first, end));
            Loop.run(0, count, Loop.BLOCK, this::move);
        }
    }

    /** Returns the lowest corner of a cube that contains all bodies, and the cube's side. */
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
        // Slightly larger, so that the bodies at the upper faces are inside.
        corner[3] = side * (1.0 + Math.ulp(1.0));
        return corner;
    }

    /** Computes the accelerations of these bodies. */
    private void accelerate(Cell root, int first, int end) {
        Acceleration sum = new Acceleration();
        for (int i = first; i < end; i++) {
            int place = Cell.BODY * i + Cell.PLACE;
            sum.clear();
            root.accelerate(bodies[place], bodies[place + 1], bodies[place + 2], bodies, sum);
            accelerations[3 * i] = sum.x;
            accelerations[3 * i + 1] = sum.y;
            accelerations[3 * i + 2] = sum.z;
        }
    }

    /** Moves these bodies by one step, with their accelerations. */
    private void move(int first, int end) {
        for (int i = first; i < end; i++) {
            for (int axis = 0; axis < 3; axis++) {
                int velocity = Cell.BODY * i + Cell.VELOCITY + axis;
                bodies[velocity] += TIME_STEP * accelerations[3 * i + axis];
                bodies[Cell.BODY * i + Cell.PLACE + axis] += TIME_STEP * bodies[velocity];
            }
        }
    }

    @Override
    public String answer() {
        return Integer.toString(count);
    }

    /** Compares some accelerations with the sum over all bodies. */
    @Override
    public boolean isRight() {
        double[] before = bodies.clone();
        for (int i = 0; i < count; i++) {
            for (int axis = 0; axis < 3; axis++) {
                int at = Cell.BODY * i + axis;
                before[at + Cell.PLACE] -= TIME_STEP * before[at + Cell.VELOCITY];
            }
        }
        Acceleration expected = new Acceleration();
        for (int i = 0; i < count; i += count / 64 + 1) {
            int place = Cell.BODY * i + Cell.PLACE;
            expected.clear();
            expected.add(before, 0, count, before[place], before[place + 1], before[place + 2]);
            double error = square(
                    accelerations[3 * i] - expected.x,
                    accelerations[3 * i + 1] - expected.y,
                    accelerations[3 * i + 2] - expected.z);
            double most = 0.02 * 0.02 * square(expected.x, expected.y, expected.z) + 1e-18;
            // Negated, so that NaN counts as wrong.
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
