//! A balanced binary tree of tasks: [`Tree`].

use super::{Step, Workload};
use crate::{Random, Time};

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
    levels: u32,
    step: u32,
}

impl Node {
    fn new(levels: u32) -> Node {
        Node { levels, step: 0 }
    }
}

impl Workload for Tree {
    type Activation = Node;

    fn root(&self) -> Node {
        Node::new(self.depth)
    }

    fn next(&self, node: &mut Node, random: &mut Random) -> Step<Node> {
        node.step += 1;
        match (node.levels, node.step) {
            (0, 1) if self.is_random => Step::Work(self.leaf.scaled(random.exponential())),
            (0, 1) => Step::Work(self.leaf),
            (0, _) => Step::End,
            (levels, 1) => Step::Fork(Node::new(levels - 1)),
            (levels, 2) => Step::Call(Node::new(levels - 1)),
            (_, 3) => Step::Join,
            _ => Step::End,
        }
    }
}
