//! A worker's tasks, divided by the barrier: what the owner does, and the claim of a public task.

use std::cell::Cell;

use crossbeam_utils::CachePadded;

use super::{BarrierScheduler, FORCED, REQUESTED};
use crate::runtime::slot::{Header, Slot};
use crate::runtime::stack::TaskStack;
use crate::runtime::state::{State, StateWord};
use crate::runtime::steal::{Claim, Offer, PublicTasks, Publish};
use crate::runtime::stolen::Reclaimed;
use crate::scheduler::TaskPool;
use crate::sync::{AtomicU32, AtomicUsize, Instant, Ordering, asymmetric, fence, spin_loop};
use crate::tunables;

/// The state of a slot.
pub struct BarrierHeader {
    state: StateWord,
    /// Not 0 if the owner was interrupted to offer this task. The owner writes it before it makes
    /// the task public, only for the count of free steals.
    has_interrupted: AtomicU32,
}

impl BarrierHeader {
    fn set_interrupted(&self, has_interrupted: bool) {
        // Relaxed: the state publishes it.
        self.has_interrupted
            .store(u32::from(has_interrupted), Ordering::Relaxed);
    }
}

// SAFETY: two words of four bytes each, and `State::EMPTY` is zero.
unsafe impl Header for BarrierHeader {
    fn empty() -> BarrierHeader {
        BarrierHeader {
            state: StateWord::empty(),
            has_interrupted: AtomicU32::new(0),
        }
    }

    fn outcome(&self) -> &StateWord {
        &self.state
    }

    fn has_interrupted(&self) -> bool {
        self.has_interrupted.load(Ordering::Relaxed) != 0
    }
}

/// A worker's tasks, divided by the barrier.
pub struct BarrierTasks<S: BarrierScheduler> {
    pub(super) stack: TaskStack<S>,
    /// Slots at or above this address are private. `REQUESTED` is above all addresses. The owner
    /// reads the word at each push and pop; a thief that asks writes it.
    pub(super) barrier: CachePadded<AtomicUsize>,
    /// Slots below are public or stolen. While a request is pending, some slots above may be stolen
    /// by force. Only the owner uses this field, on its slow paths.
    published: CachePadded<Cell<*mut Slot<S>>>,
    /// The time at which the owner last made tasks public. Only the owner touches it.
    published_at: Cell<Instant>,
    /// The scheduler with its options.
    pub(super) scheduler: S,
}

// SAFETY: only the owning worker's thread uses `published` and `published_at`: the runtime calls the
// methods that use them on that thread only. All other fields are atomic or immutable.
unsafe impl<S: BarrierScheduler> Sync for BarrierTasks<S> {}
// SAFETY: no field is tied to a thread before the owner starts.
unsafe impl<S: BarrierScheduler> Send for BarrierTasks<S> {}

impl<S: BarrierScheduler> BarrierTasks<S> {
    /// Returns the task pool around an empty stack.
    ///
    /// # Safety
    ///
    /// The caller implements [`Scheduler::task_pool`](crate::scheduler::Scheduler::task_pool) and returns the value, so that only the runtime
    /// calls its methods, and passes slots of this stack.
    pub unsafe fn new(scheduler: &S, stack: TaskStack<S>) -> Self {
        BarrierTasks {
            barrier: CachePadded::new(AtomicUsize::new(stack.first().addr())),
            published: CachePadded::new(Cell::new(stack.first())),
            published_at: Cell::new(Instant::now()),
            stack,
            scheduler: scheduler.clone(),
        }
    }
}

#[expect(
    clippy::not_unsafe_ptr_arg_deref,
    reason = "by the promise to `new`, only the runtime calls the methods, with slots of this stack"
)]
// SAFETY: the page in `return_barrier.rs` shows for each race that exactly one thread gets each task. The owner alone
// pushes and pops at the top.
unsafe impl<S: BarrierScheduler> TaskPool<S> for BarrierTasks<S> {
    #[inline(always)]
    fn stack(&self) -> &TaskStack<S> {
        &self.stack
    }

