//! How thieves ask to be told of the next task, where all tasks are public.

use crossbeam_utils::CachePadded;

use super::{Base, Direct, Slot};
use crate::sync::{AtomicUsize, Ordering};

/// Read by the owner at each push and pop, written when a thief asks: slots at
/// or above the floor are open.
pub(crate) struct Floor<S: Direct>(CachePadded<Words<S>>);

struct Words<S: Direct> {
    /// An address, or [`ASKED`].
    floor: AtomicUsize,
    /// One past the last slot.
    end: *const Slot<S>,
}

/// The floor while a thief asks to be told of the next push: above all.
const ASKED: usize = usize::MAX;

// SAFETY: `end` is only compared with.
unsafe impl<S: Direct> Sync for Floor<S> {}
// SAFETY: as above.
unsafe impl<S: Direct> Send for Floor<S> {}

impl<S: Direct> Floor<S> {
    /// At the bottom of this stack.
    pub(crate) fn new(base: &Base<S>) -> Self {
        Floor(CachePadded::new(Words {
            floor: AtomicUsize::new(base.first().addr()),
            end: base.end(),
        }))
    }

    /// Whether `slot` is at or above the floor.
    #[inline(always)]
    pub(crate) fn is_above(&self, slot: *mut Slot<S>) -> bool {
        // Relaxed: a request that is not seen now is seen at a later push.
        slot.addr() >= self.0.floor.load(Ordering::Relaxed)
    }

    /// Whether `slot` is open, and in the stack.
    #[inline(always)]
    pub(crate) fn is_open(&self, slot: *mut Slot<S>) -> bool {
        self.is_above(slot) && slot.cast_const() < self.0.end
    }

    /// Owner: opens the slots from `slot` on, unless somebody asks.
    #[cold]
    pub(crate) fn lower(&self, slot: *mut Slot<S>) {
        let floor = self.0.floor.load(Ordering::Relaxed);
        if floor != ASKED && floor > slot.addr() {
            // If a thief asks at this moment, its request stands instead.
            let (relaxed, to) = (Ordering::Relaxed, slot.addr());
            let _ = self.0.floor.compare_exchange(floor, to, relaxed, relaxed);
        }
    }

    /// Owner: closes the slots below `slot`, unless somebody asks.
    pub(crate) fn raise(&self, slot: *mut Slot<S>) {
        let floor = self.0.floor.load(Ordering::Relaxed);
        if floor < slot.addr() {
            let (relaxed, to) = (Ordering::Relaxed, slot.addr());
            let _ = self.0.floor.compare_exchange(floor, to, relaxed, relaxed);
        }
    }

    /// Owner: closes the slots below `slot`, and no more, which is the answer to
    /// a request. True if there was one.
    pub(crate) fn answer(&self, slot: *mut Slot<S>) -> bool {
        // AcqRel: what was left before a request is seen after its answer; and a
        // request that comes between two looks is answered, too.
        self.0.floor.swap(slot.addr(), Ordering::AcqRel) == ASKED
    }

    /// The same, with no exchange if the floor is there and nobody asks.
    pub(crate) fn close(&self, slot: *mut Slot<S>) -> bool {
        let floor = self.0.floor.load(Ordering::Relaxed);
        let is_closed = floor >= slot.addr() && floor != ASKED;
        !is_closed && self.answer(slot)
    }

    /// Whether a request stands.
    pub(crate) fn is_asked(&self) -> bool {
        self.0.floor.load(Ordering::Relaxed) == ASKED
    }

    /// Thief: asks. True if nobody had, since the last answer.
    pub(crate) fn request(&self) -> bool {
        // Relaxed: whoever sleeps after this looks for tasks after a full
        // fence, and once more after a doze.
        !self.is_asked() && self.0.floor.swap(ASKED, Ordering::Relaxed) != ASKED
    }

    /// The same, to have the owner look at what was left for it before this.
    pub(crate) fn notify(&self) {
        // Release: that.
        self.0.floor.swap(ASKED, Ordering::Release);
    }
}
