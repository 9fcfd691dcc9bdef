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
    pub(crate) fn is_below(&self, slot: *mut Slot<S>) -> bool {
        // Relaxed: a request that is not seen now is seen at a later push.
        slot.addr() >= self.0.floor.load(Ordering::Relaxed)
    }

    /// Whether `slot` is open, and in the stack.
    #[inline(always)]
    pub(crate) fn is_open(&self, slot: *mut Slot<S>) -> bool {
        self.is_below(slot) && slot.cast_const() < self.0.end
    }

    /// Owner: lowers it to the live end, unless somebody asks.
    #[cold]
    pub(crate) fn reopen(&self, base: &Base<S>) {
        let floor = self.0.floor.load(Ordering::Relaxed);
        let live = base.live().addr();
        if floor != ASKED && floor > live {
            // If a thief asks at this moment, its request stands instead.
            let relaxed = Ordering::Relaxed;
            let _ = self.0.floor.compare_exchange(floor, live, relaxed, relaxed);
        }
    }

    /// Owner: raises it to the live end, which is the answer to a request. True
    /// if there was one.
    pub(crate) fn close(&self, base: &Base<S>) -> bool {
        let live = base.live().addr();
        let floor = self.0.floor.load(Ordering::Relaxed);
        // A request that comes between the two is answered, too.
        let is_closed = floor >= live && floor != ASKED;
        !is_closed && self.0.floor.swap(live, Ordering::Relaxed) == ASKED
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
}
