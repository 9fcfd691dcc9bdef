//! Repeated runs of a program: its serial elision, without and with a clock, and its tasks on one
//! worker.

use std::time::{Duration, Instant};

use super::Program;
use super::places::Places;
use super::recorder::{Recorder, ticks_per_reading};
use super::times::{Receiver, Sink, StrandTimes};
use purloin::implement::clock::ticks;
use purloin::implement::measured;
use purloin::{Pool, Scheduler, Serial, Worker};

/// Minimum total time of repeated runs.
const MIN_TOTAL: Duration = Duration::from_millis(100);
const MIN_RUNS: usize = 3;
const MAX_RUNS: usize = 2000;

/// Total time after which one run is enough.
const MAX_TOTAL: Duration = Duration::from_secs(20);

/// Returns whether `runs` runs, which took `total` together, are enough.
pub(crate) fn is_enough(runs: usize, total: Duration) -> bool {
    runs >= MAX_RUNS || runs >= MIN_RUNS && total >= MIN_TOTAL || total >= MAX_TOTAL
}

/// Number of pairs and total time of their serial runs that are enough: either of these two. A long program
/// needs fewer pairs, because each of them takes long.
const ENOUGH: [(usize, Duration); 2] = [(9, Duration::from_secs(1)), (7, Duration::from_secs(5))];

/// Returns whether `pairs` pairs of runs are enough. `total` is the time of their serial runs.
fn are_enough(pairs: usize, total: Duration) -> bool {
    let suffice = |(least, time)| pairs >= least && total >= time;
    ENOUGH.into_iter().any(suffice) || pairs >= MAX_RUNS || total >= MAX_TOTAL
}

/// Returns the median of ratios if it is significantly above 1, and otherwise 1.
fn significant_median(mut ratios: Vec<f64>) -> f64 {
    ratios.sort_unstable_by(f64::total_cmp);
    let number = ratios.len() as f64;
    // The lower end of a confidence interval. If only noise makes ratios differ from 1, a ratio is
    // below 1 as often as above, and `low` is above 1 in less than one of 25 cases.
    let low = ratios[((number - 1.96 * number.sqrt()) / 2.0).max(0.0) as usize];
    // A few ratios may all be above 1 by chance, but hardly by 5 %. The layout of the compiled code
    // may make a difference of up to 0.2 %.
    let threshold = if ratios.len() < 6 { 1.05 } else { 1.002 };
    if low > threshold {
        ratios[ratios.len() / 2]
    } else {
        1.0
    }
}

pub(crate) fn median<T: Ord + Copy>(mut values: Vec<T>) -> T {
    values.sort_unstable();
    values[values.len() / 2]
}

/// Repeated runs of the serial elision, without a clock.
pub(crate) struct SerialRuns {
    pub median: Duration,
    pub median_ticks: f64,
    pub shortest_ticks: f64,
    pub runs: usize,
}

impl SerialRuns {
    /// Runs the serial elision until the runs are enough.
    pub fn run<S: Scheduler, P: Program>(pool: &Pool<S>, program: &mut P) -> SerialRuns {
        let mut runs = Vec::new();
        while !is_enough(runs.len(), total(&runs)) {
            runs.push(run_serially(pool, program));
        }
        SerialRuns::from_runs(runs)
    }

    /// Alternates runs of the serial elision with runs with tasks. Also returns how many times as
    /// long the runs with tasks take, or 1 if the difference may be noise.
    pub fn run_paired_with_tasks<S: Scheduler, P: Program>(
        pool: &Pool<S>,
        program: &mut P,
    ) -> (SerialRuns, f64) {
        let mut runs = Vec::new();
        // One ratio for each pair, because both runs of a pair have the same clock rate and the
        // same disturbances. The order alternates, because the second run of a pair may be faster
        // or slower than the first.
        let mut ratios = Vec::new();
        while !are_enough(runs.len(), total(&runs)) {
            let tasks_first = runs.len() % 2 == 1;
            let before = tasks_first.then(|| run_tasks(pool, program));
            let serial = run_serially(pool, program);
            let ticks = before.unwrap_or_else(|| run_tasks(pool, program));
            ratios.push(ticks as f64 / serial.ticks.max(1) as f64);
            runs.push(serial);
        }
        (SerialRuns::from_runs(runs), significant_median(ratios))
    }

