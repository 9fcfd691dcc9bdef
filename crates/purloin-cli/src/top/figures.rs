//! The figures of the time between two snapshots.

use std::time::Duration;

use purloin_trace::ProcessorTime;
use purloin_trace::live::{Does, Pool, Times, Worker};
use serde::Serialize;

use super::programs::Look;

/// A worker that runs the program counts as blocked if its thread had or wanted a processor for less than this share of
/// the time.
const HARDLY: f64 = 0.05;

/// A time without progress that is worth a line, in seconds.
const LONG: f64 = 0.9;

/// The figures of a program, between two snapshots.
#[derive(Serialize)]
pub struct Figures {
    pub program: String,
    pub pid: u32,
    /// The time between the two snapshots.
    pub seconds: f64,
    pub pools: Vec<PoolFigures>,
}

/// The figures of a pool, between two snapshots, or since it was built if that was later.
#[derive(Serialize)]
pub struct PoolFigures {
    pub id: u64,
    /// Number of regular workers.
    pub regular_workers: usize,
    /// Maximum number of spare workers.
    pub max_spare_workers: usize,
    /// Work from outside that no worker has begun.
    pub waiting: usize,
    /// The share of the regular workers' time in which they searched or slept.
    pub idle_share: f64,
    pub steals_per_second: f64,
    pub stuck: Option<Stuck>,
    /// The workers, then the spare workers.
    pub workers: Vec<WorkerFigures>,
}

/// A pool that makes no progress.
#[derive(Serialize)]
pub struct Stuck {
    pub seconds: f64,
    pub likely_reason: String,
}

/// The figures of a worker, between two snapshots, with its activity at the second one.
#[derive(Serialize)]
pub struct WorkerFigures {
    pub number: usize,
    pub is_spare: bool,
    pub state: State,
    /// The worker that runs the task for which this one waits.
    pub waits_for_worker: Option<usize>,
    /// For how long it has been in this state.
    pub state_seconds: f64,
    pub shares: Shares,
    /// The share of the time in which its thread had a processor, if the system reports it.
    pub processor_share: Option<f64>,
    pub steals_per_second: f64,
    pub attempts_per_second: f64,
    /// Tasks on its stack that no worker has begun.
    pub tasks: usize,
    pub span: Option<String>,
}

/// The activity of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Runs,
    /// It runs the program, but its thread has hardly used a processor.
    Blocked,
    WaitsForTask,
    WaitsForScope,
    WaitsForOther,
    Searches,
    Sleeps,
}

/// Shares of a worker's time, which add up to 1.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Shares {
    /// Running the program on a processor.
    pub running: f64,
    /// Running the program while others have the processor.
    pub without_processor: f64,
    /// Blocked in the program.
    pub blocked: f64,
    /// Waiting in a join, at the end of a scope, for a future or for another pool.
    pub waiting: f64,
    pub searching: f64,
    pub asleep: f64,
}

impl Figures {
    /// Returns what the program did since its pools were built.
    pub fn so_far(look: &Look) -> Figures {
        let snapshot = &look.snapshot;
        let pools = snapshot.pools.iter();
        Figures {
            program: snapshot.program.clone(),
            pid: snapshot.process,
            seconds: 0.0,
            pools: pools.map(|pool| PoolFigures::new(None, pool)).collect(),
        }
    }

    /// Returns what the program did between two snapshots.
    pub fn between(before: &Look, after: &Look) -> Figures {
        let pools = after.snapshot.pools.iter().map(|pool| {
            let mut pools = before.snapshot.pools.iter();
            PoolFigures::new(pools.find(|before| before.id == pool.id), pool)
        });
        Figures {
            seconds: (after.time - before.time).as_secs_f64(),
            pools: pools.collect(),
            ..Figures::so_far(after)
        }
    }
}

