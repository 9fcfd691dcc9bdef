//! What every direct task stack consists of: slots, a top and a bottom.

use std::io;

use crossbeam_utils::CachePadded;

use super::Direct;
use super::memory::{Slots, is_at_boundary};
use super::slot::Slot;
use crate::sync::{AtomicPtr, Ordering};

/// The ends of a worker's stack of tasks in place, and its memory.
pub struct Base<S: Direct> {
    /// The first free slot, written through by the owner at each push and pop.
    /// Alone on its lines: few but the owner touch it.
    top: CachePadded<AtomicPtr<Slot<S>>>,
    /// The oldest task that is not stolen. Thieves poll this line and that of
    /// the slot, neither of which the owner writes on its fast path.
    bot: CachePadded<AtomicPtr<Slot<S>>>,
    /// See [`Base::live`]. Touched by the owner only.
    live: CachePadded<AtomicPtr<Slot<S>>>,
    slots: Slots<S>,
}

impl<S: Direct> Base<S> {
    /// A stack of `capacity` slots, all free.
    pub(crate) fn new(capacity: usize) -> io::Result<Base<S>> {
        let slots = Slots::reserve(capacity)?;
        Ok(Base {
            top: CachePadded::new(AtomicPtr::new(slots.base())),
            bot: CachePadded::new(AtomicPtr::new(slots.base())),
            live: CachePadded::new(AtomicPtr::new(slots.base())),
            slots,
        })
    }

    /// The oldest slot.
    pub(crate) fn first(&self) -> *mut Slot<S> {
        self.slots.base()
    }

    /// One past the last slot that may be used. There is one more, so that
    /// `bot` always points at a slot that may be read.
    #[inline(always)]
    pub(crate) fn end(&self) -> *mut Slot<S> {
        self.slots.end()
    }

    /// The first slot above every live one.
    #[inline(always)]
    pub(crate) fn top(&self) -> *mut Slot<S> {
        // Relaxed: written by the owner's thread only. To others, a hint.
        self.top.load(Ordering::Relaxed)
    }

    /// Owner: whether `slot` is the top, so that a task may be pushed there. It is not
    /// where the token that names it is stale: live slots lie above its own top then,
    /// or it names a slot above the top.
    #[inline(always)]
    pub(crate) fn is_top(&self, slot: *mut Slot<S>) -> bool {
        slot == self.top()
    }

    /// Whether `slot`, which is at or below the top, is not the end. False for some
    /// others, too: ask [`Self::is_full`] then. Pushes go from slot to slot, so none
    /// jumps over the end.
    #[inline(always)]
    pub(crate) fn has_room_at(&self, slot: *mut Slot<S>) -> bool {
        !is_at_boundary(slot)
    }

    /// The same for a thief, with the contents of what lies below.
    pub(crate) fn acquire_top(&self) -> *mut Slot<S> {
        self.top.load(Ordering::Acquire)
    }

    /// Owner: moves the top.
    #[inline(always)]
    pub(crate) fn set_top(&self, slot: *mut Slot<S>, order: Ordering) {
        self.top.store(slot, order);
    }

    /// The oldest slot that is not stolen; stale, unless that slot is held.
    pub(crate) fn bot(&self) -> *mut Slot<S> {
        // Relaxed: validated by whoever claims the slot.
        self.bot.load(Ordering::Relaxed)
    }

    /// Moves the bottom; only for who holds the slot there.
    pub(crate) fn set_bot(&self, slot: *mut Slot<S>) {
        // Relaxed: it carries no data. Who claims a task acquires, from that
        // task's state, every move of the bottom before its publication.
        self.bot.store(slot, Ordering::Relaxed);
    }

    /// Owner: one past the highest task on the stack that stays when the code
    /// around it goes on, a spawn. Slots below are closed.
    pub(crate) fn live(&self) -> *mut Slot<S> {
        self.live.load(Ordering::Relaxed)
    }

    /// Owner: moves that.
    pub(crate) fn set_live(&self, slot: *mut Slot<S>) {
        self.live.store(slot, Ordering::Relaxed);
    }

    /// The slot at the bottom.
    pub(crate) fn oldest(&self) -> &Slot<S> {
        // SAFETY: `bot` always points into the slots, of which there is one
        // more than are ever used, and they live as long as `self`.
        unsafe { &*self.bot() }
    }

    /// Slots in the stack, one of which may be live for each worker's join.
    pub(crate) fn capacity(&self) -> usize {
        self.position(self.end())
    }

    /// How many slots lie below this one.
    pub(crate) fn position(&self, slot: *const Slot<S>) -> usize {
        (slot.addr() - self.first().addr()) / size_of::<Slot<S>>()
    }

    /// Whether there is no room for another slot.
    pub(crate) fn is_full(&self) -> bool {
        self.top() >= self.end()
    }

    /// How many tasks lie between the oldest that is not stolen and the top.
    pub(crate) fn unstolen(&self) -> usize {
        self.top().addr().saturating_sub(self.bot().addr()) / size_of::<Slot<S>>()
    }

    /// Whether there seems to be a task that is not stolen.
    pub(crate) fn has_any(&self) -> bool {
        self.bot() < self.top()
    }
}
