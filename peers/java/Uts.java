import java.util.concurrent.RecursiveAction;

/**
 * Unbalanced tree search: counts the nodes of a tree that is generated from hash values.
 *
 * <p>The children of a node are known only when it is visited, and a subtree may be one leaf or
 * half of the tree. So only dynamic load balancing keeps all workers busy.
 */
final class Uts implements Kernel {
    private final Tree tree;
    private long nodes;
    private long leaves;
    private int depth;

    Uts(Input input) {
        String name = input.name();
        input.end();
        try {
            tree = Tree.valueOf(name);
        } catch (IllegalArgumentException e) {
            throw new UsageError("uts: the tree must be T1, T2, T3 or T3L, not '" + name + "'");
        }
    }

    @Override
    public void prepare() {
        nodes = 0;
        leaves = 0;
        depth = 0;
    }

    @Override
    public void runSequentially() {
        count(Node.root(tree.seed));
    }

    private void count(Node node) {
        nodes++;
        depth = Math.max(depth, node.depth);
        int children = tree.children(node);
        if (children == 0) {
            leaves++;
        }
        for (int number = 0; number < children; number++) {
            count(node.child(number));
        }
    }

    @Override
    public void runInParallel() {
        Count count = new Count(tree, null, 0, 0);
        count.visit(Node.root(tree.seed));
        nodes = count.nodes;
        leaves = count.leaves;
        depth = count.depth;
    }

    /**
     * Counts the subtrees of a range of children of a node: it visits a single child, and halves a
     * larger range. The task holds its own result, which saves an object.
     */
    private static final class Count extends RecursiveAction {
        private static final long serialVersionUID = 1;

        private final Tree tree;
        private final transient Node parent;
        private final int first;
        private final int children;
        long nodes;
        long leaves;
        int depth;

        Count(Tree tree, Node parent, int first, int children) {
            this.tree = tree;
            this.parent = parent;
            this.first = first;
            this.children = children;
        }

        @Override
        protected void compute() {
            if (children == 1) {
                visit(parent.child(first));
            } else {
                halve(parent, first, children);
            }
        }

        void visit(Node node) {
            int children = tree.children(node);
            if (children == 0) {
                leaves = 1;
                depth = node.depth;
            } else if (children == 1) {
                visit(node.child(0));
            } else {
                halve(node, 0, children);
            }
            nodes++;
        }

        private void halve(Node parent, int first, int children) {
            int half = children / 2;
            Count high = new Count(tree, parent, first + half, children - half);
            high.fork();
            Count low = new Count(tree, parent, first, half);
            low.compute();
            high.join();
            nodes = low.nodes + high.nodes;
            leaves = low.leaves + high.leaves;
            depth = Math.max(low.depth, high.depth);
        }
    }

    @Override
    public String answer() {
        return nodes + " nodes, " + leaves + " leaves, depth " + depth;
    }

    @Override
    public boolean isRight() {
        return nodes == tree.nodes && leaves == tree.leaves && depth == tree.depth;
    }
}
