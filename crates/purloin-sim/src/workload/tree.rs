//! A balanced binary tree of tasks: [`Tree`].

use super::{Step, Workload};
use crate::Time;
use crate::random::{exponential, nth_unit};

/// A balanced binary tree of tasks whose leaves work.
///
/// Source: Wool, section 4 and Figure 2.
#[derive(Clone, Copy, Debug)]
pub struct Tree {
    /// How many levels there are below the root.
    pub depth: u32,
    /// What a leaf takes.
    pub leaf: Time,
    /// Whether that is the mean of an exponential distribution.
    pub is_random: bool,
}

impl Tree {
    /// The one of the paper's model for so many cores: four leaves for each of them, or up to
    /// eight where they are no power of two. A leaf takes a microsecond, as a steal does.
    pub fn wool(cores: u32) -> Tree {
        Tree {
            depth: cores.next_power_of_two().ilog2() + 2,
            leaf: Time::from_nanoseconds(1000),
            is_random: true,
        }
    }
}

/// A node of the tree, and how far it is.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    levels: u8,
    step: u8,
    /// How many of its level are on its left.
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
