//! Writing a scheduler: the seam between the runtime and a protocol for stealing.
//!
//! The runtime does the work that all schedulers have in common: it writes tasks into the slots of
//! a [`TaskStack`], runs them, waits for stolen ones by leapfrogging, puts idle workers to sleep,
//! and ends finishes and futures. A scheduler decides how the workers share those tasks. It has
//! three parts:
//!
//! - a [`Scheduler`], the value with the options, which a program passes to [`Builder::scheduler`];
//! - a [`TaskPool`], one for each worker: the **fast path** of a push and a pop, and what their owner
//!   does where the fast path ends;
//! - a [`Protocol`]: what a **blocked or idle worker** does, and when a worker answers thieves.
//!
//! Thieves take tasks in one of two ways:
//!
//! - They **reach in**: a thief claims a task in the victim's pool. The scheduler's protocol is
//!   [`ReachIn`], and its pool implements [`PublicTasks`]: **what a thief may take**. That makes 15
//!   methods in all.
//! - They **send messages**, which the victim answers. The scheduler implements [`Protocol`] itself, and
//!   has 15 methods, too.
//!
//! A scheduler sees each worker as a [`Remote`]. The worker on whose own thread it runs is a [`Me`]: only
//! with a `Me` can it look for victims, count, and measure times.
//!
//! The crate `purloin-schedulers` has an example of each: `chase_lev.rs` is the shortest scheduler
//! whose thieves reach in; the thieves of `channel/` send messages.
//!
//! # Rules
//!
//! - The owner alone pushes and pops, in last-in-first-out order. Thieves take the oldest
//!   task first.
//! - **Exactly one thread gets each task**: the owner, if `pop` returns true or `reclaim` returns
//!   [`Reclaimed::Owned`], or else one thief.
//! - A thief marks the slot's [outcome](Header::outcome) with [`State::stolen`] before its
//!   owner may learn that the task is gone. The runtime marks it done.
//! - A stolen slot stays as it is until its owner calls [`TaskPool::release`].
//! - A blocked worker may take a task only while the task that it waits for is not done. A claim
//!   checks this by `may_take` while it holds the task, and gives the task back if the answer is
//!   no.
//! - [`TaskPool::is_open`] is false for a slot below [`TaskStack::spawn_top`], so that the
//!   pop of a join notices the spawns that its first closure has left above it.
//!
//! # Example
//!
#![doc = "```"]
#![doc = include_str!("scheduler/example.rs")]
//!
//! use purloin::{Pool, Worker};
//!
//! fn fib<W: Worker>(mut w: W, n: u32) -> u64 {
//!     if n < 2 {
//!         return n.into();
//!     }
//!     let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
//!     a + b
//! }
//!
//! let pool = Pool::builder().workers(4).scheduler(Locked).build()?;
//! assert_eq!(pool.run(|w| fib(w, 20)), 6765);
//! # Ok::<(), purloin::BuildError>(())
#![doc = "```"]
//!
//! [`Builder::scheduler`]: crate::Builder::scheduler

pub use crate::pool::{Me, Remote, Search};
pub use crate::runtime::{BarrierHeader, BarrierScheduler, BarrierTasks};
pub use crate::runtime::{
    Claim, Header, Reclaimed, ShortSpin, Slot, State, StateWord, Stolen, TaskStack,
};
pub use crate::runtime::{Offer, PublicTasks, Publish, ReachIn};
pub use crate::sleep::{Backoff, Slept, Visits};
pub use crate::stats::Count;
pub use crate::victim::{SetRound, SetStep};

