//! Running cells: interleaved, checked, timed.

use std::sync::atomic::AtomicU64;

use indicatif::ProgressBar;
use purloin::{Pool, Serial, Stats, Times};
use purloin_analysis::Counted;
use purloin_kernels::Job;

use super::contestant::{self, Run};
use crate::schedulers::{STACK_SIZE, Spec};
use purloin_command::Failure;

/// A kernel under a scheduler with a number of workers: times and answer.
pub struct Cell {
    pub kernel: &'static str,
    pub input: String,
    pub scheduler: String,
    pub workers: usize,
    pub seconds: Vec<f64>,
    /// The median time of the serial elision, in seconds.
    pub serial: f64,
    /// The same of what the scheduler is to be compared with: the serial elision,
    /// unless it is in another language.
    pub yardstick: f64,
    pub answer: String,
    pub verified: bool,
    /// Joins and spawns of the program, under any scheduler.
    pub tasks: u64,
    /// What the workers counted in the median run, where they count.
    pub stats: Option<Stats>,
    /// What that says of thieves, if it was asked for: of each figure the median.
    pub dynamics: Option<Dynamics>,
}

/// What steals cost the victims, after Return barrier, section 4.
#[derive(Clone, Copy, serde::Serialize)]
pub struct Dynamics {
    /// Steals, relative to tasks; none where there are only loops, which have no tasks
    /// until a thief comes.
    pub steal_ratio: Option<f64>,
    /// Steals in a millisecond.
    pub steal_rate: f64,
    /// The part of the workers' time that victims lose to thieves.
    pub dynamic_overhead: f64,
    /// Of that, the part in which they come back to tasks that were public.
    pub barrier_cost: f64,
    /// The part of the steals that needed no request.
    pub free_steal_share: f64,
}

impl Dynamics {
    /// Figure by figure. A single run may be disturbed, by the system, at the very
    /// moment when a thief is served.
    fn median(runs: &[Dynamics]) -> Option<Dynamics> {
        let of =
            |figure: fn(&Dynamics) -> f64| median(&runs.iter().map(figure).collect::<Vec<_>>());
        (!runs.is_empty()).then(|| Dynamics {
            steal_ratio: runs[0]
                .steal_ratio
                .map(|_| of(|run| run.steal_ratio.unwrap_or(0.0))),
            steal_rate: of(|run| run.steal_rate),
            dynamic_overhead: of(|run| run.dynamic_overhead),
            barrier_cost: of(|run| run.barrier_cost),
            free_steal_share: of(|run| run.free_steal_share),
        })
    }

    fn of(stats: Stats, times: Times, tasks: u64, seconds: f64, workers: usize) -> Dynamics {
        let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let steals = stats.steals as f64;
        let (all, crossing) = (seconds * workers as f64, times.crossing.as_secs_f64());
        Dynamics {
            steal_ratio: (tasks > 0).then(|| steals / tasks as f64),
            steal_rate: ratio(steals, seconds * 1e3),
            dynamic_overhead: ratio(times.serving.as_secs_f64() + crossing, all),
            barrier_cost: ratio(crossing, all),
            free_steal_share: ratio(stats.free_steals as f64, steals),
        }
    }
}

impl Cell {
    pub fn median(&self) -> f64 {
        median(&self.seconds)
    }

    /// The median time, relative to that without any parallelism.
    pub fn vs_serial(&self) -> f64 {
        self.median() / self.yardstick
    }

    /// Whether that was in another language.
    pub fn is_foreign(&self) -> bool {
        self.yardstick != self.serial
    }

    /// How far the middle half of the times reaches to either side, relative to
    /// the median: half of the distance between the quartiles.
    pub fn spread(&self) -> f64 {
        let between = quantile(&self.seconds, 0.75) - quantile(&self.seconds, 0.25);
        between / 2.0 / self.median()
    }
}

fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The value below which `part` of the values lie, by linear interpolation.
fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = part * (sorted.len() - 1) as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    sorted[below] + (sorted[above] - sorted[below]) * place.fract()
}

/// What to run for each kernel.
pub struct Kind {
    scheduler: Spec,
    workers: usize,
    /// The yardstick is run even where nobody asked to see it.
    shown: bool,
}

/// Every scheduler with every number of workers, the serial elision first.
pub fn cells(schedulers: &[Spec], workers: &[usize]) -> Vec<Kind> {
    let mut kinds = vec![Kind {
        scheduler: Spec::serial(),
        workers: 1,
        shown: schedulers.iter().any(|scheduler| !scheduler.has_workers()),
    }];
    for scheduler in schedulers
        .iter()
        .filter(|scheduler| scheduler.has_workers())
    {
        for &workers in workers {
            kinds.push(Kind {
                scheduler: scheduler.clone(),
                workers,
                shown: true,
            });
        }
    }
    kinds
}

