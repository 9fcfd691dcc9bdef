//! Measuring the cells of a kernel: interleaved, timed and verified.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use indicatif::ProgressBar;
use purloin::{Pool, Serial};
use purloin_analysis::Counted;
use purloin_command::Failure;
use purloin_kernels::Job;

use super::cell::Cell;
use super::contestant::{self, Run};
use super::quantiles::median;
use super::steal_costs::StealCosts;
use crate::schedulers::{STACK_SIZE, Spec};

/// A scheduler with a number of workers.
pub struct Configuration {
    scheduler: Spec,
    workers: usize,
    /// Whether the user asked for it. The serial elision runs in any case, as the baseline.
    is_shown: bool,
}

/// Returns every scheduler that can run this kernel, with every number of workers, after the serial
/// elision.
pub fn configurations(job: &Job, schedulers: &[Spec], workers: &[usize]) -> Vec<Configuration> {
    let schedulers = schedulers
        .iter()
        .filter(|scheduler| scheduler.check(job).is_ok());
    let mut configurations = vec![Configuration {
        scheduler: Spec::serial(),
        workers: 1,
        is_shown: schedulers.clone().any(|scheduler| !scheduler.has_workers()),
    }];
    for scheduler in schedulers.filter(|scheduler| scheduler.has_workers()) {
        for &workers in workers {
            configurations.push(Configuration {
                scheduler: scheduler.clone(),
                workers,
                is_shown: true,
            });
        }
    }
    configurations
}

/// The number of steps by which [`measure`] advances the progress bar.
pub fn steps(configurations: &[Configuration], runs: u32) -> u64 {
    1 + u64::from(runs) * configurations.len() as u64
}

/// Runs one kernel in all configurations, round by round, so that a change in the machine's speed
/// affects all of them equally. Returns the cells that are shown. A peer that fails, or that is a
/// program and takes longer than `limit` for a run, has no cell.
pub fn measure(
    job: &Job,
    configurations: &[Configuration],
    runs: u32,
    limit: Duration,
    progress: &ProgressBar,
) -> Result<Vec<Cell>, Failure> {
    progress.set_message(job.to_string());
    let tasks = count_tasks(job)?;
    progress.inc(1);
    let mut contestants = configurations
        .iter()
        .map(|configuration| {
            let Configuration {
                scheduler, workers, ..
            } = configuration;
            let contestant = contestant::prepare(*job, scheduler, *workers, limit);
            unless_left_out(configuration, contestant, progress)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let mut results: Vec<Vec<Run>> = configurations.iter().map(|_| Vec::new()).collect();
    for round in 0..runs as usize {
        for place in order(round, configurations.len()) {
            let configuration = &configurations[place];
            if let Some(contestant) = &mut contestants[place] {
                progress.set_message(format!("{job} under {}", configuration.scheduler));
                match unless_left_out(configuration, contestant.run(), progress)? {
                    Some(run) => results[place].push(run),
                    None => contestants[place] = None,
                }
            }
            progress.inc(1);
        }
    }
    let baseline = Baseline {
        tasks,
        seconds: seconds(&results[0]),
        answer: results[0][0].answer.clone(),
    };
    let finished = configurations.iter().zip(results).zip(contestants);
    let shown = finished
        .filter(|((configuration, _), contestant)| configuration.is_shown && contestant.is_some());
    Ok(shown
        .map(|((configuration, runs), _)| summarize(job, configuration, &runs, &baseline))
        .collect())
}

/// Returns a contestant's result. If a peer has failed, writes one line that says why, and returns
/// `None`: the other contestants go on.
fn unless_left_out<T>(
    configuration: &Configuration,
    result: Result<T, Failure>,
    progress: &ProgressBar,
) -> Result<Option<T>, Failure> {
    match result {
        Err(failure) if configuration.scheduler.is_peer() => {
            progress.suspend(|| failure.tell("purloin"));
            Ok(None)
        }
        result => result.map(Some),
    }
}

/// The results of the serial elision, with which all cells of a kernel are compared.
struct Baseline {
    tasks: u64,
    seconds: Vec<f64>,
    answer: String,
}

fn seconds(runs: &[Run]) -> Vec<f64> {
    runs.iter().map(|run| run.seconds).collect()
}

fn summarize(job: &Job, configuration: &Configuration, runs: &[Run], baseline: &Baseline) -> Cell {
    let seconds = seconds(runs);
    let middle = median(&seconds);
    let distance = |run: &&Run| (run.seconds - middle).abs();
    let typical = runs
        .iter()
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
        .expect("at least one run");
    // Shows a wrong answer, even if most runs gave the right answer.
    let is_right = |run: &Run| run.verified && run.answer == baseline.answer;
    let shown = runs.iter().find(|run| !is_right(run)).unwrap_or(typical);
    let own_baselines: Vec<_> = runs.iter().filter_map(|run| run.own_baseline).collect();
    let steal_costs: Vec<_> = runs
        .iter()
        .filter_map(|run| {
            let (stats, times) = run.stats.zip(run.times)?;
            let (tasks, used) = (baseline.tasks, run.processor_time);
            Some(StealCosts::of_run(stats, times, tasks, run.seconds, used))
        })
        .collect();
    Cell {
        kernel: job.kernel(),
        input: job.input(),
        scheduler: configuration.scheduler.to_string(),
        workers: configuration.workers,
        serial: median(&baseline.seconds),
        has_own_baseline: !own_baselines.is_empty(),
        baseline: match own_baselines.is_empty() {
            true => baseline.seconds.clone(),
            false => own_baselines,
        },
        answer: shown.answer.clone(),
        verified: is_right(shown),
        tasks: baseline.tasks,
        stats: typical.stats,
        steal_costs,
        seconds,
    }
}

/// Returns the order of the cells in a round.
///
/// A processor that has just rested, or has run only one thread, is faster for a while. So the
/// first cell rotates every two rounds, and odd rounds go backwards: each cell then follows one
/// neighbour in half of the rounds and the other neighbour in the rest.
fn order(round: usize, cells: usize) -> impl Iterator<Item = usize> {
    let step = if round.is_multiple_of(2) {
        1
    } else {
        cells - 1
    };
    (0..cells).map(move |i| (round / 2 + i * step) % cells)
}

/// Counts the tasks of a kernel. This is also the first run, and warms up the machine.
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
    use super::order;

    #[test]
    fn every_round_runs_every_cell_once() {
        for cells in 1..5 {
            for round in 0..10 {
                let mut places: Vec<_> = order(round, cells).collect();
                places.sort_unstable();
                assert_eq!(places, (0..cells).collect::<Vec<_>>());
            }
        }
    }
}