/// A scheduler: the protocol by which the workers of a [`Pool`](crate::Pool) share their tasks.
///
/// It is a type, so a program is compiled for its scheduler. A value of the type carries the
/// options.
///
/// # Safety
///
/// The implementor upholds the [rules](self), and implements the four slow paths by
/// [`slow_paths!`](crate::slow_paths). The runtime trusts the scheduler's word on where closures and
/// results are.
pub unsafe trait Scheduler: Sized + Send + Sync + 'static {
    /// The state of a slot: [`StateWord`], unless a protocol needs more.
    type Header: Header;

    /// The tasks of one worker, as this protocol shares them.
    type TaskPool: TaskPool<Self>;

    /// The way in which workers answer thieves and steal: [`ReachIn`], unless thieves send messages.
    type Protocol: Protocol<Self>;

    /// Whether the scheduler itself detects that all workers are idle.
    ///
    /// If so, it ends calls of [`Pool::wait`](crate::Pool::wait) by
    /// [`Remote::end_waits`]. If not, the pool counts its spawned tasks.
    const DETECTS_QUIESCENCE: bool = false;

    /// Whether a blocked worker hands its processor to a spare worker. If so, there may be more
    /// workers than the number that [`Self::task_pool`] receives.
    const HANDS_OFF: bool = true;

    /// Whether thieves leave tiny tasks alone: an idle thief rests after one, and a blocked worker
    /// waits for a moment before it leapfrogs.
    ///
    /// A program of tiny tasks gains by it. A thief whose victims answer late, or whose other
    /// victims have larger tasks, loses up to 64 µs.
    const LEAVES_TINY_TASKS: bool = false;

    /// Returns the task pool of one worker, around its empty stack. `workers` is the number of
    /// regular workers.
    fn task_pool(&self, stack: TaskStack<Self>, workers: usize) -> Self::TaskPool;

    // The slow paths of joins and loops, which are the same for all schedulers. Only `slow_paths!`
    // can implement them: they use parts of the task stack that are not public.

    /// Owner: answers pending requests.
    #[doc(hidden)]
    fn serve(owner: Me<'_, Self>);

    /// Owner: returns how many of a loop's `rest` iterations should become a task. The number is 0
    /// if no thief asks, or if the owner has older tasks for the thief.
    #[doc(hidden)]
    fn split_hint(owner: Me<'_, Self>, rest: usize) -> usize;

    /// Owner: returns the slot to push to when the top that the program has may not be used.
    #[doc(hidden)]
    fn slot_to_push(owner: Me<'_, Self>) -> *mut Slot<Self>;

    /// Owner: after a pop of `slot` that failed, returns true if the task is its own again. If not, a
    /// thief had it, and the task is done when this returns.
    ///
    /// # Safety
    ///
    /// This is the owner's thread, and it has pushed `slot`.
    #[doc(hidden)]
    unsafe fn reclaim_or_wait(owner: Me<'_, Self>, slot: *mut Slot<Self>) -> bool;
}

/// Implements the slow paths of a [`Scheduler`], within its `impl` block.
///
/// All schedulers have the same ones. They could be functions that are generic over the scheduler,
/// but then every program would compile them once more, and much of the pool with them. A scheduler
/// without type parameters compiles them in its own crate.
#[macro_export]
macro_rules! slow_paths {
    () => {
        #[cold]
        #[inline(never)]
        fn serve(owner: $crate::scheduler::Me<'_, Self>) {
            $crate::scheduler::slow::as_library(|| {
                <Self::Protocol as $crate::scheduler::Protocol<Self>>::answer(
                    owner,
                    $crate::scheduler::Point::Join,
                );
            });
        }

        #[cold]
        #[inline(never)]
        fn split_hint(owner: $crate::scheduler::Me<'_, Self>, rest: usize) -> usize {
            $crate::scheduler::slow::as_library(|| $crate::scheduler::slow::split_hint(owner, rest))
        }

        #[cold]
        #[inline(never)]
        fn slot_to_push(
            owner: $crate::scheduler::Me<'_, Self>,
        ) -> *mut $crate::scheduler::Slot<Self> {
            $crate::scheduler::slow::as_library(|| $crate::scheduler::slow::slot_to_push(owner))
        }

        #[cold]
        #[inline(never)]
        unsafe fn reclaim_or_wait(
            owner: $crate::scheduler::Me<'_, Self>,
            slot: *mut $crate::scheduler::Slot<Self>,
        ) -> bool {
            $crate::scheduler::slow::as_library(|| {
                // SAFETY: the caller guarantees it.
                unsafe { $crate::scheduler::slow::reclaim_or_wait(owner, slot) }
            })
        }
    };
}

/// The slow paths that [`slow_paths!`](crate::slow_paths) implements.
#[doc(hidden)]
pub mod slow {
    pub use crate::runtime::{reclaim_or_wait, slot_to_push, split_hint};
    pub use crate::sync::as_library;
}

/// A worker's tasks: the owner's fast path, and its slow paths.
///
/// # Safety
///
/// The implementor upholds the [rules](self).
pub unsafe trait TaskPool<S: Scheduler<TaskPool = Self>>:
    Send + Sync + Sized + 'static
{
    // The owner's fast path. Every join uses the first four methods: inline them.

    /// The slots.
    fn stack(&self) -> &TaskStack<S>;

    /// Owner only: returns whether a task may be pushed to `slot`, the top, with no slow path: no
    /// spawn lies above it, and no thief has asked for a task. The slot of a spawn is not open once
    /// `Publish::Spawn` has closed it.
    fn is_open(&self, slot: *mut Slot<S>) -> bool;

    /// Owner only: makes the task that was written to `slot` the newest.
    fn push(&self, slot: *mut Slot<S>);

    /// Owner only: takes the task in `slot`, the newest, off the stack. Returns true if the
    /// task is the owner's, and false if [`Self::reclaim`] must find out.
    ///
    /// `is_spawn` is a constant at each call. A spawn or a future closes its own slot, so a slot that is
    /// not open does not mean that a thief was there.
    fn pop(&self, slot: *mut Slot<S>, is_spawn: bool) -> bool;

    // The owner's slow paths.

    /// Owner only: opens every slot that may be open, before a push to `slot`, the top.
    fn reopen(&self, slot: *mut Slot<S>);

    /// Owner only: after a pop of `slot` that returned false, finds out which thread has the
    /// task. If a thief has it, the slot stays live until [`Self::release`].
    fn reclaim(&self, slot: *mut Slot<S>) -> Reclaimed;

    /// Owner only: frees `slot`, whose stolen task is done and whose result has been read.
    fn release(&self, slot: *mut Slot<S>);

    /// Owner only: returns whether thieves can take nothing until the owner pushes again.
    fn offers_nothing(&self) -> bool {
        !self.stack().has_unstolen()
    }
}

/// The way in which workers answer thieves and steal. The runtime calls each method on the thread of the
/// worker `me`, and [`pass_on`](Self::pass_on) and [`pass_on_all`](Self::pass_on_all) on any thread.
///
/// # Safety
///
/// The implementor upholds the [rules](self). It can reach the task pools of all workers, but calls
/// owner-only methods of [`TaskPool`] and [`PublicTasks`] only on the pool of `me`.
pub unsafe trait Protocol<S: Scheduler> {
    /// Whether thieves can take tasks of a worker that sleeps.
    const SERVES_ASLEEP: bool;

    /// Answers thieves at a point that the worker has reached. At [`Point::Loop`], returns for how many
    /// thieves the worker should split its loop: 0 if it has tasks for them, or if none asks. The number
    /// that it returns at other points has no meaning.
    fn answer(me: Me<'_, S>, point: Point<'_, S>) -> usize;

    /// Looks for a task once, for an idle worker, or for a blocked worker that may run
    /// [anything](crate::Builder::run_anything_while_blocked).
    fn look(search: &mut Search<'_, S>) -> Option<Stolen<S>>;

    /// Puts an idle worker to sleep that has found nothing for a while.
    fn sleep(search: &mut Search<'_, S>) -> Slept;

    /// Tries to take, for a blocked worker, a descendant of the task that `holder` runs. `outcome`
    /// is the state of the task that `holder` runs.
    fn leapfrog(
        me: Me<'_, S>,
        holder: &Remote<S>,
        outcome: &StateWord,
        backoff: &mut Backoff,
    ) -> Option<Stolen<S>>;

    /// Looks once more before a blocked worker sleeps. Returns true if the worker should stay
    /// awake.
    fn should_stay_awake(me: Me<'_, S>, holder: &Remote<S>) -> bool;

    /// Any worker: asks `victim` anew on behalf of sleeping thieves, and wakes one of them if
    /// the victim has tasks and no thief is awake.
    fn pass_on(victim: &Remote<S>) {
        let _ = victim;
    }

    /// Any thread: does so for the tasks of each of these workers but those that `is_ours` picks. It may leave out those
    /// that `visits` does not ask for: they look for sleepers themselves, or a worker that searches finds them.
    fn pass_on_all(workers: &[Remote<S>], visits: Visits, is_ours: &dyn Fn(&Remote<S>) -> bool) {
        let _ = visits;
        let others = workers.iter().filter(|worker| !is_ours(worker));
        others
            .filter(|worker| worker.is_active())
            .for_each(Self::pass_on);
    }
}

/// A point at which a worker calls [`Protocol::answer`].
pub enum Point<'p, S: Scheduler> {
    /// A push or a pop has taken its slow path, or the worker has begun a future whose ticket stays on the
    /// stack.
    Join,
    /// The worker has just pushed a spawn or a future.
    Spawn {
        /// Whether this is the first spawn or future of a stolen task.
        is_first: bool,
    },
    /// The worker runs a loop, and can split it.
    Loop,
    /// The worker is blocked. The argument is the worker that runs the awaited task, if known.
    Blocked(Option<&'p Remote<S>>),
    /// The worker is about to sleep in a finish, in a join in which it may not leapfrog, or for a thread
    /// outside its pool. It should make all its tasks public first.
    Sleep,
    /// The blocked worker stops taking tasks, for a while or for good.
    LeapfrogEnd,
    /// The idle worker is about to look for work from outside the pool.
    OutsideWork,
    /// The idle worker has found something to run.
    Active,
    /// The thief is about to run a stolen task.
    StolenBegin,
    /// The thief has run a stolen task, and is about to mark it done in this outcome.
    StolenEnd(&'p StateWord),
}

/// Atomics, cells and locks, which a build with `--cfg loom` replaces by loom's.
#[doc(hidden)]
pub mod sync {
    pub use crate::sync::*;
}

/// Building blocks for loom models of a scheduler.
#[cfg(loom)]
#[doc(hidden)]
pub mod models {
    pub use crate::pool::Quiescence;
    pub use crate::runtime::ReachesIn;
    pub use crate::runtime::models::*;
    pub use crate::sleep::Sleep;
}