    /// Returns whether `slot` is at or above the barrier: one load, from a line that only a request invalidates,
    /// and one compare.
    #[inline(always)]
    fn is_open(&self, slot: *mut Slot<S>) -> bool {
        // Relaxed: the owner sees a request at a later push or pop.
        slot.addr() >= self.barrier.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn push(&self, slot: *mut Slot<S>) {
        // Release: a forcing thief that sees the new top sees the contents.
        self.stack.set_top(slot.wrapping_add(1), Ordering::Release);
    }

    /// One store, one load, one compare.
    ///
    /// If no thief has asked, only the spawn itself has closed its slot: a task stolen by force lies below
    /// `published` as soon as its request is answered; and if a thief were forcing its way in, the load of
    /// the barrier, after the store of the top, would see that. The barrier stays for the next spawn.
    #[inline(always)]
    fn pop(&self, slot: *mut Slot<S>, is_spawn: bool) -> bool {
        // The two halves of Dekker's pattern against a forcing thief, which raises the barrier and
        // then reads the top. Relaxed: the fence orders them.
        self.stack.set_top(slot, Ordering::Relaxed);
        asymmetric::light();
        match is_spawn {
            true => slot >= self.published.get() && !self.is_requested(),
            false => self.is_open(slot),
        }
    }

    /// Moves the barrier down: `slot` is the first free slot, and slots that are neither published
    /// nor below a spawn become private again.
    fn reopen(&self, slot: *mut Slot<S>) {
        let published = self.published.get().min(slot);
        self.published.set(published);
        let private = published.max(self.stack.spawn_top()).addr();
        let barrier = self.barrier.load(Ordering::Relaxed);
        if barrier & REQUESTED == 0 && barrier > private {
            // If a thief asks at this moment, the exchange fails and the request stays pending.
            // Relaxed: the owner's own pops are ordered by program order, and a forcing thief
            // starts from a request that it has read.
            let relaxed = Ordering::Relaxed;
            let _ = self
                .barrier
                .compare_exchange(barrier, private, relaxed, relaxed);
        }
    }

    #[cold]
    fn reclaim(&self, slot: *mut Slot<S>) -> Reclaimed {
        if slot >= self.published.get() && !self.is_requested() {
            // A spawn above it has closed it, and no thief was there: see `pop`.
            return Reclaimed::Owned;
        }
        // SAFETY: the owner has pushed `slot`, so it lies in the stack.
        let state = unsafe { &*slot }.header().outcome();
        // Orders the store of the top before the load of the state, against a forcing thief
        // that marks the state BUSY and then reads the top.
        if S::HAS_FORCE {
            fence(Ordering::SeqCst);
        }
        loop {
            let is_owned = match state.settled() {
                // The slot was never published, and no forcing thief was in time.
                State::EMPTY => true,
                // Acquire, so that no access of the task moves above this. A thief that gave the
                // task back has written nothing else.
                State::TASK => state
                    .exchange(State::TASK, State::EMPTY, Ordering::Acquire)
                    .is_ok(),
                _ => {
                    // Tasks that the owner runs meanwhile start above it.
                    self.push(slot);
                    return Reclaimed::Stolen;
                }
            };
            if is_owned {
                self.reopen(slot);
                return Reclaimed::Owned;
            }
        }
    }

    // Not inlined, so that programs call the one copy in this crate.
    #[cold]
    #[inline(never)]
    fn release(&self, slot: *mut Slot<S>) {
        // The top first: a forcing thief that sees the slot EMPTY again must see that it is
        // not live. The state's release orders the two.
        self.stack.set_top(slot, Ordering::Relaxed);
        // SAFETY: the owner has pushed `slot`, so it lies in the stack.
        unsafe { &*slot }
            .header()
            .outcome()
            .set(State::EMPTY, Ordering::Release);
        // Every older task is stolen, because thieves take the oldest first, and every newer task
        // is gone: this slot is the bottom now. A thread that takes a task pushed from now on
        // acquires its publication or a top, and with it this value.
        self.stack.set_bottom(slot);
        let was_worth_a_steal = match cfg!(loom) {
            // The models have both cases, and must not depend on the time.
            true => self.stack.position(slot).is_multiple_of(2),
            false => self.published_at.get().elapsed() >= tunables::WORTH_A_STEAL.get(),
        };
        if was_worth_a_steal {
            // On the thief's behalf. The next answer lowers the barrier.
            self.published.set(self.published.get().min(slot));
            self.request();
        } else {
            self.reopen(slot);
        }
    }
}

// SAFETY: the page in `return_barrier.rs` shows for each race that exactly one thread gets each task. Thieves take
// the task at `bottom`, the oldest.
unsafe impl<S: BarrierScheduler> PublicTasks<S> for BarrierTasks<S> {
    const ANNOUNCES: bool = S::HAS_FORCE && S::BARRIER_STAYS;

