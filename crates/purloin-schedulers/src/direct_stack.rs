//! The direct task stack of Wool, with all tasks public.
//!
//! # The idea
//!
//! Thieves can steal every task from the moment its owner pushes it. Owner and thieves exclude each
//! other by the state of the slot alone: the thread that moves it away from TASK has the task. So
//! each join pays for one atomic read-modify-write, and a thief needs two cache lines: the line of
//! `bottom` and the line of the slot.
//!
//! Both published forms are here, as types: [`OneField`], which uses compare-and-swap, and
//! [`TwoFields`], which needs only a test-and-set.
//!
//! # Words, and the threads that write them
//!
//! | word | written by | read by |
//! |---|---|---|
//! | `top`: the first free slot | owner | owner; other threads as a hint |
//! | `bottom`: the oldest task not stolen | the thread that holds the slot it points at: the thief that steals the task moves it up, the owner that joins with a stolen task moves it down | thieves |
//! | `floor`: slots at or above are open | thieves raise it to `REQUESTED`; the owner sets it to an address | owner at each push and pop |
//! | each slot's state | see below | all |
//! | each slot's contents | owner while the slot is free, thief between STOLEN and DONE | |
//!
//! # States of a slot, in one field
//!
//! ```text
//!           push (owner)           claim (thief)          commit (thief)
//!   EMPTY ────────────────► TASK ───────────────► BUSY ─────────────────► STOLEN
//!     ▲                      │ ▲                   │                        │ run
//!     └──────────────────────┘ └───────────────────┘                        ▼
//!     ▲     pop (owner)            give back (thief)                      DONE
//!     └──────────────────────────── release (owner) ────────────────────────┘
//! ```
//!
//! # States of a slot, in two fields
//!
//! `taken` is TASK or EMPTY, and taking is a swap with EMPTY: the thread that gets TASK back has
//! the task. EMPTY also stands for BUSY there. `alarm` is EMPTY when the owner pushes the task; the
//! thief that commits makes it STOLEN, and later DONE. An owner whose swap has failed waits until
//! the task is back in `taken`, or `alarm` is no longer EMPTY.
//!
//! # Why each race is harmless
//!
//! **The last task.** Owner and thieves move its state away from TASK by one atomic operation
//! each; one succeeds.
//!
//! **A stale `bottom`.** A thief reads `bottom` and loses its processor. Meanwhile the owner joins
//! the tasks below and pushes new ones. The thief's claim may then hit a task that is not the
//! oldest. The thief holds the slot, reads `bottom` again, and gives the task back if `bottom` has
//! moved. While a thief holds the slot at `bottom`, `bottom` cannot move: up only by stealing that
//! slot, down only by the owner, which must reclaim that slot first. The value that the thief reads
//! is current, because the owner moved `bottom` before it pushed the task that the thief has just
//! acquired.
//!
//! **A late swap** (two fields). It writes EMPTY over EMPTY. If the owner has freed the slot and
//! pushed to it again in between, the swap gets the new task, and `bottom` tells whether it is the
//! oldest.
//!
//! **Sleeping thieves.** Wool's thieves never sleep. Purloin's do, and ask first: the thief raises
//! `floor` to `REQUESTED`, and the owner's next push takes its slow path, wakes one thief, and
//! lowers the floor. This costs one compare with a word that only requests and spawns change. If a
//! push was already past the compare, the thief finds its task at its second look, a millisecond
//! later.
//!
//! **A spawn above a token's top.** The join of a stale token starts at the top in memory, above
//! all tasks. The floor may always come down to there. It is above the spawn, so the pop of a join
//! below the spawn takes the slow path.
//!
//! # What differs from the source
//!
//! - Thieves sleep, and ask before they do: see above. Wool's thieves poll.
//! - A blocked worker leapfrogs, as in Wool. If its thief has no task, a spare worker takes its place.
//!   Without spare workers ([`Builder::spare_workers`](purloin::Builder::spare_workers)) it only leapfrogs.
//! - A task is a closure, and its slot holds first the closure and then its result. In Wool, macros make
//!   the functions of each kind of task.
//! - The pool chooses the victims, and Wool's ways are among its own: see
//!   [`VictimSelection`](purloin::VictimSelection).
//!
//! Source: Wool, section 3 (Figure 3); its one-field form in Faxén, Efficient work stealing for
//! fine grained parallelism, ICPP 2010.

mod fields;
#[cfg(all(loom, test))]
mod models;

pub use self::fields::{OneField, TwoFields};

