/** LU decomposition of a dense matrix, in blocks. */
final class Lud implements Kernel {
    /** Rows and columns of a block: 2 KiB, so that three blocks fit into the first-level cache. */
    private static final int SIDE = 16;

    private static final int BLOCK = SIDE * SIDE;

    /** The number of blocks in a row. */
    private final int side;

    /** The blocks row by row, each with its numbers row by row. */
    private final double[] blocks;

    Lud(Input input) {
        side = input.number("blocks in a row", 1, 512);
        input.end();
        blocks = new double[side * side * BLOCK];
    }

    @Override
    public void prepare() {
        fill(blocks);
    }

    /**
     * Fills the matrix with random numbers. The diagonal is larger than the sum of its row, so that
     * the decomposition needs no exchange of rows.
     */
    private void fill(double[] blocks) {
        Random random = new Random(side);
        for (int i = 0; i < blocks.length; i++) {
            blocks[i] = random.real() - 0.5;
        }
        for (int i = 0; i < side * SIDE; i++) {
            blocks[place(i, i)] += side * SIDE;
        }
    }

    /** Returns the index of the number in this row and column. */
    private int place(int i, int j) {
        return block(i / SIDE, j / SIDE) + i % SIDE * SIDE + j % SIDE;
    }

    /** Returns the index of the block in this row and column of blocks. */
    private int block(int i, int j) {
        return (i * side + j) * BLOCK;
    }

    @Override
    public void runSequentially() {
        for (int k = 0; k < side; k++) {
            factor(blocks, block(k, k));
            for (int j = k + 1; j < side; j++) {
                solveLower(blocks, block(k, j), block(k, k));
            }
            for (int i = k + 1; i < side; i++) {
                reduce(i, k);
            }
        }
    }

    @Override
    public void runInParallel() {
        for (int step = 0; step < side; step++) {
            int k = step;
            factor(blocks, block(k, k));
            Loop.run(k + 1, side, 1, (j, end) -> {
                for (; j < end; j++) {
                    solveLower(blocks, block(k, j), block(k, k));
                }
            });
            Loop.run(k + 1, side, 1, (i, end) -> {
                for (; i < end; i++) {
                    reduce(i, k);
                }
            });
        }
    }

    /** Updates row {@code i} of blocks after row {@code k} has been decomposed. */
    private void reduce(int i, int k) {
        solveUpper(blocks, block(i, k), block(k, k));
        for (int j = k + 1; j < side; j++) {
            subtractProduct(blocks, block(i, j), block(i, k), block(k, j));
        }
    }

    /**
     * Replaces the block by its factors: <i>l</i> below the diagonal, whose own diagonal of ones is
     * not stored, and <i>u</i>.
     */
    private static void factor(double[] a, int block) {
        for (int k = 0; k < SIDE; k++) {
            int pivot = block + k * SIDE;
            for (int row = pivot + SIDE; row < block + BLOCK; row += SIDE) {
                double factor = a[row + k] /= a[pivot + k];
                for (int j = k + 1; j < SIDE; j++) {
                    a[row + j] -= factor * a[pivot + j];
                }
            }
        }
    }

    /**
     * Replaces the block <i>b</i> by the solution of <i>l x = b</i>, with the <i>l</i> of
     * {@code factors}.
     */
    private static void solveLower(double[] a, int block, int factors) {
        for (int k = 0; k < SIDE; k++) {
            int above = block + k * SIDE;
            for (int i = k + 1; i < SIDE; i++) {
                int row = block + i * SIDE;
                double factor = a[factors + i * SIDE + k];
                for (int j = 0; j < SIDE; j++) {
                    a[row + j] -= factor * a[above + j];
                }
            }
        }
    }

    /**
     * Replaces the block <i>b</i> by the solution of <i>x u = b</i>, with the <i>u</i> of
     * {@code factors}.
     */
    private static void solveUpper(double[] a, int block, int factors) {
        for (int row = block; row < block + BLOCK; row += SIDE) {
            for (int k = 0; k < SIDE; k++) {
                int pivot = factors + k * SIDE;
                double factor = a[row + k] /= a[pivot + k];
                for (int j = k + 1; j < SIDE; j++) {
                    a[row + j] -= factor * a[pivot + j];
                }
            }
        }
    }

    /**
     * Subtracts {@code left} times {@code right} from the block, by two rows and two columns at a
     * time, so that each number that is loaded is used twice.
     */
    private static void subtractProduct(double[] a, int block, int left, int right) {
        for (int i = 0; i < SIDE; i += 2) {
            for (int j = 0; j < SIDE; j += 2) {
                int at = block + i * SIDE + j;
                double upperLeft = a[at];
                double upperRight = a[at + 1];
                double lowerLeft = a[at + SIDE];
                double lowerRight = a[at + SIDE + 1];
                for (int k = 0; k < SIDE; k++) {
                    double upper = a[left + i * SIDE + k];
                    double lower = a[left + i * SIDE + SIDE + k];
                    double first = a[right + k * SIDE + j];
                    double second = a[right + k * SIDE + j + 1];
                    upperLeft -= upper * first;
                    upperRight -= upper * second;
                    lowerLeft -= lower * first;
                    lowerRight -= lower * second;
                }
                a[at] = upperLeft;
                a[at + 1] = upperRight;
                a[at + SIDE] = lowerLeft;
                a[at + SIDE + 1] = lowerRight;
            }
        }
    }

    @Override
    public String answer() {
        return Integer.toString(side * SIDE);
    }

    /** Checks in some rows that <i>l u</i> is the matrix. */
    @Override
    public boolean isRight() {
        double[] before = new double[blocks.length];
        fill(before);
        int length = side * SIDE;
        for (int i = 0; i < length; i += length / 16) {
            if (!isRight(before, i)) {
                return false;
            }
        }
        return isRight(before, length - 1);
    }

    private boolean isRight(double[] before, int i) {
        for (int j = 0; j < side * SIDE; j++) {
            double sum = i <= j ? blocks[place(i, j)] : 0.0;
            for (int k = 0; k < i && k <= j; k++) {
                sum += blocks[place(i, k)] * blocks[place(k, j)];
            }
            // Negated, so that NaN counts as wrong.
            if (!(Math.abs(sum - before[place(i, j)]) < 1e-9 * (side * SIDE))) {
                return false;
            }
        }
        return true;
    }
}
