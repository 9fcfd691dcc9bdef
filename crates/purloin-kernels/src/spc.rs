//! Single producer, many consumers: how fast tasks are handed out.
//!
//! One task makes all others, or one loop is all of them. Source: Channel
//! (the benchmark SPC), with one million tasks of 1 µs, 10 µs and 100 µs.

use purloin::Worker;

use crate::kernel::{Answer, Description, Input, Inputs, Kernel, Range};
use crate::work::{results, steps, steps_per_microsecond};

const INPUTS: Inputs = Inputs::Numbers(&[
    Range {
        what: "tasks",
        least: 0,
        most: 100_000_000,
        usual: None,
    },
    Range {
        what: "microseconds of each",
        least: 0,
        most: 1_000_000,
        usual: Some(1),
    },
]);

/// What each task has come to.
#[derive(Debug)]
struct Tasks {
    results: Vec<u32>,
    steps: u64,
}

impl Tasks {
    fn prepare(input: Input) -> Tasks {
        Tasks {
            results: results(input[0] as usize),
            steps: u64::from(input[1]) * steps_per_microsecond(),
        }
    }

    /// How many tasks have done their work.
    fn done(&self) -> Answer {
        Answer::Number(self.results.iter().filter(|&&result| result != 0).count() as u64)
    }

    /// All, and some of them looked at more closely.
    fn verify(&self, answer: &Answer) -> bool {
        let mut some = self
            .results
            .iter()
            .enumerate()
            .step_by(self.results.len() / 16 + 1);
        *answer == Answer::Number(self.results.len() as u64)
            && self.done() == *answer
            && some.all(|(i, &result)| result == steps(self.steps, i as u64))
    }
}

/// The kernel `spc`.
#[derive(Debug)]
pub struct Spc(Tasks);

impl Kernel for Spc {
    const DESCRIPTION: Description = Description {
        name: "spc",
        about: "single producer, consumers: one task spawns all others",
        inputs: INPUTS,
        default: "1000000",
    };

    fn prepare(input: Input) -> Self {
        Spc(Tasks::prepare(input))
    }

    fn run<W: Worker>(&mut self, mut w: W) -> Answer {
        let count = self.0.steps;
        w.finish(|scope| {
            for (i, result) in self.0.results.iter_mut().enumerate() {
                scope.spawn(move |_| *result = steps(count, i as u64));
            }
        });
        self.0.done()
    }

    fn verify(&self, answer: &Answer) -> bool {
        self.0.verify(answer)
    }
}

/// The kernel `spc-loop`.
#[derive(Debug)]
pub struct SpcLoop(Tasks);

impl Kernel for SpcLoop {
    const DESCRIPTION: Description = Description {
        name: "spc-loop",
        about: "the tasks of spc as one splittable loop",
        inputs: INPUTS,
        default: "1000000",
    };

    fn prepare(input: Input) -> Self {
        SpcLoop(Tasks::prepare(input))
    }

    fn run<W: Worker>(&mut self, mut w: W) -> Answer {
        let count = self.0.steps;
        w.for_each((0.., &mut self.0.results), |(i, result)| {
            *result = steps(count, i as u64);
        });
        self.0.done()
    }

    fn verify(&self, answer: &Answer) -> bool {
        self.0.verify(answer)
    }
}
