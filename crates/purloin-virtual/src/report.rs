//! The outcome of a run: its failure, or the costs of its operations.

use std::fmt;
use std::time::Duration;

use crate::random::mix;

/// A kind of operation of a runtime, for the table of what it touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Everything else.
    Other,
    /// An idle worker's look at other workers that found nothing.
    Search,
    /// An idle worker's look at other workers that found a task, and what follows before it runs the task.
    Steal,
    /// A worker goes to sleep, and continues when it is woken.
    Sleep,
    /// A worker wakes another one.
    Wake,
}

impl Operation {
    /// All kinds.
    pub const ALL: [Operation; 5] = [
        Operation::Other,
        Operation::Search,
        Operation::Steal,
        Operation::Sleep,
        Operation::Wake,
    ];

    /// Returns the plural noun for operations of this kind.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Other => "other",
            Operation::Search => "searches",
            Operation::Steal => "steals",
            Operation::Sleep => "sleeps",
            Operation::Wake => "wake-ups",
        }
    }
}

/// The cost of all operations of one kind.
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
    /// The virtual time in them, in picoseconds, with the time in which their threads slept.
    pub picoseconds: u64,
}

impl Cost {
    fn combined(self, other: Cost, combine: fn(u64, u64) -> u64) -> Cost {
        Cost {
            count: combine(self.count, other.count),
            lines: combine(self.lines, other.lines),
            transfers: combine(self.transfers, other.transfers),
            interrupts: combine(self.interrupts, other.interrupts),
            picoseconds: combine(self.picoseconds, other.picoseconds),
        }
    }
}

/// The counts of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of events: accesses to shared memory, locks, looks at the clock.
    pub events: u64,
    /// Units of [counted work](crate::counted) of the program's own code, of all threads together.
    pub work: u64,
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

    /// Returns the counts since an earlier tally of the same run. The fingerprint stays that of the whole run.
    pub fn since(&self, earlier: &Tally) -> Tally {
        let kinds = Operation::ALL.map(|kind| kind as usize);
        Tally {
            events: self.events - earlier.events,
            work: self.work - earlier.work,
            wakes: self.wakes - earlier.wakes,
            fingerprint: self.fingerprint,
            costs: kinds.map(|kind| {
                self.costs[kind].combined(earlier.costs[kind], |one, other| one - other)
            }),
        }
    }

    pub(crate) fn add(&mut self, operation: Operation, cost: Cost) {
        let sum = &mut self.costs[operation as usize];
        *sum = sum.combined(cost, |one, other| one + other);
    }

    #[inline]
    pub(crate) fn mix(&mut self, fibre: u64, now: u64) {
        self.fingerprint = mix(self.fingerprint ^ now ^ (fibre << 48));
    }
}

/// A run that has ended.
#[derive(Clone, Debug)]
pub struct Report<R> {
    /// The value that the program has returned.
    pub answer: R,
    /// The virtual time of the whole run.
    pub time: Duration,
    /// The counts of the run.
    pub tally: Tally,
}

/// A thread that has not ended when a run fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The name of the thread.
    pub thread: String,
    /// The reason of its wait, or `nothing` if it runs.
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
        /// The threads that have not ended.
        threads: Vec<Waiting>,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::OutOfTime { seconds, .. } => {
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
