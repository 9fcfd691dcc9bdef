//! Who is timed: a scheduler with its kernel, ready to run again and again.

use std::time::{Duration, Instant};

use purloin::{Stats, Times};
use purloin_kernels::Job;

use crate::schedulers::{Process, Runner, Spec};
use purloin_command::Failure;

/// One run.
pub struct Run {
    pub seconds: f64,
    pub answer: String,
    pub verified: bool,
    pub stats: Option<Stats>,
    pub times: Option<Times>,
    /// The time without any parallelism, where it is not that of the serial
    /// elision.
    pub yardstick: Option<f64>,
}

/// A scheduler with its kernel.
pub trait Contestant {
    fn run(&mut self) -> Result<Run, Failure>;
}

/// Makes everything ready.
pub fn prepare(job: Job, scheduler: &Spec, workers: usize) -> Result<Box<dyn Contestant>, Failure> {
    Ok(match scheduler.start_process(&job, workers) {
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
            yardstick: Some(run.sequential),
        })
    }
}

/// A scheduler of this process.
struct InThreads {
    job: Job,
    scheduler: Spec,
    workers: usize,
}

impl Contestant for InThreads {
    /// In threads of its own, so that no other scheduler's disturb it.
    fn run(&mut self) -> Result<Run, Failure> {
        let runner = self
            .scheduler
            .start_threads(self.workers)
            .map_err(Failure::Run)?;
        let mut instance = self.job.prepare();
        warm_up(&*runner);
        let before = runner.stats();
        let times_before = runner.times();
        let start = Instant::now();
        let answer = runner.run(&mut instance);
        let seconds = start.elapsed().as_secs_f64();
        let stats = runner
            .stats()
            .zip(before)
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
            yardstick: None,
        })
    }
}

/// Wakes the threads and the cores under them.
///
/// While data is prepared all but one have slept, and a virtual machine can take
/// milliseconds to have a core again that it had given back.
fn warm_up(runner: &dyn Runner) {
    let awake = Instant::now();
    while awake.elapsed() < WARM_UP {
        let millisecond = Job::parse("fib=28").expect("a kernel with an input that it takes");
        runner.run(&mut millisecond.prepare());
    }
}

/// How long the threads have been at work when measuring begins.
const WARM_UP: Duration = Duration::from_millis(5);
