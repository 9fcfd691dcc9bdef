//! The rules that decide which spawned tasks enter the queue: [`Policy`] and its five
//! implementations.
//!
//! A task that does not enter the queue runs inline, as a plain call at its spawn. So the cut-off,
//! not the program's spawns, sets the real granularity.

mod adaptive;
mod paper;
mod profile;

pub use adaptive::{Adaptive, Grains};
pub use paper::Paper;
pub use profile::Profile;

use crate::queue::MAX_OFFERED;

/// A rule that decides which spawned tasks enter the queue.
///
/// There is one implementation for each variant of [`CutOff`](crate::CutOff). The *depth* of a
/// task is its distance from the first task, in spawns.
pub trait Policy {
    /// Whether the rule uses durations of tasks.
    const MEASURES: bool = false;

    /// The number of tasks of one `spawn_all` that enter the queue together. If the first one
    /// enters, the others follow without asking the rule, until this many are ready.
    ///
    /// If one of them ran inline instead, thieves could not reach the tasks after it while it runs.
    const GROUP: usize = 0;

    /// The largest number of tasks that a rank offers to thieves at a time.
    const MAX_OFFERED: usize = MAX_OFFERED;

    /// Returns whether a task of this depth enters the queue. `ready` returns the number of
    /// tasks that wait in the queue.
    fn enqueues(&mut self, depth: u32, ready: impl FnOnce() -> usize) -> bool;

    /// Returns whether no task of this depth or below enters the queue. Subtrees below a fine task
    /// run without asking the rule about each spawn.
    fn is_fine(&self, depth: u32) -> bool;

    /// Returns whether the siblings after a task of this depth, which runs inline, enter the queue;
    /// `ready` is its current length.
    fn leaves_siblings(&self, _depth: u32, _ready: usize) -> bool {
        false
    }

    /// Returns whether to time a task of this depth that runs inline.
    fn wants_sample(&mut self, _depth: u32) -> bool {
        false
    }

    /// Returns whether to time a task of this depth that came out of the queue.
    fn wants_time(&mut self, _depth: u32) -> bool {
        false
    }

    /// Tells the rule that a task of this depth took `work` nanoseconds: a sample, or a stolen task.
    fn record(&mut self, _depth: u32, _work: u64) {}

    /// Returns whether to start a steal while tasks of these depths remain, the first of which is about
    /// to run. `residual` is the user's number of residual tasks.
    fn are_residual(&self, depths: impl Iterator<Item = u32>, residual: usize) -> bool {
        depths.count() <= residual
    }

    /// Returns whether to run all children of a task of this depth inline if the task was
    /// stolen from another node.
    fn is_serial_after_remote_steal(&self, _depth: u32) -> bool {
        false
    }

    /// Tells the rule the current cost of a steal, in nanoseconds.
    fn set_steal_cost(&mut self, _cost: u64) {}

    /// Returns the time, in nanoseconds, after which a subtree that was expected to be fine
    /// is overdue. `None` means never.
    fn overdue_after(&self) -> Option<u64> {
        None
    }

    /// Returns whether a task in an overdue subtree may put a task into the queue, where
    /// `ready` tasks wait.
    fn refills(&self, _ready: usize) -> bool {
        false
    }
}

/// Puts every task into the queue.
pub struct NoCutOff;

impl Policy for NoCutOff {
    #[inline(always)]
    fn enqueues(&mut self, _: u32, _: impl FnOnce() -> usize) -> bool {
        true
    }

    #[inline(always)]
    fn is_fine(&self, _: u32) -> bool {
        false
    }
}

/// Puts tasks of at most this depth into the queue.
pub struct Depth(pub u32);

impl Policy for Depth {
    #[inline(always)]
    fn enqueues(&mut self, depth: u32, _: impl FnOnce() -> usize) -> bool {
        depth <= self.0
    }

    #[inline(always)]
    fn is_fine(&self, depth: u32) -> bool {
        depth >= self.0
    }
}

/// Returns the bound of a rank's queue, given the number of ranks on its node.
///
/// Source: AsynchWS, Figure 2.
fn queue_bound(ranks_on_node: usize) -> usize {
    3 * ranks_on_node
}

/// Returns the largest number of samples of an entry of the profile. The first entries are those of
/// single depths.
///
/// Source: AsynchWS, section III.A.
fn most_samples(entry: usize) -> u64 {
    let tasks = 1_u64.checked_shl(entry as u32).unwrap_or(u64::MAX);
    (tasks / 100).min(16)
}

/// Puts tasks into the queue while the queue is shorter than its bound.
///
/// Source: AsynchWS, section V.D ("task queue bound"), after Min, Iancu and Yelick.
pub struct QueueBound {
    bound: usize,
}

impl QueueBound {
    /// Creates the rule for a node with `ranks_on_node` ranks.
    pub fn new(ranks_on_node: usize) -> QueueBound {
        QueueBound {
            bound: queue_bound(ranks_on_node),
        }
    }
}

impl Policy for QueueBound {
    #[inline(always)]
    fn enqueues(&mut self, _: u32, ready: impl FnOnce() -> usize) -> bool {
        ready() < self.bound
    }

    #[inline(always)]
    fn is_fine(&self, _: u32) -> bool {
        false
    }
}
