//! What a run tells: how it failed, or what its operations have cost.

use std::fmt;
use std::time::Duration;

use crate::random::mix;

/// A kind of operation of a runtime, for the table of what it touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Everything else.
    Other,
    /// An idle worker's look at other workers that ended with a task.
    Steal,
    /// A worker goes to sleep.
    Sleep,
    /// A worker wakes another one.
    Wake,
}

impl Operation {
    /// All kinds.
    pub const ALL: [Operation; 4] = [
        Operation::Other,
        Operation::Steal,
        Operation::Sleep,
        Operation::Wake,
    ];
}

/// What all operations of one kind have cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Number of operations.
    pub count: u64,
    /// Number of cache lines that they touched and that other cores use, counted once for each operation.
    pub lines: u64,
    /// Number of cache lines that moved between cores.
    pub transfers: u64,
    /// Number of cores that they interrupted.
    pub interrupts: u64,
}

/// The counts of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of events: accesses to shared memory, locks, looks at the clock.
    pub events: u64,
    /// Number of threads that were woken.
    pub wakes: u64,
    /// A hash of the times and the threads of all events. Two runs with the same value went the same way.
    pub fingerprint: u64,
    costs: [Cost; Operation::ALL.len()],
}

impl Tally {
    /// Returns what the operations of one kind have cost.
    pub fn of(&self, operation: Operation) -> Cost {
        self.costs[operation as usize]
    }

    pub(crate) fn begin(&mut self, operation: Operation) {
        self.costs[operation as usize].count += 1;
    }

    #[inline]
    pub(crate) fn access(&mut self, operation: Operation, is_transfer: bool, is_foreign: bool) {
        let cost = &mut self.costs[operation as usize];
        cost.transfers += u64::from(is_transfer);
        cost.lines += u64::from(is_foreign);
    }

    pub(crate) fn interrupts(&mut self, operation: Operation, interrupts: u64) {
        self.costs[operation as usize].interrupts += interrupts;
    }

    #[inline]
    pub(crate) fn mix(&mut self, fibre: u64, now: u64) {
        self.fingerprint = mix(self.fingerprint ^ now ^ (fibre << 48));
    }
}

/// A run that has ended.
#[derive(Clone, Debug)]
pub struct Report<R> {
    /// What the program has returned.
    pub answer: R,
    /// The virtual time of the whole run.
    pub time: Duration,
    /// The counts of the run.
    pub tally: Tally,
}

/// A thread that waits when a run hangs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The name of the thread.
    pub thread: String,
    /// What the thread waits for.
    pub waits_for: String,
}

/// Why a run did not end.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// All threads wait for each other.
    Hang(Vec<Waiting>),
    /// The run took more virtual time, or more events, than it may.
    OutOfTime {
        /// The limit of virtual time in seconds.
        seconds: f64,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::OutOfTime { seconds } => {
                write!(
                    f,
                    "the run did not end within its limit of {seconds} virtual seconds"
                )
            }
            Failure::Hang(waiting) => {
                write!(f, "the run hangs: all {} threads wait", waiting.len())?;
                waiting.iter().try_for_each(|thread| {
                    write!(f, "\n  {} waits for {}", thread.thread, thread.waits_for)
                })
            }
        }
    }
}

impl std::error::Error for Failure {}
