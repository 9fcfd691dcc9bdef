//! Producers and consumers: how quickly work spreads from its source to the other workers.
//!
//! A *single producer* makes all tasks, so that every other worker has to steal from it. With
//! *bouncing producers*, each producer spawns the next one before its own consumers. Thieves take
//! the oldest task of a worker, which is the next producer, so that the source of work moves from
//! worker to worker while each worker runs the consumers it has spawned.
//!
//! Each of the two exists in two forms: the consumers of a producer are separate tasks, or the
//! iterations of one splittable loop.
//!
//! Source: Channel (the benchmarks SPC, with one million tasks of 1 µs, 10 µs and 100 µs, and BPC).
//! BPC follows Dinan and others, *Scalable work stealing*.

use purloin::{Scope, Spawner, Worker};

use crate::kernel::{Answer, Description, Input, Inputs, Kernel, Range};
use crate::work::{Results, steps, steps_per_microsecond};

/// The kernel `spc`.
pub type Spc = Producers<false, false>;

/// The kernel `spc-loop`.
pub type SpcLoop = Producers<false, true>;

/// The kernel `bpc`.
pub type Bpc = Producers<true, false>;

/// The kernel `bpc-loop`.
pub type BpcLoop = Producers<true, true>;

/// A kernel of the family. A single producer is a chain of bouncing producers of length one.
#[derive(Debug)]
pub struct Producers<const BOUNCING: bool, const AS_LOOP: bool> {
    /// The results of all consumers, producer by producer.
    results: Results,
    producers: usize,
    /// The number of consumers of each producer.
    consumers: usize,
    /// The number of steps of each consumer.
    steps: u64,
}

const SINGLE_INPUTS: Inputs = Inputs::Numbers(&[
    Range {
        name: "tasks",
        min: 0,
        max: 100_000_000,
        default: None,
    },
    Range {
        name: "microseconds per task",
        min: 0,
        max: 1_000_000,
        default: Some(1),
    },
]);

const BOUNCING_INPUTS: Inputs = Inputs::Numbers(&[
    Range {
        name: "producers",
        min: 1,
        max: 10_000_000,
        default: None,
    },
    Range {
        name: "consumers per producer",
        min: 0,
        max: 10_000_000,
        default: Some(9),
    },
    Range {
        name: "microseconds per consumer",
        min: 0,
        max: 1_000_000,
        default: Some(10),
    },
]);

/// Returns the seed of a consumer's steps, which is different for each consumer. `later` is the
/// number of producers that come after the consumer's own.
fn seed(later: usize, consumer: usize) -> u64 {
    ((later as u64) << 32) | consumer as u64
}

/// Runs a producer that `later` more producers follow. It spawns its consumers one by one.
fn produce_tasks<'s, S: Spawner>(
    scope: &'s Scope<'s, '_, S>,
    later: usize,
    consumers: usize,
    count: u64,
    results: &'s mut [u32],
) {
    let (own, others) = results.split_at_mut(consumers);
    if later > 0 {
        scope.spawn(move |_| produce_tasks(scope, later - 1, consumers, count, others));
    }
    for (i, result) in own.iter_mut().enumerate() {
        let seed = seed(later, i);
        scope.spawn(move |_| *result = steps(count, seed));
    }
}

/// Runs a producer that `later` more producers follow. Its consumers are one loop.
fn produce_loop<'s, S: Spawner, W: Worker>(
    w: W,
    scope: &'s Scope<'s, '_, S>,
    later: usize,
    consumers: usize,
    count: u64,
    results: &'s mut [u32],
) {
    let (own, others) = results.split_at_mut(consumers);
    if later > 0 {
        scope.spawn(move |w| produce_loop(w, scope, later - 1, consumers, count, others));
    }
    consume(w, later, count, own);
}

/// Runs the consumers of one producer as one loop.
fn consume<W: Worker>(mut w: W, later: usize, count: u64, results: &mut [u32]) {
    w.for_each((0.., results), move |(i, result)| {
        *result = steps(count, seed(later, i));
    });
}

impl<const BOUNCING: bool, const AS_LOOP: bool> Kernel for Producers<BOUNCING, AS_LOOP> {
    const DESCRIPTION: Description = {
        let (name, about) = match (BOUNCING, AS_LOOP) {
            (false, false) => ("spc", "one producer task spawns all consumer tasks"),
            (false, true) => ("spc-loop", "the tasks of spc as one splittable loop"),
            (true, false) => (
                "bpc",
                "a chain of producer tasks; each spawns the next producer, then small consumer tasks",
            ),
            (true, true) => (
                "bpc-loop",
                "bpc with the consumers of each producer as one splittable loop",
            ),
        };
        let (inputs, default) = match BOUNCING {
            false => (SINGLE_INPUTS, "1000000"),
            true => (BOUNCING_INPUTS, "10000"),
        };
        Description {
            name,
            about,
            inputs,
            default,
        }
    };

    fn prepare(input: Input) -> Self {
        let (producers, consumers, microseconds) = match *input {
            [tasks, microseconds] => (1, tasks as usize, microseconds),
            [producers, consumers, microseconds] => {
                (producers as usize, consumers as usize, microseconds)
            }
            _ => unreachable!("`spc` has two numbers, and `bpc` three"),
        };
        Producers {
            results: Results::new(producers.saturating_mul(consumers)),
            producers,
            consumers,
            steps: u64::from(microseconds) * steps_per_microsecond(),
        }
    }

    fn run<W: Worker>(&mut self, mut w: W) -> Answer {
        let (later, consumers, steps) = (self.producers - 1, self.consumers, self.steps);
        let results = &mut *self.results.0;
        match (BOUNCING, AS_LOOP) {
            (_, false) => {
                w.finish(|scope| produce_tasks(scope, later, consumers, steps, results));
            }
            (true, true) => w.finish(|scope| {
                scope.spawn(move |w| produce_loop(w, scope, later, consumers, steps, results));
            }),
            (false, true) => consume(w, later, steps, results),
        }
        self.results.done()
    }

    fn verify(&self, answer: &Answer) -> bool {
        self.results.verify(answer, |i| {
            let (producer, consumer) = (i / self.consumers, i % self.consumers);
            steps(self.steps, seed(self.producers - 1 - producer, consumer))
        })
    }
}
