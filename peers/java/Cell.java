/**
 * A cube of space with bodies in it, which from afar counts as one body.
 *
 * <p>Bodies lie in one array of doubles, {@link #BODY} for each: the mass, the place and the
 * velocity.
 */
final class Cell {
    /** Numbers that make up a body. */
    static final int BODY = 7;

    /** Where among them the place begins. */
    static final int PLACE = 1;

    /** Where among them the velocity begins. */
    static final int VELOCITY = 4;

    /**
     * A part of space counts as one body where its side is less than this part of its
     * distance.
     */
    private static final double OPENING = 0.5;

    /** A part of space with so few bodies is not divided. */
    private static final int LEAF = 8;

    private final double side;
    private double mass;

    // The centre of mass.
    private double x;
    private double y;
    private double z;

    // Where in the array the bodies are, if the cell is not divided.
    private int first;
    private int end;

    /** Those that are not empty, if the cell is divided. */
    private Cell[] cells;

    /** A cell that is not divided. */
    Cell(double[] bodies, int first, int end, double side) {
        this.side = side;
        this.first = first;
        this.end = end;
        for (int at = BODY * first; at < BODY * end; at += BODY) {
            add(bodies[at], bodies[at + PLACE], bodies[at + PLACE + 1], bodies[at + PLACE + 2]);
        }
        balance();
    }

    /** A divided cell. What is empty is {@code null}. */
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

    /**
     * The cell of this side at the corner (x, y, z). It sorts its bodies by where they are.
     */
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
     * Makes the eight cells of this side at a corner, or the half or quarter of them that are
     * left when space has been divided along the first axes. The first of them is to be at
     * {@code slot} among the eight.
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

    /** Moves the bodies below {@code upper} to the front; returns where they end. */
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

    /** Adds the acceleration of a body at this place. */
    void pullOn(double x, double y, double z, double[] bodies, Pull sum) {
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
                cell.pullOn(x, y, z, bodies, sum);
            }
        }
    }
}
