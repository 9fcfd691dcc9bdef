//! Which spawned tasks go into the queue: [`CutOff`], and its four implementations.
//!
//! A task that does not is run where it is spawned, by a plain call. So a cut-off decides
//! how fine-grained a program really is, whatever it spawns.

mod adaptive;
mod profile;

pub use adaptive::{Adaptive, Grains};
pub use profile::Profile;

/// A rule that decides which tasks go into the queue.
///
/// The *level* of a task is its distance from the first task, in spawns.
pub trait CutOff {
    /// Whether the rule needs to know what tasks take.
    const MEASURES: bool = false;

    /// Of tasks that are spawned together, so many go into the queue together, if the
    /// first does; then it is asked again.
    ///
    /// If some are run at once instead, those that follow are out of others' reach as
    /// long as that takes.
    const SET: usize = 0;

    /// Whether a task of this level is to go into the queue. `ready` says how many wait
    /// there.
    fn creates(&mut self, level: u32, ready: impl FnOnce() -> usize) -> bool;

    /// Whether no task of this level, nor below it, is to go into the queue, so that it
    /// need not be asked about each.
    fn is_fine(&self, level: u32) -> bool;

    /// Whether a task of this level, which does not go into the queue, is to be timed.
    fn wants_sample(&mut self, _level: u32) -> bool {
        false
    }

    /// Whether a task of this level, which was in the queue, is to be timed.
    fn wants_time(&mut self, _level: u32) -> bool {
        false
    }

    /// A task of this level has taken so many nanoseconds.
    fn learn(&mut self, _level: u32, _work: u64) {}

    /// Whether a steal is to be begun while so many tasks are left, of this level and
    /// above; `residual` is the number that the user has chosen.
    fn are_residual(&self, _level: u32, tasks: usize, residual: usize) -> bool {
        tasks < residual
    }

    /// Whether the children of a task of this level, which comes from another node, are
    /// to be run where they are spawned.
    fn serialises_from_afar(&self, _level: u32) -> bool {
        false
    }

    /// Now and then: what a steal costs here, in nanoseconds.
    fn tell_cost(&mut self, _cost: u64) {}

    /// For how many nanoseconds a task that was thought to be fine may run before that is
    /// doubted.
    fn patience(&self) -> Option<u64> {
        None
    }

    /// Whether a doubted task may spawn one that goes into the queue.
    fn refills(&self, _ready: usize) -> bool {
        false
    }
}

/// Every task goes into the queue.
pub struct Never;

impl CutOff for Never {
    #[inline(always)]
    fn creates(&mut self, _: u32, _: impl FnOnce() -> usize) -> bool {
        true
    }

    #[inline(always)]
    fn is_fine(&self, _: u32) -> bool {
        false
    }
}

/// Those of at most this level.
pub struct Depth(pub u32);

impl CutOff for Depth {
    #[inline(always)]
    fn creates(&mut self, level: u32, _: impl FnOnce() -> usize) -> bool {
        level <= self.0
    }

    #[inline(always)]
    fn is_fine(&self, level: u32) -> bool {
        level >= self.0
    }
}

/// How many tasks a rank's queue may have, by the number of ranks on its node.
///
/// Source: AsynchWS, Figure 2.
fn queue_bound(neighbours: usize) -> usize {
    3 * neighbours
}

/// Those that find room in the queue.
///
/// Source: AsynchWS, section V.D ("task queue bound"), after Min, Iancu and Yelick.
pub struct QueueBound {
    bound: usize,
}

impl QueueBound {
    /// For a node with so many ranks.
    pub fn new(neighbours: usize) -> QueueBound {
        QueueBound {
            bound: queue_bound(neighbours),
        }
    }
}

impl CutOff for QueueBound {
    #[inline(always)]
    fn creates(&mut self, _: u32, ready: impl FnOnce() -> usize) -> bool {
        ready() < self.bound
    }

    #[inline(always)]
    fn is_fine(&self, _: u32) -> bool {
        false
    }
}
