//! The sum over a tree of boxes that is larger than the caches.
//!
//! Each node is made after its children, so the right child of a node lies just below it, and the left child below the
//! whole right tree. With the right child first, the addresses fall from node to node.

use std::sync::LazyLock;

use purloin::Worker;

use crate::Row;
use crate::contestants::{row, timed};

pub const ROWS: &[Row] = &[
    row!("tree of 2^21 boxes, left first", sum_timed, |pools| {
        "serial": serial::<false>(&TREE),
        "token": pools.purloin.run(|w| token::<false, _>(w, &TREE)),
        "free": pools.purloin.run(|_| free::<false>(&TREE)),
        "chili": chili::<false>(&mut pools.chili.scope(), &TREE),
        "rayon": pools.rayon.install(|| rayon::<false>(&TREE)),
    }),
    row!("tree of 2^21 boxes, right first", sum_timed, |pools| {
        "serial": serial::<true>(&TREE),
        "token": pools.purloin.run(|w| token::<true, _>(w, &TREE)),
        "free": pools.purloin.run(|_| free::<true>(&TREE)),
        "chili": chili::<true>(&mut pools.chili.scope(), &TREE),
        "rayon": pools.rayon.install(|| rayon::<true>(&TREE)),
    }),
];

type Tree = Option<Box<Node>>;

struct Node {
    left: Tree,
    right: Tree,
    value: u64,
}

const DEPTH: u32 = 21;
static TREE: LazyLock<Tree> = LazyLock::new(|| make(DEPTH));

fn make(depth: u32) -> Tree {
    let below = depth.checked_sub(1)?;
    let (left, right) = (make(below), make(below));
    Some(Box::new(Node {
        left,
        right,
        value: 1,
    }))
}

fn sum_timed(f: impl FnOnce() -> u64) -> Option<f64> {
    // The tree is made before the clock runs.
    LazyLock::force(&TREE);
    timed((1 << DEPTH) - 1, f)
}

impl Node {
    /// Returns the children in the order in which a program visits them.
    fn children<const RIGHT_FIRST: bool>(&self) -> (&Tree, &Tree) {
        match RIGHT_FIRST {
            true => (&self.right, &self.left),
            false => (&self.left, &self.right),
        }
    }
}

fn serial<const RIGHT_FIRST: bool>(tree: &Tree) -> u64 {
    let Some(node) = tree else { return 0 };
    let (a, b) = node.children::<RIGHT_FIRST>();
    let a = serial::<RIGHT_FIRST>(a);
    node.value + a + serial::<RIGHT_FIRST>(b)
}

fn token<const RIGHT_FIRST: bool, W: Worker>(mut w: W, tree: &Tree) -> u64 {
    let Some(node) = tree else { return 0 };
    let (a, b) = node.children::<RIGHT_FIRST>();
    let (a, b) = w.join(
        |w| token::<RIGHT_FIRST, _>(w, a),
        |w| token::<RIGHT_FIRST, _>(w, b),
    );
    node.value + a + b
}

fn chili<const RIGHT_FIRST: bool>(scope: &mut chili::Scope<'_>, tree: &Tree) -> u64 {
    let Some(node) = tree else { return 0 };
    // chili runs the second closure first.
    let (b, a) = node.children::<RIGHT_FIRST>();
    let (a, b) = scope.join(
        |s| chili::<RIGHT_FIRST>(s, a),
        |s| chili::<RIGHT_FIRST>(s, b),
    );
    node.value + a + b
}

/// Defines the sum for a library whose joins take no token.
macro_rules! token_free {
    ($name:ident, $join:path) => {
        fn $name<const RIGHT_FIRST: bool>(tree: &Tree) -> u64 {
            let Some(node) = tree else { return 0 };
            let (a, b) = node.children::<RIGHT_FIRST>();
            let (a, b) = $join(|| $name::<RIGHT_FIRST>(a), || $name::<RIGHT_FIRST>(b));
            node.value + a + b
        }
    };
}

token_free!(free, purloin::join);
token_free!(rayon, rayon::join);
