//! The trees of UTS: the number of children of a node, and the sample trees.

use std::f64::consts::TAU;

use super::{Size, Stream};

/// Maximum number of children of a node of a geometric tree.
const MAX_CHILDREN: u32 = 100;

/// An unbalanced tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tree {
    /// The seed of the root's stream.
    pub seed: u32,
    /// The expected number of children of the root.
    pub root_branching: f64,
    /// The distribution of the number of children of the other nodes.
    pub shape: Shape,
    /// The size of the tree, as published with UTS.
    pub size: Size,
}

/// The distribution that turns a node's random value into its number of children.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// A fixed number of children or none. The sizes of subtrees vary extremely, and in the same
    /// way at every depth.
    Binomial {
        /// The number of children, if there are any.
        children: u32,
        /// The probability that a node has children.
        probability: f64,
    },
    /// A geometric distribution with the same mean down to a fixed depth.
    GeometricFixed {
        /// The depth at which all nodes are leaves.
        depth: u32,
    },
    /// A geometric distribution whose mean rises and falls with the depth.
    GeometricCyclic {
        /// The period of the mean, in levels. Nodes deeper than five periods are leaves.
        period: u32,
    },
}

impl Tree {
    /// Returns the number of children of `node`, which is at `depth`.
    #[inline(never)]
    pub fn children(&self, node: &Stream, depth: u32) -> u32 {
        match self.shape {
            Shape::Binomial { .. } if depth == 0 => self.root_branching as u32,
            Shape::Binomial {
                children,
                probability,
            } => {
                if node.probability() < probability {
                    children
                } else {
                    0
                }
            }
            Shape::GeometricFixed { depth: last } => {
                if depth < last {
                    geometric(node, self.root_branching)
                } else {
                    0
                }
            }
            Shape::GeometricCyclic { .. } if depth == 0 => geometric(node, self.root_branching),
            Shape::GeometricCyclic { period } => {
                if depth <= 5 * period {
                    let phase = TAU * f64::from(depth) / f64::from(period);
                    geometric(node, self.root_branching.powf(phase.sin()))
                } else {
                    0
                }
            }
        }
    }
}

/// Returns a geometrically distributed number of children with this mean.
fn geometric(node: &Stream, mean: f64) -> u32 {
    let stop = 1.0 / (1.0 + mean);
    let children = (1.0 - node.probability()).ln() / (1.0 - stop).ln();
    (children as u32).min(MAX_CHILDREN)
}

/// The names of [`TREES`].
pub const NAMES: [&str; 4] = ["T1", "T2", "T3", "T3L"];

/// The sample trees T1, T2, T3 and T3L of UTS.
pub static TREES: [Tree; NAMES.len()] = [
    Tree {
        seed: 19,
        root_branching: 4.0,
        shape: Shape::GeometricFixed { depth: 10 },
        size: Size {
            nodes: 4_130_071,
            leaves: 3_305_118,
            depth: 10,
        },
    },
    Tree {
        seed: 502,
        root_branching: 6.0,
        shape: Shape::GeometricCyclic { period: 16 },
        size: Size {
            nodes: 4_117_769,
            leaves: 2_342_762,
            depth: 81,
        },
    },
    Tree {
        seed: 42,
        root_branching: 2000.0,
        shape: Shape::Binomial {
            children: 8,
            probability: 0.124875,
        },
        size: Size {
            nodes: 4_112_897,
            leaves: 3_599_034,
            depth: 1572,
        },
    },
    Tree {
        seed: 7,
        root_branching: 2000.0,
        shape: Shape::Binomial {
            children: 5,
            probability: 0.200014,
        },
        size: Size {
            nodes: 111_345_631,
            leaves: 89_076_904,
            depth: 17_844,
        },
    },
];
