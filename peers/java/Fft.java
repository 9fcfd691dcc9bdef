import java.util.Arrays;
import java.util.concurrent.RecursiveAction;

/**
 * The recursive fast Fourier transform of Cooley and Tukey.
 *
 * <p>A complex number is two doubles of an array, the real part first. An object for each would
 * take longer to create than the arithmetic takes.
 */
final class Fft implements Kernel {
    /** At most this many points are transformed sequentially. */
    private static final int LEAF = 64;

    /** From this many points on, a parallel loop combines the two halves. */
    private static final int MANY = 1 << 13;

    private final int length;
    private final double[] points;
    private final double[] roots;
    private final double[] transformed;

    Fft(Input input) {
        length = 1 << input.number("the logarithm", 0, 26);
        input.end();
        points = new double[2 * length];
        roots = new double[length / 2 * 2];
        transformed = new double[2 * length];
        Random random = new Random(length);
        for (int i = 0; i < points.length; i++) {
            points[i] = random.real() - 0.5;
        }
        for (int k = 0; k < length / 2; k++) {
            double angle = 2.0 * Math.PI * (-(double) k / length);
            roots[2 * k] = Math.cos(angle);
            roots[2 * k + 1] = Math.sin(angle);
        }
    }

    @Override
    public void prepare() {
        // A run does not change the points.
        Arrays.fill(transformed, 1.0);
    }

    @Override
    public void runSequentially() {
        transform(points, 0, 1, roots, transformed, 0, length);
    }

    @Override
    public void runInParallel() {
        new Transform(0, 1, 0, length).compute();
    }

    /**
     * Transforms every {@code stride}-th point of {@code from}, beginning at {@code first}, into
     * {@code length} points of {@code to}, beginning at {@code start}. {@code roots} are the roots
     * of unity for the whole transform, which has {@code stride} times as many points.
     */
    private static void transform(
            double[] from,
            int first,
            int stride,
            double[] roots,
            double[] to,
            int start,
            int length) {
        if (length == 1) {
            to[2 * start] = from[2 * first];
            to[2 * start + 1] = from[2 * first + 1];
            return;
        }
        int half = length / 2;
        transform(from, first, 2 * stride, roots, to, start, half);
        transform(from, first + stride, 2 * stride, roots, to, start + half, half);
        butterflies(stride, roots, to, start, half, 0, half);
    }

    /** Combines two halves, for their points from {@code k} until before {@code end}. */
    private static void butterflies(
            int stride, double[] roots, double[] to, int start, int half, int k, int end) {
        for (; k < end; k++) {
            int root = 2 * k * stride;
            int even = 2 * (start + k);
            int odd = even + 2 * half;
            double re = roots[root] * to[odd] - roots[root + 1] * to[odd + 1];
            double im = roots[root] * to[odd + 1] + roots[root + 1] * to[odd];
            to[odd] = to[even] - re;
            to[odd + 1] = to[even + 1] - im;
            to[even] += re;
            to[even + 1] += im;
        }
    }

    /** {@link #transform} as a task. */
    private final class Transform extends RecursiveAction {
        private static final long serialVersionUID = 1;

        private final int first;
        private final int stride;
        private final int start;
        private final int length;

        Transform(int first, int stride, int start, int length) {
            this.first = first;
            this.stride = stride;
            this.start = start;
            this.length = length;
        }

        @Override
        protected void compute() {
            if (length <= LEAF) {
                transform(points, first, stride, roots, transformed, start, length);
                return;
            }
            int half = length / 2;
            Transform odd = new Transform(first + stride, 2 * stride, start + half, half);
            odd.fork();
            new Transform(first, 2 * stride, start, half).compute();
            odd.join();
            if (length < MANY) {
                butterflies(stride, roots, transformed, start, half, 0, half);
            } else {
                Loop.run(0, half, Loop.BLOCK, (k, end) ->
                        butterflies(stride, roots, transformed, start, half, k, end));
            }
        }
    }

    @Override
    public String answer() {
        return Integer.toString(length);
    }

    /** Checks the inverse transform, and some frequencies by the definition. */
    @Override
    public boolean isRight() {
        return isInverse()
                && isDirect(0)
                && isDirect(1 % length)
                && isDirect(length / 3)
                && isDirect(length - 1);
    }

    /**
     * Whether the inverse transform gives the points again. The inverse is the conjugate of the
     * transform of the conjugates, divided by their number.
     */
    private boolean isInverse() {
        double[] conjugates = transformed.clone();
        for (int i = 1; i < conjugates.length; i += 2) {
            conjugates[i] = -conjugates[i];
        }
        double[] back = new double[2 * length];
        transform(conjugates, 0, 1, roots, back, 0, length);
        for (int i = 0; i < points.length; i++) {
            double part = (i % 2 == 0 ? back[i] : -back[i]) / length;
            // Negated, so that NaN counts as wrong.
            if (!(Math.abs(points[i] - part) < 1e-12)) {
                return false;
            }
        }
        return true;
    }

    /** Whether this frequency agrees with the definition of the transform. */
    private boolean isDirect(int frequency) {
        double re = 0.0;
        double im = 0.0;
        for (int i = 0; i < length; i++) {
            double angle = -2.0 * Math.PI * ((double) ((long) i * frequency % length) / length);
            double cos = Math.cos(angle);
            double sin = Math.sin(angle);
            re += points[2 * i] * cos - points[2 * i + 1] * sin;
            im += points[2 * i] * sin + points[2 * i + 1] * cos;
        }
        double most = 1e-9 * length;
        return Math.abs(re - transformed[2 * frequency]) < most
                && Math.abs(im - transformed[2 * frequency + 1]) < most;
    }
}
