//! The serial elision, plain and strand by strand, and what tasks add to it.

use std::time::{Duration, Instant};

use super::Program;
use super::recorder::{Recorder, reading};
use super::times::{Correction, Receiver, Sink, Strands};
use purloin::Pool;
use purloin::Scheduler;
use purloin::Serial;
use purloin::Worker;
use purloin::implement::clock::ticks;

/// How long one kind of run goes on, at least: short runs are repeated.
const LONG_ENOUGH: Duration = Duration::from_millis(100);
const LEAST_RUNS: usize = 3;
const MOST_RUNS: usize = 2000;

/// After so long, one run is enough, too.
const VERY_LONG: Duration = Duration::from_secs(20);

/// Whether that was enough.
pub(crate) fn is_enough(runs: usize, total: Duration) -> bool {
    runs >= MOST_RUNS || runs >= LEAST_RUNS && total >= LONG_ENOUGH || total >= VERY_LONG
}

/// Whether so many pairs are, whose first runs took so long.
fn are_enough(pairs: usize, total: Duration) -> bool {
    let are_clear = pairs >= 9 && total >= Duration::from_secs(1);
    are_clear || pairs >= MOST_RUNS || total >= VERY_LONG
}

/// The median of ratios, if it is above one for sure, and otherwise one.
fn agreed(mut ratios: Vec<f64>) -> f64 {
    ratios.sort_unstable_by(f64::total_cmp);
    let number = ratios.len() as f64;
    // Noise is as often below one as above: then this one is above in less than one of twenty-five
    // cases.
    let low = ratios[((number - 1.96 * number.sqrt()) / 2.0).max(0.0) as usize];
    // Few may all be above by chance, but hardly by so much. And what is less than one of five hundred
    // may come of where the compiler has put things.
    let chance = if ratios.len() < 6 { 1.05 } else { 1.002 };
    if low > chance {
        ratios[ratios.len() / 2]
    } else {
        1.0
    }
}

pub(crate) fn median<T: Ord + Copy>(mut values: Vec<T>) -> T {
    values.sort_unstable();
    values[values.len() / 2]
}

/// The plain serial elision, run repeatedly.
pub(crate) struct Serially {
    pub median: Duration,
    /// Median and shortest in ticks.
    pub middle: f64,
    pub shortest: f64,
    pub runs: usize,
}

impl Serially {
    pub fn run<S: Scheduler, P: Program>(pool: &Pool<S>, program: &mut P) -> Serially {
        let mut runs = Vec::new();
        while !is_enough(runs.len(), total(&runs)) {
            runs.push(run_serially(pool, program));
        }
        Serially::of(runs)
    }

    /// The same in turn with runs with tasks; and how many times as long these take, if that is
    /// more than noise.
    pub fn beside_tasks<S: Scheduler, P: Program>(
        pool: &Pool<S>,
        program: &mut P,
    ) -> (Serially, f64) {
        let mut runs = Vec::new();
        // Of pairs, as both runs of one have the same clock rate and neighbours. The second may be
        // slower or faster for being that: each is, every second time.
        let mut ratios = Vec::new();
        while !are_enough(runs.len(), total(&runs)) {
            let tasks_first = runs.len() % 2 == 1;
            let before = tasks_first.then(|| run_tasks(pool, program));
            let serial = run_serially(pool, program);
            let ticks = before.unwrap_or_else(|| run_tasks(pool, program));
            ratios.push(ticks as f64 / serial.ticks.max(1) as f64);
            runs.push(serial);
        }
        (Serially::of(runs), agreed(ratios))
    }

    fn of(runs: Vec<Run>) -> Serially {
        let ticks: Vec<_> = runs.iter().map(|run| run.ticks).collect();
        let shortest = ticks.iter().min().copied().unwrap_or(0);
        Serially {
            middle: median(ticks) as f64,
            shortest: shortest as f64,
            runs: runs.len(),
            median: median(runs.iter().map(|run| run.time).collect()),
        }
    }
}

/// One run of the serial elision.
struct Run {
    time: Duration,
    ticks: u64,
}

fn total(runs: &[Run]) -> Duration {
    runs.iter().map(|run| run.time).sum()
}

