//! A straggler: a long leaf that a worker waits for while other work lies there.
//!
//! A future is one sequential leaf. Beside it there is a tree of small tasks, but
//! the program waits for the future first: on two workers, one runs the leaf, and
//! the other is blocked on it. The tasks lie on its stack, and it may not run them
//! itself, as one of them might wait for what it waits for. So its processor is
//! idle for as long as the leaf takes, unless another worker has it meanwhile.

use purloin::Worker;

use crate::kernel::{Answer, Description, Input, Inputs, Kernel, Range};
use crate::work::{Results, steps, steps_per_microsecond};

/// Does the work of each of the results, by halves.
fn tree<W: Worker>(mut w: W, count: u64, first: usize, results: &mut [u32]) {
    match results {
        [] => (),
        [result] => *result = steps(count, first as u64),
        _ => {
            let middle = results.len() / 2;
            let (left, right) = results.split_at_mut(middle);
            w.join(
                move |w| tree(w, count, first, left),
                move |w| tree(w, count, first + middle, right),
            );
        }
    }
}

/// The kernel `straggler`.
#[derive(Debug)]
pub struct Straggler {
    /// The leaf's, then those of the tree.
    results: Results,
    /// In the leaf.
    long: u64,
    /// In each task of the tree.
    short: u64,
}

impl Kernel for Straggler {
    const DESCRIPTION: Description = Description {
        name: "straggler",
        about: "a long leaf that is awaited while tasks of a millisecond lie there",
        inputs: Inputs::Numbers(&[
            Range {
                what: "milliseconds of the leaf",
                least: 0,
                most: 10_000,
                usual: None,
            },
            Range {
                what: "tasks of a millisecond",
                least: 0,
                most: 100_000,
                usual: Some(200),
            },
        ]),
        default: "200",
    };

    fn prepare(input: Input) -> Self {
        let millisecond = 1000 * steps_per_microsecond();
        Straggler {
            results: Results::new(1 + input[1] as usize),
            long: u64::from(input[0]) * millisecond,
            short: millisecond,
        }
    }

    fn run<W: Worker>(&mut self, mut w: W) -> Answer {
        let (long, short) = (self.long, self.short);
        let (leaf, tasks) = self.results.0.split_first_mut().expect("the leaf's");
        let future = w.future(move |_| steps(long, 0));
        w.join(
            move |mut w| {
                // Others are to have the future by then.
                std::hint::black_box(steps(short, 0));
                *leaf = w.get(future);
            },
            move |w| tree(w, short, 1, tasks),
        );
        self.results.done()
    }

    fn verify(&self, answer: &Answer) -> bool {
        self.results.verify(answer, |i| match i {
            0 => steps(self.long, 0),
            _ => steps(self.short, i as u64),
        })
    }
}
