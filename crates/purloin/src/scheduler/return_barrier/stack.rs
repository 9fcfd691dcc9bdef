//! The task stack: what its owner does, and what thieves do to it.
//!
//! The page above [`super`] tells the protocol; the names here are its names.

use std::cell::Cell;
use std::io;

use crossbeam_utils::CachePadded;

use super::memory::Slots;
use super::slot::{Slot, State};
use crate::sync::{AtomicPtr, AtomicUsize, Ordering, asymmetric, fence};

/// The barrier word while a thief asks for tasks: this bit, and in the lower
/// bits the number of forced steals so far.
const REQUESTED: usize = 1 << (usize::BITS - 1);
/// Together with [`REQUESTED`]: a thief is forcing its way in.
const FORCED: usize = 1 << (usize::BITS - 2);

const _: () = assert!(
    usize::BITS == 64,
    "Purloin keeps two flags above the bits of an address"
);

/// How many tasks one request makes public at most. More would be free steals
/// to come, but each costs its owner an atomic operation to take back.
const MOST_PUBLISHED: usize = if cfg!(loom) { 1 } else { 32 };

/// To whom the owner's top task belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Taken {
    /// The owner has it back and runs it.
    Back,
    /// A thief has it, or has finished it.
    Stolen,
}

/// What a thief found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Claim {
    /// This slot's task is the thief's, who must run it and call
    /// [`Slot::finish_stolen`].
    Stolen(*const Slot),
    /// Nothing public.
    Nothing,
    /// Another was faster, or what was there is not for this thief.
    Lost,
}

/// A worker's stack of tasks in place.
pub(crate) struct TaskStack {
    /// The first free slot, written through by the owner at each push and pop.
    /// Alone on its lines: only the owner and forcing thieves touch it.
    top: CachePadded<AtomicPtr<Slot>>,
    /// Read by the owner at each push and pop, written when a thief asks.
    guard: CachePadded<Guard>,
    /// The oldest task that is not stolen. Thieves poll this line and that of
    /// the slot, neither of which the owner writes on its fast path.
    bot: CachePadded<AtomicPtr<Slot>>,
    owned: CachePadded<Owned>,
}

struct Guard {
    /// Slots at or above this address are private. `REQUESTED` is above all.
    barrier: AtomicUsize,
    /// One past the last slot.
    end: *const Slot,
}

/// Touched by the owner only, on its slow paths.
struct Owned {
    /// Slots below are public, stolen or being forced; never below a live spawn.
    published: Cell<*mut Slot>,
    slots: Slots,
}

// SAFETY: `owned` is used by the owning worker's thread alone (every method
// that touches it says so); all else is atomic or immutable.
unsafe impl Sync for TaskStack {}
// SAFETY: nothing in it is tied to a thread before the owner starts.
unsafe impl Send for TaskStack {}

impl TaskStack {
    /// A stack of `capacity` slots, all free.
    pub(crate) fn new(capacity: usize) -> io::Result<TaskStack> {
        let slots = Slots::reserve(capacity.saturating_add(1))?;
        let base = slots.base();
        Ok(TaskStack {
            top: CachePadded::new(AtomicPtr::new(base)),
            guard: CachePadded::new(Guard {
                barrier: AtomicUsize::new(base.addr()),
                // The last slot is never used, so that `bot` always points at
                // a slot that may be read.
                end: slots.end().wrapping_sub(1),
            }),
            bot: CachePadded::new(AtomicPtr::new(base)),
            owned: CachePadded::new(Owned {
                published: Cell::new(base),
                slots,
            }),
        })
    }
}

/// The owner's fast path.
impl TaskStack {
    /// Whether `slot` may be pushed by the fast path: it is private, and there.
    ///
    /// Two loads from one line that only a request invalidates, two compares.
    #[inline(always)]
    pub(crate) fn is_open(&self, slot: *mut Slot) -> bool {
        self.is_private(slot) && slot.cast_const() < self.guard.end
    }

