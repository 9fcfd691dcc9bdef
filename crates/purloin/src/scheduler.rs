//! Writing a scheduler: the seam between the runtime and a protocol for stealing.
//!
//! The runtime does the work that all schedulers have in common: it writes tasks into the slots of
//! a [`TaskStack`], runs them, waits for stolen ones by leapfrogging, puts idle workers to sleep,
//! and ends finishes and futures. A scheduler decides how the workers share those tasks. It
//! consists of two types:
//!
//! - a [`Scheduler`], the value with the options, which a program passes to [`Builder::scheduler`];
//! - a [`TaskPool`], one for each worker. It adds the protocol to a push and a pop, beyond moving
//!   the top, and determines how a thief takes the oldest task.
//!
//! Thieves take tasks in one of two ways, and the methods of [`TaskPool`] have defaults for
//! the first:
//!
//! - They **reach in**: a thief calls [`TaskPool::claim`] on the victim's pool. The pool implements
//!   `claim`, `request` and their neighbours, and keeps the default methods that take a
//!   [`WorkerThread`].
//! - They **send messages**, which the victim answers. The pool overrides the methods that take a
//!   [`WorkerThread`], and keeps the defaults of `claim` and its neighbours.
//!
//! The crate `purloin-schedulers` has an example of each: `chase_lev.rs` is the shortest scheduler
//! whose thieves reach in; the thieves of `channel/` send messages.
//!
//! # Rules
//!
//! - The owner alone pushes and pops, in last-in-first-out order. Thieves take the oldest
//!   task first.
//! - **Exactly one thread gets each task**: the owner, by a `pop`, `pop_spawn` or `reclaim`
//!   that says so, or one thief.
//! - A thief marks the slot's [outcome](Header::outcome) with [`State::stolen`] before its
//!   owner may learn that the task is gone. The runtime marks it done.
//! - A stolen slot stays as it is until its owner calls [`TaskPool::release`].
//! - A blocked worker may take a task only while the task that it waits for is not done. A claim
//!   checks this by `may_take` while it holds the task, and gives the task back if the answer is
//!   no.
//! - [`TaskPool::is_open`] is false for a slot below [`TaskStack::spawn_top`], so that the
//!   pop of a join notices the spawns that its first closure has left above it.
//!
//! [`Builder::scheduler`]: crate::Builder::scheduler

pub use crate::pool::{Search, WorkerThread};
pub use crate::runtime::{BarrierHeader, BarrierScheduler, BarrierTasks};
pub use crate::runtime::{
    Claim, Header, Reclaimed, ShortSpin, Slot, State, StateWord, Stolen, TaskStack,
};
pub use crate::sleep::{Backoff, Slept};
pub use crate::stats::Count;
pub use crate::victim::{SetRound, SetStep};

use crate::runtime::{leapfrog, steal};

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

    /// Whether the scheduler itself detects that all workers are idle.
    ///
    /// If so, it ends calls of [`Pool::wait`](crate::Pool::wait) by
    /// [`WorkerThread::end_waits`]. If not, the pool counts its spawned tasks.
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
    fn serve(owner: &WorkerThread<Self>);

    /// Owner: returns how many of a loop's `rest` iterations should become a task. The number is 0
    /// if no thief asks, or if the owner has older tasks for the thief.
    #[doc(hidden)]
    fn split_hint(owner: &WorkerThread<Self>, rest: usize) -> usize;

    /// Owner: returns the slot to push to when the top that the program has may not be used.
    #[doc(hidden)]
    fn slot_to_push(owner: &WorkerThread<Self>) -> *mut Slot<Self>;

    /// Owner: after a pop of `slot` that failed, returns true if the task is its own again. If not, a
    /// thief had it, and the task is done when this returns.
    ///
    /// # Safety
    ///
    /// This is the owner's thread, and it has pushed `slot`.
    #[doc(hidden)]
    unsafe fn reclaim_or_wait(owner: &WorkerThread<Self>, slot: *mut Slot<Self>) -> bool;
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
        fn serve(owner: &$crate::scheduler::WorkerThread<Self>) {
            <Self::TaskPool as $crate::scheduler::TaskPool<Self>>::serve(owner);
        }

        #[cold]
        #[inline(never)]
        fn split_hint(owner: &$crate::scheduler::WorkerThread<Self>, rest: usize) -> usize {
            $crate::scheduler::slow::split_hint(owner, rest)
        }

        #[cold]
        #[inline(never)]
        fn slot_to_push(
            owner: &$crate::scheduler::WorkerThread<Self>,
        ) -> *mut $crate::scheduler::Slot<Self> {
            $crate::scheduler::slow::slot_to_push(owner)
        }

        #[cold]
        #[inline(never)]
        unsafe fn reclaim_or_wait(
            owner: &$crate::scheduler::WorkerThread<Self>,
            slot: *mut $crate::scheduler::Slot<Self>,
        ) -> bool {
            // SAFETY: the caller guarantees it.
            unsafe { $crate::scheduler::slow::reclaim_or_wait(owner, slot) }
        }
    };
}

