import java.util.concurrent.RecursiveAction;

/** A parallel loop: halves its range until a task has at most a block of items. */
final class Loop extends RecursiveAction {
    private static final long serialVersionUID = 1;

    /**
     * The block size for items of a few nanoseconds, for which a task of one item would cost more
     * than its work.
     */
    static final int BLOCK = 64;

    /** The body of a loop: processes the items from {@code from} until before {@code to}. */
    interface Body {
        void run(int from, int to);
    }

    private final int from;
    private final int to;
    private final int block;
    private final transient Body body;

    private Loop(int from, int to, int block, Body body) {
        this.from = from;
        this.to = to;
        this.block = block;
        this.body = body;
    }

    /** Runs the loop in the pool of the calling worker; returns when all items are done. */
    static void run(int from, int to, int block, Body body) {
        new Loop(from, to, block, body).compute();
    }

    @Override
    protected void compute() {
        if (to - from <= block) {
            body.run(from, to);
            return;
        }
        int middle = (from + to) >>> 1;
        Loop high = new Loop(middle, to, block, body);
        high.fork();
        new Loop(from, middle, block, body).compute();
        high.join();
    }
}
