//! Unbalanced tree search: counting a tree that unfolds from hash values.

use bytemuck::{Pod, Zeroable};
use purloin_cluster::{Cluster, Error, Rank, Task};
use purloin_kernels::uts::{NAMES, Size, Stream, TREES, Tree};
use purloin_kernels::{Description, Input, Inputs};

use super::Kernel;

/// To count the subtree of a node.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Node {
    stream: Stream,
    depth: u32,
}

/// The size of a subtree.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Count {
    nodes: u64,
    leaves: u64,
    depth: u64,
}

impl Task for Node {
    type Output = Count;
    type Context = Tree;

    fn run<R: Rank<Self>>(self, mut rank: R) -> Count {
        let children = rank.context().children(&self.stream, self.depth);
        let this = Count {
            nodes: 1,
            leaves: (children == 0).into(),
            depth: self.depth.into(),
        };
        let tasks = (0..children).map(|number| Node {
            stream: self.stream.child(number),
            depth: self.depth + 1,
        });
        rank.spawn_all(tasks, this, |sum, count| Count {
            nodes: sum.nodes + count.nodes,
            leaves: sum.leaves + count.leaves,
            depth: sum.depth.max(count.depth),
        })
    }
}

/// The kernel `uts`.
pub struct Uts {
    tree: Tree,
}

fn size(count: &Count) -> Size {
    Size {
        nodes: count.nodes,
        leaves: count.leaves,
        depth: count.depth as u32,
    }
}

impl Kernel for Uts {
    const DESCRIPTION: Description = Description {
        name: "uts",
        about: "counts an unbalanced tree that unfolds from hash values as it is visited",
        inputs: Inputs::Name(&NAMES),
        default: "T3",
    };

    type Task = Node;

    fn prepare(_: &Cluster, input: Input) -> Result<Self, Error> {
        Ok(Uts {
            tree: TREES[input[0] as usize],
        })
    }

    fn context(&self) -> &Tree {
        &self.tree
    }

    fn root(&self) -> Node {
        Node {
            stream: Stream::root(self.tree.seed),
            depth: 0,
        }
    }

    fn answer(&self, output: &Count) -> String {
        size(output).to_string()
    }

    fn verify(&self, output: &Count) -> bool {
        size(output) == self.tree.size
    }
}
