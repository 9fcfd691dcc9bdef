import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.concurrent.CountedCompleter;

/**
 * Flood fill of a square, with a task for each neighbour of a cell that is reached. A tree of
 * completers waits for all of them.
 */
final class Flood implements Kernel {
    /** The mark of a cell that is being filled. No work has this result: results are odd. */
    private static final int REACHED = 2;

    private static final VarHandle CELL = MethodHandles.arrayElementVarHandle(int[].class);

    private final int side;

    /** The number of steps of each cell. */
    private final long count;

    /** A cell has 0 before it is reached, then the mark {@link #REACHED}, then the result of its work. */
    private final int[] cells;

    private int result;

    Flood(Input input) {
        side = input.number("cells along each side", 1, 256);
        int microseconds = input.number("microseconds per cell", 0, 1_000_000, 2);
        input.end();
        count = microseconds * Work.stepsPerMicrosecond();
        cells = new int[side * side];
    }

    @Override
    public void prepare() {
        Arrays.fill(cells, 0);
    }

    private int middle() {
        return side / 2 * (side + 1);
    }

    @Override
    public void runSequentially() {
        fill(middle());
        result = Work.done(cells);
    }

    private void fill(int cell) {
        if (cells[cell] != 0) {
            return;
        }
        cells[cell] = REACHED;
        cells[cell] = work(cell);
        int[] neighbours = new int[4];
        int count = neighbours(cell, neighbours);
        for (int i = 0; i < count; i++) {
            fill(neighbours[i]);
        }
    }

    @Override
    public void runInParallel() {
        new Fill(null, this, middle()).invoke();
        result = Work.done(cells);
    }

    /** Reaches a cell, and forks a task for each of its neighbours if it is the first to do so. */
    private static final class Fill extends CountedCompleter<Void> {
        private static final long serialVersionUID = 1;

        private final transient Flood flood;
        private final int cell;

        Fill(CountedCompleter<?> parent, Flood flood, int cell) {
            super(parent);
            this.flood = flood;
            this.cell = cell;
        }

        @Override
        public void compute() {
            if (flood.reach(cell)) {
                CELL.setRelease(flood.cells, cell, flood.work(cell));
                int[] neighbours = new int[4];
                int count = flood.neighbours(cell, neighbours);
                addToPendingCount(count);
                for (int i = 0; i < count; i++) {
                    new Fill(this, flood, neighbours[i]).fork();
                }
            }
            tryComplete();
        }
    }

    /** Marks a cell. Returns whether this is the first call that does so. */
    private boolean reach(int cell) {
        return (int) CELL.getAcquire(cells, cell) == 0
                && CELL.compareAndSet(cells, cell, 0, REACHED);
    }

    /** Writes the neighbours of a cell, and returns their number. */
    private int neighbours(int cell, int[] neighbours) {
        int count = 0;
        int x = cell % side;
        int y = cell / side;
        if (x > 0) {
            neighbours[count++] = cell - 1;
        }
        if (x + 1 < side) {
            neighbours[count++] = cell + 1;
        }
        if (y > 0) {
            neighbours[count++] = cell - side;
        }
        if (y + 1 < side) {
            neighbours[count++] = cell + side;
        }
        return count;
    }

    private int work(int cell) {
        return Work.steps(count, cell);
    }

    @Override
    public String answer() {
        return Integer.toString(result);
    }

    @Override
    public boolean isRight() {
        return result == cells.length && Work.areRight(cells, this::work);
    }
}
