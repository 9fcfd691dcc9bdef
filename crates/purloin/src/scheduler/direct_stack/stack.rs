//! The stack of public tasks, whatever the fields of its slots.

use std::io;

use crossbeam_utils::CachePadded;

use super::DirectStack;
use crate::scheduler::direct::{self, Base, Claim, Header, Stack, Taken};
use crate::sync::{AtomicUsize, Ordering};

pub(super) type Slot<F> = direct::Slot<DirectStack<F>>;

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
    /// Read by the owner at each push, written when a thief asks.
    guard: CachePadded<Guard<F>>,
}

struct Guard<F: Fields> {
    /// Slots at or above this address are open. `ASKED` is above all.
    floor: AtomicUsize,
    /// One past the last slot.
    end: *const Slot<F>,
}

/// The floor while a thief asks to be told of the next push.
const ASKED: usize = usize::MAX;

// SAFETY: all is atomic or immutable.
unsafe impl<F: Fields> Sync for TaskStack<F> {}
// SAFETY: nothing in it is tied to a thread.
unsafe impl<F: Fields> Send for TaskStack<F> {}

impl<F: Fields> TaskStack<F> {
    /// A stack of `capacity` slots, all free.
    pub(super) fn new(capacity: usize) -> io::Result<Self> {
        let base = Base::new(capacity)?;
        Ok(TaskStack {
            guard: CachePadded::new(Guard {
                floor: AtomicUsize::new(base.first().addr()),
                end: base.end(),
            }),
            base,
        })
    }

    /// Whether `slot` is at or above the floor.
    #[inline(always)]
    fn is_above_floor(&self, slot: *mut Slot<F>) -> bool {
        // Relaxed: a request that is not seen now is seen at a later push.
        slot.addr() >= self.guard.floor.load(Ordering::Relaxed)
    }
}

impl<F: Fields> Stack<DirectStack<F>> for TaskStack<F> {
    #[inline(always)]
    fn base(&self) -> &Base<DirectStack<F>> {
        &self.base
    }

    #[inline(always)]
    fn is_open(&self, slot: *mut Slot<F>) -> bool {
        self.is_above_floor(slot) && slot.cast_const() < self.guard.end
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
        self.is_above_floor(slot) && F::take(unsafe { &(*slot).header })
    }

    #[inline(always)]
    fn pop_kept(&self, slot: *mut Slot<F>) -> bool {
        self.base.set_top(slot, Ordering::Relaxed);
        // SAFETY: `slot` was pushed, so it lies in our memory.
        F::take(unsafe { &(*slot).header })
    }

    #[cold]
    fn reopen(&self, slot: *mut Slot<F>) {
        debug_assert!(self.base.live() <= slot);
        let (floor, live) = (
            self.guard.floor.load(Ordering::Relaxed),
            self.base.live().addr(),
        );
        if floor != ASKED && floor > live {
            // If a thief asks at this moment, its request stands instead.
            let relaxed = Ordering::Relaxed;
            let _ = self
                .guard
                .floor
                .compare_exchange(floor, live, relaxed, relaxed);
        }
    }

    fn is_awaited(&self, slot: *mut Slot<F>) -> bool {
        !self.is_above_floor(slot)
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

    /// Lowers the floor, if a thief has asked and there is something for it.
    #[cold]
    fn answer(&self) -> usize {
        if !self.is_asked() || !self.base.has_any() {
            return 0;
        }
        self.close()
    }

    fn is_asked(&self) -> bool {
        self.guard.floor.load(Ordering::Relaxed) == ASKED
    }

    /// All tasks are public; so if somebody has asked, this is the answer.
    fn close(&self) -> usize {
        let live = self.base.live().addr();
        let floor = self.guard.floor.load(Ordering::Relaxed);
        // A request that comes between the two is answered, too.
        let is_closed = floor >= live && floor != ASKED;
        usize::from(!is_closed && self.guard.floor.swap(live, Ordering::Relaxed) == ASKED)
    }

    #[cfg(all(loom, test))]
    fn publish_all(&self) {}

    /// Looks at the slot at the bottom, not at the top, which is the owner's.
    fn offers(&self) -> bool {
        F::is_offered(&self.base.oldest().header)
    }

    fn hides(&self) -> bool {
        false
    }

    fn request(&self) -> bool {
        // Relaxed: whoever sleeps after this looks for tasks after a full
        // fence, and once more after a doze.
        self.guard.floor.load(Ordering::Relaxed) != ASKED
            && self.guard.floor.swap(ASKED, Ordering::Relaxed) != ASKED
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
