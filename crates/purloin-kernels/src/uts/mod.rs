//! Unbalanced tree search: counting a tree that unfolds from hash values.
//!
//! A node's children are known only when it is visited, and a subtree may be
//! one leaf or half of the tree: nothing but dynamic load balancing helps.
//! Source: Olivier et al., UTS: an unbalanced tree search benchmark (LCPC
//! 2006). Trees T3 and T3L in Wool, section 5.1; T3L in AsynchWS, Table I, and
//! Channel; T2 in Return barrier, section 3.1.

mod stream;
mod tree;

use std::fmt;

use purloin::Worker;

use crate::kernel::{Answer, Description, Inputs, Kernel};
pub use stream::Stream;
pub use tree::{Shape, TREES, Tree};

/// The size of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Nodes, including the root and the leaves.
    pub nodes: u64,
    /// Nodes without children.
    pub leaves: u64,
    /// The greatest distance of a node from the root.
    pub depth: u32,
}

impl Size {
    fn and(self, other: Size) -> Size {
        Size {
            nodes: self.nodes + other.nodes,
            leaves: self.leaves + other.leaves,
            depth: self.depth.max(other.depth),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Size {
            nodes,
            leaves,
            depth,
        } = self;
        write!(f, "{nodes} nodes, {leaves} leaves, depth {depth}")
    }
}

/// Counts the subtree of `node` of `tree`, which is at `depth`.
pub fn count<W: Worker>(w: W, tree: &Tree, node: Stream, depth: u32) -> Size {
    match tree.children(&node, depth) {
        0 => Size {
            nodes: 1,
            leaves: 1,
            depth,
        },
        children => {
            let below = divide(w, tree, &node, depth + 1, 0, children);
            Size {
                nodes: below.nodes + 1,
                ..below
            }
        }
    }
}

/// Counts the subtrees of `children` children of `parent`, from the `first` on,
/// which are at `depth`.
#[inline(always)]
fn divide<W: Worker>(
    w: W,
    tree: &Tree,
    parent: &Stream,
    depth: u32,
    first: u32,
    children: u32,
) -> Size {
    if children == 1 {
        child(w, tree, parent, depth, first)
    } else {
        branch(w, tree, parent, depth, first, children)
    }
}

#[inline(never)]
fn child<W: Worker>(w: W, tree: &Tree, parent: &Stream, depth: u32, number: u32) -> Size {
    count(w, tree, parent.child(number), depth)
}

#[inline(never)]
fn branch<W: Worker>(
    mut w: W,
    tree: &Tree,
    parent: &Stream,
    depth: u32,
    first: u32,
    children: u32,
) -> Size {
    let half = children / 2;
    let (a, b) = w.join(
        move |w| divide(w, tree, parent, depth, first, half),
        move |w| divide(w, tree, parent, depth, first + half, children - half),
    );
    a.and(b)
}

/// The kernel `uts`.
#[derive(Debug)]
pub struct Uts {
    tree: &'static Tree,
}

impl Kernel for Uts {
    const DESCRIPTION: Description = Description {
        name: "uts",
        about: "counts an unbalanced tree that unfolds from hash values as it is visited",
        inputs: Inputs::Name(&tree::NAMES),
        default: "T3",
    };

    fn prepare(input: u32) -> Self {
        Uts {
            tree: &TREES[input as usize],
        }
    }

    fn run<W: Worker>(&mut self, w: W) -> Answer {
        Answer::Tree(count(w, self.tree, Stream::root(self.tree.seed), 0))
    }

    fn verify(&self, answer: &Answer) -> bool {
        *answer == Answer::Tree(self.tree.size)
    }
}
