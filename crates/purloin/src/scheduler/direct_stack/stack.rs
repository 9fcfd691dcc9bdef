//! The stack of public tasks, whatever the fields of its slots.

use std::io;

use super::DirectStack;
use crate::runtime::{self, Base, Claim, Floor, Header, Reachable, Stack, Taken};
use crate::sync::Ordering;

pub(super) type Slot<F> = runtime::Slot<DirectStack<F>>;

/// How a slot says whose its task is.
pub trait Fields: Sized + 'static {
    /// The state of a slot.
    type Header: Header;

    /// Owner: offers the task that was written to the slot.
    fn offer(header: &Self::Header);

    /// Whether there is a task for thieves, at a glance.
    fn is_offered(header: &Self::Header) -> bool;

    /// Owner: tries to have the task back, at once.
    fn take(header: &Self::Header) -> bool;

    /// Owner, after that has failed: waits until thieves have decided.
    fn take_back(header: &Self::Header) -> Taken;

    /// Owner: frees the slot of a task that is done.
    fn free(header: &Self::Header);

    /// Thief: tries to hold the task, at once.
    fn hold(header: &Self::Header) -> Hold;

    /// Thief: gives back what it holds.
    fn give_back(header: &Self::Header);

    /// Thief: keeps what it holds.
    fn commit(header: &Self::Header, thief: usize);
}

/// What comes of a thief's reach for a task.
pub enum Hold {
    /// It holds it, and must keep it or give it back.
    Held,
    /// There was none.
    Nothing,
    /// Another was faster.
    Lost,
}

/// A worker's stack of public tasks.
pub struct TaskStack<F: Fields> {
    base: Base<DirectStack<F>>,
    floor: Floor,
}

impl<F: Fields> TaskStack<F> {
    /// A stack of `capacity` slots, all free.
    pub(super) fn new(capacity: usize) -> io::Result<Self> {
        let base = Base::new(capacity)?;
        Ok(TaskStack {
            floor: Floor::new(&base),
            base,
        })
    }
}

impl<F: Fields> Stack<DirectStack<F>> for TaskStack<F> {
    #[inline(always)]
    fn base(&self) -> &Base<DirectStack<F>> {
        &self.base
    }

    #[inline(always)]
    fn is_open(&self, slot: *mut Slot<F>) -> bool {
        self.floor.is_above(slot)
    }

    #[inline(always)]
    fn push(&self, slot: *mut Slot<F>) {
        // Relaxed: to thieves the top is a hint.
        self.base.set_top(slot.wrapping_add(1), Ordering::Relaxed);
        // SAFETY: `slot` is in our memory, and free.
        F::offer(unsafe { &(*slot).header });
    }

    /// Two stores, one of them an atomic read-modify-write, and two compares:
    /// below the floor there may be tasks above that stay.
    #[inline(always)]
    fn pop(&self, slot: *mut Slot<F>) -> bool {
        self.base.set_top(slot, Ordering::Relaxed);
        // SAFETY: `slot` was pushed, so it lies in our memory.
        self.floor.is_above(slot) && F::take(unsafe { &(*slot).header })
    }

    #[inline(always)]
    fn pop_kept(&self, slot: *mut Slot<F>) -> bool {
        self.base.set_top(slot, Ordering::Relaxed);
        // SAFETY: `slot` was pushed, so it lies in our memory.
        F::take(unsafe { &(*slot).header })
    }

    fn reopen(&self, slot: *mut Slot<F>) {
        debug_assert!(self.base.live() <= slot);
        self.floor.lower(self.base.live());
    }

    fn is_awaited(&self, slot: *mut Slot<F>) -> bool {
        !self.floor.is_above(slot)
    }

    #[cold]
    fn take_back(&self, slot: *mut Slot<F>) -> Taken {
        // SAFETY: `slot` was pushed, so it lies in our memory.
        let taken = F::take_back(unsafe { &(*slot).header });
        if taken == Taken::Stolen {
            // What runs above it meanwhile starts above it.
            self.base.set_top(slot.wrapping_add(1), Ordering::Relaxed);
        }
        taken
    }

    #[cold]
    fn release(&self, slot: *mut Slot<F>) {
        self.base.set_top(slot, Ordering::Relaxed);
        // SAFETY: `slot` was pushed, so it lies in our memory.
        F::free(unsafe { &(*slot).header });
        // Everything older is stolen, as thieves take the oldest first, and
        // everything newer is gone: this is the bottom now. Whoever takes a
        // task that we push from now on acquires that push, and this with it.
        self.base.set_bot(slot);
    }

    fn is_asked(&self) -> bool {
        self.floor.is_asked()
    }
}

impl<F: Fields> Reachable<DirectStack<F>> for TaskStack<F> {
    /// Lowers the floor, if a thief has asked and there is something for it.
    #[cold]
    fn answer(&self) -> usize {
        if !self.is_asked() || !self.base.has_any() {
            return 0;
        }
        self.close()
    }

    /// All tasks are public; so if somebody has asked, this is the answer.
    fn close(&self) -> usize {
        usize::from(self.floor.close(self.base.live()))
    }

    /// They are.
    fn publish_all(&self) -> usize {
        0
    }

    /// Looks at the slot at the bottom, not at the top, which is the owner's.
    fn offers(&self) -> bool {
        F::is_offered(&self.base.oldest().header)
    }

    fn hides(&self) -> bool {
        false
    }

    fn request(&self) -> bool {
        self.floor.request()
    }

    fn claim(
        &self,
        thief: usize,
        _is_silent: bool,
        may_take: impl Fn() -> bool,
    ) -> Claim<DirectStack<F>> {
        let bot = self.base.bot();
        // SAFETY: `bot` always points into the slots.
        let header = unsafe { &(*bot).header };
        match F::hold(header) {
            Hold::Held => (),
            Hold::Nothing => return Claim::Nothing,
            Hold::Lost => return Claim::Lost,
        }
        let is_oldest = self.base.bot() == bot;
        if !is_oldest || !may_take() {
            F::give_back(header);
            return if is_oldest { Claim::Lost } else { Claim::Stale };
        }
        F::commit(header, thief);
        // Before the owner can join with it: it waits for DONE.
        self.base.set_bot(bot.wrapping_add(1));
        Claim::Stolen(bot)
    }
}
