import java.util.function.IntUnaryOperator;

/** Work of a chosen duration, and the results of pieces of such work. */
final class Work {
    private Work() {}

    /**
     * Does a number of steps of dependent arithmetic, which the compiler cannot shorten. Returns a
     * number that depends on all steps and is never 0.
     */
    static int steps(long count, long seed) {
        long state = seed;
        for (long i = 0; i < count; i++) {
            // A step of Knuth's linear congruential generator.
            state = state * 6_364_136_223_846_793_005L + 1_442_695_040_888_963_407L;
        }
        return (int) (state >>> 32) | 1;
    }

    /**
     * Measures how many steps an undisturbed core of this machine does in a microsecond. It repeats
     * the measurement often enough for the virtual machine to compile the steps.
     */
    static long stepsPerMicrosecond() {
        int count = 50_000;
        long shortest = Long.MAX_VALUE;
        int used = 0;
        for (int seed = 0; seed < 1000; seed++) {
            long start = System.nanoTime();
            used |= steps(count, seed);
            shortest = Math.min(shortest, System.nanoTime() - start);
        }
        // The condition never holds. It keeps the compiler from removing the steps.
        return used == 0 ? 0 : count * 1000L / shortest;
    }

    /** Reads a number of microseconds, and returns the number of steps that take as long. */
    static long microseconds(Input input, String what) {
        return input.number(what, 0, 1_000_000) * stepsPerMicrosecond();
    }

    /** Returns the number of pieces that have done their work. The result of such a piece is not 0. */
    static int done(int[] results) {
        int done = 0;
        for (int result : results) {
            done += result != 0 ? 1 : 0;
        }
        return done;
    }

    /** Returns whether a sample of the pieces has the expected results. */
    static boolean areRight(int[] results, IntUnaryOperator expected) {
        for (int i = 0; i < results.length; i += results.length / 16 + 1) {
            if (results[i] != expected.applyAsInt(i)) {
                return false;
            }
        }
        return true;
    }
}
