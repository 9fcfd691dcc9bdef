/** A kernel with its input, in two forms that compute the same from the same data. */
interface Kernel {
    /** Makes fresh data. Not timed. */
    void prepare();

    /** The yardstick: plain Java that knows nothing of tasks. */
    void runSequentially();

    /** The form with tasks. Called by a worker of a pool, to which its forks go. */
    void runInParallel();

    /** What the last run has computed. */
    String answer();

    /** Whether the last run is right. Not timed. */
    boolean isRight();
}
