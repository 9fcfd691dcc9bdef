//! A recursion with some work in each call: Fibonacci's, but coarser.
//!
//! Source: Channel (tree recursion, *n* = 34 and 1 µs in each call).

use purloin::Worker;

use crate::fib::fibonacci;
use crate::kernel::{Answer, Description, Input, Inputs, Kernel, Range};
use crate::work::{steps, steps_per_microsecond};

/// The `n`-th Fibonacci number, with so many steps of work in each call.
fn tree<W: Worker>(mut w: W, n: u32, count: u64) -> u64 {
    // Never 0, but the compiler cannot know.
    let one = u64::from(steps(count, n.into()) != 0);
    if n < 2 {
        return u64::from(n) * one;
    }
    let (a, b) = w.join(
        move |w| tree(w, n - 1, count),
        move |w| tree(w, n - 2, count),
    );
    a + b
}

/// The kernel `tree`.
#[derive(Debug)]
pub struct Tree {
    n: u32,
    steps: u64,
}

impl Kernel for Tree {
    const DESCRIPTION: Description = Description {
        name: "tree",
        about: "the n-th Fibonacci number by the naive recursion, with some work in each call",
        inputs: Inputs::Numbers(&[
            Range {
                what: "indices",
                least: 0,
                most: 60,
                usual: None,
            },
            Range {
                what: "microseconds of each call",
                least: 0,
                most: 1_000_000,
                usual: Some(1),
            },
        ]),
        default: "25",
    };

    fn prepare(input: Input) -> Self {
        Tree {
            n: input[0],
            steps: u64::from(input[1]) * steps_per_microsecond(),
        }
    }

    fn run<W: Worker>(&mut self, w: W) -> Answer {
        Answer::Number(tree(w, self.n, self.steps))
    }

    fn verify(&self, answer: &Answer) -> bool {
        *answer == Answer::Number(fibonacci(self.n))
    }
}
