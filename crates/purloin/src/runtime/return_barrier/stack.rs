//! The task stack: what its owner does, and what thieves do to it.
//!
//! The page above [`super`] tells the protocol; the names here are its names.

use std::cell::Cell;
use std::io;
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use super::ReturnBarrier;
use crate::runtime::{self, Base, Claim, Reachable, Stack, State, StateWord, Taken};
use crate::runtime::{claim_public, commit};
use crate::sync::{AtomicUsize, Ordering, asymmetric, fence, spin_loop};

type Slot = runtime::Slot<ReturnBarrier>;

/// The barrier word while a thief asks for tasks: this bit, and in the lower
/// bits the number of forced steals so far.
const REQUESTED: usize = 1 << (usize::BITS - 1);
/// Together with [`REQUESTED`]: a thief is forcing its way in.
const FORCED: usize = 1 << (usize::BITS - 2);

/// How many tasks one request makes public at most. More would be free steals
/// to come, but each costs its owner an atomic operation to take back.
const MOST_PUBLISHED: usize = if cfg!(loom) { 1 } else { 32 };

/// How long a victim without a barrier waits for its thief at most.
const LONGEST_YIELD: Duration = Duration::from_micros(20);

/// A worker's stack of tasks in place.
pub struct TaskStack {
    base: Base<ReturnBarrier>,
    /// Read by the owner at each push and pop, written when a thief asks.
    /// Slots at or above this address are private. `REQUESTED` is above all.
    barrier: CachePadded<AtomicUsize>,
    /// Slots below are public or stolen; so are some above, by force, while a
    /// request stands. Touched by the owner only, on its slow paths.
    published: CachePadded<Cell<*mut Slot>>,
    /// Whether thieves may take tasks by force.
    forced_steals: bool,
    /// Whether tasks are public before a thief asks for one more.
    barrier_stays: bool,
}

// SAFETY: `published` is used by the owning worker's thread alone (every
// method that touches it says so); all else is atomic or immutable.
unsafe impl Sync for TaskStack {}
// SAFETY: nothing in it is tied to a thread before the owner starts.
unsafe impl Send for TaskStack {}

impl TaskStack {
    /// A stack of `capacity` slots, all free.
    pub(super) fn new(
        capacity: usize,
        forced_steals: bool,
        barrier_stays: bool,
    ) -> io::Result<TaskStack> {
        let base = Base::new(capacity)?;
        Ok(TaskStack {
            barrier: CachePadded::new(AtomicUsize::new(base.first().addr())),
            published: CachePadded::new(Cell::new(base.first())),
            base,
            forced_steals,
            barrier_stays,
        })
    }

    /// Whether `slot` is at or above the barrier.
    #[inline(always)]
    fn is_private(&self, slot: *mut Slot) -> bool {
        // Relaxed: a request that is not seen now is seen at a later push or pop.
        slot.addr() >= self.barrier.load(Ordering::Relaxed)
    }
}

impl Stack<ReturnBarrier> for TaskStack {
    #[inline(always)]
    fn base(&self) -> &Base<ReturnBarrier> {
        &self.base
    }

    /// One load, from a line that only a request invalidates, and one compare.
    #[inline(always)]
    fn is_open(&self, slot: *mut Slot) -> bool {
        self.is_private(slot)
    }

    #[inline(always)]
    fn push(&self, slot: *mut Slot) {
        // Release: a forcing thief that sees the new top sees the contents.
        self.base.set_top(slot.wrapping_add(1), Ordering::Release);
    }

    /// One store, one load, one compare.
    #[inline(always)]
    fn pop(&self, slot: *mut Slot) -> bool {
        // The two halves of Dekker's pattern against a forcing thief, who
        // raises the barrier and then reads the top. Relaxed: the fence orders.
        self.base.set_top(slot, Ordering::Relaxed);
        asymmetric::light();
        self.is_private(slot)
    }

    /// Closed by itself, no more, if nobody has asked. What is stolen by force
    /// lies below `published` as soon as its request is answered; and if a thief
    /// were forcing its way in, this look, after the store of the top, would see
    /// that. The barrier stays, for the next task that stays.
    #[inline(always)]
    fn pop_kept(&self, slot: *mut Slot) -> bool {
        self.base.set_top(slot, Ordering::Relaxed);
        asymmetric::light();
        slot >= self.published.get() && !self.is_asked()
    }