use std::marker::PhantomData;
use std::time::{Duration, Instant};

use purloin::scheduler::sync::Ordering;
use purloin::scheduler::{
    Claim, Header, Offer, PublicTasks, Publish, ReachIn, Reclaimed, Scheduler, Slot, TaskPool,
    TaskStack,
};

use crate::floor::Floor;

/// Wool's direct task stack: all tasks are public, and the thread that gets one, owner or thief,
/// takes it from its slot by one atomic operation.
///
/// The baseline for [`ReturnBarrier`](purloin::ReturnBarrier), whose tasks are private until a
/// thief asks.
///
/// ```
/// use purloin::{Pool, Worker};
/// use purloin_schedulers::{DirectStack, OneField, TwoFields};
///
/// let one = Pool::builder().scheduler(DirectStack::<OneField>::new()).build()?;
/// let two = Pool::builder().scheduler(DirectStack::<TwoFields>::new()).build()?;
/// assert_eq!(one.run(|mut w| w.join(|_| 1, |_| 2)), two.run(|mut w| w.join(|_| 1, |_| 2)));
/// # Ok::<(), purloin::BuildError>(())
/// ```
///
/// Source: Wool, section 3.
pub struct DirectStack<F: Fields = OneField> {
    steal_delay: Duration,
    fields: PhantomData<fn() -> F>,
}

impl<F: Fields> DirectStack<F> {
    /// Returns the scheduler. Its type says how a slot tells which thread has its task.
    pub fn new() -> Self {
        DirectStack {
            steal_delay: Duration::ZERO,
            fields: PhantomData,
        }
    }

    /// Sets how long a thief spins when it has taken a task, to find out what more expensive steals
    /// would cost. The default is zero.
    ///
    /// Source: Wool, section 5.4.
    pub fn steal_delay(mut self, delay: Duration) -> Self {
        self.steal_delay = delay;
        self
    }
}

// Derived implementations would demand the same traits of `F`.
impl<F: Fields> Default for DirectStack<F> {
    fn default() -> Self {
        Self::new()
    }
}

impl<F: Fields> Clone for DirectStack<F> {
    fn clone(&self) -> Self {
        DirectStack { ..*self }
    }
}

impl<F: Fields> std::fmt::Debug for DirectStack<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DirectStack")
            .field("steal_delay", &self.steal_delay)
            .finish_non_exhaustive()
    }
}

// SAFETY: the page above shows that each task is run once, and every race in it has a loom model.
// `DirectTasks` upholds the rules for task pools.
unsafe impl<F: Fields> Scheduler for DirectStack<F> {
    type Header = F::Header;
    type TaskPool = DirectTasks<F>;
    type Protocol = ReachIn;

    purloin::slow_paths!();

    fn task_pool(&self, stack: TaskStack<Self>, _workers: usize) -> DirectTasks<F> {
        DirectTasks {
            floor: Floor::new(&stack),
            stack,
            steal_delay: self.steal_delay,
        }
    }
}

/// How a slot says which thread has its task: [`OneField`] or [`TwoFields`].
///
/// # Safety
///
/// If an owner takes a task while thieves hold it, exactly one thread succeeds.
pub unsafe trait Fields: Sized + 'static {
    /// The state of a slot.
    type Header: Header;

    /// Owner: offers the task that was written to the slot.
    fn offer(header: &Self::Header);

    /// Returns, as a hint, whether thieves may take a task.
    fn is_offered(header: &Self::Header) -> bool;

    /// Owner: tries once to take the task back.
    fn take(header: &Self::Header) -> bool;

    /// Owner, after `take` has failed: waits until thieves have decided.
    fn settle(header: &Self::Header) -> Reclaimed;

    /// Owner: frees the slot of a task that is done.
    fn free(header: &Self::Header);

    /// Thief: tries once to hold the task.
    fn hold(header: &Self::Header) -> Hold;

    /// Thief: gives back the task that it holds.
    fn give_back(header: &Self::Header);

    /// Thief: keeps the task that it holds.
    fn commit(header: &Self::Header, thief: usize);
}

/// The outcome of a thief's attempt to hold a task.
pub enum Hold {
    /// The thief holds the task, and must keep it or give it back.
    Held,
    /// The slot had no task.
    Nothing,
    /// Another thread was faster.
    Lost,
}

/// A worker's public tasks.
pub struct DirectTasks<F: Fields> {
    stack: TaskStack<DirectStack<F>>,
    floor: Floor,
    /// See [`DirectStack::steal_delay`].
    steal_delay: Duration,
}