impl PoolFigures {
    fn new(before: Option<&Pool>, after: &Pool) -> PoolFigures {
        let nothing = Worker::default();
        let workers = after.workers.iter().enumerate().map(|(number, worker)| {
            let before = before.and_then(|before| before.workers.get(number));
            let is_spare = number >= after.regular;
            WorkerFigures::new(number, is_spare, before.unwrap_or(&nothing), worker)
        });
        let workers: Vec<_> = workers.collect();
        let regular = &workers[..after.regular.min(workers.len())];
        let idle = regular
            .iter()
            .map(|worker| worker.shares.searching + worker.shares.asleep);
        let stuck = after.stuck.as_ref().map(|stuck| Stuck {
            seconds: seconds(stuck.nanoseconds),
            likely_reason: stuck.reason.clone(),
        });
        PoolFigures {
            id: after.id,
            regular_workers: after.regular,
            max_spare_workers: after.spares,
            waiting: after.waiting,
            idle_share: idle.sum::<f64>() / regular.len().max(1) as f64,
            steals_per_second: workers.iter().map(|worker| worker.steals_per_second).sum(),
            stuck: stuck.filter(|stuck| stuck.seconds >= LONG),
            workers,
        }
    }
}

impl WorkerFigures {
    fn new(number: usize, is_spare: bool, before: &Worker, after: &Worker) -> WorkerFigures {
        let times = Times {
            running: after.times.running.saturating_sub(before.times.running),
            searching: after.times.searching.saturating_sub(before.times.searching),
            asleep: after.times.asleep.saturating_sub(before.times.asleep),
            waiting: after.times.waiting.saturating_sub(before.times.waiting),
        };
        let elapsed = times.total().max(1);
        let share = |time: u64| time as f64 / elapsed as f64;
        let processor = after.processor.map(|after| {
            let before = before.processor.unwrap_or_default();
            ProcessorTime {
                ran: after.ran.saturating_sub(before.ran),
                waited: after.waited.saturating_sub(before.waited),
            }
        });
        // The thread neither had nor wanted a processor. It does neither while it sleeps or waits, so the rest of this
        // time went by in the program.
        let off = processor.map_or(0, |time| elapsed.saturating_sub(time.ran + time.waited));
        let blocked = off
            .saturating_sub(times.asleep + times.waiting)
            .min(times.running);
        let waited = processor.map_or(0, |time| time.waited);
        let without_processor = waited.min(times.running - blocked);
        let per_second = |name: &str| {
            let count = |worker: &Worker| worker.counts.get(name).copied().unwrap_or(0);
            count(after).saturating_sub(count(before)) as f64 / seconds(elapsed)
        };
        let hardly_ran = processor.is_some_and(|time| share(time.ran + time.waited) < HARDLY);
        WorkerFigures {
            number,
            is_spare,
            state: match after.does {
                Does::Runs if hardly_ran && after.since >= elapsed => State::Blocked,
                Does::Runs => State::Runs,
                Does::WaitsForTask(_) => State::WaitsForTask,
                Does::WaitsForScope => State::WaitsForScope,
                Does::WaitsForOther => State::WaitsForOther,
                Does::Searches => State::Searches,
                Does::Sleeps => State::Sleeps,
            },
            waits_for_worker: match after.does {
                Does::WaitsForTask(worker) => Some(worker),
                _ => None,
            },
            state_seconds: seconds(after.since),
            shares: Shares {
                running: share(times.running - blocked - without_processor),
                without_processor: share(without_processor),
                blocked: share(blocked),
                waiting: share(times.waiting),
                searching: share(times.searching),
                asleep: share(times.asleep),
            },
            processor_share: processor.map(|time| share(time.ran).min(1.0)),
            steals_per_second: per_second("steals"),
            attempts_per_second: per_second("steal_attempts"),
            tasks: after.tasks,
            span: after.span.clone(),
        }
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    Duration::from_nanos(nanoseconds).as_secs_f64()
}
