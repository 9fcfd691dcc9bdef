//! The figures of another run, for comparison.

use crate::{Overview, Trace};

/// The figures of the main pool of another run, usually of the same program with one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Baseline {
    /// Number of workers.
    pub workers: usize,
    /// The time from the first to the last moment at which a worker ran the program, in nanoseconds.
    pub duration: u64,
    /// The time in which workers ran the program, over all workers.
    pub busy: u64,
}

impl Baseline {
    /// Returns what the main pool of a trace took, if it ran anything and no event is lost.
    pub fn of(trace: &Trace) -> Option<Baseline> {
        let (_, pool) = trace.main_pool().filter(|_| trace.lost() == 0)?;
        Some(Baseline::of_pool(&pool)).filter(|baseline| baseline.busy > 0)
    }

    pub(crate) fn of_pool(pool: &Overview) -> Baseline {
        Baseline {
            workers: pool.workers,
            duration: pool.duration(),
            busy: pool.busy(),
        }
    }

    /// Reads it from the begin of a file that [`Trace::write_events`] has written: the first line is enough.
    pub fn read(text: &str) -> Option<Baseline> {
        let number = |name: &str| {
            let (_, rest) = text.split_once(&format!("\"{name}\":"))?;
            let end = rest.find(|letter: char| !letter.is_ascii_digit())?;
            rest[..end].parse().ok()
        };
        Some(Baseline {
            workers: number(WORKERS)? as usize,
            duration: number(DURATION)?,
            busy: number(BUSY)?,
        })
    }
}

/// The names of the members in the file.
pub(crate) const WORKERS: &str = "workers";
pub(crate) const DURATION: &str = "durationNanoseconds";
pub(crate) const BUSY: &str = "runningNanoseconds";
