//! What a pool does at a moment: what each worker does or waits for, and what has not begun.

use std::fmt::{Display, Formatter, Result};
use std::time::Duration;

use purloin_trace::live;

use super::watched::Watched;
use super::{Remote, Shared};
use crate::scheduler::{Scheduler, TaskPool};
use crate::stats::{Activity, Count};

/// What a pool does at a moment, from [`Pool::state`](crate::Pool::state). [`Display`] prints it for people.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PoolState {
    /// The number of the pool in the program, as in a [trace](crate::trace).
    pub id: u64,
    /// The workers, then the spare workers whose threads were started.
    pub workers: Vec<WorkerState>,
    /// Number of calls, jobs and other work from outside that no worker has begun.
    pub waiting: usize,
    /// Number of regular workers.
    pub regular: usize,
    /// Maximum number of spare workers.
    pub spares: usize,
    /// Whether a blocked worker's processor is idle, because no spare worker is left to use it.
    pub lacks_workers: bool,
    /// A number that grows when workers begin work from outside or steal.
    pub(super) progress: u64,
}

/// What a worker does at a moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WorkerState {
    /// What it does.
    pub does: WorkerActivity,
    /// How long it has been doing this. `None` if the pool is neither [timed](crate::Builder::timed) nor
    /// [traced](crate::Builder::traced).
    pub since: Option<Duration>,
    /// Number of tasks on its stack that no worker has begun.
    pub tasks: usize,
    /// The processor time that its thread has used. `None` if the pool is neither traced nor watched, or the
    /// system does not say.
    pub processor_time: Option<Duration>,
    /// The innermost [span](crate::span()) in which it is, if the pool is traced.
    pub span: Option<&'static str>,
    /// Whether the worker is a thread of the program, which runs other code, too.
    is_attached: bool,
}

/// What a worker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkerActivity {
    /// It has nothing to do: it looks for work, or sleeps.
    Idle,
    /// It runs the program. The program may wait there in a way that the pool does not see.
    Runs,
    /// It waits for a task that this worker runs.
    WaitsForTask(usize),
    /// It waits for the end of a finish, or of another scope, whose tasks other workers run or have not begun.
    WaitsForScope,
    /// It waits for another pool, or for an asynchronous program.
    WaitsForOther,
}

/// A worker that waits notes as a number what it waits for.
impl WorkerActivity {
    pub(crate) fn encode(self) -> usize {
        match self {
            WorkerActivity::Idle | WorkerActivity::Runs => 0,
            WorkerActivity::WaitsForScope => 1,
            WorkerActivity::WaitsForOther => 2,
            WorkerActivity::WaitsForTask(holder) => 3 + holder,
        }
    }

    fn decode(number: usize, is_active: bool) -> WorkerActivity {
        match number {
            _ if !is_active => WorkerActivity::Idle,
            0 => WorkerActivity::Runs,
            1 => WorkerActivity::WaitsForScope,
            2 => WorkerActivity::WaitsForOther,
            number => WorkerActivity::WaitsForTask(number - 3),
        }
    }
}

impl<S: Scheduler> Shared<S> {
    /// Implements [`Pool::state`](crate::Pool::state).
    pub(super) fn state(&self) -> PoolState {
        let steals = self
            .started()
            .iter()
            .map(|worker| worker.counters.get(Count::Steals));
        PoolState {
            id: self.id,
            workers: self.started().iter().map(worker_state).collect(),
            waiting: self.inbox.len(),
            regular: self.workers,
            spares: self.spares,
            lacks_workers: S::HANDS_OFF && self.spares > 0 && self.sleep.lacks_workers(),
            progress: self.inbox.begun() as u64 + steals.sum::<u64>(),
        }
    }
}

impl<S: Scheduler> Watched for Shared<S> {
    fn state(&self) -> PoolState {
        Shared::state(self)
    }

    fn with_totals(&self, state: &PoolState) -> live::Pool {
        let workers = self.started().iter().zip(&state.workers);
        live::Pool {
            id: self.id,
            regular: self.workers,
            spares: self.spares,
            waiting: state.waiting,
            stuck: None,
            workers: workers
                .map(|(worker, state)| live_worker(worker, state))
                .collect(),
        }
    }
}

fn live_worker<S: Scheduler>(worker: &Remote<S>, state: &WorkerState) -> live::Worker {
    let nanoseconds = |time: Duration| time.as_nanos() as u64;
    let times = worker.timer.read();
    let idle = times.stealing + times.searching;
    let trace = worker.timer.trace();
    let sleep = trace.map(|trace| trace.idle_sleep()).unwrap_or_default();
    // The two may belong to different moments.
    let asleep = sleep.total.min(idle);
    live::Worker {
        does: match state.does {
            WorkerActivity::Idle if sleep.is_asleep => live::Does::Sleeps,
            WorkerActivity::Idle => live::Does::Searches,
            WorkerActivity::Runs => live::Does::Runs,
            WorkerActivity::WaitsForTask(holder) => live::Does::WaitsForTask(holder),
            WorkerActivity::WaitsForScope => live::Does::WaitsForScope,
            WorkerActivity::WaitsForOther => live::Does::WaitsForOther,
        },
        since: state.since.map(nanoseconds).unwrap_or_default(),
        tasks: state.tasks,
        span: state.span.map(str::to_owned),
        processor: trace.and_then(|trace| trace.processor_time()),
        times: live::Times {
            running: nanoseconds(times.application + times.application_in_join),
            searching: nanoseconds(idle - asleep),
            asleep: nanoseconds(asleep),
            waiting: nanoseconds(times.stealing_in_join + times.searching_in_join),
        },
        counts: worker
            .counters
            .named()
            .map(|(name, count)| (name.into(), count))
            .collect(),
    }
}

