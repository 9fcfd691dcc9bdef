//! Unbalanced tree search: counting the nodes of a tree that hash values generate.
//!
//! The number of a node's children is known only when a worker visits the node. A subtree may be a
//! single leaf or half of the tree, so that only dynamic load balancing helps.
//!
//! Source: Olivier et al., *UTS: an unbalanced tree search benchmark* (LCPC 2006). Trees T3 and T3L
//! are in Wool, section 5.1; T3L is in AsynchWS, Table I, and in Channel; T2 is in Return barrier,
//! section 3.1.

pub(crate) mod size;
mod stream;
mod tree;

use purloin::Worker;

use crate::kernel::{Answer, Description, Input, Inputs, Kernel};
pub use size::Size;
pub use stream::Stream;
pub use tree::{NAMES, Shape, TREES, Tree};

/// A node of a tree.
#[derive(Clone, Copy, Debug)]
pub struct Node<'t> {
    tree: &'t Tree,
    stream: Stream,
    depth: u32,
}

impl<'t> Node<'t> {
    /// Returns the root of `tree`.
    pub fn root(tree: &'t Tree) -> Self {
        Node {
            tree,
            stream: Stream::root(tree.seed),
            depth: 0,
        }
    }

    fn child(&self, number: u32) -> Self {
        Node {
            tree: self.tree,
            stream: self.stream.child(number),
            depth: self.depth + 1,
        }
    }
}

/// Counts the nodes of the subtree of `node`. It must have fewer than 2³² nodes.
pub fn count<W: Worker>(w: W, node: &Node<'_>) -> Size {
    let Tally { counts, depth } = tally(w, node);
    Size {
        nodes: counts >> 32,
        leaves: counts & u64::from(u32::MAX),
        depth,
    }
}

/// A [`Size`] in two registers.
///
/// A larger result is returned through memory: it is written in pieces and read back as a whole.
/// Processors cannot forward such a read from their store buffers, and the delay would cost more
/// than the rest of a join.
#[derive(Clone, Copy)]
struct Tally {
    /// Nodes in the upper half and leaves in the lower half, so that one addition sums both.
    counts: u64,
    depth: u32,
}

const NODE: u64 = 1 << 32;
const LEAF: u64 = 1;

fn tally<W: Worker>(w: W, node: &Node<'_>) -> Tally {
    match node.tree.children(&node.stream, node.depth) {
        0 => Tally {
            counts: NODE + LEAF,
            depth: node.depth,
        },
        children => {
            let below = divide(w, node, 0, children);
            Tally {
                counts: below.counts + NODE,
                depth: below.depth,
            }
        }
    }
}

/// Counts the subtrees of `children` children of `parent`, from child `first` on.
///
/// Up to four frames are on the stack for each level of the tree, so they have to be small. Only
/// the frame of [`child`] contains a node.
#[inline(always)]
fn divide<W: Worker>(w: W, parent: &Node<'_>, first: u32, children: u32) -> Tally {
    if children == 1 {
        child(w, parent, first)
    } else {
        branch(w, parent, first, children)
    }
}

#[inline(never)]
fn child<W: Worker>(w: W, parent: &Node<'_>, number: u32) -> Tally {
    tally(w, &parent.child(number))
}

#[inline(never)]
fn branch<W: Worker>(mut w: W, parent: &Node<'_>, first: u32, children: u32) -> Tally {
    let half = children / 2;
    let (a, b) = w.join(
        move |w| divide(w, parent, first, half),
        move |w| divide(w, parent, first + half, children - half),
    );
    Tally {
        counts: a.counts + b.counts,
        depth: a.depth.max(b.depth),
    }
}

/// The kernel `uts`.
#[derive(Debug)]
pub struct Uts {
    tree: &'static Tree,
}

impl Kernel for Uts {
    const DESCRIPTION: Description = Description {
        name: "uts",
        about: "number of nodes of an unbalanced tree that is generated from hash values",
        inputs: Inputs::Name(&NAMES),
        default: "T3",
    };

    fn prepare(input: Input) -> Self {
        let input = input[0];
        Uts {
            tree: &TREES[input as usize],
        }
    }

    fn run<W: Worker>(&mut self, w: W) -> Answer {
        Answer::Tree(count(w, &Node::root(self.tree)))
    }

    fn verify(&self, answer: &Answer) -> bool {
        *answer == Answer::Tree(self.tree.size)
    }
}