    #[inline]
    fn publish(&self, what: Publish) -> usize {
        match what {
            Publish::OnRequest => self.answer(),
            Publish::Spawn => self.close_spawn(),
            Publish::FirstSpawn => {
                self.request();
                self.close_spawn()
            }
            Publish::All if self.published.get() >= self.stack.top() => 0,
            Publish::All => {
                self.request();
                self.make_public(usize::MAX)
            }
        }
    }

    fn is_requested(&self) -> bool {
        self.barrier.load(Ordering::Relaxed) & REQUESTED != 0
    }

    /// The return barrier exists to avoid this interruption. The wait is bounded, because the thief
    /// may have lost its processor.
    fn yield_to_thief(&self) {
        let published = self.published.get();
        if S::BARRIER_STAYS || published == self.stack.first() {
            return;
        }
        let start = Instant::now();
        // SAFETY: `published` lies above the first slot and never above the top, so the slot below it
        // lies in the stack.
        let state = unsafe { &*published.wrapping_sub(1) }.header().outcome();
        // Relaxed: the pop finds out which thread has the task.
        while matches!(state.get(Ordering::Relaxed), State::TASK | State::BUSY)
            && start.elapsed() < tunables::MAX_YIELD.get()
        {
            spin_loop();
        }
    }

    fn offers(&self) -> Offer {
        // Any state but EMPTY counts: a thief may give back a BUSY task, and if a thief has just
        // stolen the task, `bottom` is about to move on.
        let oldest = self.stack.oldest().header().outcome();
        if oldest.get(Ordering::Relaxed) != State::EMPTY {
            Offer::Public
        } else if self.allows_force() && asymmetric::available() && self.stack.has_unstolen() {
            Offer::Private
        } else {
            Offer::Nothing
        }
    }

    fn request(&self) -> bool {
        let barrier = self.barrier.load(Ordering::Relaxed);
        // AcqRel: a forcing thief starts from here and must see the states that the owner's
        // last lowering released.
        barrier & REQUESTED == 0
            && self
                .barrier
                .compare_exchange(barrier, REQUESTED, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
    }

    fn claim(&self, thief: usize, is_silent: bool, may_take: impl Fn() -> bool) -> Claim<S> {
        match self.claim_public(thief, &may_take) {
            Claim::Nothing if is_silent && self.allows_force() && self.stack.has_unstolen() => {
                if !asymmetric::available() {
                    asymmetric::request();
                } else if self.is_requested() {
                    return self.force(thief, may_take);
                }
                Claim::Nothing
            }
            claim => claim,
        }
    }
}

// The owner's slow paths at the barrier, and the thief's claim of a public task.
impl<S: BarrierScheduler> BarrierTasks<S> {
    /// Answers with the owner's oldest private tasks. If it has none, the request stays pending,
    /// and the next push answers it.
    #[cold]
    fn answer(&self) -> usize {
        self.make_public(match S::BARRIER_STAYS {
            true => tunables::MAX_PUBLISHED.get() as usize,
            false => 1,
        })
    }

    /// Raises the barrier to close the slots below the newest spawn: a slot below the barrier is closed.
    /// Answers a pending request.
    fn close_spawn(&self) -> usize {
        let spawn_top = self.stack.spawn_top().addr();
        loop {
            let barrier = self.barrier.load(Ordering::Relaxed);
            if barrier & REQUESTED != 0 {
                return self.answer();
            }
            // If a thief asks at this moment, the exchange fails and the owner answers. Relaxed:
            // the owner's own pushes and pops are ordered by program order, and a forcing thief
            // starts from a request that it has read.
            let relaxed = Ordering::Relaxed;
            if barrier >= spawn_top
                || self
                    .barrier
                    .compare_exchange(barrier, spawn_top, relaxed, relaxed)
                    .is_ok()
            {
                return 0;
            }
        }
    }