    fn reopen(&self, slot: *mut Slot) {
        self.lower(slot);
    }

    fn is_awaited(&self, slot: *mut Slot) -> bool {
        !self.is_private(slot)
    }

    #[cold]
    fn take_back(&self, slot: *mut Slot) -> Taken {
        if slot >= self.published.get() && !self.is_asked() {
            // Closed by another above it, no more: see `pop_kept`.
            return Taken::Back;
        }
        // SAFETY: `slot` was pushed, so it lies in our memory.
        let state = unsafe { &(*slot).header };
        // Orders our store of the top before our read of the state, against a
        // forcing thief that marks the state BUSY and then reads the top.
        fence(Ordering::SeqCst);
        loop {
            let mine = match state.settled() {
                // Never published, and no forcing thief was in time.
                State::EMPTY => true,
                // Acquire, so that nothing of the task moves above; a thief
                // that gave the task back has written nothing else.
                State::TASK => state
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

    #[cold]
    fn release(&self, slot: *mut Slot) {
        // First the top: a forcing thief that sees the slot EMPTY again must
        // see that it is not live. The state's release orders the two.
        self.base.set_top(slot, Ordering::Relaxed);
        // SAFETY: `slot` was pushed, so it lies in our memory.
        unsafe { &(*slot).header }.set(State::EMPTY, Ordering::Release);
        // Everything older is stolen, as thieves take the oldest first, and
        // everything newer is gone: this is the bottom now. Whoever takes a
        // task that we push from now on acquires its publication or a top, and
        // with it this value.
        self.base.set_bot(slot);
        self.lower(slot);
    }

    fn is_asked(&self) -> bool {
        self.barrier.load(Ordering::Relaxed) & REQUESTED != 0
    }
}

impl Reachable<ReturnBarrier> for TaskStack {
    /// Answers with the owner's oldest private tasks. With none to offer the
    /// request stands, and the next push answers it.
    #[cold]
    fn answer(&self) -> usize {
        match self.barrier_stays {
            true => self.publish(MOST_PUBLISHED),
            false => self.yield_to_thief(),
        }
    }

    /// Closed is what lies below the barrier.
    fn close(&self) -> usize {
        let live = self.base.live().addr();
        loop {
            let barrier = self.barrier.load(Ordering::Relaxed);
            if barrier & REQUESTED != 0 {
                return self.answer();
            }
            // If a thief asks at this moment, it is answered. Relaxed: this
            // thread's own pushes and pops are ordered by program order, and a
            // forcing thief starts from a request that it has read.
            let relaxed = Ordering::Relaxed;
            if barrier >= live
                || self
                    .barrier
                    .compare_exchange(barrier, live, relaxed, relaxed)
                    .is_ok()
            {
                return 0;
            }
        }
    }

    #[cold]
    fn publish_all(&self) -> usize {
        if self.published.get() >= self.base.top() {
            return 0;
        }
        self.request();
        self.publish(usize::MAX)
    }

    fn offers(&self) -> bool {
        // Any state but EMPTY: what is BUSY may be given back, and where a
        // thief has just stolen, `bot` is about to move on.
        self.base.oldest().header.get(Ordering::Relaxed) != State::EMPTY
    }

    fn hides(&self) -> bool {
        self.forced_steals && self.base.has_any()
    }

    fn request(&self) -> bool {
        let barrier = self.barrier.load(Ordering::Relaxed);
        // AcqRel: a forcing thief starts from here and must see the states
        // that the owner's last lowering released.
        barrier & REQUESTED == 0
            && self
                .barrier
                .compare_exchange(barrier, REQUESTED, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
    }

    fn claim(
        &self,
        thief: usize,
        is_silent: bool,
        may_take: impl Fn() -> bool,
    ) -> Claim<ReturnBarrier> {
        match claim_public(&self.base, thief, &may_take) {
            Claim::Nothing if is_silent && self.hides() && self.is_asked() => {
                self.force(thief, may_take)
            }
            claim => claim,
        }
    }
}

/// The owner's slow paths, in detail.
impl TaskStack {
    /// Moves the barrier down: `slot` is the first that is free, and what is
    /// neither published nor live is open again.
    fn lower(&self, slot: *mut Slot) {
        let published = self.published.get().min(slot);
        self.published.set(published);
        let open = published.max(self.base.live()).addr();
        let barrier = self.barrier.load(Ordering::Relaxed);
        if barrier & REQUESTED == 0 && barrier > open {
            // If a thief asks at this moment, its request stands instead.
            // Relaxed: this thread's own pops are ordered by program order,
            // and a forcing thief starts from a request that it has read.
            let _ =
                self.barrier
                    .compare_exchange(barrier, open, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Offers the oldest task, and waits until a thief has it: the interruption
    /// that the barrier is there to avoid. Not for ever, as the thief may have lost
    /// its processor.
    fn yield_to_thief(&self) -> usize {
        let count = self.publish(1);
        if count > 0 {
            let start = Instant::now();
            // SAFETY: what was just published lies in our memory.
            let state = unsafe { &(*self.published.get().wrapping_sub(1)).header };
            // Relaxed: whose it is, its pop finds out.
            while matches!(state.get(Ordering::Relaxed), State::TASK | State::BUSY)
                && start.elapsed() < LONGEST_YIELD
            {
                spin_loop();
            }
        }
        count
    }

    /// Makes so many private tasks public, if a thief has asked, and lowers the
    /// barrier to above them.
    fn publish(&self, most: usize) -> usize {
        let mut count = 0;
        loop {
            // Acquire: if a thief has forced its way in, its steal happened
            // before what we now decide.
            let barrier = self.barrier.load(Ordering::Acquire);
            if barrier & REQUESTED == 0 {
                return count;
            }
            let top = self.base.top();
            let mut slot = self.published.get();
            while slot < top && count < most {
                // SAFETY: below the top, so it lies in our memory.
                count += usize::from(publish(unsafe { &(*slot).header }));
                slot = slot.wrapping_add(1);
            }
            if slot > self.published.get() {
                self.published.set(slot);
            }
            if count == 0 {
                return 0;
            }
            if barrier & FORCED != 0 {
                // A forcing thief keeps the barrier up until it is through.
                return count;
            }
            // Fails if a thief asked, or forced a slot, in the meantime: the
            // word counts forced steals, so that one that came and went since
            // we read it is noticed. Release: pairs with the acquiring
            // exchange of the next request, so that a forcing thief sees
            // our states.
            let lowered = self.barrier.compare_exchange(
                barrier,
                slot.max(self.base.live()).addr(),
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

/// What thieves do without the owner's help, in detail.
impl TaskStack {
    /// Takes the oldest task without the owner's help: installs the barrier
    /// from outside. Only where [`asymmetric::available`] is true, and only
    /// after a request has stood unanswered.
    pub(super) fn force(&self, thief: usize, may_take: impl Fn() -> bool) -> Claim<ReturnBarrier> {
        let barrier = self.barrier.load(Ordering::Relaxed);
        if barrier & REQUESTED == 0 || barrier & FORCED != 0 {
            return Claim::Lost;
        }
        // From here until we store REQUESTED again, the barrier is ours: the
        // owner cannot lower it, and no other thief can force.
        let installed = self.barrier.compare_exchange(
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
        let forced = usize::from(matches!(claim, Claim::Forced(_)));
        // Release: an owner that lowers the barrier from this value has seen
        // the stolen slot.
        self.barrier.store(
            REQUESTED | (barrier + forced) & (FORCED - 1),
            Ordering::Release,
        );
        claim
    }

    fn claim_private(&self, thief: usize, may_take: impl Fn() -> bool) -> Claim<ReturnBarrier> {
        let bot = self.base.bot();
        if bot >= self.base.top() {
            return Claim::Nothing;
        }
        // SAFETY: `bot` always points into the slots.
        let state = unsafe { &(*bot).header };
        if state
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
        let live = bot < self.base.acquire_top();
        if !live || self.base.bot() != bot || !may_take() {
            state.set(State::EMPTY, Ordering::Release);
            return Claim::Lost;
        }
        commit(&self.base, bot, thief);
        Claim::Forced(bot)
    }
}

/// Owner: offers a private task to thieves. False if a thief that forced its
/// way in has it already.
fn publish(state: &StateWord) -> bool {
    loop {
        // Release: a thief that takes the task sees its contents.
        match state.exchange(State::EMPTY, State::TASK, Ordering::Release) {
            Ok(()) => return true,
            // A forcing thief decides within a few instructions.
            Err(State::BUSY) => drop(state.settled()),
            Err(_) => return false,
        }
    }
}
