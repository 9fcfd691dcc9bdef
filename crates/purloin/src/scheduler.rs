//! Writing a scheduler: the seam between the runtime and a protocol for stealing.
//!
//! The runtime does what is the same under every scheduler: it writes tasks into the slots of
//! a [`TaskStack`], runs them, waits for stolen ones by leapfrogging, puts idle workers to
//! sleep, and ends finishes and futures. A scheduler decides how the workers share those
//! tasks. It consists of two types:
//!
//! - a [`Scheduler`], the value with its options that [`Builder::scheduler`] is given;
//! - a [`TaskPool`], which each worker has one of. It says what a push and a pop do beyond
//!   moving the top, and how a thief takes the oldest task.
//!
//! Thieves take tasks in one of two ways, and the methods of [`TaskPool`] have defaults for
//! the first:
//!
//! - They **reach in**: a thief calls [`TaskPool::claim`] on the victim's pool. Such a pool
//!   implements `claim`, `request` and their neighbours, and leaves the methods that take a
//!   [`WorkerThread`] alone.
//! - They **send messages**, which the victim answers. Such a pool overrides the methods that
//!   take a [`WorkerThread`], and leaves `claim` and its neighbours alone.
//!
//! The crate `purloin-schedulers` has an example of each: `chase_lev.rs` is the shortest that
//! reaches in, `channel/` sends messages.
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
//! - A blocked worker may take a task only while the one that it waits for is not done. A
//!   claim asks that (`may_take`) while it holds the task, and gives the task back if the
//!   answer is no.
//! - [`TaskPool::is_open`] is false for a slot below [`TaskStack::spawn_top`], so that the
//!   pop of a join notices the spawns that its first closure has left above it.
//!
//! [`Builder::scheduler`]: crate::Builder::scheduler

pub use crate::pool::{Search, WorkerThread};
pub use crate::runtime::{
    Claim, Header, Reclaimed, ShortSpin, Slot, State, StateWord, Stolen, TaskStack,
};
pub use crate::sleep::{Backoff, Slept};
pub use crate::stats::Count;

use crate::runtime::steal;

/// A way to schedule: the protocol by which the workers of a [`Pool`](crate::Pool) share
/// their tasks.
///
/// It is a type, so that a program is compiled for its scheduler, and a value of that type
/// carries the options.
///
/// # Safety
///
/// The implementor keeps the [rules](self). The runtime runs closures and reads results where
/// the scheduler says that they are.
pub unsafe trait Scheduler: Sized + Send + Sync + 'static {
    /// The state of a slot: [`StateWord`], unless a protocol needs more.
    type Header: Header;

    /// What each worker has: its tasks, as this protocol shares them.
    type TaskPool: TaskPool<Self>;

    /// Whether the scheduler itself detects that all workers are idle.
    ///
    /// If so, it ends calls of [`Pool::wait`](crate::Pool::wait) by
    /// [`WorkerThread::end_waits`]. If not, the pool counts its spawned tasks.
    const DETECTS_QUIESCENCE: bool = false;

    /// Whether a blocked worker hands its processor to a spare worker. Then there may be more
    /// workers than [`Self::task_pool`] is told.
    const HANDS_OFF: bool = true;

    /// Returns the task pool of one of this many workers, around its empty stack.
    fn task_pool(&self, stack: TaskStack<Self>, workers: usize) -> Self::TaskPool;
}