/// The slow paths that [`slow_paths!`](crate::slow_paths) implements.
#[doc(hidden)]
pub mod slow {
    pub use crate::runtime::slow::{reclaim_or_wait, slot_to_push, split_hint};
}

/// A worker's tasks, as a scheduler shares them with thieves.
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
    /// spawn lies above it, and no thief has asked for a task.
    fn is_open(&self, slot: *mut Slot<S>) -> bool;

    /// Owner only: makes the task that was written to `slot` the newest.
    fn push(&self, slot: *mut Slot<S>);

    /// Owner only: takes the task in `slot`, the newest, off the stack. Returns true if the
    /// task is the owner's, and false if [`Self::reclaim`] must find out.
    fn pop(&self, slot: *mut Slot<S>) -> bool;

    /// Owner only: does what [`Self::pop`] does for a spawn or future, whose slot is closed.
    fn pop_spawn(&self, slot: *mut Slot<S>) -> bool;

    // The owner's slow paths.

    /// Owner only: opens every slot that may be open, before a push to `slot`, the top.
    fn reopen(&self, slot: *mut Slot<S>);

    /// Owner only: after a pop of `slot` that returned false, finds out which thread has the
    /// task. If a thief has it, the slot stays live until [`Self::release`].
    fn reclaim(&self, slot: *mut Slot<S>) -> Reclaimed;

    /// Owner only: frees `slot`, whose stolen task is done and whose result has been read.
    fn release(&self, slot: *mut Slot<S>);

    /// Owner only: returns whether a thief's request for tasks is unanswered.
    fn is_requested(&self) -> bool;

    /// Returns the number of tasks that are not stolen. For other threads this is only a hint.
    fn unstolen(&self) -> usize {
        self.stack().unstolen()
    }

    /// Owner only: returns whether thieves can take nothing until the owner pushes again.
    fn offers_nothing(&self) -> bool {
        self.unstolen() == 0
    }

    // For thieves that reach in.

    /// Owner only: answers a pending request. Returns the number of tasks that became public.
    fn publish_on_request(&self) -> usize {
        0
    }

    /// Owner only: closes the slots below [`TaskStack::spawn_top`], which has just moved up,
    /// and answers a pending request. Returns the number of tasks that became public.
    fn publish_spawn(&self) -> usize {
        0
    }

    /// Owner only: makes every task public. Returns the number of tasks that became public.
    fn publish_all(&self) -> usize {
        0
    }

    /// Owner only: waits until a thief has the task that was just made public, if the protocol stops
    /// the owner for each steal. Called if a thief is awake.
    fn yield_to_thief(&self) {}

    /// Returns, as a hint, whether the oldest task is public or about to be.
    fn has_public_tasks(&self) -> bool {
        false
    }

    /// Returns, as a hint, whether a thief could take a task by force.
    fn has_private_tasks(&self) -> bool {
        false
    }

    /// Thief: asks the owner to offer tasks at its next push or pop. Returns true if no other
    /// request was pending.
    fn request(&self) -> bool {
        false
    }

    /// Thief: takes the oldest public task for worker `thief`, if `may_take` allows it.
    ///
    /// The pool calls `may_take` while it holds the task, so the answer stays true as long as the
    /// task is not done. An owner that has not answered for some time `is_silent`; the thief may
    /// then take a private task by force.
    fn claim(&self, thief: usize, is_silent: bool, may_take: impl Fn() -> bool) -> Claim<S> {
        let _ = (thief, is_silent, may_take);
        Claim::Nothing
    }

    // Hooks, which each worker calls on its own thread. A pool whose thieves reach in needs only
    // the defaults.

    /// Answers pending requests.
    fn serve(me: &WorkerThread<S>) {
        steal::serve_and_yield(me, Self::publish_on_request);
    }

    /// Offers the spawn or future that was just pushed, if a thief has asked.
    fn spawned(me: &WorkerThread<S>) {
        steal::serve_and_yield(me, Self::publish_spawn);
    }

    /// Answers pending requests, for a worker that runs a loop and can split it. Returns for how
    /// many thieves it should do so: 0 if it has tasks for them, or if no request is pending.
    fn serve_in_loop(me: &WorkerThread<S>) -> usize {
        Self::serve(me);
        match me.task_pool().is_requested() {
            true => me.idle_workers().max(1),
            false => 0,
        }
    }

    /// Called when an idle worker is about to look for work from outside the pool.
    fn before_outside_work(me: &WorkerThread<S>) {
        let _ = me;
    }

    /// Looks for a task once, for an idle worker.
    fn look(search: &mut Search<'_, S>) -> Option<Stolen<S>> {
        steal::look(search)
    }

    /// Puts an idle worker to sleep that has found nothing for a while.
    fn sleep(search: &mut Search<'_, S>) -> Slept {
        steal::sleep(search)
    }

    /// Answers thieves while the worker is blocked. `holder` is the worker that runs the awaited
    /// task, if it is known.
    fn serve_while_blocked(me: &WorkerThread<S>, holder: Option<&WorkerThread<S>>) {
        let _ = holder;
        if !me.task_pool().offers_nothing() {
            Self::serve(me);
        }
    }

    /// Offers all tasks of a worker that is about to sleep. Returns whether thieves can take them
    /// while it sleeps.
    fn offer_all(me: &WorkerThread<S>) -> bool {
        if !me.task_pool().offers_nothing() {
            steal::serve(me, Self::publish_all);
        }
        true
    }

    /// Tries to take, for a blocked worker, a descendant of the task that `holder` runs. `outcome`
    /// is the state of the task that `holder` runs.
    fn leapfrog(
        me: &WorkerThread<S>,
        holder: &WorkerThread<S>,
        outcome: &StateWord,
        backoff: &mut Backoff,
    ) -> Option<Stolen<S>> {
        leapfrog::leapfrog(me, holder, outcome, backoff)
    }

    /// Looks once more before a blocked worker sleeps. Returns true if the worker should stay
    /// awake.
    fn should_stay_awake(me: &WorkerThread<S>, holder: &WorkerThread<S>) -> bool {
        let _ = me;
        steal::finds_anything(std::iter::once(holder))
    }

    /// Called when a blocked worker stops taking tasks, for a while or for good.
    fn stop_leapfrogging(me: &WorkerThread<S>) {
        let _ = me;
    }

    /// Called when a thief is about to run a stolen task.
    fn begin_stolen(me: &WorkerThread<S>) {
        let _ = me;
    }

    /// Called when a thief has run a stolen task, and is about to mark it done in `outcome`.
    fn end_stolen(me: &WorkerThread<S>, outcome: &StateWord) {
        let _ = (me, outcome);
    }

    /// Any worker: asks `victim` anew on behalf of sleeping thieves, and wakes one of them if
    /// the victim has tasks and no thief is awake.
    fn pass_on(victim: &WorkerThread<S>) {
        steal::pass_on(victim);
    }

    /// Called when an idle worker has found something to run.
    fn became_active(me: &WorkerThread<S>) {
        steal::became_active(me);
    }
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
    pub use crate::runtime::models::*;
    pub use crate::sleep::Sleep;
}
