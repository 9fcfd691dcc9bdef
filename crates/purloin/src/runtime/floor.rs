//! How thieves ask to be told of the next task, where all tasks are public.

use crossbeam_utils::CachePadded;

use super::{Base, Direct, Slot};
use crate::sync::{AtomicUsize, Ordering};

/// Read by the owner at each push and pop, written when a thief asks: slots at
/// or above the floor are open.
///
/// An address, or [`ASKED`].
pub(crate) struct Floor(CachePadded<AtomicUsize>);

/// The floor while a thief asks to be told of the next push: above all.
const ASKED: usize = usize::MAX;

impl Floor {
    /// At the bottom of this stack.
    pub(crate) fn new<S: Direct>(base: &Base<S>) -> Self {
        Floor(CachePadded::new(AtomicUsize::new(base.first().addr())))
    }

    /// Whether `slot` is at or above the floor.
    #[inline(always)]
    pub(crate) fn is_above<S: Direct>(&self, slot: *mut Slot<S>) -> bool {
        // Relaxed: a request that is not seen now is seen at a later push.
        slot.addr() >= self.0.load(Ordering::Relaxed)
    }

    /// Owner: opens the slots from `slot` on, unless somebody asks.
    #[cold]
    pub(crate) fn lower<S: Direct>(&self, slot: *mut Slot<S>) {
        let floor = self.0.load(Ordering::Relaxed);
        if floor != ASKED && floor > slot.addr() {
            // If a thief asks at this moment, its request stands instead.
            let (relaxed, to) = (Ordering::Relaxed, slot.addr());
            let _ = self.0.compare_exchange(floor, to, relaxed, relaxed);
        }
    }

    /// Owner: closes the slots below `slot`, unless somebody asks.
    pub(crate) fn raise<S: Direct>(&self, slot: *mut Slot<S>) {
        let floor = self.0.load(Ordering::Relaxed);
        if floor < slot.addr() {
            let (relaxed, to) = (Ordering::Relaxed, slot.addr());
            let _ = self.0.compare_exchange(floor, to, relaxed, relaxed);
        }
    }

    /// Owner: closes the slots below `slot`, and no more, which is the answer to
    /// a request. True if there was one.
    pub(crate) fn answer<S: Direct>(&self, slot: *mut Slot<S>) -> bool {
        // AcqRel: what was left before a request is seen after its answer; and a
        // request that comes between two looks is answered, too.
        self.0.swap(slot.addr(), Ordering::AcqRel) == ASKED
    }

    /// The same, with no exchange if the floor is there and nobody asks.
    pub(crate) fn close<S: Direct>(&self, slot: *mut Slot<S>) -> bool {
        let floor = self.0.load(Ordering::Relaxed);
        let is_closed = floor >= slot.addr() && floor != ASKED;
        !is_closed && self.answer(slot)
    }

    /// Whether a request stands.
    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed) == ASKED
    }

    /// Thief: asks. True if nobody had, since the last answer.
    pub(crate) fn request(&self) -> bool {
        // Relaxed: whoever sleeps after this looks for tasks after a full
        // fence, and once more after a doze.
        !self.is_asked() && self.0.swap(ASKED, Ordering::Relaxed) != ASKED
    }

    /// The same, to have the owner look at what was left for it before this.
    pub(crate) fn notify(&self) {
        // Release: that.
        self.0.swap(ASKED, Ordering::Release);
    }
}