    /// Whether `slot` is at or above the barrier.
    #[inline(always)]
    pub(crate) fn is_private(&self, slot: *mut Slot) -> bool {
        // Relaxed: a request that is not seen now is seen at a later push or pop.
        slot.addr() >= self.guard.barrier.load(Ordering::Relaxed)
    }

    /// Makes the task that was written to `slot` part of the stack.
    #[inline(always)]
    pub(crate) fn push(&self, slot: *mut Slot) {
        // Release: a forcing thief that sees the new top sees the contents.
        self.top.store(slot.wrapping_add(1), Ordering::Release);
    }

    /// Takes the task in `slot`, the newest, off the stack. True if it was
    /// private and so is the owner's; if not, ask [`Self::take_back`].
    ///
    /// One store, one load, one compare.
    #[inline(always)]
    pub(crate) fn pop(&self, slot: *mut Slot) -> bool {
        // The two halves of Dekker's pattern against a forcing thief, who
        // raises the barrier and then reads the top. Relaxed: the fence orders.
        self.top.store(slot, Ordering::Relaxed);
        asymmetric::light();
        self.is_private(slot)
    }
}

/// The owner's slow paths.
impl TaskStack {
    /// The first slot above every live one.
    #[inline(always)]
    pub(crate) fn top(&self) -> *mut Slot {
        // Relaxed: written by this thread only.
        self.top.load(Ordering::Relaxed)
    }

    #[cfg(all(loom, test))]
    pub(super) fn base(&self) -> *mut Slot {
        self.owned.slots.base()
    }

    /// Slots in the stack, one of which may be live for each worker's join.
    pub(crate) fn capacity(&self) -> usize {
        (self.guard.end.addr() - self.owned.slots.base().addr()) / size_of::<Slot>()
    }

    /// Whether there is no room for another slot.
    pub(crate) fn is_full(&self) -> bool {
        self.top().cast_const() >= self.guard.end
    }

    /// How many tasks lie between the oldest that is not stolen and the top.
    pub(crate) fn unstolen(&self) -> usize {
        let bot = self.bot.load(Ordering::Relaxed).addr();
        self.top().addr().saturating_sub(bot) / size_of::<Slot>()
    }

    /// After a [`Self::pop`] that did not find `slot` private: whose is it?
    ///
    /// If it is stolen, it stays live until [`Self::release`].
    #[cold]
    pub(crate) fn take_back(&self, slot: *mut Slot) -> Taken {
        // SAFETY: `slot` was pushed, so it lies in our memory.
        let task = unsafe { &*slot };
        // Orders our store of the top before our read of the state, against a
        // forcing thief that marks the state BUSY and then reads the top.
        fence(Ordering::SeqCst);
        loop {
            let mine = match task.settled() {
                // Never published, and no forcing thief was in time.
                State::EMPTY => true,
                // Acquire, so that nothing of the task moves above; a thief
                // that gave the task back has written nothing else.
                State::TASK => task
                    .exchange(State::TASK, State::EMPTY, Ordering::Acquire)
                    .is_ok(),
                _ => {
                    // What runs above it meanwhile starts above it.
                    self.push(slot);
                    return Taken::Stolen;
                }
            };
            if mine {
                self.lower(slot);
                return Taken::Back;
            }
        }
    }

    /// Frees `slot`, whose stolen task is done and whose result has been read.
    #[cold]
    pub(crate) fn release(&self, slot: *mut Slot) {
        // First the top: a forcing thief that sees the slot EMPTY again must
        // see that it is not live. The state's release orders the two.
        self.top.store(slot, Ordering::Relaxed);
        // SAFETY: `slot` was pushed, so it lies in our memory.
        unsafe { &*slot }.set_state(State::EMPTY, Ordering::Release);
        // Everything older is stolen, as thieves take the oldest first, and
        // everything newer is gone: this is the bottom now. Relaxed: whoever
        // takes a task that we publish or push from now on acquires that
        // publication or that top, and with it this value.
        self.bot.store(slot, Ordering::Relaxed);
        self.lower(slot);
    }

