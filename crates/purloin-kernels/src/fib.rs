//! Fibonacci numbers by the naive recursion. A task does one addition, so that the run time is
//! the cost of a task.
//!
//! Source: Wool, Figure 1 and section 5.1 (n = 43, from BOTS).

use purloin::Worker;

use crate::kernel::{Answer, Description, Input, Inputs, Kernel, Range};

/// Returns the `n`-th Fibonacci number.
pub fn fib<W: Worker>(mut w: W, n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    // With `n - 1` and `n - 2` in the closures, the speed of the token-free form depends on where
    // the linker puts it: up to 1.7 times as long on an Intel Xeon (Sapphire Rapids).
    let m = n - 2;
    let (a, b) = w.join(move |w| fib(w, m + 1), move |w| fib(w, m));
    a + b
}

/// The kernel `fib`.
#[derive(Debug)]
pub struct Fib {
    n: u32,
}

impl Kernel for Fib {
    const DESCRIPTION: Description = Description {
        name: "fib",
        about: "n-th Fibonacci number by the naive recursion; a task does one addition",
        inputs: Inputs::Numbers(&[Range {
            name: "indices",
            min: 0,
            max: 60,
            default: None,
        }]),
        default: "40",
    };

    fn prepare(input: Input) -> Self {
        let n = input[0];
        Fib { n }
    }

    fn run<W: Worker>(&mut self, w: W) -> Answer {
        Answer::Number(fib(w, self.n))
    }

    fn verify(&self, answer: &Answer) -> bool {
        *answer == Answer::Number(fibonacci(self.n))
    }
}

/// Computes the `n`-th Fibonacci number by iteration, modulo 2⁶⁴.
pub fn fibonacci(n: u32) -> u64 {
    let step = |(a, b): (u64, u64), _| (b, a.wrapping_add(b));
    (0..n).fold((0, 1), step).0
}
