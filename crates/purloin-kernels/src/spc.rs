//! Single producer, many consumers: how fast tasks are handed out.
//!
//! One task makes all others, or one loop is all of them. Source: Channel
//! (the benchmark SPC), with one million tasks of 1 µs, 10 µs and 100 µs.

use std::marker::PhantomData;

use purloin::Worker;

use crate::kernel::{Answer, Description, Input, Inputs, Kernel, Range};
use crate::work::{Results, steps, steps_per_microsecond};

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

/// How the tasks are made.
pub trait Form: Send + Sync {
    /// The name of the kernel.
    const NAME: &'static str;
    /// What it does.
    const ABOUT: &'static str;

    /// Makes a task for each result, of so many steps, and waits for all.
    fn produce<W: Worker>(w: W, count: u64, results: &mut [u32]);
}

/// One by one.
#[derive(Debug)]
pub struct Tasks;

/// As one loop.
#[derive(Debug)]
pub struct Loop;

impl Form for Tasks {
    const NAME: &'static str = "spc";
    const ABOUT: &'static str = "single producer, consumers: one task spawns all others";

    fn produce<W: Worker>(mut w: W, count: u64, results: &mut [u32]) {
        w.finish(|scope| {
            for (i, result) in results.iter_mut().enumerate() {
                scope.spawn(move |_| *result = steps(count, i as u64));
            }
        });
    }
}

impl Form for Loop {
    const NAME: &'static str = "spc-loop";
    const ABOUT: &'static str = "the tasks of spc as one splittable loop";

    fn produce<W: Worker>(mut w: W, count: u64, results: &mut [u32]) {
        w.for_each((0.., results), move |(i, result)| {
            *result = steps(count, i as u64);
        });
    }
}

/// The kernel `spc`.
pub type Spc = SingleProducer<Tasks>;

/// The kernel `spc-loop`.
pub type SpcLoop = SingleProducer<Loop>;

/// The kernels `spc` and `spc-loop`.
#[derive(Debug)]
pub struct SingleProducer<F> {
    results: Results,
    steps: u64,
    form: PhantomData<F>,
}

impl<F: Form> Kernel for SingleProducer<F> {
    const DESCRIPTION: Description = Description {
        name: F::NAME,
        about: F::ABOUT,
        inputs: INPUTS,
        default: "1000000",
    };

    fn prepare(input: Input) -> Self {
        SingleProducer {
            results: Results::new(input[0] as usize),
            steps: u64::from(input[1]) * steps_per_microsecond(),
            form: PhantomData,
        }
    }

    fn run<W: Worker>(&mut self, w: W) -> Answer {
        F::produce(w, self.steps, &mut self.results.0);
        self.results.done()
    }

    fn verify(&self, answer: &Answer) -> bool {
        self.results.verify(answer, |i| steps(self.steps, i as u64))
    }
}
