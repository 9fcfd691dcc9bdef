import java.util.concurrent.RecursiveAction;

/** Counts all ways to place n queens on a board, by depth-first search. */
final class Nqueens implements Kernel {
    /** The numbers of solutions for boards of 0 to 16 rows. */
    private static final long[] SOLUTIONS = {
        1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2_680, 14_200, 73_712, 365_596, 2_279_184, 14_772_512
    };

    private final int size;
    private long result;

    Nqueens(Input input) {
        size = input.number("queens", 1, Board.LARGEST);
        input.end();
    }

    @Override
    public void prepare() {}

    @Override
    public void runSequentially() {
        result = solutions(new Board(size));
    }

    private static long solutions(Board board) {
        if (board.isComplete()) {
            return 1;
        }
        byte[] safe = new byte[Board.LARGEST];
        int count = board.safeColumns(safe);
        long sum = 0;
        for (int i = 0; i < count; i++) {
            sum += solutions(board.with(safe[i]));
        }
        return sum;
    }

    @Override
    public void runInParallel() {
        result = Search.solutions(new Board(size));
    }

    /**
     * Counts the solutions whose next queen is on one of a range of columns: it places a single
     * queen, and halves a larger range. The task holds its own result, which saves an object.
     */
    private static final class Search extends RecursiveAction {
        private static final long serialVersionUID = 1;

        private final transient Board board;
        private final byte[] columns;
        private final int from;
        private final int to;
        private long result;

        Search(Board board, byte[] columns, int from, int to) {
            this.board = board;
            this.columns = columns;
            this.from = from;
            this.to = to;
        }

        static long solutions(Board board) {
            if (board.isComplete()) {
                return 1;
            }
            // Checks for attacks before it makes tasks, so that no task ends at once in a conflict.
            byte[] safe = new byte[Board.LARGEST];
            int count = board.safeColumns(safe);
            return count == 0 ? 0 : new Search(board, safe, 0, count).call();
        }

        @Override
        protected void compute() {
            if (to - from == 1) {
                result = solutions(board.with(columns[from]));
                return;
            }
            int middle = (from + to) / 2;
            Search high = new Search(board, columns, middle, to);
            high.fork();
            long low = new Search(board, columns, from, middle).call();
            high.join();
            result = low + high.result;
        }

        /** Runs the task at once and returns its result. */
        private long call() {
            compute();
            return result;
        }
    }

    @Override
    public String answer() {
        return Long.toString(result);
    }

    @Override
    public boolean isRight() {
        return result == SOLUTIONS[size];
    }
}
