//! What a pool's workers count, and a worker that counts tasks.
//!
//! Steals, sleeps and the like are counted where they happen, off the fast
//! path, in counters that only their worker writes. Tasks are not counted at
//! all while a program runs, as that would cost as much as a join; how many
//! there are is a property of the program, and [`Counted`] finds it out.

pub(crate) mod clock;
mod counted;
mod times;

pub use counted::Counted;
pub use times::Times;
pub(crate) use times::{Activity, Timer};

use std::ops::{AddAssign, Sub};
use std::sync::atomic::{AtomicU64, Ordering};

/// A counted event; also its place in [`Counters`].
#[derive(Clone, Copy)]
pub(crate) enum Count {
    Steals,
    StealAttempts,
    FreeSteals,
    ForcedSteals,
    BackOuts,
    Leapfrogs,
    Publications,
    Sleeps,
    Lendings,
    SpareTasks,
}

const COUNTS: usize = Count::SpareTasks as usize + 1;

/// One worker's counters.
#[derive(Default)]
pub(crate) struct Counters([AtomicU64; COUNTS]);

impl Counters {
    /// Counts one; on the worker's own thread only, so that no atomic
    /// addition is needed.
    pub(crate) fn add(&self, count: Count) {
        let counter = &self.0[count as usize];
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    fn get(&self, count: Count) -> u64 {
        self.0[count as usize].load(Ordering::Relaxed)
    }
}

/// What the workers of a pool have done so far.
///
/// Take it before and after, and subtract:
///
/// ```
/// # use purloin::{Pool, Worker};
/// # let pool = Pool::new()?;
/// let before = pool.stats();
/// pool.run(|mut w| w.join(|_| (), |_| ()));
/// let during = pool.stats() - before;
/// assert!(during.steals <= 1);
/// # Ok::<(), purloin::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Tasks that a thief has run.
    pub steals: u64,
    /// How often a worker has looked at a victim for a task.
    pub steal_attempts: u64,
    /// Steals of tasks that were public already, so that the thief did not
    /// have to ask (Return barrier, section 5.6).
    pub free_steals: u64,
    /// Steals from a victim that did not answer.
    pub forced_steals: u64,
    /// Tasks that a thief had its hands on, and gave back as they were not the
    /// victim's oldest (Wool, section 3).
    pub back_outs: u64,
    /// Steals by a worker that was blocked in a join or finish.
    pub leapfrogs: u64,
    /// How often a worker has answered a request with tasks.
    pub publications: u64,
    /// How often a worker has gone to sleep.
    pub sleeps: u64,
    /// How often a blocked worker has lent its processor, whether or not a spare
    /// one had anything to do with it.
    pub lendings: u64,
    /// What spare workers have run: tasks stolen, by one that was not blocked, and
    /// work from outside.
    pub spare_tasks: u64,
    /// Spare workers whose threads were started.
    pub spare_workers: u64,
    /// Spare workers that could not be started; the pool goes on without them.
    pub spare_failures: u64,
}

impl Stats {
    pub(crate) fn add(&mut self, counters: &Counters) {
        self.steals += counters.get(Count::Steals);
        self.steal_attempts += counters.get(Count::StealAttempts);
        self.free_steals += counters.get(Count::FreeSteals);
        self.forced_steals += counters.get(Count::ForcedSteals);
        self.back_outs += counters.get(Count::BackOuts);
        self.leapfrogs += counters.get(Count::Leapfrogs);
        self.publications += counters.get(Count::Publications);
        self.sleeps += counters.get(Count::Sleeps);
        self.lendings += counters.get(Count::Lendings);
        self.spare_tasks += counters.get(Count::SpareTasks);
    }
}

impl AddAssign for Stats {
    fn add_assign(&mut self, other: Stats) {
        self.steals += other.steals;
        self.steal_attempts += other.steal_attempts;
        self.free_steals += other.free_steals;
        self.forced_steals += other.forced_steals;
        self.back_outs += other.back_outs;
        self.leapfrogs += other.leapfrogs;
        self.publications += other.publications;
        self.sleeps += other.sleeps;
        self.lendings += other.lendings;
        self.spare_tasks += other.spare_tasks;
        self.spare_workers += other.spare_workers;
        self.spare_failures += other.spare_failures;
    }
}

impl Sub for Stats {
    type Output = Stats;

    /// What happened between `earlier` and this.
    fn sub(self, earlier: Stats) -> Stats {
        Stats {
            steals: self.steals - earlier.steals,
            steal_attempts: self.steal_attempts - earlier.steal_attempts,
            free_steals: self.free_steals - earlier.free_steals,
            forced_steals: self.forced_steals - earlier.forced_steals,
            back_outs: self.back_outs - earlier.back_outs,
            leapfrogs: self.leapfrogs - earlier.leapfrogs,
            publications: self.publications - earlier.publications,
            sleeps: self.sleeps - earlier.sleeps,
            lendings: self.lendings - earlier.lendings,
            spare_tasks: self.spare_tasks - earlier.spare_tasks,
            spare_workers: self.spare_workers - earlier.spare_workers,
            spare_failures: self.spare_failures - earlier.spare_failures,
        }
    }
}
