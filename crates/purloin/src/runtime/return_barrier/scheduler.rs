//! The schedulers that share tasks by a barrier, and the state of their slots.

use super::*;

/// Return-barrier stealing, the default scheduler.
///
/// Tasks are private to their worker until a thief asks. Then the older ones become public,
/// and thieves steal them without disturbing their owner. A thief whose victim does not answer
/// takes its task by force, through Linux's `membarrier`.
///
/// Sources: Wool, section 3 (the direct task stack, leapfrogging); Return barrier, section 5;
/// Channel (requests that the victim polls for).
#[derive(Clone, Debug)]
pub struct ReturnBarrier {
    forced_steals: bool,
}

impl Default for ReturnBarrier {
    fn default() -> Self {
        ReturnBarrier {
            forced_steals: true,
        }
    }
}

impl ReturnBarrier {
    /// Sets whether thieves may take tasks from a silent victim by force. The default is true.
    ///
    /// On a system without `membarrier`, thieves never use force: they wait for the victim's next
    /// push or pop. If the program had several threads when it made its first pool, they do so for some
    /// milliseconds from the first time that a victim is silent.
    pub fn forced_steals(mut self, allowed: bool) -> Self {
        self.forced_steals = allowed;
        self
    }
}

// SAFETY: the page above shows for each race that exactly one thread gets each task, and every race
// in it has a loom model. The methods below uphold the other rules of `crate::scheduler`.
unsafe impl Scheduler for ReturnBarrier {
    type Header = BarrierHeader;
    type TaskPool = BarrierTasks<Self>;
    type Protocol = ReachIn;

    const LEAVES_TINY_TASKS: bool = true;

    crate::slow_paths!();

    fn task_pool(&self, stack: TaskStack<Self>, _workers: usize) -> BarrierTasks<Self> {
        // SAFETY: the runtime gets the task pool.
        unsafe { BarrierTasks::new(self, stack) }
    }
}

impl BarrierScheduler for ReturnBarrier {
    const HAS_FORCE: bool = true;
    const BARRIER_STAYS: bool = true;

    fn allows_force(&self) -> bool {
        self.forced_steals
    }
}

/// A scheduler whose workers share their tasks by a barrier: what [`BarrierTasks`] asks of it.
///
/// The paper's two schedulers, in the crate `purloin-schedulers`, have no force, and are compiled
/// without what only force needs.
pub trait BarrierScheduler:
    Scheduler<Header = BarrierHeader, TaskPool = BarrierTasks<Self>> + Clone
{
    /// Whether thieves may take tasks by force under any options. If not, the owner's slow paths are
    /// compiled without the fence and the exchange that order them with a forcing thief.
    const HAS_FORCE: bool;

    /// Whether tasks stay public after an answer, so that thieves can steal them for free. If not, the
    /// victim offers one task, and waits until a thief has it.
    const BARRIER_STAYS: bool;

    /// Returns whether thieves take tasks by force, if [`Self::HAS_FORCE`].
    fn allows_force(&self) -> bool {
        Self::HAS_FORCE
    }
}

/// The state of a slot.
pub struct BarrierHeader {
    state: StateWord,
    /// Not 0 if the owner was interrupted to offer this task. The owner writes it before it makes
    /// the task public, only for the count of free steals.
    has_interrupted: AtomicU32,
}

impl BarrierHeader {
    pub(super) fn set_interrupted(&self, has_interrupted: bool) {
        // Relaxed: the state publishes it.
        self.has_interrupted
            .store(u32::from(has_interrupted), Ordering::Relaxed);
    }
}

// SAFETY: two words of four bytes each, and `State::EMPTY` is zero.
unsafe impl Header for BarrierHeader {
    fn empty() -> BarrierHeader {
        BarrierHeader {
            state: StateWord::empty(),
            has_interrupted: AtomicU32::new(0),
        }
    }

    fn outcome(&self) -> &StateWord {
        &self.state
    }

    fn has_interrupted(&self) -> bool {
        self.has_interrupted.load(Ordering::Relaxed) != 0
    }
}
