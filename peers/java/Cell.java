/**
 * A cube of space with the bodies in it. For a distant body it counts as one body.
 *
 * <p>All bodies are in one array, with {@link #BODY} doubles each: mass, place and velocity.
 */
final class Cell {
    /** The number of doubles of a body. */
    static final int BODY = 7;

    /** The index of the place within a body. */
    static final int PLACE = 1;

    /** The index of the velocity within a body. */
    static final int VELOCITY = 4;

    /**
     * A cell counts as one body if its side, divided by its distance, is less than this.
     */
    private static final double OPENING = 0.5;

    /** The maximum number of bodies in a cell that is not divided. */
    private static final int LEAF = 8;

    private final double side;
    private double mass;

    // The centre of mass.
    private double x;
    private double y;
    private double z;

    // The range of the bodies in the array, if the cell is not divided.
    private int first;
    private int end;

    /** The subcells that are not empty; null if the cell is not divided. */
    private Cell[] cells;

    /** Creates a cell that is not divided. */
    Cell(double[] bodies, int first, int end, double side) {
        this.side = side;
        this.first = first;
        this.end = end;
        for (int at = BODY * first; at < BODY * end; at += BODY) {
            add(bodies[at], bodies[at + PLACE], bodies[at + PLACE + 1], bodies[at + PLACE + 2]);
        }
        balance();
    }

    /** Creates a divided cell from its eight subcells; null stands for an empty one. */
    Cell(Cell[] eight, double side) {
        this.side = side;
        int count = 0;
        for (Cell cell : eight) {
            if (cell != null) {
                add(cell.mass, cell.x, cell.y, cell.z);
                count++;
            }
        }
        balance();
        cells = new Cell[count];
        for (Cell cell : eight) {
            if (cell != null) {
                cells[cells.length - count--] = cell;
            }
        }
    }

    private void add(double mass, double x, double y, double z) {
        this.mass += mass;
        this.x += mass * x;
        this.y += mass * y;
        this.z += mass * z;
    }

    private void balance() {
        x /= mass;
        y /= mass;
        z /= mass;
    }

    static boolean isLeaf(int count, int depth) {
        return count <= LEAF || depth == 0;
    }

    /** Builds the cell of this side at the corner (x, y, z), and sorts its bodies by subcell. */
    static Cell build(
            double[] bodies,
            int first,
            int end,
            double x,
            double y,
            double z,
            double side,
            int depth) {
        if (isLeaf(end - first, depth)) {
            return new Cell(bodies, first, end, side);
        }
        Cell[] cells = new Cell[8];
        divide(bodies, first, end, x, y, z, side / 2.0, depth - 1, 0, cells, 0);
        return new Cell(cells, side);
    }

    /**
     * Builds the eight subcells of this side at a corner: all of them for axis 0, and the half or
     * quarter that remains after dividing space along the axes before {@code axis}. The first of
     * them goes to {@code slot} of the eight.
     */
    static void divide(
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
        if (first == end) {
            return;
        }
        if (axis == 3) {
            cells[slot] = build(bodies, first, end, x, y, z, side, depth);
            return;
        }
        double upper = side + (axis == 0 ? x : axis == 1 ? y : z);
        int middle = partition(bodies, first, end, axis, upper);
        divide(bodies, first, middle, x, y, z, side, depth, axis + 1, cells, slot);
        divide(
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
    }

    /** Moves the bodies below {@code upper} to the front; returns the end of these bodies. */
    static int partition(double[] bodies, int first, int end, int axis, double upper) {
        for (int i = first; i < end; i++) {
            if (bodies[BODY * i + PLACE + axis] < upper) {
                for (int part = 0; part < BODY; part++) {
                    double number = bodies[BODY * i + part];
                    bodies[BODY * i + part] = bodies[BODY * first + part];
                    bodies[BODY * first + part] = number;
                }
                first++;
            }
        }
        return first;
    }

    /** Adds the acceleration that this cell causes at (x, y, z). */
    void accelerate(double x, double y, double z, double[] bodies, Acceleration sum) {
        double dx = this.x - x;
        double dy = this.y - y;
        double dz = this.z - z;
        double square = dx * dx + dy * dy + dz * dz;
        if (side * side < OPENING * OPENING * square) {
            sum.add(mass, dx, dy, dz, square);
        } else if (cells == null) {
            sum.add(bodies, first, end, x, y, z);
        } else {
            for (Cell cell : cells) {
                cell.accelerate(x, y, z, bodies, sum);
            }
        }
    }
}