/// How many timed runs there are in one round of these.
pub fn timed(kinds: &[Kind]) -> u64 {
    kinds.len() as u64
}

/// Runs one kernel in all cells, round by round, so that a change in the
/// machine's speed meets all of them alike.
pub fn measure(
    job: &Job,
    kinds: &[Kind],
    runs: u32,
    progress: &ProgressBar,
) -> Result<Vec<Cell>, Failure> {
    progress.set_message(format!("{}={}", job.kernel(), job.input()));
    let tasks = count_tasks(job)?;
    progress.inc(1);
    let mut contestants = kinds
        .iter()
        .map(|kind| contestant::prepare(*job, &kind.scheduler, kind.workers))
        .collect::<Result<Vec<_>, _>>()?;
    let mut rounds: Vec<Vec<Run>> = kinds.iter().map(|_| Vec::new()).collect();
    for round in 0..runs as usize {
        for place in order(round, kinds.len()) {
            let kind = &kinds[place];
            progress.set_message(format!(
                "{}={} under {}",
                job.kernel(),
                job.input(),
                kind.scheduler
            ));
            rounds[place].push(contestants[place].run()?);
            progress.inc(1);
        }
    }
    let elision = Elision {
        tasks,
        seconds: median(&of_each(&rounds[0], |run| run.seconds)),
        answer: rounds[0][0].answer.clone(),
    };
    let cells = kinds.iter().zip(rounds).filter(|(kind, _)| kind.shown);
    Ok(cells
        .map(|(kind, runs)| summary(job, kind, &runs, &elision))
        .collect())
}

/// What all cells of a kernel are compared with.
struct Elision {
    tasks: u64,
    seconds: f64,
    answer: String,
}

fn of_each(runs: &[Run], figure: impl Fn(&Run) -> f64) -> Vec<f64> {
    runs.iter().map(figure).collect()
}

fn summary(job: &Job, kind: &Kind, runs: &[Run], elision: &Elision) -> Cell {
    let seconds = of_each(runs, |run| run.seconds);
    let middle = median(&seconds);
    let distance = |run: &&Run| (run.seconds - middle).abs();
    let typical = runs
        .iter()
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
        .expect("at least one run");
    // If one answer is wrong, that is the one to show.
    let is_right = |run: &Run| run.verified && run.answer == elision.answer;
    let telling = runs.iter().find(|run| !is_right(run)).unwrap_or(typical);
    let yardsticks: Vec<_> = runs.iter().filter_map(|run| run.yardstick).collect();
    let dynamics: Vec<_> = runs
        .iter()
        .filter_map(|run| {
            let (stats, times) = run.stats.zip(run.times)?;
            let (tasks, workers) = (elision.tasks, kind.workers);
            Some(Dynamics::of(stats, times, tasks, run.seconds, workers))
        })
        .collect();
    Cell {
        kernel: job.kernel(),
        input: job.input(),
        scheduler: kind.scheduler.to_string(),
        workers: kind.workers,
        serial: elision.seconds,
        yardstick: match yardsticks.is_empty() {
            true => elision.seconds,
            false => median(&yardsticks),
        },
        answer: telling.answer.clone(),
        verified: is_right(telling),
        tasks: elision.tasks,
        stats: typical.stats,
        dynamics: Dynamics::median(&dynamics),
        seconds,
    }
}

/// The order of the cells in a round: each is first in some rounds, and comes after
/// one neighbour in half of the rounds, after the other in the rest. A processor
/// that has just rested, or run one thread only, is faster for a while.
fn order(round: usize, cells: usize) -> impl Iterator<Item = usize> {
    let step = if round.is_multiple_of(2) {
        1
    } else {
        cells - 1
    };
    (0..cells).map(move |i| (round / 2 + i * step) % cells)
}

/// Counts the tasks of a program; its first run, which warms the machine up.
fn count_tasks(job: &Job) -> Result<u64, Failure> {
    let pool = Pool::builder()
        .workers(1)
        .stack_size(STACK_SIZE)
        .build()
        .map_err(|error| Failure::Run(error.to_string()))?;
    let tasks = AtomicU64::new(0);
    let mut instance = job.prepare();
    pool.run(|_| instance.run(Counted::new(Serial, &tasks)));
    Ok(tasks.into_inner())
}

#[cfg(test)]
mod tests {
    use super::{order, quantile};

    #[test]
    fn each_round_has_every_cell() {
        for cells in 1..5 {
            for round in 0..10 {
                let mut places: Vec<_> = order(round, cells).collect();
                places.sort_unstable();
                assert_eq!(places, (0..cells).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn quantiles_lie_between_the_values() {
        assert_eq!(quantile(&[3.0], 0.25), 3.0);
        assert_eq!(quantile(&[4.0, 1.0], 0.5), 2.5);
        assert_eq!(quantile(&[9.0, 1.0, 3.0], 0.75), 6.0);
    }
}