fn worker_state<S: Scheduler>(worker: &Remote<S>) -> WorkerState {
    let stack = worker.tasks.stack();
    // The two may belong to different moments.
    let tasks = stack
        .position(stack.top())
        .saturating_sub(stack.position(stack.bottom()));
    let (activity, since) = worker.timer.current();
    let is_running = matches!(
        activity,
        Activity::Application | Activity::ApplicationInJoin
    );
    let does = WorkerActivity::decode(worker.waits_for(), worker.is_active());
    let trace = worker.timer.trace();
    WorkerState {
        // A worker that waits may run something meanwhile.
        does: match does {
            WorkerActivity::Idle => WorkerActivity::Idle,
            _ if since.is_some() && is_running => WorkerActivity::Runs,
            does => does,
        },
        since,
        tasks: if worker.is_active() { tasks } else { 0 },
        processor_time: trace
            .and_then(|trace| trace.processor_time())
            .map(|time| Duration::from_nanos(time.ran)),
        span: trace.and_then(|trace| trace.open_span()),
        is_attached: worker.may_pool_end(),
    }
}

impl PoolState {
    /// Returns whether anything has begun and not ended, or waits to begin.
    pub(super) fn is_busy(&self) -> bool {
        // What a thread of the program runs need not belong to the pool.
        let is_busy = |worker: &WorkerState| match worker.does {
            WorkerActivity::Idle => false,
            WorkerActivity::Runs => !worker.is_attached,
            _ => true,
        };
        self.waiting > 0 || self.workers.iter().any(is_busy)
    }

    /// Returns whether all that the pool does is to wait for another one.
    pub(super) fn only_waits_for_others(&self) -> bool {
        let tasks: usize = self.workers.iter().map(|worker| worker.tasks).sum();
        self.waiting + tasks == 0
            && self.count(|does| does == WorkerActivity::Runs) == 0
            && self.count(|does| does == WorkerActivity::WaitsForOther) > 0
    }

    /// Returns the number of workers that do this.
    fn count(&self, is_one: impl Fn(WorkerActivity) -> bool) -> usize {
        self.workers
            .iter()
            .filter(|worker| is_one(worker.does))
            .count()
    }

    /// Returns the likely reason why the pool makes no progress.
    pub(super) fn likely_reason(&self) -> String {
        let running = self.count(|does| does == WorkerActivity::Runs);
        let others = self.count(|does| does == WorkerActivity::WaitsForOther);
        let tasks: usize = self.workers.iter().map(|worker| worker.tasks).sum();
        let not_begun = self.waiting + tasks;
        let spares = self.workers.len().saturating_sub(self.regular);
        if running == 0 && others > 0 {
            let wait = number(others, "worker waits", "workers wait");
            return format!(
                "{wait} for a reply from another pool or from an asynchronous program, and none has come."
            );
        }
        if running == 0 {
            let what = match self.count(|does| does != WorkerActivity::Idle) {
                0 => "Work waits, and all workers are idle.",
                _ => "Workers wait for each other's tasks, and none of them runs one.",
            };
            return format!("{what} This is a bug in Purloin. Please report it with this text.");
        }
        let wait = number(
            running,
            "worker is blocked inside a task",
            "workers are blocked inside tasks",
        );
        let wait =
            format!("{wait}, on a lock, a channel or something else that the pool cannot see.");
        let left = number(not_begun, "task or call has", "tasks or calls have");
        match (not_begun, self.lacks_workers || self.spares == 0) {
            (0, _) => {
                format!(
                    "{wait} All work has begun, so only code outside the pool, or one of these tasks, can end the wait."
                )
            }
            (_, true) => format!(
                "{wait} {left} not begun, and {spares} of {} spare workers are used up. If the wait ends only when that \
                 work has run, raise Builder::spare_workers.",
                self.spares
            ),
            (_, false) => format!(
                "{wait} {left} not begun. If the wait ends only when that work has run, wrap the wait in \
                 purloin::blocking: another worker then runs the work."
            ),
        }
    }
}

/// Returns a number with a noun that agrees with it.
fn number(number: usize, one: &str, several: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { several })
}

impl Display for PoolState {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let PoolState { id, waiting, .. } = self;
        let started = self.workers.len().saturating_sub(self.regular);
        writeln!(
            f,
            "pool {id}: {}, {started} of {} spare workers started, {} not begun",
            number(self.regular, "worker", "workers"),
            self.spares,
            number(*waiting, "call or job has", "calls or jobs have"),
        )?;
        for (index, worker) in self.workers.iter().enumerate() {
            if index >= self.regular && worker.does == WorkerActivity::Idle {
                continue;
            }
            let name = if index < self.regular {
                "worker"
            } else {
                "spare worker"
            };
            write!(f, "  {name} {index} ")?;
            match worker.does {
                WorkerActivity::Idle => write!(f, "is idle")?,
                WorkerActivity::Runs => write!(f, "runs a task")?,
                WorkerActivity::WaitsForTask(holder) => {
                    write!(f, "waits for a task that worker {holder} runs")?
                }
                WorkerActivity::WaitsForScope => write!(f, "waits for the tasks of a finish")?,
                WorkerActivity::WaitsForOther => {
                    write!(f, "waits for another pool or an asynchronous program")?
                }
            }
            if let Some(since) = worker.since {
                write!(f, " (for {since:.1?})")?;
            }
            if let Some(span) = worker.span {
                write!(f, " in the span \"{span}\"")?;
            }
            if worker.tasks > 0 {
                let tasks = number(worker.tasks, "of its tasks has", "of its tasks have");
                write!(f, "; {tasks} not begun")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