    /// Moves the barrier down to `slot`, which just left the stack.
    fn lower(&self, slot: *mut Slot) {
        let published = self.owned.published.get();
        self.owned.published.set(published.min(slot));
        let barrier = self.guard.barrier.load(Ordering::Relaxed);
        if barrier & REQUESTED == 0 && barrier > slot.addr() {
            // If a thief asks at this moment, its request stands instead.
            // Relaxed: this thread's own pops are ordered by program order,
            // and a forcing thief starts from a request that it has read.
            let _ = self.guard.barrier.compare_exchange(
                barrier,
                slot.addr(),
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
        }
    }

    /// Answers a standing request with the owner's oldest private tasks.
    ///
    /// Returns how many became public. With none to offer the request stands,
    /// and the next push answers it.
    #[cold]
    pub(crate) fn answer(&self) -> usize {
        self.publish(MOST_PUBLISHED, false)
    }

    /// Makes every task public, whether or not a thief has asked, and keeps
    /// the barrier above them.
    #[cold]
    pub(crate) fn publish_all(&self) -> usize {
        self.publish(usize::MAX, true)
    }

    fn publish(&self, most: usize, unasked: bool) -> usize {
        let mut count = 0;
        loop {
            // Acquire: if a thief has forced its way in, its steal happened
            // before what we now decide.
            let barrier = self.guard.barrier.load(Ordering::Acquire);
            let asked = barrier & REQUESTED != 0;
            if !(asked || unasked) {
                return count;
            }
            let top = self.top();
            let mut slot = self.owned.published.get();
            while slot < top && count < most {
                // SAFETY: below the top, so it lies in our memory.
                count += usize::from(unsafe { &*slot }.publish());
                slot = slot.wrapping_add(1);
            }
            if slot > self.owned.published.get() {
                self.owned.published.set(slot);
            }
            if count == 0 && !unasked {
                return 0;
            }
            if barrier & FORCED != 0 || (!asked && barrier >= slot.addr()) {
                // A forcing thief keeps the barrier up until it is through.
                return count;
            }
            // Fails if a thief asked, or forced a slot, in the meantime: the
            // word counts forced steals, so that one that came and went since
            // we read it is noticed. Release: pairs with the acquiring
            // exchange of the next request, so that a forcing thief sees
            // our states.
            let lowered = self.guard.barrier.compare_exchange(
                barrier,
                slot.addr(),
                Ordering::Release,
                Ordering::Relaxed,
            );
            if lowered.is_ok() {
                return count;
            }
            if count >= most {
                // Answered as far as we want to; the newer request stands.
                return count;
            }
        }
    }
}

/// What thieves do. Callable from any thread.
impl TaskStack {
    /// Whether the oldest task is public, or about to be, at a glance.
    pub(crate) fn has_public(&self) -> bool {
        // SAFETY: `bot` always points into the slots, of which there is one
        // more than are ever used, and they live as long as `self`.
        let slot = unsafe { &*self.bot.load(Ordering::Relaxed) };
        // Any state but EMPTY: what is BUSY may be given back, and where a
        // thief has just stolen, `bot` is about to move on.
        slot.state(Ordering::Relaxed) != State::EMPTY
    }

    /// Whether there seems to be a task that is not stolen, public or not.
    pub(crate) fn has_any(&self) -> bool {
        // Relaxed: a hint.
        self.bot.load(Ordering::Relaxed) < self.top.load(Ordering::Relaxed)
    }

    /// Takes the oldest public task for `thief`, if `may_take` allows it.
    ///
    /// `may_take` is asked while the task is held fast, so that what it finds
    /// true stays true as long as the task is not done.
    pub(crate) fn claim(&self, thief: usize, may_take: impl Fn() -> bool) -> Claim {
        // Relaxed: validated below, and the contents come with the state.
        let bot = self.bot.load(Ordering::Relaxed);
        // SAFETY: as in `has_public`.
        let slot = unsafe { &*bot };
        if slot.state(Ordering::Relaxed) != State::TASK {
            return Claim::Nothing;
        }
        // Acquire: the contents, and every move of `bot` before publication.
        if slot
            .exchange(State::TASK, State::BUSY, Ordering::Acquire)
            .is_err()
        {
            return Claim::Lost;
        }
        // A stale `bot`: this is a task, but not the oldest. Relaxed: the
        // owner set `bot` before it published what we have just acquired, and
        // while we hold the slot `bot` cannot move from it.
        if self.bot.load(Ordering::Relaxed) != bot || !may_take() {
            slot.set_state(State::TASK, Ordering::Release);
            return Claim::Lost;
        }
        self.commit(bot, thief);
        Claim::Stolen(bot)
    }

