//! The task barrier: the time to find out that all tasks have ended.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use purloin::{Pool, ReturnBarrier, Scheduler};
use purloin_command::Failure;
use purloin_schedulers::{Channel, ChaseLev};
use serde::{Deserialize, Serialize};

use super::{CHANNEL, CHASE_LEV};
use crate::paper::trial::Trial;

/// The numbers of tasks for each worker before a barrier.
pub const TASKS: [u64; 3] = [0, 1, 100];

/// The time of a task barrier under a scheduler.
#[derive(Serialize, Deserialize)]
pub struct Barrier {
    pub scheduler: String,
    pub workers: usize,
    /// For each number of [`TASKS`], the median time from the first spawn until the barrier has
    /// ended, in seconds.
    pub seconds: Vec<f64>,
}

/// Measures the barrier under each scheduler, on all cores and on eight workers.
pub fn measure(trial: &Trial) -> Result<Vec<Barrier>, Failure> {
    let mut barriers = Vec::new();
    for workers in [trial.most_workers(), 8] {
        barriers.extend([
            under(trial, CHANNEL, Channel::default(), workers)?,
            under(trial, CHASE_LEV, ChaseLev::default(), workers)?,
            under(trial, "return-barrier", ReturnBarrier::default(), workers)?,
        ]);
    }
    Ok(barriers)
}

fn under<S: Scheduler>(
    trial: &Trial,
    name: &str,
    scheduler: S,
    workers: usize,
) -> Result<Barrier, Failure> {
    let pool = Pool::builder().workers(workers).scheduler(scheduler);
    let pool = pool
        .build()
        .map_err(|error| Failure::Run(error.to_string()))?;
    let repetitions = trial.choose(201, 2001);
    let median = |tasks: u64| {
        let tasks = tasks * workers as u64;
        let mut times: Vec<_> = (0..repetitions).map(|_| time(&pool, tasks)).collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    Ok(Barrier {
        scheduler: name.to_owned(),
        workers,
        seconds: TASKS.map(median).into(),
    })
}

/// Spawns this number of tiny tasks on a worker, and waits until all have ended.
fn time<S: Scheduler>(pool: &Pool<S>, tasks: u64) -> f64 {
    static SUM: AtomicU64 = AtomicU64::new(0);
    let begin = Instant::now();
    for task in 0..tasks {
        pool.spawn(move |_| {
            // Relaxed: nothing reads the sum.
            black_box(SUM.fetch_add(task, Ordering::Relaxed));
        });
    }
    pool.wait();
    begin.elapsed().as_secs_f64()
}
