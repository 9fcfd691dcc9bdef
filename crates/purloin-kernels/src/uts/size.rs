//! The size of a tree.

use std::fmt;

/// The size of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Number of nodes, including the root and the leaves.
    pub nodes: u64,
    /// Number of nodes without children.
    pub leaves: u64,
    /// The greatest distance of a node from the root.
    pub depth: u32,
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
