//! A tree of fan-out ten whose leaves do nothing, which shows the cost of making tasks.
//!
//! Source: the skynet benchmark of goroutines and actors, in which each node is a separate thread
//! of control.

use purloin::Worker;

use crate::kernel::{Answer, Description, Input, Inputs, Kernel, Range};

const FAN_OUT: u64 = 10;

/// Returns the sum of the numbers of a node's leaves, which are numbered from `first` on. `leaves`
/// is a power of ten.
///
/// A leaf is inlined into its parent, so that it needs no call.
#[inline(always)]
pub fn node<W: Worker>(w: W, first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        first
    } else {
        branch(w, FAN_OUT, first, leaves / FAN_OUT)
    }
}

/// Returns the sum over `count` siblings with `leaves` leaves each.
#[inline(always)]
fn siblings<W: Worker>(w: W, count: u64, first: u64, leaves: u64) -> u64 {
    if count == 1 {
        node(w, first, leaves)
    } else {
        branch(w, count, first, leaves)
    }
}

fn branch<W: Worker>(mut w: W, count: u64, first: u64, leaves: u64) -> u64 {
    let half = count / 2;
    let (a, b) = w.join(
        move |w| siblings(w, half, first, leaves),
        move |w| siblings(w, count - half, first + half * leaves, leaves),
    );
    a + b
}

/// The kernel `skynet`.
#[derive(Debug)]
pub struct Skynet {
    leaves: u64,
}

impl Kernel for Skynet {
    const DESCRIPTION: Description = Description {
        name: "skynet",
        about: "sum over the 10^n numbered leaves of a tree of fan-out 10, with a task for each node",
        inputs: Inputs::Numbers(&[Range {
            name: "digits",
            min: 0,
            max: 8,
            default: None,
        }]),
        default: "7",
    };

    fn prepare(input: Input) -> Self {
        let digits = input[0];
        Skynet {
            leaves: FAN_OUT.pow(digits),
        }
    }

    fn run<W: Worker>(&mut self, w: W) -> Answer {
        Answer::Number(node(w, 0, self.leaves))
    }

    fn verify(&self, answer: &Answer) -> bool {
        *answer == Answer::Number(self.leaves * (self.leaves - 1) / 2)
    }
}
