//! Fibonacci numbers by the naive recursion with futures, which shows the cost of a future.
//!
//! Source: Channel (channel-based futures), which writes forks and joins this way.

use purloin::Worker;

use crate::fib::fibonacci;
use crate::kernel::{Answer, Description, Input, Inputs, Kernel, Range};

/// Returns the `n`-th Fibonacci number.
pub fn fib<W: Worker>(mut w: W, n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let a = w.future(move |w| fib(w, n - 1));
    let b = w.lend(move |w| fib(w, n - 2));
    w.get(a) + b
}

/// The kernel `futures`.
#[derive(Debug)]
pub struct Futures {
    n: u32,
}

impl Kernel for Futures {
    const DESCRIPTION: Description = Description {
        name: "futures",
        about: "n-th Fibonacci number by the naive recursion, with futures instead of joins",
        inputs: Inputs::Numbers(&[Range {
            name: "indices",
            min: 0,
            max: 60,
            default: None,
        }]),
        default: "34",
    };

    fn prepare(input: Input) -> Self {
        Futures { n: input[0] }
    }

    fn run<W: Worker>(&mut self, w: W) -> Answer {
        Answer::Number(fib(w, self.n))
    }

    fn verify(&self, answer: &Answer) -> bool {
        *answer == Answer::Number(fibonacci(self.n))
    }
}
