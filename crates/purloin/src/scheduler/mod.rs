//! Schedulers: one folder for each protocol, behind one small trait.

mod channel;
mod chase_lev;
mod direct_stack;

use std::io;

pub use channel::{Channel, Stealing};
pub use chase_lev::ChaseLev;
pub use direct_stack::{DirectStack, OneField, TwoFields};

use crate::pool::{Member, Search};
use crate::sleep::Slept;
use crate::worker::Worker;

/// A way to schedule: the protocol by which the workers of a [`Pool`](crate::Pool)
/// share their tasks.
///
/// It is a type, so that a program is compiled for its scheduler, and a value
/// of that type carries its options. Not to be implemented outside Purloin.
pub trait Scheduler: Protocol {}

impl<S: Protocol> Scheduler for S {}

/// What a pool asks of a scheduler.
pub trait Protocol: Sized + Send + Sync + 'static {
    /// The worker that programs are instantiated with.
    type Token<'t>: Worker;

    /// What each worker keeps: its task pool.
    type Tasks: Send + Sync;

    /// A task that a thief has taken and not yet run.
    type Stolen;

    /// Whether it says when all workers are idle.
    const DETECTS_QUIET: bool;

    /// Whether its blocked workers lend their processors to spare ones.
    const LENDS: bool;

    /// Makes the task pool of one of so many workers, whose stack has `stack_size`
    /// bytes.
    fn tasks(&self, stack_size: usize, workers: usize) -> io::Result<Self::Tasks>;

    /// Called on the worker's own thread, before anything else.
    fn enter_thread(member: &Member<Self>);

    /// Called on that thread at the end.
    fn leave_thread();

    /// Calls `f` with a token, on the worker's own thread.
    fn call<R>(member: &Member<Self>, f: impl for<'t> FnOnce(Self::Token<'t>) -> R) -> R;

    /// An idle worker is about to look for work from outside.
    fn turns_outside(me: &Member<Self>);

    /// An idle worker looks for a task, once.
    fn look(search: &mut Search<'_, Self>) -> Option<Self::Stolen>;

    /// It sleeps, after it has found nothing for a while.
    fn sleep(search: &mut Search<'_, Self>) -> Slept;

    /// A worker is about to sleep and may have tasks of its own: offers them all to thieves.
    /// Returns whether no thief needs it awake to get them.
    fn leave_tasks(me: &Member<Self>) -> bool;

    /// A blocked worker does not want tasks for a while.
    fn turns_away(me: &Member<Self>);

    /// One that is blocked on a task that `holder` runs looks once more before it
    /// sleeps. True if it had better not.
    fn last_look_at(me: &Member<Self>, holder: &Member<Self>) -> bool;

    /// Asks this worker anew, on behalf of those that sleep, and wakes one of
    /// them if there is something to get and nobody is searching.
    fn pass_on(member: &Member<Self>);

    /// A worker that was idle has something to run.
    fn became_active(member: &Member<Self>);

    /// Runs a task that a thief has got.
    fn run(thief: &Member<Self>, stolen: Self::Stolen);
}
