//! The task barrier: the time to find out that all tasks have ended.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use purloin::{Pool, ReturnBarrier, Scheduler, Worker};
use purloin_command::Failure;
use purloin_measure::bench::median;
use purloin_schedulers::{Channel, ChaseLev};
use serde::{Deserialize, Deserializer, Serialize};

use super::{CHANNEL, CHASE_LEV};
use crate::results::times;
use crate::trial::Trial;

/// The numbers of tasks for each worker before a barrier.
pub const TASKS: [u64; 3] = [0, 1, 100];

/// The thread that spawns the tasks and waits for them.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq)]
pub enum Waiter {
    /// A thread that is not a worker. It waits in [`Pool::wait`].
    Outside,
    /// A worker that pushes the tasks to its own stack and waits at the end of the finish, without a
    /// barrier.
    Finish,
}

/// The time of a task barrier under a scheduler.
#[derive(Serialize, Deserialize)]
pub struct Barrier {
    pub scheduler: String,
    pub workers: usize,
    pub waiter: Waiter,
    /// For each number of [`TASKS`], the time from the first spawn until the barrier has ended, in
    /// seconds: the median of each round.
    #[serde(deserialize_with = "all_times")]
    pub seconds: [Vec<f64>; TASKS.len()],
}

/// Reads the times of all numbers of [`TASKS`].
fn all_times<'d, D: Deserializer<'d>>(
    deserializer: D,
) -> Result<[Vec<f64>; TASKS.len()], D::Error> {
    #[derive(Deserialize)]
    struct Times(#[serde(deserialize_with = "times")] Vec<f64>);
    let all = <[Times; TASKS.len()]>::deserialize(deserializer)?;
    Ok(all.map(|Times(times)| times))
}

/// Measures the barrier under each scheduler, with as many workers as cores and with eight. Each round
/// has pools of its own, because the times differ more between pools than within one.
pub fn measure(trial: &Trial) -> Result<Vec<Barrier>, Failure> {
    let mut barriers: Vec<Barrier> = Vec::new();
    let mut sizes = vec![trial.most_workers(), 8];
    sizes.dedup();
    for _ in 0..trial.choose(15, 60) {
        let mut round = Vec::new();
        for &workers in &sizes {
            round.extend(under(CHANNEL, Channel::default(), workers)?);
            round.extend(under(CHASE_LEV, ChaseLev::default(), workers)?);
            round.extend(under("return-barrier", ReturnBarrier::default(), workers)?);
        }
        if barriers.is_empty() {
            barriers = round;
            continue;
        }
        for (barrier, next) in barriers.iter_mut().zip(round) {
            let times = barrier.seconds.iter_mut().zip(next.seconds);
            times.for_each(|(times, next)| times.extend(next));
        }
    }
    Ok(barriers)
}

/// Number of barriers in a round, under each scheduler.
const REPETITIONS: usize = 51;

fn under<S: Scheduler>(name: &str, scheduler: S, workers: usize) -> Result<Vec<Barrier>, Failure> {
    let pool = Pool::builder().workers(workers).scheduler(scheduler);
    let pool = pool
        .build()
        .map_err(|error| Failure::Run(error.to_string()))?;
    let time_of = |waiter: Waiter, tasks: u64| {
        let tasks = tasks * workers as u64;
        let time = || match waiter {
            Waiter::Outside => time_outside(&pool, tasks),
            Waiter::Finish => pool.run(|w| time_in_finish(w, tasks)),
        };
        median(&(0..REPETITIONS).map(|_| time()).collect::<Vec<_>>())
    };
    let barriers = [Waiter::Outside, Waiter::Finish].map(|waiter| Barrier {
        scheduler: name.to_owned(),
        workers,
        waiter,
        seconds: TASKS.map(|tasks| vec![time_of(waiter, tasks)]),
    });
    Ok(barriers.into())
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
fn time_in_finish(mut w: impl Worker, tasks: u64) -> f64 {
    let begin = Instant::now();
    w.finish(|scope| {
        for task in 0..tasks {
            scope.spawn(move |_| run_task(task));
        }
    });
    begin.elapsed().as_secs_f64()
}
