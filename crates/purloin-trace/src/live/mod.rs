//! What a running program tells `purloin top`: the format of a [`Snapshot`], and the place of its socket.
//!
//! A program that runs with `PURLOIN_MONITOR=1` listens at a Unix domain socket. It writes one snapshot, as one line of
//! JSON, to each connection, and closes it. All figures are totals, so a reader takes two snapshots and subtracts.

#[cfg(unix)]
mod place;
mod write;

use std::collections::BTreeMap;

#[cfg(unix)]
pub use place::{check_directory, directories, make_directory, process_of, socket};
#[cfg(feature = "serde")]
use serde::Deserialize;

use crate::ProcessorTime;

/// The version of the format. It changes when a reader of the last one would fail or be wrong.
pub const VERSION: u64 = 1;

/// What all pools of a program do at a moment.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(Deserialize))]
pub struct Snapshot {
    /// The name of the program.
    pub program: String,
    /// The process ID, as the program sees it.
    pub process: u32,
    /// The pools that exist, in the order in which they were built.
    pub pools: Vec<Pool>,
}

/// What a pool does at a moment.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(Deserialize))]
pub struct Pool {
    /// The number of the pool in the program.
    pub id: u64,
    /// Number of regular workers.
    pub regular: usize,
    /// Maximum number of spare workers.
    pub spares: usize,
    /// Number of calls, jobs and other work from outside that no worker has begun.
    pub waiting: usize,
    /// What blocks the pool, if it has something to do and has made no progress for a while, since an earlier snapshot.
    pub stuck: Option<Stuck>,
    /// The workers, then the spare workers whose threads were started.
    pub workers: Vec<Worker>,
}

/// A pool that makes no progress.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(Deserialize))]
pub struct Stuck {
    /// For how long at least it has made none, in nanoseconds.
    pub nanoseconds: u64,
    /// The likely reason, in one or more sentences.
    pub reason: String,
}

/// What a worker does at a moment, and what it has done since its pool was built.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(Deserialize))]
pub struct Worker {
    /// What it does.
    pub does: Does,
    /// How long it has been doing this, in nanoseconds.
    pub since: u64,
    /// Number of tasks on its stack that no worker has begun.
    pub tasks: usize,
    /// The innermost span in which it is.
    pub span: Option<String>,
    /// Its thread's use of processors, if the system reports it.
    pub processor: Option<ProcessorTime>,
    /// Where its time has gone.
    pub times: Times,
    /// What it has counted, by the names of the fields of `purloin::Stats`.
    pub counts: BTreeMap<String, u64>,
}

/// The activity of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Does {
    /// It has nothing to do, and sleeps.
    #[default]
    Sleeps,
    /// It looks for work.
    Searches,
    /// It runs the program.
    Runs,
    /// It waits for a task that this worker runs.
    WaitsForTask(usize),
    /// It waits for the tasks of a finish or of another scope.
    WaitsForScope,
    /// It waits for another pool, or for an asynchronous program.
    WaitsForOther,
}

/// Where a worker's time has gone, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Deserialize))]
pub struct Times {
    /// Running the program.
    pub running: u64,
    /// Idle: looking for work, and steals.
    pub searching: u64,
    /// Idle: sleeping.
    pub asleep: u64,
    /// Waiting in a join, at the end of a scope, for a future or for another pool.
    pub waiting: u64,
}

impl Times {
    /// Returns the worker's lifetime.
    pub fn total(&self) -> u64 {
        self.running + self.searching + self.asleep + self.waiting
    }
}
