//! Return-barrier stealing, the protocol of the default scheduler.
//!
//! # The idea
//!
//! A worker's tasks lie in place in a stack of slots (Wool's *direct task stack*). A
//! **barrier** divides it. Slots at or above are *private*: the owner pushes and pops them
//! with plain stores and a compare. Slots below are *public*: thieves take them, oldest first,
//! with one compare-and-swap and without disturbing the owner, a **free steal**. The owner
//! meets the barrier only when it unwinds to it, as in Kumar's return barrier, and then moves
//! it down. A thief that finds nothing public **requests**: it sets the barrier above
//! everything. The owner's next push or pop takes its slow path, makes older tasks public and
//! lowers the barrier to just above them. If the owner does not answer, because it is in a
//! long leaf, the thief **forces** its way in.
//!
//! A thief that has just finished a task needs about a hundred nanoseconds to post its next
//! request. If the owner pushes sooner, and then runs a leaf, the thief finds nothing and has to
//! wait until it may force. But the owner can tell: when it collects the result of a stolen task,
//! a thief has just become free. So the owner **requests on the thief's behalf**, and its next push
//! publishes at once. It does so only if the task was worth a steal, by the time since the owner
//! last published. Otherwise the two would pass tiny tasks to and fro.
//!
//! For the same reason the **first spawn of a stolen task** becomes public at once. It is the
//! worker's oldest task, so the next thief finds it without a request. In a chain of producers it
//! is the next producer, and the thief would wait for half a consumer. The second closure of a join
//! is smaller than the stolen task, and often too small for a steal, so it stays private.
//!
//! # Words, and the threads that write them
//!
//! | word | written by | read by |
//! |---|---|---|
//! | `top`: the first free slot | owner | owner's slow paths, forcing thieves |
//! | `barrier`: an address, or `REQUESTED`, or `REQUESTED｜FORCED` | thieves raise it; the owner lowers it from an address or `REQUESTED`; a forcing thief alone moves it from `FORCED` | owner at each push and pop |
//! | `bottom`: the oldest task not stolen | the thread that holds the slot it points at: the thief that steals the task moves it up, the owner that joins with a stolen task moves it down | thieves |
//! | `published`: slots below are public or stolen, as are some above by force | owner | owner |
//! | `published_at`: the time at which the owner last made tasks public | owner | owner |
//! | `spawn_top`: spawns lie below, so the barrier is never lower | owner | owner |
//! | each slot's `state` | see below | all |
//! | each slot's `has_interrupted` | owner, before it publishes the slot | the thief, for the count of free steals |
//! | each slot's contents | owner while the slot is free, thief between STOLEN and DONE | |
//!
//! # States of a slot
//!
//! ```text
//!            publish (owner)          claim (thief)          commit (thief)
//!   EMPTY ───────────────────► TASK ───────────────► BUSY ─────────────────► STOLEN
//!     ▲  ◄─────────────────────  ▲  ◄───────────────  ▲ │                      │
//!     │      reclaim (owner)     └───── give back ────┘ │                      │ run
//!     │                                                 │                      ▼
//!     │ ◄───────────────── force, give back ───────────►┘                     DONE
//!     └────────────────────────── release (owner) ──────────────────────────────┘
//! ```
//!
//! A private slot is EMPTY whether or not it has a task: the fast path never touches the
//! state. BUSY lasts for a handful of a thief's instructions, and the owner waits for it to
//! pass.
//!
//! # Why each race is harmless
//!
//! **The last public task.** Owner ([`reclaim`]) and thieves ([`claim`]) all move its state
//! away from TASK by compare-and-swap; one succeeds.
//!
//! [`reclaim`]: TaskPool::reclaim
//! [`claim`]: PublicTasks::claim
//!
//! **A stale `bottom`.** A thief reads `bottom` and loses its processor. Meanwhile the owner joins
//! the tasks below and pushes new ones. The thief's claim may then hit a task that is public, but
//! not the oldest. The thief holds the slot BUSY, reads `bottom` again, and gives the task back if
//! `bottom` has moved. While a thief holds the slot at `bottom`, `bottom` cannot move: up only by
//! stealing that slot, down only by the owner, which must reclaim that slot first.
//!
//! **A request that the owner does not see yet.** The owner works on private slots meanwhile, which
//! thieves do not touch. A later push or pop sees the request.
//!
//! **Two requests, and lowering.** The owner lowers the barrier by compare-and-swap from the value
//! that it has answered, so a newer request survives.
//!
//! **Forcing.** The thief moves the barrier from `REQUESTED` to `FORCED`, which only this thief may
//! undo, and issues the heavy half of an asymmetric fence ([`crate::sync::asymmetric`]). A pop
//! stores `top`, then loads `barrier`. So either the thief sees the pop in `top`, or the pop sees
//! the barrier and takes the slow path. There owner and thief repeat the pattern with ordinary
//! fences: the owner has stored `top` and reads the slot's state, the thief has stored BUSY there
//! and reads `top`. If only one of them sees the other, that one yields. If both do, the thief
//! gives up, and the owner waits until it has. This also holds if the owner pops a slot and pushes
//! it again in between: the thief then holds the new task, and the `top` that the thief has
//! acquired released its contents.
//!
//! The owner may answer the same request from which a forcing thief starts. While the owner is
//! halfway through its answer, the thief may force its way in, steal and leave. Some slots above
//! the owner's new barrier are then stolen, and the owner would pop them as private. So the word
//! counts forced steals in its lower bits, and the owner's compare-and-swap fails.
//!
//! **A spawn above a token's top.** The token is stale, and its join pushes at the top in memory
//! (see [`super`]). The spawn lies below the barrier, so the pop of a join below it takes the slow
//! path. The barrier closes the spawn, but does not make it public: its state stays EMPTY until a
//! thief asks. To reclaim it, the owner loads the barrier once more, and finds no request there.
//! After the last spawn the barrier stays where it is until a join meets it.
//!
//! # What differs from the sources
//!
//! - In Wool all tasks are public, so that each push and pop is atomic. The crate `purloin-schedulers`
//!   has that as `DirectStack`.
//! - The return barrier lies in the execution stack, and a thief takes a continuation out of it. Here
//!   it is a word, and a thief takes the closure in a slot.
//! - The paper's thieves use no force, and never leave tiny tasks alone. The crate `purloin-schedulers`
//!   has the paper's two systems, `DefaultWs` and `ReturnBarrierWs`. Each is a [`BarrierScheduler`]
//!   without forced steals, so it is compiled without the fence and the exchange that only forced steals
//!   need.
//! - The paper's victims offer nothing unasked. Ours do in two cases, under every `BarrierScheduler`: when
//!   they begin to spawn in a stolen task, and when they have got back the result of one
//!   (`docs/decisions/requests-on-behalf-of-others.md`). A victim without the barrier waits until the
//!   thief has the task, but at most 20 µs, and not for a thief that sleeps: the paper's thieves never
//!   sleep. With the barrier, it makes up to 32 tasks public at a time.
//! - A steal request has no sender: it is one bit at the victim. In Channel it names its thief, and the
//!   victim sends tasks to it.
//! - The depth of a task, which a thief that samples compares, is its place in the stack
//!   (`docs/decisions/depth-of-tasks.md`).
//!
//! Sources: Wool, section 3; Return barrier, section 5; Channel (steal requests); the
//! asymmetric Dekker pattern after Linux's membarrier(2).

