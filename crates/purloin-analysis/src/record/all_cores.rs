//! The measured runs of a program on all cores: [`OnAllCores`].

use std::time::Duration;

use crate::parallel::ParallelRuns;
use crate::strands::Program;
use purloin::{BuildError, Pool, Times};

/// The runs of a recorded program on all cores of its machine, under Purloin's default scheduler. They show what the
/// simulator does not know: whether tasks take longer if other cores run, too.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct OnAllCores {
    /// Number of workers: one for each available core.
    pub workers: u32,
    /// Number of runs.
    pub runs: u32,
    /// The median time of a run, in seconds.
    pub seconds: f64,
    /// The time of all workers together in the program itself, in seconds per run.
    pub application: f64,
    /// The time of all workers together in successful steals, in seconds per run.
    pub stealing: f64,
    /// The time of all workers together without a task, in seconds per run.
    pub searching: f64,
    /// The processor time of the process, in seconds per run, or 0 if the system does not tell it. If it is less than
    /// the application time, workers have waited for a processor, or tasks for something else.
    pub processor: f64,
}

/// The runs that are enough: their number and their total time.
const ENOUGH: (usize, Duration) = (5, Duration::from_millis(500));

/// Total time after which one run is enough.
const MAX_TOTAL: Duration = Duration::from_secs(20);

fn is_enough(runs: usize, total: Duration) -> bool {
    let (least, time) = ENOUGH;
    runs >= 2000 || runs >= least && total >= time || total >= MAX_TOTAL
}

impl OnAllCores {
    /// Measures a program.
    pub(super) fn measure(program: &mut impl Program) -> Result<OnAllCores, BuildError> {
        let pool = Pool::builder().timed(true).build()?;
        let runs = ParallelRuns::run(&pool, program, is_enough);
        let mut all = Times::default();
        runs.times.iter().for_each(|times| all += *times);
        let number = runs.walls.len();
        let per_run = |time: Duration| time.as_secs_f64() / number as f64;
        Ok(OnAllCores {
            workers: pool.workers() as u32,
            runs: number as u32,
            seconds: runs.median.as_secs_f64(),
            application: per_run(all.application + all.application_in_join),
            stealing: per_run(all.stealing + all.stealing_in_join),
            searching: per_run(all.searching + all.searching_in_join),
            processor: per_run(runs.processor.unwrap_or_default()),
        })
    }

    /// Returns all fields but the numbers of workers and runs, in the order of the file.
    pub(super) fn times(&self) -> [f64; 5] {
        [
            self.seconds,
            self.application,
            self.stealing,
            self.searching,
            self.processor,
        ]
    }

    /// Returns the measurement with these fields, if they can be one.
    pub(super) fn from_file(workers: u32, runs: u32, times: [f64; 5]) -> Option<OnAllCores> {
        let [seconds, application, stealing, searching, processor] = times;
        let is_right =
            workers > 0 && runs > 0 && times.iter().all(|time| (0.0..1e9).contains(time));
        is_right.then_some(OnAllCores {
            workers,
            runs,
            seconds,
            application,
            stealing,
            searching,
            processor,
        })
    }
}
