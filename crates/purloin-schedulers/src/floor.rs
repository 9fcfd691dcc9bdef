//! The floor: a word by which other threads make the owner take a slow path.
//!
//! In the direct task stack, where all tasks are public, a thief raises the floor to learn of the
//! next push. In the channel scheduler, the floor tells the owner to look into its mailbox.

use crossbeam_utils::CachePadded;
use purloin::scheduler::sync::{AtomicUsize, Ordering};
use purloin::scheduler::{Scheduler, Slot, TaskStack};

/// A word that the owner reads at each push and pop, and that a thief writes when it asks for
/// tasks. A slot is open if it is at or above the floor.
///
/// It is an address, or [`REQUESTED`].
pub(crate) struct Floor(CachePadded<AtomicUsize>);

/// The floor while a request is pending: above all slots.
const REQUESTED: usize = usize::MAX;

impl Floor {
    /// Returns a floor at the first slot of this stack.
    pub(crate) fn new<S: Scheduler>(stack: &TaskStack<S>) -> Self {
        Floor(CachePadded::new(AtomicUsize::new(stack.first().addr())))
    }

    /// Returns whether `slot` is at or above the floor.
    #[inline(always)]
    pub(crate) fn is_open<S: Scheduler>(&self, slot: *mut Slot<S>) -> bool {
        // Relaxed: the owner sees a request at a later push.
        slot.addr() >= self.0.load(Ordering::Relaxed)
    }

    /// Owner: opens the slots from `slot` on, unless a request is pending.
    #[cold]
    pub(crate) fn lower<S: Scheduler>(&self, slot: *mut Slot<S>) {
        let floor = self.0.load(Ordering::Relaxed);
        if floor != REQUESTED && floor > slot.addr() {
            // If a thief asks at this moment, the exchange fails and the request stays pending.
            let (relaxed, to) = (Ordering::Relaxed, slot.addr());
            let _ = self.0.compare_exchange(floor, to, relaxed, relaxed);
        }
    }

    /// Owner: closes the slots below `slot`, unless a request is pending.
    pub(crate) fn raise<S: Scheduler>(&self, slot: *mut Slot<S>) {
        let floor = self.0.load(Ordering::Relaxed);
        if floor < slot.addr() {
            let (relaxed, to) = (Ordering::Relaxed, slot.addr());
            let _ = self.0.compare_exchange(floor, to, relaxed, relaxed);
        }
    }

    /// Owner: closes exactly the slots below `slot`, and so ends a request. Returns whether a
    /// request was pending.
    pub(crate) fn acknowledge<S: Scheduler>(&self, slot: *mut Slot<S>) -> bool {
        let floor = self.0.load(Ordering::Relaxed);
        if floor >= slot.addr() && floor != REQUESTED {
            return false;
        }
        // AcqRel: the owner sees everything that a thief wrote before its request. This is an
        // exchange, because it also ends a request that arrives after the load.
        self.0.swap(slot.addr(), Ordering::AcqRel) == REQUESTED
    }

    /// Returns whether a request is pending.
    pub(crate) fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed) == REQUESTED
    }

    /// Thief: posts a request. Returns true if no other request was pending.
    pub(crate) fn request(&self) -> bool {
        // Relaxed: a thief that falls asleep after this looks for tasks after a full fence, and
        // once more after a millisecond.
        !self.is_requested() && self.0.swap(REQUESTED, Ordering::Relaxed) != REQUESTED
    }

    /// Any thread: asks the owner to look for a message.
    pub(crate) fn notify(&self) {
        // Release: publishes the message.
        self.0.swap(REQUESTED, Ordering::Release);
    }
}
