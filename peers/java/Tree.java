/** The sample trees of UTS, and the number of children of their nodes. */
enum Tree {
    /** A geometric distribution with the same mean at every node, down to depth 10. */
    T1(19, 4_130_071, 3_305_118, 10) {
        @Override
        int children(Node node) {
            return node.depth < 10 ? geometric(node, 4.0) : 0;
        }
    },

    /** A geometric distribution whose mean rises and falls with the depth. */
    T2(502, 4_117_769, 2_342_762, 81) {
        private static final int PERIOD = 16;

        @Override
        int children(Node node) {
            if (node.depth == 0) {
                return geometric(node, 6.0);
            }
            if (node.depth > 5 * PERIOD) {
                return 0;
            }
            double phase = 2.0 * Math.PI * node.depth / PERIOD;
            return geometric(node, Math.pow(6.0, Math.sin(phase)));
        }
    },

    /**
     * A binomial tree: a node below the root has eight children or none. The sizes of subtrees vary
     * extremely, and in the same way at every depth.
     */
    T3(42, 4_112_897, 3_599_034, 1572) {
        @Override
        int children(Node node) {
            return binomial(node, 8, 0.124875);
        }
    },

    /** A binomial tree that is larger and deeper than T3. */
    T3L(7, 111_345_631, 89_076_904, 17_844) {
        @Override
        int children(Node node) {
            return binomial(node, 5, 0.200014);
        }
    };

    /** The maximum number of children of a node of a geometric tree. */
    private static final int MAX_CHILDREN = 100;

    /** The seed of the root's stream. */
    final int seed;

    // The size of the tree, as published with UTS.
    final long nodes;
    final long leaves;
    final int depth;

    Tree(int seed, long nodes, long leaves, int depth) {
        this.seed = seed;
        this.nodes = nodes;
        this.leaves = leaves;
        this.depth = depth;
    }

    /** Returns the number of children of a node of this tree. */
    abstract int children(Node node);

    /** Returns a geometrically distributed number of children with this mean. */
    private static int geometric(Node node, double mean) {
        double stop = 1.0 / (1.0 + mean);
        int children = (int) (Math.log(1.0 - node.probability()) / Math.log(1.0 - stop));
        return Math.min(children, MAX_CHILDREN);
    }

    /** Returns {@code children} with this probability, otherwise 0; the root has 2000. */
    private static int binomial(Node node, int children, double probability) {
        if (node.depth == 0) {
            return 2000;
        }
        return node.probability() < probability ? children : 0;
    }
}
