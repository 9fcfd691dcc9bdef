//! A straggler: a worker waits for a long leaf while other tasks are ready.
//!
//! A future is one long sequential leaf. There is also a tree of small tasks, but the program waits
//! for the future first. With two workers, one runs the leaf and the other is blocked on it. The
//! small tasks are in the task pool of the blocked worker. The blocked worker must not run them
//! itself, because one of them might wait for the task that is blocked below it. So its processor
//! is idle until the leaf ends, unless the blocked worker lends the processor to another worker.

use purloin::Worker;

use crate::kernel::{Answer, Description, Input, Inputs, Kernel, Range};
use crate::work::{Results, steps, steps_per_microsecond};

/// Runs a task for each of the results, by joins of halves.
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
    /// The result of the leaf, then the results of the tree.
    results: Results,
    /// Number of steps of the leaf.
    long: u64,
    /// Number of steps of each task of the tree.
    short: u64,
}

impl Kernel for Straggler {
    const DESCRIPTION: Description = Description {
        name: "straggler",
        about: "a worker waits for a long leaf while tasks of one millisecond are ready",
        inputs: Inputs::Numbers(&[
            Range {
                name: "milliseconds of the leaf",
                min: 0,
                max: 10_000,
                default: None,
            },
            Range {
                name: "tasks of one millisecond",
                min: 0,
                max: 100_000,
                default: Some(200),
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
        let (leaf, tasks) = self.results.0.split_first_mut().expect("the leaf's result");
        let future = w.future(move |_| steps(long, 0));
        w.join(
            move |mut w| {
                // Give other workers time to steal the future.
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
