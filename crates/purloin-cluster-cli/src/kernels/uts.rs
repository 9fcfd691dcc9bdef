//! Unbalanced tree search: the size of a tree whose shape follows from hash values.

use bytemuck::{Pod, Zeroable};
use purloin_cluster::{Cluster, Error, Rank, Task};
use purloin_kernels::uts::{Size, Stream, TREES, Tree};
use purloin_kernels::{Description, Input, uts};

use super::Kernel;

/// The task that counts the nodes in the subtrees of some siblings.
///
/// A task comprises several siblings because most of them are leaves. A thief that steals half of
/// the siblings gets more work than one leaf.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Siblings {
    parent: Node,
    /// The number of the first sibling, and the number of siblings.
    first: u32,
    count: u32,
}

/// A node and its distance from the root.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Node {
    stream: Stream,
    depth: u32,
}

/// The size of some subtrees. It fits into two registers.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Tally {
    /// The number of nodes in the upper half and the number of leaves in the lower half, so that
    /// one addition adds both. No tree here has 2³² nodes.
    counts: u64,
    depth: u64,
}

const NODE: u64 = 1 << 32;
const LEAF: u64 = 1;

impl Task for Siblings {
    type Output = Tally;
    type Context = Tree;

    fn run<R: Rank<Self>>(self, mut rank: R) -> Tally {
        if self.count > 1 {
            let (a, b) = self.halves();
            let (a, b) = rank.join(a, b);
            return Tally {
                counts: a.counts + b.counts,
                depth: a.depth.max(b.depth),
            };
        }
        let Node { stream, depth } = self.parent;
        let node = Node {
            stream: stream.child(self.first),
            depth: depth + 1,
        };
        match rank.context().children(&node.stream, node.depth) {
            0 => Tally {
                counts: NODE + LEAF,
                depth: node.depth.into(),
            },
            count => {
                let children = Siblings {
                    parent: node,
                    first: 0,
                    count,
                };
                let below = children.run(rank);
                Tally {
                    counts: below.counts + NODE,
                    depth: below.depth,
                }
            }
        }
    }
}

impl Siblings {
    fn halves(self) -> (Siblings, Siblings) {
        let half = self.count / 2;
        let a = Siblings {
            count: half,
            ..self
        };
        let b = Siblings {
            first: self.first + half,
            count: self.count - half,
            ..self
        };
        (a, b)
    }
}

/// The kernel `uts`.
pub struct Uts {
    tree: Tree,
}

/// Returns the size of the whole tree, given the size of all subtrees of the root.
fn size(below: &Tally) -> Size {
    Size {
        nodes: (below.counts >> 32) + 1,
        leaves: below.counts & u64::from(u32::MAX),
        depth: below.depth as u32,
    }
}

impl Kernel for Uts {
    /// The description of the kernel for shared memory.
    const DESCRIPTION: Description = <uts::Uts as purloin_kernels::Kernel>::DESCRIPTION;

    type Task = Siblings;

    fn prepare(_: &Cluster, input: Input) -> Result<Self, Error> {
        Ok(Uts {
            tree: TREES[input[0] as usize],
        })
    }

    fn context(&self) -> &Tree {
        &self.tree
    }

    fn root(&self) -> Siblings {
        let stream = Stream::root(self.tree.seed);
        Siblings {
            parent: Node { stream, depth: 0 },
            first: 0,
            count: self.tree.children(&stream, 0),
        }
    }

    fn answer(&self, output: &Tally) -> String {
        size(output).to_string()
    }

    fn verify(&self, output: &Tally) -> bool {
        size(output) == self.tree.size
    }
}