type DirectSlot<F> = Slot<DirectStack<F>>;

// SAFETY: `Fields` promises that exactly one thread gets each task. A thief marks the slot before
// the owner may leave `reclaim`.
unsafe impl<F: Fields> TaskPool<DirectStack<F>> for DirectTasks<F> {
    #[inline(always)]
    fn stack(&self) -> &TaskStack<DirectStack<F>> {
        &self.stack
    }

    #[inline(always)]
    fn is_open(&self, slot: *mut DirectSlot<F>) -> bool {
        self.floor.is_open(slot)
    }

    #[inline(always)]
    fn push(&self, slot: *mut DirectSlot<F>) {
        // Relaxed: for thieves the top is only a hint.
        self.stack.set_top(slot.wrapping_add(1), Ordering::Relaxed);
        // SAFETY: `slot` lies in the stack.
        F::offer(unsafe { &*slot }.header());
    }

    /// Two stores, one of them an atomic read-modify-write, and two compares: below the floor,
    /// spawns may lie above the slot.
    #[inline(always)]
    fn pop(&self, slot: *mut DirectSlot<F>, is_spawn: bool) -> bool {
        self.stack.set_top(slot, Ordering::Relaxed);
        // SAFETY: the owner has pushed `slot`, so it lies in the stack.
        (is_spawn || self.floor.is_open(slot)) && F::take(unsafe { &*slot }.header())
    }

    fn reopen(&self, slot: *mut DirectSlot<F>) {
        debug_assert!(self.stack.spawn_top() <= slot);
        self.floor.lower(self.stack.spawn_top());
    }

    #[cold]
    fn reclaim(&self, slot: *mut DirectSlot<F>) -> Reclaimed {
        // SAFETY: the owner has pushed `slot`, so it lies in the stack.
        let reclaimed = F::settle(unsafe { &*slot }.header());
        if reclaimed == Reclaimed::Stolen {
            // Tasks that the owner runs meanwhile lie above this slot.
            self.stack.set_top(slot.wrapping_add(1), Ordering::Relaxed);
        }
        reclaimed
    }

    #[cold]
    fn release(&self, slot: *mut DirectSlot<F>) {
        self.stack.set_top(slot, Ordering::Relaxed);
        // SAFETY: the owner has pushed `slot`, so it lies in the stack.
        F::free(unsafe { &*slot }.header());
        // All older tasks are stolen, because thieves take the oldest first, and all newer tasks
        // are gone. So this is the bottom now. A thread that takes a task pushed from now on
        // acquires that push, and this store with it.
        self.stack.set_bottom(slot);
    }
}

// SAFETY: `Fields` promises that exactly one thread gets each task. A thief marks the slot before
// the owner may leave `reclaim`.
unsafe impl<F: Fields> PublicTasks<DirectStack<F>> for DirectTasks<F> {
    /// All tasks are public, so a request asks the owner only to wake a thief.
    #[inline]
    fn publish(&self, what: Publish) -> usize {
        let is_answered = match what {
            Publish::OnRequest => self.is_requested() && self.stack.has_unstolen(),
            Publish::Spawn | Publish::FirstSpawn => true,
            Publish::All => false,
        };
        usize::from(is_answered && self.floor.acknowledge(self.stack.spawn_top()))
    }

    fn is_requested(&self) -> bool {
        self.floor.is_requested()
    }

    /// Looks only at the slot at the bottom, because the owner writes the top all the time.
    fn offers(&self) -> Offer {
        match F::is_offered(self.stack.oldest().header()) {
            true => Offer::Public,
            false => Offer::Nothing,
        }
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
        let bottom = self.stack.bottom();
        // SAFETY: `bottom` always points into the slots.
        let header = unsafe { &*bottom }.header();
        match F::hold(header) {
            Hold::Held => (),
            Hold::Nothing => return Claim::Nothing,
            Hold::Lost => return Claim::Lost,
        }
        let is_oldest = self.stack.bottom() == bottom;
        if !is_oldest || !may_take() {
            F::give_back(header);
            return if is_oldest { Claim::Lost } else { Claim::Stale };
        }
        F::commit(header, thief);
        // This store comes before the owner's next move of `bottom`, because the owner first waits
        // for DONE.
        self.stack.set_bottom(bottom.wrapping_add(1));
        if !self.steal_delay.is_zero() {
            let start = Instant::now();
            while start.elapsed() < self.steal_delay {
                std::hint::spin_loop();
            }
        }
        Claim::Stolen(bottom)
    }
}
