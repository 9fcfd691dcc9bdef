/**
 * Pseudorandom numbers that are the same in each run: Marsaglia's xorshift generator with 64 bits
 * of state.
 */
final class Random {
    private long state;

    /** Starts a sequence that depends on the seed. */
    Random(long seed) {
        // Not 0: xorshift would stay at 0 for ever.
        state = seed * 0xd134_2543_de82_ef95L ^ 0x9e37_79b9_7f4a_7c15L | 1;
    }

    /** Returns 32 unsigned bits: the upper half of the state, which is the more random one. */
    int number() {
        state ^= state << 13;
        state ^= state >>> 7;
        state ^= state << 17;
        return (int) (state >>> 32);
    }

    /** Returns a number from 0 to below 1. */
    double real() {
        return Integer.toUnsignedLong(number()) * 0x1p-32;
    }

    /**
     * Hashes a number with a single multiplication. It is cheap enough for a loop body of about a
     * nanosecond, and too weak for anything else.
     */
    static long cheapHash(long number) {
        long mixed = (number ^ number >>> 15) * 0x9e37_79b9_7f4a_7c15L;
        return mixed ^ mixed >>> 32;
    }
}
