import java.util.concurrent.RecursiveAction;

/** A parallel loop: halves its range until no more than a block of items is left. */
final class Loop extends RecursiveAction {
    private static final long serialVersionUID = 1;

    /**
     * So many items make a block where each is the work of a few nanoseconds, and where
     * single ones would cost more as tasks than as work.
     */
    static final int BLOCK = 64;

    /** What is done for the items from one on to before another. */
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

    /** Runs the loop in the pool of the caller, and returns when all items are done. */
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