    fn from_runs(runs: Vec<Run>) -> SerialRuns {
        let ticks: Vec<_> = runs.iter().map(|run| run.ticks).collect();
        let shortest = ticks.iter().min().copied().unwrap_or(0);
        SerialRuns {
            median_ticks: median(ticks) as f64,
            shortest_ticks: shortest as f64,
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
    // Runs on a thread of the pool, because a program may need its large stack.
    pool.run(|_| {
        let (start, first) = (Instant::now(), ticks());
        measured(|| program.run(Serial));
        let ticks = ticks() - first;
        Run {
            time: start.elapsed(),
            ticks,
        }
    })
}

/// Runs the program with tasks. Returns its ticks.
fn run_tasks<S: Scheduler, P: Program>(pool: &Pool<S>, program: &mut P) -> u64 {
    program.prepare();
    pool.run(|mut w| {
        let first = ticks();
        // Runs in a spawned task, because the finish also waits for futures whose results are never
        // fetched.
        w.finish(|scope| scope.spawn(|w| program.run(w)));
        ticks() - first
    })
}

/// The result of runs with a clock.
pub(crate) struct Measured {
    /// The receiver of the corrected strands.
    pub receiver: Receiver,
    /// The places of the strands.
    pub places: Places,
    /// Whether the shortest time of each strand counts. If not, all times come from one run.
    pub is_filtered: bool,
    /// The duration of the shortest run, in ticks.
    pub shortest_ticks: f64,
}

/// Total time of runs with a clock.
const RECORDING_TIME: Duration = Duration::from_secs(2);
const MAX_RECORDED_RUNS: usize = 20;

/// Runs the serial elision with a clock, and passes its strands on. The correction makes them take
/// `total` ticks together.
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
            let run = measured(|| Recorder::new(sink).record(|w| program.run(w)));
            shortest = shortest.min((ticks() - first) as f64);
            run
        })
    };
    let mut strands = StrandTimes::default();
    let mut places = None;
    let start = Instant::now();
    for runs in 1.. {
        strands.begin_run();
        let (sink, of_run) = run(Sink::Keep(strands));
        strands = sink.into_kept();
        // The first run decides on the places of the strands.
        let _ = places.get_or_insert(of_run);
        let time = start.elapsed();
        let enough = time >= RECORDING_TIME || runs >= MAX_RECORDED_RUNS;
        if !strands.end_run() || enough && runs >= MIN_RUNS || time >= MAX_TOTAL {
            break;
        }
    }
    let correction = strands.correction(ticks_per_reading(), total);
    let is_filtered = strands.is_complete();
    if is_filtered {
        strands.replay(correction, &mut receiver);
    } else {
        // One more run, whose strands are passed on without being kept.
        drop(strands);
        let sink = Sink::PassOn {
            receiver: Box::new(receiver),
            correction,
            is_first: true,
        };
        let (sink, of_run) = run(sink);
        receiver = sink.into_receiver();
        places = Some(of_run);
    }
    Measured {
        receiver,
        places: places.unwrap_or_default(),
        is_filtered,
        shortest_ticks: shortest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_significant_if_enough_ratios_agree_or_all_of_a_few_are_far_from_1() {
        for (ratios, expected) in [
            (&[1.5][..], 1.5),
            (&[1.04], 1.0),
            (&[0.5], 1.0),
            (&[1.25, 1.5, 1.04], 1.0),
            (&[1.25, 1.5, 1.06], 1.25),
            (&[1.01, 1.01, 1.02, 1.02, 1.01, 1.02], 1.02),
            (&[1.01, 1.01, 1.02, 1.02, 1.01, 0.99], 1.0),
        ] {
            assert_eq!(significant_median(ratios.to_vec()), expected, "{ratios:?}");
        }
    }

    /// Tries all combinations of pairs that are faster or slower by noise.
    #[test]
    fn noise_is_taken_for_a_difference_in_less_than_one_of_25_cases() {
        for pairs in 6..=if cfg!(miri) { 8 } else { 14 } {
            let ratio = |is_above| if is_above { 1.1 } else { 0.9 };
            let ratios = |case: u32| (0..pairs).map(move |pair| ratio(case >> pair & 1 == 1));
            let is_taken = |case: &u32| significant_median(ratios(*case).collect()) > 1.0;
            let cases = (0..1 << pairs).filter(is_taken).count();
            assert!(
                (1..(1 << pairs) / 25).contains(&cases),
                "{cases} of {pairs} pairs"
            );
        }
    }
}