fn run_serially<S: Scheduler, P: Program>(pool: &Pool<S>, program: &mut P) -> Run {
    program.prepare();
    // In the pool, for the sake of the stack.
    pool.run(|_| {
        let (start, first) = (Instant::now(), ticks());
        program.run(Serial);
        let ticks = ticks() - first;
        Run {
            time: start.elapsed(),
            ticks,
        }
    })
}

/// How many ticks the program takes with tasks.
fn run_tasks<S: Scheduler, P: Program>(pool: &Pool<S>, program: &mut P) -> u64 {
    program.prepare();
    pool.run(|mut w| {
        let first = ticks();
        // A task, as that has not ended before the futures that nobody gets.
        w.finish(|scope| scope.spawn(|w| program.run(w)));
        ticks() - first
    })
}

/// Strands that were received.
pub(crate) struct Measured {
    pub receiver: Receiver,
    /// Whether of each the shortest time counts.
    pub is_filtered: bool,
    /// The shortest run with a clock, in ticks.
    pub shortest: f64,
}

/// For how long runs with a clock are repeated.
const RECORDING: Duration = Duration::from_secs(2);
const MOST_RECORDED: usize = 20;

/// Runs the serial elision with a clock, and hands its strands on. Together they take `total`
/// ticks.
pub(crate) fn run_strands<S: Scheduler, P: Program>(
    pool: &Pool<S>,
    program: &mut P,
    total: f64,
    mut receiver: Receiver,
) -> Measured {
    let mut shortest = f64::INFINITY;
    let mut run = |sink: Sink| {
        program.prepare();
        pool.run(|_| {
            let first = ticks();
            let sink = Recorder::new(sink).record(|w| program.run(w));
            shortest = shortest.min((ticks() - first) as f64);
            sink
        })
    };
    let mut strands = Strands::default();
    let start = Instant::now();
    for runs in 1.. {
        strands.begin_run();
        let Sink::Keep(kept) = run(Sink::Keep(strands)) else {
            unreachable!("a sink stays what it is");
        };
        strands = kept;
        let time = start.elapsed();
        let enough = time >= RECORDING || runs >= MOST_RECORDED;
        if !strands.end_run() || enough && runs >= LEAST_RUNS || time >= VERY_LONG {
            break;
        }
    }
    let correction = strands.correction(reading(), total);
    let is_filtered = strands.is_complete();
    if is_filtered {
        strands.replay(correction, &mut receiver);
    } else {
        drop(strands);
        receiver = pass_on(&mut run, correction, receiver);
    }
    Measured {
        receiver,
        is_filtered,
        shortest,
    }
}

/// One run more, of which nothing is kept.
fn pass_on(
    run: &mut impl FnMut(Sink) -> Sink,
    correction: Correction,
    receiver: Receiver,
) -> Receiver {
    let sink = Sink::PassOn {
        receiver,
        correction,
        is_first: true,
    };
    match run(sink) {
        Sink::PassOn { receiver, .. } => receiver,
        Sink::Keep(_) => unreachable!("a sink stays what it is"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_ratios_have_to_be_far_from_one_and_some_to_agree() {
        for (ratios, expected) in [
            (&[1.5][..], 1.5),
            (&[1.04], 1.0),
            (&[0.5], 1.0),
            (&[1.25, 1.5, 1.04], 1.0),
            (&[1.25, 1.5, 1.06], 1.25),
            (&[1.01, 1.01, 1.02, 1.02, 1.01, 1.02], 1.02),
            (&[1.01, 1.01, 1.02, 1.02, 1.01, 0.99], 1.0),
        ] {
            assert_eq!(agreed(ratios.to_vec()), expected, "{ratios:?}");
        }
    }

    /// All that noise may do which makes as many pairs faster as slower.
    #[test]
    fn noise_is_told_in_less_than_one_of_twenty_five_cases() {
        for pairs in 6..=if cfg!(miri) { 8 } else { 14 } {
            let ratio = |is_above| if is_above { 1.1 } else { 0.9 };
            let ratios = |case: u32| (0..pairs).map(move |pair| ratio(case >> pair & 1 == 1));
            let told = |case: &u32| agreed(ratios(*case).collect()) > 1.0;
            let cases = (0..1 << pairs).filter(told).count();
            assert!(
                (1..(1 << pairs) / 25).contains(&cases),
                "{cases} of {pairs} pairs"
            );
        }
    }
}
