import java.util.concurrent.RecursiveAction;

/**
 * {@link Multisort#merge} as a task.
 *
 * <p>Splits the longer part at its middle element, and the shorter part where that element belongs.
 * The elements below both splits can then be merged independently of those above.
 */
final class Merge extends RecursiveAction {
    private static final long serialVersionUID = 1;

    private final int[] a;
    private final int i;
    private final int iEnd;
    private final int j;
    private final int jEnd;
    private final int[] b;
    private final int at;

    Merge(int[] a, int i, int iEnd, int j, int jEnd, int[] b, int at) {
        this.a = a;
        this.i = i;
        this.iEnd = iEnd;
        this.j = j;
        this.jEnd = jEnd;
        this.b = b;
        this.at = at;
    }

    @Override
    protected void compute() {
        if (iEnd - i + jEnd - j < Multisort.SEQUENTIAL) {
            Multisort.merge(a, i, iEnd, j, jEnd, b, at);
            return;
        }
        if (iEnd - i < jEnd - j) {
            split(j, jEnd, i, iEnd);
        } else {
            split(i, iEnd, j, jEnd);
        }
    }

    private void split(int longer, int longerEnd, int shorter, int shorterEnd) {
        int middle = longer + (longerEnd - longer) / 2;
        int place = place(a, shorter, shorterEnd, a[middle]);
        int above = at + (middle - longer) + (place - shorter);
        Merge high = new Merge(a, middle, longerEnd, place, shorterEnd, b, above);
        high.fork();
        new Merge(a, longer, middle, shorter, place, b, at).compute();
        high.join();
    }

    /** Returns the index of the first number of a sorted part that is not below {@code pivot}. */
    private static int place(int[] a, int from, int to, int pivot) {
        while (from < to) {
            int middle = (from + to) >>> 1;
            if (a[middle] < pivot) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        return from;
    }
}
