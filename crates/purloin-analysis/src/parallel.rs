//! Repeated runs of a program on all workers of a pool.

use std::iter::repeat;
use std::time::{Duration, Instant};

use crate::strands::{Program, median};
use purloin::{Pool, Scheduler, Stats, Times};

/// Repeated runs of the program on all workers.
pub(crate) struct ParallelRuns {
    pub median: Duration,
    pub walls: Vec<Duration>,
    pub stats: Stats,
    /// The breakdown of each worker's time, summed over all runs. Spare workers come last.
    pub times: Vec<Times>,
    /// The processor time of the process in all runs, if the system tells it.
    pub processor: Option<Duration>,
}

impl ParallelRuns {
    /// Runs the program on all workers of the pool until `is_enough`, given the number of runs and their total time.
    /// The pool measures times.
    pub fn run<S: Scheduler, P: Program>(
        pool: &Pool<S>,
        program: &mut P,
        is_enough: fn(usize, Duration) -> bool,
    ) -> ParallelRuns {
        let mut times: Vec<Times> = Vec::new();
        let (mut walls, mut stats) = (Vec::new(), Stats::default());
        let mut processor = Some(Duration::ZERO);
        // The first run warms up the cores, and does not count.
        program.prepare();
        pool.run(|w| program.run(w));
        while !is_enough(walls.len(), walls.iter().sum()) {
            program.prepare();
            // On a worker, so that the wake-up of a worker for the call is not a part of the run.
            let (wall, before, after) = pool.run(|w| {
                let processor_before = processor_time();
                let (stats_before, before, start) = (pool.stats(), pool.times(), Instant::now());
                program.run(w);
                let (wall, after) = (start.elapsed(), pool.times());
                stats += pool.stats() - stats_before;
                let during = processor_time().zip(processor_before);
                let during = during.map(|(after, before)| after.saturating_sub(before));
                processor = processor.zip(during).map(|(sum, during)| sum + during);
                (wall, before, after)
            });
            walls.push(wall);
            // Spare workers may have begun during the run.
            times.resize(after.len(), Times::default());
            let before = before.into_iter().chain(repeat(Times::default()));
            for ((sum, after), before) in times.iter_mut().zip(after).zip(before) {
                *sum += after - before;
            }
        }
        let unused = |times: &Times| times.total().is_zero();
        while times.len() > pool.workers() && times.last().is_some_and(unused) {
            times.pop();
        }
        ParallelRuns {
            median: median(walls.clone()),
            walls,
            stats,
            times,
            processor,
        }
    }
}

/// Returns the processor time of this process so far.
#[cfg(target_os = "linux")]
fn processor_time() -> Option<Duration> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is valid, and the call only writes to it.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    (status == 0).then(|| {
        let seconds = Duration::from_secs(time.tv_sec.unsigned_abs());
        seconds + Duration::from_nanos(time.tv_nsec.unsigned_abs())
    })
}

#[cfg(not(target_os = "linux"))]
fn processor_time() -> Option<Duration> {
    None
}
