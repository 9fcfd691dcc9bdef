//! Short forks: how soon does the second closure of a join begin?
//!
//! `forks` makes one join after the other, each of two closures that take some microseconds.
//! `fanout` splits a short list down to its elements, of which only a few are worth a steal. Both
//! repeat that, because one fork is too short to be timed.

use std::hint::black_box;

use purloin::Worker;

use crate::kernel::{Answer, Description, Input, Inputs, Kernel, Range};
use crate::work::{Results, steps, steps_per_microsecond};

const MICROSECONDS: Range = Range {
    name: "microseconds",
    min: 0,
    max: 1_000_000,
    default: None,
};

/// The kernel `forks`.
#[derive(Debug)]
pub struct Forks {
    /// The results of both closures of each join.
    results: Results,
    /// Number of steps of each closure.
    steps: u64,
}

impl Kernel for Forks {
    const DESCRIPTION: Description = Description {
        name: "forks",
        about: "one join after the other, each of two closures that take some microseconds",
        inputs: Inputs::Numbers(&[
            Range {
                name: "microseconds per closure",
                ..MICROSECONDS
            },
            Range {
                name: "joins",
                min: 1,
                max: 10_000_000,
                default: Some(2000),
            },
        ]),
        default: "50",
    };

    fn prepare(input: Input) -> Self {
        Forks {
            results: Results::new(2 * input[1] as usize),
            steps: u64::from(input[0]) * steps_per_microsecond(),
        }
    }

    fn run<W: Worker>(&mut self, mut w: W) -> Answer {
        let count = self.steps;
        for (join, results) in self.results.0.chunks_exact_mut(2).enumerate() {
            let [first, second] = results else {
                unreachable!("each join has two results")
            };
            let seed = 2 * join as u64;
            w.join(
                |_| *first = steps(count, seed),
                |_| *second = steps(count, seed + 1),
            );
        }
        self.results.done()
    }

    fn verify(&self, answer: &Answer) -> bool {
        self.results.verify(answer, |i| steps(self.steps, i as u64))
    }
}

/// The kernel `fanout`.
#[derive(Debug)]
pub struct Fanout {
    results: Results,
    work: Work,
    repetitions: u32,
}

/// The work on each element of a list.
#[derive(Clone, Copy, Debug)]
struct Work {
    /// One element in this many is heavy.
    every: usize,
    /// Number of steps of a heavy element.
    steps: u64,
}

impl Work {
    fn on(self, index: usize) -> u32 {
        let is_heavy = index.is_multiple_of(self.every);
        steps(if is_heavy { self.steps } else { 0 }, index as u64)
    }

    /// Works on the elements from `first` on, by joins of halves.
    fn on_all<W: Worker>(self, mut w: W, first: usize, results: &mut [u32]) {
        match results {
            [] => (),
            [result] => *result = self.on(first),
            _ => {
                let middle = results.len() / 2;
                let (left, right) = results.split_at_mut(middle);
                w.join(
                    |w| self.on_all(w, first, left),
                    |w| self.on_all(w, first + middle, right),
                );
            }
        }
    }
}

impl Kernel for Fanout {
    const DESCRIPTION: Description = Description {
        name: "fanout",
        about: "a list split by joins down to its elements, few of which are heavy; again and again",
        inputs: Inputs::Numbers(&[
            Range {
                name: "microseconds per heavy element",
                ..MICROSECONDS
            },
            Range {
                name: "elements",
                min: 1,
                max: 10_000_000,
                default: Some(64),
            },
            Range {
                name: "elements per heavy element",
                min: 1,
                max: 10_000_000,
                default: Some(32),
            },
            Range {
                name: "repetitions",
                min: 1,
                max: 1_000_000,
                default: Some(1000),
            },
        ]),
        default: "39",
    };

    fn prepare(input: Input) -> Self {
        Fanout {
            results: Results::new(input[1] as usize),
            work: Work {
                every: input[2] as usize,
                steps: u64::from(input[0]) * steps_per_microsecond(),
            },
            repetitions: input[3],
        }
    }

    fn run<W: Worker>(&mut self, mut w: W) -> Answer {
        for _ in 0..self.repetitions {
            // Otherwise the compiler runs only one repetition of the serial elision.
            let (work, results) = (black_box(self.work), &mut self.results.0);
            w.lend(|w| work.on_all(w, 0, results));
        }
        self.results.done()
    }

    fn verify(&self, answer: &Answer) -> bool {
        self.results.verify(answer, |i| self.work.on(i))
    }
}
