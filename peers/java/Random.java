/**
 * Numbers that look random, the same in each run: Marsaglia's xorshift generator with
 * 64 bits of state.
 */
final class Random {
    private long state;

    /** A sequence of its own for each seed. */
    Random(long seed) {
        // A state of zero would stay so.
        state = seed * 0xd134_2543_de82_ef95L ^ 0x9e37_79b9_7f4a_7c15L | 1;
    }

    /** The upper half of the state, which is the better one: 32 bits without a sign. */
    int number() {
        state ^= state << 13;
        state ^= state >>> 7;
        state ^= state << 17;
        return (int) (state >>> 32);
    }

    /** From 0 to below 1. */
    double real() {
        return Integer.toUnsignedLong(number()) * 0x1p-32;
    }
}
