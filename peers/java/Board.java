/** A square board with queens on its first rows. No queen attacks another one. */
final class Board {
    static final int LARGEST = 16;

    private final int size;

    /** The column of each row's queen. */
    private final byte[] columns;

    /** Creates a board without queens. */
    Board(int size) {
        this(size, new byte[0]);
    }

    private Board(int size, byte[] columns) {
        this.size = size;
        this.columns = columns;
    }

    boolean isComplete() {
        return columns.length == size;
    }

    /**
     * Writes the columns of the next row that no queen attacks to {@code safe}, and returns their
     * number.
     */
    int safeColumns(byte[] safe) {
        int count = 0;
        for (byte column = 0; column < size; column++) {
            if (isSafe(column)) {
                safe[count++] = column;
            }
        }
        return count;
    }

    private boolean isSafe(int column) {
        for (int distance = 1; distance <= columns.length; distance++) {
            int queen = columns[columns.length - distance];
            if (queen == column || queen + distance == column || column + distance == queen) {
                return false;
            }
        }
        return true;
    }

    /** Returns this board with a queen on this column of the next row. */
    Board with(byte column) {
        byte[] longer = new byte[columns.length + 1];
        System.arraycopy(columns, 0, longer, 0, columns.length);
        longer[columns.length] = column;
        return new Board(size, longer);
    }
}
