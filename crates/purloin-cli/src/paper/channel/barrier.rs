//! The task barrier: the time to find out that all tasks have ended.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use purloin::{Pool, ReturnBarrier, Scheduler, Worker};
use purloin_command::Failure;
use purloin_schedulers::{Channel, ChaseLev, StrictChannel};
use serde::{Deserialize, Serialize};

use super::{CHANNEL, CHASE_LEV, STRICT};
use crate::paper::trial::Trial;

/// The numbers of tasks for each worker before a barrier.
pub const TASKS: [u64; 3] = [0, 1, 100];

/// The thread that spawns the tasks and waits for them.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq)]
pub enum Waiter {
    /// A thread that is not a worker. It waits in [`Pool::wait`].
    Outside,
    /// A worker, the paper's master. It pushes the tasks to its own stack, and runs tasks while it
    /// waits in a finish.
    Master,
}

/// The time of a task barrier under a scheduler.
#[derive(Serialize, Deserialize)]
pub struct Barrier {
    pub scheduler: String,
    pub workers: usize,
    pub waiter: Waiter,
    /// For each number of [`TASKS`], the median time from the first spawn until the barrier has
    /// ended, in seconds.
    pub seconds: [f64; TASKS.len()],
}

/// Measures the barrier under each scheduler, on all cores and on eight workers.
pub fn measure(trial: &Trial) -> Result<Vec<Barrier>, Failure> {
    let mut barriers = Vec::new();
    for workers in [trial.most_workers(), 8] {
        barriers.extend(under(trial, CHANNEL, Channel::default(), workers)?);
        barriers.extend(under(trial, STRICT, StrictChannel::default(), workers)?);
        barriers.extend(under(trial, CHASE_LEV, ChaseLev::default(), workers)?);
        let default = ReturnBarrier::default();
        barriers.extend(under(trial, "return-barrier", default, workers)?);
    }
    Ok(barriers)
}

fn under<S: Scheduler>(
    trial: &Trial,
    name: &str,
    scheduler: S,
    workers: usize,
) -> Result<[Barrier; 2], Failure> {
    let pool = Pool::builder().workers(workers).scheduler(scheduler);
    let pool = pool
        .build()
        .map_err(|error| Failure::Run(error.to_string()))?;
    let repetitions = trial.choose(201, 2001);
    let median = |waiter: Waiter, tasks: u64| {
        let tasks = tasks * workers as u64;
        let time = || match waiter {
            Waiter::Outside => time_outside(&pool, tasks),
            Waiter::Master => pool.run(|w| time_of_master(w, tasks)),
        };
        let mut times: Vec<_> = (0..repetitions).map(|_| time()).collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    Ok([Waiter::Outside, Waiter::Master].map(|waiter| Barrier {
        scheduler: name.to_owned(),
        workers,
        waiter,
        seconds: TASKS.map(|tasks| median(waiter, tasks)),
    }))
}

static SUM: AtomicU64 = AtomicU64::new(0);

fn run_task(task: u64) {
    // Relaxed: nothing reads the sum.
    black_box(SUM.fetch_add(task, Ordering::Relaxed));
}

/// Spawns this number of tiny tasks on the pool, and waits until all have ended.
fn time_outside<S: Scheduler>(pool: &Pool<S>, tasks: u64) -> f64 {
    let begin = Instant::now();
    for task in 0..tasks {
        pool.spawn(move |_| run_task(task));
    }
    pool.wait();
    begin.elapsed().as_secs_f64()
}

/// Spawns this number of tiny tasks in a finish, which waits until all have ended.
fn time_of_master(mut w: impl Worker, tasks: u64) -> f64 {
    let begin = Instant::now();
    w.finish(|scope| {
        for task in 0..tasks {
            scope.spawn(move |_| run_task(task));
        }
    });
    begin.elapsed().as_secs_f64()
}