mod owner;
mod scheduler;
mod thief;

pub use self::scheduler::{BarrierHeader, BarrierScheduler, ReturnBarrier};

use std::cell::Cell;

use crossbeam_utils::CachePadded;

use super::public_tasks::{Claim, Offer, PublicTasks, Publish, ReachIn};
use super::slot::{Header, Slot};
use super::stack::TaskStack;
use super::state::{State, StateWord};
use super::steal::Reclaimed;
use crate::scheduler::{Scheduler, TaskPool};
use crate::sync::{AtomicU32, AtomicUsize, Instant, Ordering, asymmetric, fence, spin_loop};
use crate::tunables;

/// The barrier word while a thief asks for tasks: this bit, and in the lower bits the number
/// of forced steals so far.
const REQUESTED: usize = 1 << (usize::BITS - 1);
/// Together with [`REQUESTED`]: a thief is forcing its way in.
const FORCED: usize = 1 << (usize::BITS - 2);

/// A worker's tasks, divided by the barrier.
pub struct BarrierTasks<S: BarrierScheduler> {
    stack: TaskStack<S>,
    /// Slots at or above this address are private. `REQUESTED` is above all addresses. The owner
    /// reads the word at each push and pop; a thief that asks writes it.
    barrier: CachePadded<AtomicUsize>,
    /// Slots below are public or stolen. While a request is pending, some slots above may be stolen
    /// by force. Only the owner uses this field, on its slow paths.
    published: CachePadded<Cell<*mut Slot<S>>>,
    /// The time at which the owner last made tasks public. Only the owner touches it.
    published_at: Cell<Instant>,
    /// The scheduler with its options.
    scheduler: S,
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
    /// The caller implements [`Scheduler::task_pool`] and returns the value, so that only the runtime
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

    /// Returns whether `slot` is at or above the barrier: one load, from a line that only a
    /// request invalidates, and one compare.
    #[inline(always)]
    fn is_private(&self, slot: *mut Slot<S>) -> bool {
        // Relaxed: the owner sees a request at a later push or pop.
        slot.addr() >= self.barrier.load(Ordering::Relaxed)
    }
}

#[expect(
    clippy::not_unsafe_ptr_arg_deref,
    reason = "by the promise to `new`, only the runtime calls the methods, with slots of this stack"
)]
// SAFETY: the page above shows for each race that exactly one thread gets each task. The owner alone
// pushes and pops at the top.
unsafe impl<S: BarrierScheduler> TaskPool<S> for BarrierTasks<S> {
    #[inline(always)]
    fn stack(&self) -> &TaskStack<S> {
        &self.stack
    }

    #[inline(always)]
    fn is_open(&self, slot: *mut Slot<S>) -> bool {
        self.is_private(slot)
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
            false => self.is_private(slot),
        }
    }

    fn reopen(&self, slot: *mut Slot<S>) {
        self.lower(slot);
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
                self.lower(slot);
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
            self.lower(slot);
        }
    }
}

// SAFETY: the page above shows for each race that exactly one thread gets each task. Thieves take
// the task at `bottom`, the oldest.
unsafe impl<S: BarrierScheduler> PublicTasks<S> for BarrierTasks<S> {
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
