//! Schedulers: one folder for each protocol, behind one small trait.

mod chase_lev;
mod direct;
mod direct_stack;
mod return_barrier;
mod serial;

use std::io;

pub use chase_lev::ChaseLev;
pub use direct::Token;
pub(crate) use direct::in_registers;
pub use direct_stack::{DirectStack, OneField, TwoFields};
pub use return_barrier::ReturnBarrier;
pub(crate) use return_barrier::current;
pub use serial::Serial;

use crate::pool::Member;
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

    /// Makes the task pool of a worker whose stack has `stack_size` bytes.
    fn tasks(&self, stack_size: usize) -> io::Result<Self::Tasks>;

    /// Called on the worker's own thread, before anything else.
    fn enter_thread(member: &Member<Self>);

    /// Called on that thread at the end.
    fn leave_thread();

    /// Calls `f` with a token, on the worker's own thread.
    fn call<R>(member: &Member<Self>, f: impl for<'t> FnOnce(Self::Token<'t>) -> R) -> R;

    /// Whether the worker visibly has a task for thieves.
    fn offers(member: &Member<Self>) -> bool;

    /// Whether the worker seems to have a task that a thief could take from it
    /// by force, if it does not answer.
    fn hides(member: &Member<Self>) -> bool;

    /// How deep in the program's tree the task is that the worker offers.
    fn offered_depth(member: &Member<Self>) -> usize;

    /// Asks the worker to offer tasks. True if nobody had asked since it last
    /// answered.
    fn request(member: &Member<Self>) -> bool;

    /// Tries once to take a task from `victim`. If it has been silent
    /// (`is_silent`), with force.
    fn steal(thief: &Member<Self>, victim: &Member<Self>, is_silent: bool) -> Option<Self::Stolen>;

    /// Runs what [`Self::steal`] took.
    fn run(thief: &Member<Self>, stolen: Self::Stolen);
}
