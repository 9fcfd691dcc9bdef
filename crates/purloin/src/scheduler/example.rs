// A complete scheduler: a stack with a lock. All tasks are public.

use purloin::scheduler::{
    Claim, Offer, PublicTasks, Publish, ReachIn, Reclaimed, Scheduler, Slot, State, StateWord,
    TaskPool, TaskStack,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A lock on each worker's stack decides which thread gets a task.
pub struct Locked;

type LockedSlot = Slot<Locked>;

pub struct LockedTasks {
    stack: TaskStack<Locked>,
    /// Held while the bottom moves, and while the owner moves the top.
    lock: Mutex<()>,
    /// Whether a thief has asked for a task since the last answer.
    requested: AtomicBool,
}

impl LockedTasks {
    fn lock(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the task in `slot` is not stolen. The caller holds the lock.
    fn is_mine(&self, slot: *mut LockedSlot) -> bool {
        self.stack.bottom() <= slot
    }
}

// SAFETY: the owner and its thieves hold the lock when they take a task, so one thread gets it.
unsafe impl Scheduler for Locked {
    type Header = StateWord;
    type TaskPool = LockedTasks;
    type Protocol = ReachIn;

    // All schedulers have the same slow paths. This compiles them once, in this crate.
    purloin::slow_paths!();

    fn task_pool(&self, stack: TaskStack<Self>, _workers: usize) -> LockedTasks {
        LockedTasks {
            stack,
            lock: Mutex::new(()),
            requested: AtomicBool::new(false),
        }
    }
}

// SAFETY: every method that moves the top or the bottom of the stack holds the lock.
unsafe impl TaskPool<Locked> for LockedTasks {
    fn stack(&self) -> &TaskStack<Locked> {
        &self.stack
    }

    fn is_open(&self, slot: *mut LockedSlot) -> bool {
        slot >= self.stack.spawn_top() && !self.is_requested()
    }

    fn push(&self, slot: *mut LockedSlot) {
        let _guard = self.lock();
        // SAFETY: the runtime passes a slot of this stack.
        unsafe { &*slot }
            .header()
            .set(State::TASK, Ordering::Relaxed);
        self.stack.set_top(slot.wrapping_add(1), Ordering::Release);
    }

    fn pop(&self, slot: *mut LockedSlot, is_spawn: bool) -> bool {
        let _guard = self.lock();
        self.stack.set_top(slot, Ordering::Relaxed);
        self.is_mine(slot) && (is_spawn || slot >= self.stack.spawn_top())
    }

    fn reopen(&self, _: *mut LockedSlot) {}

    /// Finds out why a pop has failed: because of a thief, or only because of a spawn above.
    fn reclaim(&self, slot: *mut LockedSlot) -> Reclaimed {
        let _guard = self.lock();
        if self.is_mine(slot) {
            return Reclaimed::Owned;
        }
        // While the owner waits, it pushes its tasks above the stolen one.
        self.stack.set_top(slot.wrapping_add(1), Ordering::Relaxed);
        Reclaimed::Stolen
    }

    fn release(&self, slot: *mut LockedSlot) {
        let _guard = self.lock();
        self.stack.set_top(slot, Ordering::Relaxed);
        self.stack.set_bottom(slot);
    }
}

// SAFETY: a claim holds the lock, and marks the slot before it lets go.
unsafe impl PublicTasks<Locked> for LockedTasks {
    /// All tasks are public, so a request asks the owner only to wake a thief.
    fn publish(&self, what: Publish) -> usize {
        let is_answered = match what {
            Publish::OnRequest => self.stack.has_unstolen(),
            Publish::Spawn | Publish::FirstSpawn => true,
            Publish::All => false,
        };
        usize::from(is_answered && self.requested.swap(false, Ordering::AcqRel))
    }

    fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    fn offers(&self) -> Offer {
        match self.stack.has_unstolen() {
            true => Offer::Public,
            false => Offer::Nothing,
        }
    }

    fn request(&self) -> bool {
        !self.requested.swap(true, Ordering::AcqRel)
    }

    fn claim(&self, thief: usize, _: bool, may_take: impl Fn() -> bool) -> Claim<Locked> {
        if !self.stack.has_unstolen() {
            return Claim::Nothing;
        }
        let _guard = self.lock();
        let slot = self.stack.bottom();
        if slot >= self.stack.acquire_top() {
            return Claim::Nothing;
        }
        if !may_take() {
            return Claim::Lost;
        }
        // SAFETY: the slot is below the top, and the lock keeps the owner from popping it.
        unsafe { &*slot }
            .header()
            .set(State::stolen(thief), Ordering::Release);
        self.stack.set_bottom(slot.wrapping_add(1));
        Claim::Stolen(slot)
    }
}
