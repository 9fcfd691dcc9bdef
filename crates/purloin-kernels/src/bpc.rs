//! Bouncing producer, many consumers: the source of work moves about.
//!
//! A producer spawns the next producer, and then its consumers. Thieves take
//! the oldest task of a worker, which is the producer, so that it bounces from
//! worker to worker, while each eats what it has produced. Source: Channel (the
//! benchmark BPC), after Dinan and others, *Scalable work stealing*.

use std::marker::PhantomData;

use purloin::{Scope, Spawner, Worker};

use crate::kernel::{Answer, Description, Input, Inputs, Kernel, Range};
use crate::work::{Results, steps, steps_per_microsecond};

const INPUTS: Inputs = Inputs::Numbers(&[
    Range {
        what: "producers",
        least: 1,
        most: 10_000_000,
        usual: None,
    },
    Range {
        what: "consumers of each",
        least: 0,
        most: 10_000_000,
        usual: Some(9),
    },
    Range {
        what: "microseconds of each",
        least: 0,
        most: 1_000_000,
        usual: Some(10),
    },
]);

/// No two consumers do the same.
fn seed(producer: usize, i: usize) -> u64 {
    ((producer as u64) << 32) | i as u64
}

/// A producer that is followed by others, as many as the number says with it.
fn produce<'s, S: Spawner>(
    scope: &'s Scope<'s, '_, S>,
    number: usize,
    of_each: usize,
    count: u64,
    results: &'s mut [u32],
) {
    let (mine, others) = results.split_at_mut(of_each);
    if number > 1 {
        scope.spawn(move |_| produce(scope, number - 1, of_each, count, others));
    }
    for (i, result) in mine.iter_mut().enumerate() {
        scope.spawn(move |_| *result = steps(count, seed(number, i)));
    }
}

/// The same with the consumers as one loop.
fn produce_loop<'s, S: Spawner, W: Worker>(
    mut w: W,
    scope: &'s Scope<'s, '_, S>,
    number: usize,
    of_each: usize,
    count: u64,
    results: &'s mut [u32],
) {
    let (mine, others) = results.split_at_mut(of_each);
    if number > 1 {
        scope.spawn(move |w| produce_loop(w, scope, number - 1, of_each, count, others));
    }
    w.for_each((0.., mine), |(i, result)| {
        *result = steps(count, seed(number, i));
    });
}

/// How the consumers are made.
pub trait Form: Send + Sync {
    /// The name of the kernel.
    const NAME: &'static str;
    /// What it does.
    const ABOUT: &'static str;

    /// So many producers, and a consumer of so many steps for each result, all in
    /// this scope.
    fn produce<'s, S: Spawner>(
        scope: &'s Scope<'s, '_, S>,
        producers: usize,
        of_each: usize,
        count: u64,
        results: &'s mut [u32],
    );
}

/// One by one.
#[derive(Debug)]
pub struct Tasks;

/// Those of each producer as one loop.
#[derive(Debug)]
pub struct Loop;

impl Form for Tasks {
    const NAME: &'static str = "bpc";
    const ABOUT: &'static str = "bouncing producer, consumers: a chain of tasks that each spawn the next and many small ones";

    fn produce<'s, S: Spawner>(
        scope: &'s Scope<'s, '_, S>,
        producers: usize,
        of_each: usize,
        count: u64,
        results: &'s mut [u32],
    ) {
        produce(scope, producers, of_each, count, results);
    }
}

impl Form for Loop {
    const NAME: &'static str = "bpc-loop";
    const ABOUT: &'static str = "bpc, with the consumers of each producer as one splittable loop";

    fn produce<'s, S: Spawner>(
        scope: &'s Scope<'s, '_, S>,
        producers: usize,
        of_each: usize,
        count: u64,
        results: &'s mut [u32],
    ) {
        scope.spawn(move |w| produce_loop(w, scope, producers, of_each, count, results));
    }
}

/// The kernel `bpc`.
pub type Bpc = BouncingProducer<Tasks>;

/// The kernel `bpc-loop`.
pub type BpcLoop = BouncingProducer<Loop>;

/// The kernels `bpc` and `bpc-loop`.
#[derive(Debug)]
pub struct BouncingProducer<F> {
    /// Of the consumers, by producer.
    results: Results,
    producers: usize,
    of_each: usize,
    steps: u64,
    form: PhantomData<F>,
}

impl<F: Form> Kernel for BouncingProducer<F> {
    const DESCRIPTION: Description = Description {
        name: F::NAME,
        about: F::ABOUT,
        inputs: INPUTS,
        default: "10000",
    };

    fn prepare(input: Input) -> Self {
        let (producers, of_each) = (input[0] as usize, input[1] as usize);
        BouncingProducer {
            results: Results::new(producers.saturating_mul(of_each)),
            producers,
            of_each,
            steps: u64::from(input[2]) * steps_per_microsecond(),
            form: PhantomData,
        }
    }

    fn run<W: Worker>(&mut self, mut w: W) -> Answer {
        let results = &mut self.results.0;
        w.finish(|scope| F::produce(scope, self.producers, self.of_each, self.steps, results));
        self.results.done()
    }

    fn verify(&self, answer: &Answer) -> bool {
        self.results.verify(answer, |i| {
            let (producer, consumer) = (i / self.of_each, i % self.of_each);
            steps(self.steps, seed(self.producers - producer, consumer))
        })
    }
}
