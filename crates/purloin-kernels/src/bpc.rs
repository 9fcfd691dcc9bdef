//! Bouncing producer, many consumers: the source of work moves about.
//!
//! A producer spawns the next producer, and then its consumers. Thieves take
//! the oldest task of a worker, which is the producer, so that it bounces from
//! worker to worker, while each eats what it has produced. Source: Channel (the
//! benchmark BPC), after Dinan and others, *Scalable work stealing*.

use purloin::{Scope, Spawner, Worker};

use crate::kernel::{Answer, Description, Input, Inputs, Kernel, Range};
use crate::work::{results, steps, steps_per_microsecond};

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

/// The consumers.
#[derive(Debug)]
struct Consumers {
    /// What each has come to, by producer.
    results: Vec<u32>,
    producers: usize,
    of_each: usize,
    steps: u64,
}

impl Consumers {
    fn prepare(input: Input) -> Consumers {
        let (producers, of_each) = (input[0] as usize, input[1] as usize);
        Consumers {
            results: results(producers.saturating_mul(of_each)),
            producers,
            of_each,
            steps: u64::from(input[2]) * steps_per_microsecond(),
        }
    }

    /// How many have done their work.
    fn done(&self) -> Answer {
        Answer::Number(self.results.iter().filter(|&&result| result != 0).count() as u64)
    }

    fn verify(&self, answer: &Answer) -> bool {
        let all = self.results.len() as u64;
        let expected = steps(self.steps, seed(self.producers, 0));
        *answer == Answer::Number(all)
            && self.done() == *answer
            && self.results.first().is_none_or(|&first| first == expected)
    }
}

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

/// The kernel `bpc`.
#[derive(Debug)]
pub struct Bpc(Consumers);

impl Kernel for Bpc {
    const DESCRIPTION: Description = Description {
        name: "bpc",
        about: "bouncing producer, consumers: a chain of tasks that each spawn the next and many small ones",
        inputs: INPUTS,
        default: "10000",
    };

    fn prepare(input: Input) -> Self {
        Bpc(Consumers::prepare(input))
    }

    fn run<W: Worker>(&mut self, mut w: W) -> Answer {
        let Consumers {
            results,
            producers,
            of_each,
            steps,
        } = &mut self.0;
        w.finish(|scope| produce(scope, *producers, *of_each, *steps, results));
        self.0.done()
    }

    fn verify(&self, answer: &Answer) -> bool {
        self.0.verify(answer)
    }
}

/// The kernel `bpc-loop`.
#[derive(Debug)]
pub struct BpcLoop(Consumers);

impl Kernel for BpcLoop {
    const DESCRIPTION: Description = Description {
        name: "bpc-loop",
        about: "bpc, with the consumers of each producer as one splittable loop",
        inputs: INPUTS,
        default: "10000",
    };

    fn prepare(input: Input) -> Self {
        BpcLoop(Consumers::prepare(input))
    }

    fn run<W: Worker>(&mut self, mut w: W) -> Answer {
        let Consumers {
            results,
            producers,
            of_each,
            steps,
        } = &mut self.0;
        w.finish(|scope| {
            scope.spawn(|w| produce_loop(w, scope, *producers, *of_each, *steps, results));
        });
        self.0.done()
    }

    fn verify(&self, answer: &Answer) -> bool {
        self.0.verify(answer)
    }
}
