//! A balanced binary tree of tasks: [`Tree`].

use super::{Step, Workload};
use crate::Time;
use crate::random::{exponential, nth_unit};

/// A balanced binary tree of tasks. Only its leaves compute.
///
/// Source: Wool, section 4 and Figure 2.
#[derive(Clone, Copy, Debug)]
pub struct Tree {
    /// Number of levels below the root.
    pub depth: u32,
    /// The time of a leaf.
    pub leaf: Time,
    /// Whether the time of a leaf is the mean of an exponential distribution.
    pub is_random: bool,
}

impl Tree {
    /// Returns the tree of Wool's model for this number of cores. It has four leaves per core, or
    /// up to eight if the number of cores is not a power of two. A leaf takes a microsecond on
    /// average, as long as a steal.
    pub fn wool(cores: u32) -> Tree {
        Tree {
            depth: cores.next_power_of_two().ilog2() + 2,
            leaf: Time::from_nanoseconds(1000),
            is_random: true,
        }
    }
}

/// A node of the tree and its progress.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// Number of levels below the node.
    levels: u8,
    /// Number of steps that the node has done.
    step: u8,
    /// Number of nodes of the same level on the left.
    place: u32,
}

impl Node {
    fn child(self, side: u32) -> Node {
        Node {
            levels: self.levels - 1,
            step: 0,
            place: 2 * self.place + side,
        }
    }
}

impl Workload for Tree {
    type Activation = Node;

    fn root(&self) -> Node {
        Node {
            levels: self.depth.try_into().expect("less than 256 levels"),
            step: 0,
            place: 0,
        }
    }

    fn next(&self, node: &mut Node, seed: u64) -> Step<Node> {
        let this = *node;
        node.step += 1;
        match (node.levels, node.step) {
            (0, 1) if self.is_random => {
                let random = exponential(nth_unit(seed, this.place.into()));
                Step::Work(self.leaf.scaled(random))
            }
            (0, 1) => Step::Work(self.leaf),
            (0, _) => Step::End,
            (_, 1) => Step::Fork(this.child(1)),
            (_, 2) => Step::Call(this.child(0)),
            (_, 3) => Step::Join,
            _ => Step::End,
        }
    }
}
