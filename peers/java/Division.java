import java.util.concurrent.RecursiveAction;

/** {@link Cell#divide} as a task. */
final class Division extends RecursiveAction {
    private static final long serialVersionUID = 1;

    /** A range with at most this many bodies is divided sequentially. */
    private static final int SEQUENTIAL = 256;

    private final double[] bodies;
    private final int first;
    private final int end;
    private final double x;
    private final double y;
    private final double z;
    private final double side;
    private final int depth;
    private final int axis;
    private final transient Cell[] cells;
    private final int slot;

    Division(
            double[] bodies,
            int first,
            int end,
            double x,
            double y,
            double z,
            double side,
            int depth,
            int axis,
            Cell[] cells,
            int slot) {
        this.bodies = bodies;
        this.first = first;
        this.end = end;
        this.x = x;
        this.y = y;
        this.z = z;
        this.side = side;
        this.depth = depth;
        this.axis = axis;
        this.cells = cells;
        this.slot = slot;
    }

    /** {@link Cell#build} with tasks. */
    static Cell build(
            double[] bodies,
            int first,
            int end,
            double x,
            double y,
            double z,
            double side,
            int depth) {
        if (Cell.isLeaf(end - first, depth)) {
            return new Cell(bodies, first, end, side);
        }
        Cell[] cells = new Cell[8];
        new Division(bodies, first, end, x, y, z, side / 2.0, depth - 1, 0, cells, 0).compute();
        return new Cell(cells, side);
    }

    @Override
    protected void compute() {
        if (end - first <= SEQUENTIAL) {
            Cell.divide(bodies, first, end, x, y, z, side, depth, axis, cells, slot);
            return;
        }
        if (axis == 3) {
            cells[slot] = build(bodies, first, end, x, y, z, side, depth);
            return;
        }
        double upper = side + (axis == 0 ? x : axis == 1 ? y : z);
        int middle = Cell.partition(bodies, first, end, axis, upper);
        Division high = new Division(
                bodies,
                middle,
                end,
                axis == 0 ? upper : x,
                axis == 1 ? upper : y,
                axis == 2 ? upper : z,
                side,
                depth,
                axis + 1,
                cells,
                slot + (4 >> axis));
        high.fork();
        new Division(bodies, first, middle, x, y, z, side, depth, axis + 1, cells, slot).compute();
        high.join();
    }
}