    /// Marks the slot at `bot`, which is held BUSY, as stolen.
    fn commit(&self, bot: *mut Slot, thief: usize) {
        // Relaxed, both: they carry no data. The owner's later store to `bot`
        // is ordered after ours by DONE, and what another thief takes next it
        // acquires from that slot's own state.
        // SAFETY: as in `has_public`.
        unsafe { &*bot }.set_state(State::stolen(thief), Ordering::Relaxed);
        self.bot.store(bot.wrapping_add(1), Ordering::Relaxed);
    }

    /// Asks the owner to publish at its next push or pop. True if nobody had
    /// asked since it last answered.
    pub(crate) fn request(&self) -> bool {
        let barrier = self.guard.barrier.load(Ordering::Relaxed);
        // AcqRel: a forcing thief starts from here and must see the states
        // that the owner's last lowering released.
        barrier & REQUESTED == 0
            && self
                .guard
                .barrier
                .compare_exchange(barrier, REQUESTED, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
    }

    /// Whether a request stands unanswered.
    pub(crate) fn is_requested(&self) -> bool {
        self.guard.barrier.load(Ordering::Relaxed) & REQUESTED != 0
    }

    /// Takes the oldest task without the owner's help: installs the barrier
    /// from outside. Only where [`asymmetric::available`] is true, and only
    /// after a request has stood unanswered.
    pub(crate) fn force(&self, thief: usize, may_take: impl Fn() -> bool) -> Claim {
        let barrier = self.guard.barrier.load(Ordering::Relaxed);
        if barrier & REQUESTED == 0 || barrier & FORCED != 0 {
            return Claim::Lost;
        }
        // From here until we store REQUESTED again, the barrier is ours: the
        // owner cannot lower it, and no other thief can force.
        let installed = self.guard.barrier.compare_exchange(
            barrier,
            barrier | FORCED,
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
        if installed.is_err() {
            return Claim::Lost;
        }
        let claim = if asymmetric::heavy() {
            // Now every pop of the owner is either seen in its top, or sees us.
            self.claim_private(thief, may_take)
        } else {
            Claim::Lost
        };
        let forced = usize::from(matches!(claim, Claim::Stolen(_)));
        // Release: an owner that lowers the barrier from this value has seen
        // the stolen slot.
        self.guard.barrier.store(
            REQUESTED | (barrier + forced) & (FORCED - 1),
            Ordering::Release,
        );
        claim
    }

    fn claim_private(&self, thief: usize, may_take: impl Fn() -> bool) -> Claim {
        let bot = self.bot.load(Ordering::Relaxed);
        if bot >= self.top.load(Ordering::Relaxed) {
            return Claim::Nothing;
        }
        // SAFETY: as in `has_public`.
        let slot = unsafe { &*bot };
        if slot
            .exchange(State::EMPTY, State::BUSY, Ordering::Acquire)
            .is_err()
        {
            return Claim::Lost;
        }
        // The other half of the Dekker pattern in `take_back`.
        fence(Ordering::SeqCst);
        // Acquire: a live slot's contents were written before the top that we
        // read. If the owner pushed this slot anew since, then this is that
        // new task, whose pop will meet the raised barrier.
        let live = bot < self.top.load(Ordering::Acquire);
        if !live || self.bot.load(Ordering::Relaxed) != bot || !may_take() {
            slot.set_state(State::EMPTY, Ordering::Release);
            return Claim::Lost;
        }
        self.commit(bot, thief);
        Claim::Stolen(bot)
    }
}
