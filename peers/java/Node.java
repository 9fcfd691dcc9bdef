/**
 * A node of a UTS tree: a random stream that splits into any number of independent streams. A
 * child's stream is the SHA-1 hash of its parent's hash and the child's number.
 *
 * <p>This class computes the hash itself, on the words of SHA-1. A message with its padding fits
 * into one block, so only one block must be compressed, and the buffers of {@code MessageDigest}
 * would take longer than that.
 */
final class Node {
    private final int a;
    private final int b;
    private final int c;
    private final int d;
    private final int e;
    final int depth;

    /** Returns the root of the tree with this seed. */
    static Node root(int seed) {
        int[] words = new int[16];
        words[4] = seed;
        words[5] = 1 << 31;
        words[15] = 5 * Integer.SIZE;
        return new Node(words, 0);
    }

    /** Returns the child with this number. */
    Node child(int number) {
        int[] words = new int[16];
        words[0] = a;
        words[1] = b;
        words[2] = c;
        words[3] = d;
        words[4] = e;
        words[5] = number;
        words[6] = 1 << 31;
        words[15] = 6 * Integer.SIZE;
        return new Node(words, depth + 1);
    }

    /** Returns the random value of the stream as a probability, from 0 to below 1. */
    double probability() {
        return (e & 0x7fff_ffff) * 0x1p-31;
    }

    /**
     * Hashes one block and overwrites its words. Each of SHA-1's functions has its own loop,
     * because the compiler does not split a loop that chooses among them.
     */
    private Node(int[] words, int depth) {
        int a = 0x6745_2301;
        int b = 0xefcd_ab89;
        int c = 0x98ba_dcfe;
        int d = 0x1032_5476;
        int e = 0xc3d2_e1f0;
        for (int i = 0; i < 16; i++) {
            int mix = d ^ b & (c ^ d);
            int next = Integer.rotateLeft(a, 5) + mix + 0x5a82_7999 + e + words[i];
            e = d;
            d = c;
            c = Integer.rotateLeft(b, 30);
            b = a;
            a = next;
        }
        for (int i = 16; i < 20; i++) {
            int mix = d ^ b & (c ^ d);
            int next = Integer.rotateLeft(a, 5) + mix + 0x5a82_7999 + e + word(words, i);
            e = d;
            d = c;
            c = Integer.rotateLeft(b, 30);
            b = a;
            a = next;
        }
        for (int i = 20; i < 40; i++) {
            int mix = b ^ c ^ d;
            int next = Integer.rotateLeft(a, 5) + mix + 0x6ed9_eba1 + e + word(words, i);
            e = d;
            d = c;
            c = Integer.rotateLeft(b, 30);
            b = a;
            a = next;
        }
        for (int i = 40; i < 60; i++) {
            int mix = b & c | d & (b | c);
            int next = Integer.rotateLeft(a, 5) + mix + 0x8f1b_bcdc + e + word(words, i);
            e = d;
            d = c;
            c = Integer.rotateLeft(b, 30);
            b = a;
            a = next;
        }
        for (int i = 60; i < 80; i++) {
            int mix = b ^ c ^ d;
            int next = Integer.rotateLeft(a, 5) + mix + 0xca62_c1d6 + e + word(words, i);
            e = d;
            d = c;
            c = Integer.rotateLeft(b, 30);
            b = a;
            a = next;
        }
        this.a = a + 0x6745_2301;
        this.b = b + 0xefcd_ab89;
        this.c = c + 0x98ba_dcfe;
        this.d = d + 0x1032_5476;
        this.e = e + 0xc3d2_e1f0;
        this.depth = depth;
    }

    /** Computes word {@code i} of the message schedule; the array holds the last sixteen words. */
    private static int word(int[] words, int i) {
        int mix = words[i - 3 & 15] ^ words[i - 8 & 15] ^ words[i - 14 & 15] ^ words[i & 15];
        return words[i & 15] = Integer.rotateLeft(mix, 1);
    }
}
