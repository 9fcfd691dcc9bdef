//! The unbalanced trees of UTS: [`Uts`].

use purloin_kernels::uts::{Stream, Tree};

use super::{Step, Workload};
use crate::Time;

/// A tree of UTS, generated while the program runs. The program counts the nodes as the kernel
/// `uts` does: it joins the two halves of the children of each node.
///
/// Source: Olivier et al., *UTS: an unbalanced tree search benchmark* (LCPC 2006).
#[derive(Clone, Copy, Debug)]
pub struct Uts {
    /// The tree.
    pub tree: &'static Tree,
    /// The time of a node. The computation of its hash takes most of it.
    pub node: Time,
}

impl Uts {
    /// Creates the program for a tree, with 55 ns per node, as on a processor of 2024.
    pub fn new(tree: &'static Tree) -> Uts {
        Uts {
            tree,
            node: Time::from_nanoseconds(55),
        }
    }
}

/// The progress of a node, or of a range of its children.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    stream: Stream,
    depth: u32,
    part: Part,
}

#[derive(Clone, Copy, Debug)]
enum Part {
    /// The node is not counted.
    New,
    /// The node is counted, but not its children.
    Counted,
    /// A range of `count` children from `first` on. `step` of its steps are done.
    Children {
        first: u32,
        count: u32,
        step: u32,
    },
    Done,
}

impl Search {
    fn children(self, first: u32, count: u32) -> Search {
        Search {
            part: Part::Children {
                first,
                count,
                step: 0,
            },
            ..self
        }
    }
}

impl Workload for Uts {
    type Activation = Search;

    fn root(&self) -> Search {
        Search {
            stream: Stream::root(self.tree.seed),
            depth: 0,
            part: Part::New,
        }
    }

    fn next(&self, search: &mut Search, _: u64) -> Step<Search> {
        let this = *search;
        match &mut search.part {
            Part::New => {
                search.part = Part::Counted;
                Step::Work(self.node)
            }
            Part::Counted => {
                search.part = Part::Done;
                match self.tree.children(&this.stream, this.depth) {
                    0 => Step::End,
                    count => Step::Call(this.children(0, count)),
                }
            }
            &mut Part::Children {
                first, count: 1, ..
            } => {
                search.part = Part::Done;
                Step::Call(Search {
                    stream: this.stream.child(first),
                    depth: this.depth + 1,
                    part: Part::New,
                })
            }
            Part::Children { first, count, step } => {
                *step += 1;
                let half = *count / 2;
                match step {
                    1 => Step::Fork(this.children(*first + half, *count - half)),
                    2 => Step::Call(this.children(*first, half)),
                    3 => Step::Join,
                    _ => Step::End,
                }
            }
            Part::Done => Step::End,
        }
    }
}
