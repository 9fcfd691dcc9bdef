import java.util.Arrays;
import java.util.concurrent.RecursiveAction;

/**
 * Parallel merge sort of integers, with a parallel merge.
 *
 * <p>The integers are unsigned. They are stored with the upper bit flipped, so that Java's signed
 * comparison orders them.
 */
final class Multisort implements Kernel {
    /** Below this many elements, sorting and merging are sequential. */
    static final int SEQUENTIAL = 2048;

    private final int[] unsorted;
    private final int[] numbers;
    private final int[] scratch;
    private final int repetitions;

    /** The fingerprint of the unsorted numbers. */
    private final long fingerprint;

    Multisort(Input input) {
        int length = input.number("integers", 1, 200_000_000);
        repetitions = input.number("repetitions", 1, 1_000_000, 1);
        input.end();
        unsorted = new int[length];
        numbers = new int[length];
        scratch = new int[length];
        Random random = new Random(0);
        for (int i = 0; i < length; i++) {
            unsorted[i] = random.number() ^ Integer.MIN_VALUE;
        }
        prepare();
        fingerprint = fingerprint();
    }

    @Override
    public void prepare() {
        System.arraycopy(unsorted, 0, numbers, 0, numbers.length);
        System.arraycopy(unsorted, 0, scratch, 0, numbers.length);
    }

    @Override
    public void runSequentially() {
        repeat(() -> sort(numbers, scratch, 0, numbers.length));
    }

    @Override
    public void runInParallel() {
        repeat(() -> new Sort(numbers, scratch, 0, numbers.length, false).compute());
    }

    private void repeat(Runnable sort) {
        sort.run();
        for (int i = 1; i < repetitions; i++) {
            System.arraycopy(unsorted, 0, numbers, 0, numbers.length);
            sort.run();
        }
    }

    /**
     * Sorts a part of {@code a}, with the same part of {@code b} as scratch space.
     *
     * <p>Halving twice gives four quarters. They are sorted in place, merged in pairs into
     * {@code b}, and then merged back into {@code a}.
     */
    private static void sort(int[] a, int[] b, int from, int to) {
        if (to - from < SEQUENTIAL) {
            Arrays.sort(a, from, to);
            return;
        }
        int middle = from + (to - from) / 2;
        sortInto(a, b, from, middle);
        sortInto(a, b, middle, to);
        merge(b, from, middle, middle, to, a, from);
    }

    /** Sorts the two halves of a part of {@code a} and merges them into {@code b}. */
    private static void sortInto(int[] a, int[] b, int from, int to) {
        int middle = from + (to - from) / 2;
        sort(a, b, from, middle);
        sort(a, b, middle, to);
        merge(a, from, middle, middle, to, b, from);
    }

    /** Merges two sorted parts of {@code a} into {@code b}, beginning at {@code at}. */
    static void merge(int[] a, int i, int iEnd, int j, int jEnd, int[] b, int at) {
        int shift = at - i - j;
        while (i < iEnd && j < jEnd) {
            // Without a branch, which the processor would mispredict every other time.
            int low = a[i];
            int high = a[j];
            int fromHigh = (int) ((long) high - low >>> 63);
            b[shift + i + j] = Math.min(low, high);
            i += 1 - fromHigh;
            j += fromHigh;
        }
        System.arraycopy(a, i, b, shift + i + j, iEnd - i);
        System.arraycopy(a, j, b, shift + iEnd + j, jEnd - j);
    }

    /** {@link #sort} or {@link #sortInto} as a task. */
    private static final class Sort extends RecursiveAction {
        private static final long serialVersionUID = 1;

        private final int[] a;
        private final int[] b;
        private final int from;
        private final int to;
        private final boolean isInto;

        Sort(int[] a, int[] b, int from, int to, boolean isInto) {
            this.a = a;
            this.b = b;
            this.from = from;
            this.to = to;
            this.isInto = isInto;
        }

        @Override
        protected void compute() {
            if (!isInto && to - from < SEQUENTIAL) {
                Arrays.sort(a, from, to);
                return;
            }
            int middle = from + (to - from) / 2;
            Sort high = new Sort(a, b, middle, to, !isInto);
            high.fork();
            new Sort(a, b, from, middle, !isInto).compute();
            high.join();
            int[] sorted = isInto ? a : b;
            new Merge(sorted, from, middle, middle, to, isInto ? b : a, from).compute();
        }
    }

    @Override
    public String answer() {
        return "sorted";
    }

    @Override
    public boolean isRight() {
        for (int i = 1; i < numbers.length; i++) {
            if (numbers[i - 1] > numbers[i]) {
                return false;
            }
        }
        return fingerprint() == fingerprint;
    }

    /**
     * Returns the sum of a hash of each number. Two arrays with the same fingerprint are almost
     * certainly permutations of each other.
     */
    private long fingerprint() {
        long sum = 0;
        for (int number : numbers) {
            long mixed = number * 0x9e37_79b9_7f4a_7c15L;
            sum += (mixed ^ mixed >>> 32) * 0xd134_2543_de82_ef95L;
        }
        return sum;
    }
}
