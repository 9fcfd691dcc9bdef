//! A scheduler with a kernel, ready to be timed again and again: [`Contestant`].

use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use purloin::{Stats, Times};
use purloin_command::Failure;
use purloin_kernels::Job;

use crate::schedulers::{Process, Runner, Spec};

/// The result of one run.
pub struct Run {
    pub seconds: f64,
    pub answer: String,
    pub verified: bool,
    pub stats: Option<Stats>,
    pub times: Option<Times>,
    /// The processor time that this process has used during the run.
    pub processor_time: Duration,
    /// The time of the contestant's own sequential form, in seconds, if the contestant is compared
    /// with that form and not with the serial elision.
    pub own_baseline: Option<f64>,
}

/// A scheduler with a kernel.
pub trait Contestant {
    fn run(&mut self) -> Result<Run, Failure>;
}

/// Prepares a contestant. A peer in another language starts and warms up here, and has to answer
/// each request within `limit`.
pub fn prepare(
    job: Job,
    scheduler: &Spec,
    workers: usize,
    limit: Duration,
) -> Result<Box<dyn Contestant>, Failure> {
    Ok(match scheduler.start_process(&job, workers, limit) {
        Some(process) => Box::new(process.map_err(Failure::Run)?),
        None => Box::new(InThreads {
            job,
            scheduler: scheduler.clone(),
            workers,
        }),
    })
}

impl Contestant for Process {
    fn run(&mut self) -> Result<Run, Failure> {
        let run = Process::run(self).map_err(Failure::Run)?;
        Ok(Run {
            seconds: run.parallel,
            answer: run.answer,
            verified: run.is_right,
            stats: None,
            times: None,
            processor_time: Duration::ZERO,
            own_baseline: Some(run.sequential),
        })
    }
}

/// A scheduler whose threads are in this process.
struct InThreads {
    job: Job,
    scheduler: Spec,
    workers: usize,
}

impl Contestant for InThreads {
    /// Starts new threads for each run, so that no other scheduler's threads disturb it.
    fn run(&mut self) -> Result<Run, Failure> {
        let runner = self
            .scheduler
            .start_threads(self.workers)
            .map_err(Failure::Run)?;
        let mut instance = self.job.prepare();
        warm_up(&*runner, &self.scheduler);
        let stats_before = runner.stats();
        let times_before = runner.times();
        let (used, start) = (ProcessTime::now(), Instant::now());
        let answer = runner.run(&mut instance);
        let seconds = start.elapsed().as_secs_f64();
        let processor_time = used.elapsed();
        let stats = runner
            .stats()
            .zip(stats_before)
            .map(|(after, before)| after - before);
        let times = runner
            .times()
            .zip(times_before)
            .filter(|_| self.scheduler.is_timed())
            .map(|(after, before)| after - before);
        Ok(Run {
            seconds,
            verified: instance.verify(&answer),
            answer: answer.to_string(),
            stats,
            times,
            processor_time,
            own_baseline: None,
        })
    }
}

/// The duration of the warm-up before each run.
const WARM_UP: Duration = Duration::from_millis(5);

/// Kernels that take about a millisecond: one of joins, and one for peers that have only loops.
const MILLISECOND: [&str; 2] = if cfg!(debug_assertions) {
    ["fib=18", "spc-loop=1000"]
} else {
    ["fib=28", "spc-loop=1000"]
};

/// Wakes the threads and their cores.
///
/// The workers slept while the data was prepared. A virtual machine that has given a core back to
/// its host can take milliseconds to get it again.
fn warm_up(runner: &dyn Runner, scheduler: &Spec) {
    let jobs = MILLISECOND.map(|text| Job::parse(text).expect("the kernel takes this input"));
    let millisecond = jobs
        .into_iter()
        .find(|job| scheduler.check(job).is_ok())
        .expect("every scheduler in this process runs one of these kernels");
    let start = Instant::now();
    while start.elapsed() < WARM_UP {
        runner.run(&mut millisecond.prepare());
    }
}