/// A worker's tasks, as a scheduler shares them with thieves.
///
/// # Safety
///
/// The implementor keeps the [rules](self).
pub unsafe trait TaskPool<S: Scheduler<TaskPool = Self>>:
    Send + Sync + Sized + 'static
{
    // The owner's fast path. The first four are in every join: inline them.

    /// The slots.
    fn stack(&self) -> &TaskStack<S>;

    /// Owner only: returns whether a task may be pushed to `slot`, which is the top, without
    /// further ado: no spawn lies above it, and no thief has asked for a task.
    fn is_open(&self, slot: *mut Slot<S>) -> bool;

    /// Owner only: makes the task that was written to `slot` the newest.
    fn push(&self, slot: *mut Slot<S>);

    /// Owner only: takes the task in `slot`, the newest, off the stack. Returns true if the
    /// task is the owner's, and false if [`Self::reclaim`] must find out.
    fn pop(&self, slot: *mut Slot<S>) -> bool;

    /// Owner only: does what [`Self::pop`] does for a spawn or future, whose slot is closed.
    fn pop_spawn(&self, slot: *mut Slot<S>) -> bool;

    // The owner's slow paths.

    /// Owner only: opens what it can, before a push to `slot`, which is the top.
    fn reopen(&self, slot: *mut Slot<S>);

    /// Owner only: after a pop of `slot` that returned false, finds out which thread has the
    /// task. If a thief has it, the slot stays live until [`Self::release`].
    fn reclaim(&self, slot: *mut Slot<S>) -> Reclaimed;

    /// Owner only: frees `slot`, whose stolen task is done and whose result has been read.
    fn release(&self, slot: *mut Slot<S>);

    /// Owner only: returns whether a thief has asked for tasks and stands unanswered.
    fn is_requested(&self) -> bool;

    /// The number of tasks that are not stolen. To other threads, a hint.
    fn unstolen(&self) -> usize {
        self.stack().unstolen()
    }

    /// Owner only: returns whether thieves can take nothing until the owner pushes again.
    fn offers_nothing(&self) -> bool {
        self.unstolen() == 0
    }

    // For thieves that reach in.

    /// Owner only: answers a standing request. Returns the number of tasks that became public.
    fn publish_on_request(&self) -> usize {
        0
    }

    /// Owner only: closes the slots below [`TaskStack::spawn_top`], which has just moved up,
    /// and answers a standing request. Returns the number of tasks that became public.
    fn publish_spawn(&self) -> usize {
        0
    }

    /// Owner only: makes every task public. Returns the number of tasks that became public.
    fn publish_all(&self) -> usize {
        0
    }

    /// Returns, at a glance, whether the oldest task is public or about to be.
    fn has_public_tasks(&self) -> bool {
        false
    }

    /// Returns, at a glance, whether a thief could take a task by force.
    fn has_private_tasks(&self) -> bool {
        false
    }

    /// Thief: asks the owner to offer tasks at its next push or pop. Returns true if no other
    /// request stood.
    fn request(&self) -> bool {
        false
    }

    /// Thief: takes the oldest public task for worker `thief`, if `may_take` allows it.
    ///
    /// The pool calls `may_take` while it holds the task, so that the answer stays true as
    /// long as the task is not done. If the owner has not answered for some time, it
    /// `is_silent`, and the thief may take a private task by force.
    fn claim(&self, thief: usize, is_silent: bool, may_take: impl Fn() -> bool) -> Claim<S> {
        let _ = (thief, is_silent, may_take);
        Claim::Nothing
    }

    // What a worker does at certain moments, on its own thread. Thieves that reach in need
    // nothing but the defaults.

    /// Answers standing requests.
    fn serve(me: &WorkerThread<S>) {
        steal::serve(me, Self::publish_on_request);
    }

    /// Offers the spawn or future that was just pushed, where a thief has asked.
    fn spawned(me: &WorkerThread<S>) {
        steal::serve(me, Self::publish_spawn);
    }

    /// Returns for how many workers without work a loop should be split.
    fn requesters(me: &WorkerThread<S>) -> usize {
        me.idle_workers()
    }

    /// An idle worker is about to look for work from outside the pool.
    fn before_outside_work(me: &WorkerThread<S>) {
        let _ = me;
    }

    /// An idle worker looks for a task, once.
    fn look(search: &mut Search<'_, S>) -> Option<Stolen<S>> {
        steal::look(search)
    }

    /// An idle worker that has found nothing for a while sleeps.
    fn sleep(search: &mut Search<'_, S>) -> Slept {
        steal::sleep(search)
    }

    /// A blocked worker does what it owes to thieves. It waits for a task that `holder` runs,
    /// if that is known.
    fn serve_while_blocked(me: &WorkerThread<S>, holder: Option<&WorkerThread<S>>) {
        let _ = holder;
        if !me.task_pool().offers_nothing() {
            Self::serve(me);
        }
    }

    /// A worker that is about to sleep offers all of its tasks. Returns whether thieves can
    /// take them while it sleeps.
    fn offer_all(me: &WorkerThread<S>) -> bool {
        if !me.task_pool().offers_nothing() {
            steal::serve(me, Self::publish_all);
        }
        true
    }

    /// A blocked worker tries to take a task that descends from the one that `holder` runs,
    /// and whose state is `outcome`.
    fn leapfrog(
        me: &WorkerThread<S>,
        holder: &WorkerThread<S>,
        outcome: &StateWord,
        backoff: &mut Backoff,
    ) -> Option<Stolen<S>> {
        steal::leapfrog(me, holder, outcome, backoff)
    }

    /// A blocked worker looks once more before it sleeps. Returns true if it had better not.
    fn should_stay_awake(me: &WorkerThread<S>, holder: &WorkerThread<S>) -> bool {
        let _ = me;
        steal::finds_anything(std::iter::once(holder))
    }

    /// A blocked worker wants no tasks for a while, or none any more.
    fn stop_leapfrogging(me: &WorkerThread<S>) {
        let _ = me;
    }

    /// A thief is about to run a stolen task.
    fn begin_stolen(me: &WorkerThread<S>) {
        let _ = me;
    }

    /// A thief has run a stolen task, and is about to say so in `outcome`.
    fn end_stolen(me: &WorkerThread<S>, outcome: &StateWord) {
        let _ = (me, outcome);
    }

    /// Any worker: asks `victim` anew on behalf of sleeping thieves, and wakes one of them if
    /// the victim has tasks and no thief is awake.
    fn pass_on(victim: &WorkerThread<S>) {
        steal::pass_on(victim);
    }

    /// A worker that was idle has something to run.
    fn became_active(me: &WorkerThread<S>) {
        steal::became_active(me);
    }
}

/// Atomics, cells and locks that a build with `--cfg loom` replaces by those of loom.
#[doc(hidden)]
pub mod sync {
    pub use crate::sync::*;
}

/// What loom models of a scheduler are made of.
#[cfg(loom)]
#[doc(hidden)]
pub mod models {
    pub use crate::pool::Quiescence;
    pub use crate::runtime::models::*;
    pub use crate::sleep::Sleep;
}
