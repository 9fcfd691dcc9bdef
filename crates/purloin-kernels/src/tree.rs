//! The Fibonacci recursion with additional work in each call.
//!
//! Source: Channel (tree recursion, *n* = 34 and 1 µs per call).

use purloin::Worker;

use crate::fib::fibonacci;
use crate::kernel::{Answer, Description, Input, Inputs, Kernel, Range};
use crate::work::{steps, steps_per_microsecond};

/// Returns the `n`-th Fibonacci number, and does `count` steps of work in each call.
fn tree<W: Worker>(mut w: W, n: u32, count: u64) -> u64 {
    // The result of `steps` is never 0, but the compiler does not know that.
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
        about: "n-th Fibonacci number by the naive recursion, with additional work in each call",
        inputs: Inputs::Numbers(&[
            Range {
                name: "indices",
                min: 0,
                max: 60,
                default: None,
            },
            Range {
                name: "microseconds per call",
                min: 0,
                max: 1_000_000,
                default: Some(1),
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