    /// Makes up to `max` private tasks public, if a thief has asked, and lowers the barrier to
    /// above them.
    fn make_public(&self, max: usize) -> usize {
        let mut count = 0;
        loop {
            // Acquire: if a thief has forced its way in, its steal happened before what the
            // owner decides now.
            let barrier = self.barrier.load(Ordering::Acquire);
            if barrier & REQUESTED == 0 {
                return count;
            }
            let top = self.stack.top();
            let mut slot = self.published.get();
            while slot < top && count < max {
                // SAFETY: the slot is below the top, so it lies in the stack.
                let header = unsafe { &*slot }.header();
                // The first steal is the one for which the owner has stopped.
                header.set_interrupted(count == 0 || !S::BARRIER_STAYS);
                count += usize::from(offer::<S>(header.outcome()));
                slot = slot.wrapping_add(1);
            }
            if slot > self.published.get() {
                self.published.set(slot);
            }
            if count == 0 {
                return 0;
            }
            self.published_at.set(Instant::now());
            if barrier & FORCED != 0 {
                // A forcing thief keeps the barrier up until it has finished.
                return count;
            }
            // Fails if a thief asked, or forced a slot, in the meantime: the word counts
            // forced steals, so the owner notices one that came and went since the load.
            // Release: pairs with the acquiring exchange of the next request, so that a
            // forcing thief sees the states of these slots.
            let lowered = self.barrier.compare_exchange(
                barrier,
                slot.max(self.stack.spawn_top()).addr(),
                Ordering::Release,
                Ordering::Relaxed,
            );
            if lowered.is_ok() {
                return count;
            }
            if count >= max {
                // The answer is complete; the newer request stays pending.
                return count;
            }
        }
    }

    /// Takes the oldest task if it is public and `may_take` allows it.
    fn claim_public(&self, thief: usize, may_take: &impl Fn() -> bool) -> Claim<S> {
        let bottom = self.stack.bottom();
        // SAFETY: `bottom` always points into the slots.
        let state = unsafe { &*bottom }.header().outcome();
        // Relaxed: the exchange acquires.
        if state.get(Ordering::Relaxed) != State::TASK {
            return Claim::Nothing;
        }
        // Acquire: the contents, and every move of `bottom` before publication.
        if state
            .exchange(State::TASK, State::BUSY, Ordering::Acquire)
            .is_err()
        {
            return Claim::Lost;
        }
        // If `bottom` was stale, this is a task, but not the oldest. The owner set `bottom`
        // before the publication that this thief has just acquired, and while this thief holds
        // the slot `bottom` cannot move from it.
        let is_oldest = self.stack.bottom() == bottom;
        if !is_oldest || !may_take() {
            state.set(State::TASK, Ordering::Release);
            return if is_oldest { Claim::Lost } else { Claim::Stale };
        }
        self.commit(bottom, thief);
        Claim::Stolen(bottom)
    }

    /// Marks the slot at `bottom`, which the thief holds BUSY, as stolen.
    pub(super) fn commit(&self, bottom: *mut Slot<S>, thief: usize) {
        // Both relaxed: they carry no data. DONE orders the owner's later store to `bottom` after
        // this one, and another thief acquires the next task from that slot's own state.
        // SAFETY: `bottom` always points into the slots.
        unsafe { &*bottom }
            .header()
            .outcome()
            .set(State::stolen(thief), Ordering::Relaxed);
        self.stack.set_bottom(bottom.wrapping_add(1));
    }
}

/// Owner: offers a private task to thieves. Returns false if a forcing thief already has it.
fn offer<S: BarrierScheduler>(state: &StateWord) -> bool {
    if !S::HAS_FORCE {
        // Without force, no thief touches a private slot. Release: as below.
        debug_assert_eq!(state.get(Ordering::Relaxed), State::EMPTY);
        state.set(State::TASK, Ordering::Release);
        return true;
    }
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
