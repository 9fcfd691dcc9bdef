/** A kernel with its input, in two forms that compute the same result from the same data. */
interface Kernel {
    /** Creates fresh data. Not timed. */
    void prepare();

    /** Runs the sequential form, plain Java without tasks: the baseline. */
    void runSequentially();

    /** Runs the form with tasks. Called on a worker, whose pool then runs the tasks. */
    void runInParallel();

    /** Returns the result of the last run. */
    String answer();

    /** Whether the result of the last run is right. Not timed. */
    boolean isRight();
}
