//! Handles: results that may still be on their way.

use std::panic::resume_unwind;
use std::sync::Weak;

use crate::cancel::Cancelled;
use crate::promise::{Got, Outcome, Place, Promise, Ready, detach};
use crate::sync::thread;
use crate::unwind::FirstPanic;

/// The result of a task, available now or later, from [`Worker::future`](crate::Worker::future) or
/// [`Scope::future`](crate::Scope::future).
///
/// A program may pass a handle on to another task, which then gets the result. A dropped handle
/// detaches the task, which still ends before its scope does.
///
/// ```
/// use purloin::{Pool, Worker};
///
/// let pool = Pool::new()?;
/// let sum = pool.run(|mut w| {
///     let six = w.future(|_| 6);
///     let seven = w.future(|mut w| 1 + w.get(six));
///     w.get(seven)
/// });
/// assert_eq!(sum, 7);
/// # Ok::<(), purloin::BuildError>(())
/// ```
///
/// # Panics of detached tasks
///
/// If a task panics and its result is never fetched, the panic is not lost. It reaches the
/// [`finish`](crate::Worker::finish) in whose scope the future was made, or else the
/// [`Pool::run`](crate::Pool::run) around it, or the next [`Pool::wait`](crate::Pool::wait) after
/// [`Pool::spawn`](crate::Pool::spawn). A panic that waits in the handle when the handle is dropped reaches
/// the `Pool::run` around the drop.
///
/// There is one exception: a panic that waits in the handle is dropped if the handle is dropped outside of
/// any pool. If [`future`](crate::future()) returned the handle outside of any pool, and the handle was
/// dropped before the task ended, the panic goes where that of a [spawned](crate::Pool::spawn) job of the
/// global pool goes.
///
/// Under [`Serial`](crate::Serial) the task has always ended. The panic reaches the finish in whose
/// scope the future was made. Without one, or once it has ended, the panic reaches the `Pool::run`
/// around the drop, and outside of any pool it continues where the handle is dropped.
///
/// # Panics of destructors
///
/// A destructor that the runtime runs for a task belongs to the task: that of a result that is never
/// fetched, and that of a closure whose scope was [cancelled](crate::Scope::cancel) before it began.
/// If it panics, the panic goes where that of a detached task goes. It never replaces an earlier
/// panic: if the task, the finish or the call has panicked already, it is dropped.
///
/// # Deadlocks
///
/// Futures let two tasks wait for each other. The program then hangs, as it does with two locks
/// taken in opposite orders.
///
/// A worker that waits for a task may run those that the awaited task has spawned. So a task that
/// waits for the result of `a` must not be awaited by one that `a` has spawned; let that one
/// begin [after](crate::Scope::after) it. If the worker finds that it would wait for itself, the
/// task panics.
///
/// Source: Channel (channel-based futures: a future is a channel for one message).
#[must_use = "dropping a handle detaches its task"]
pub struct Handle<T>(pub(crate) Inner<T>);

pub(crate) enum Inner<T> {
    Ready(Outcome<T>),
    Promised(Promise<T>),
}

impl<T> Handle<T> {
    /// Returns a handle to an available result.
    pub(crate) fn ready(result: thread::Result<T>) -> Self {
        Handle(Inner::Ready(Outcome::new(result)))
    }

    /// Returns a handle to the result of a task that code without a pool has run. If the result is
    /// never fetched, the task's panic goes to `finish`, if that is still there.
    pub(crate) fn at_once(result: thread::Result<T>, finish: Weak<FirstPanic>) -> Self {
        Self::ready(detach(result, finish))
    }

    /// Returns a handle to an available result. [`Self::get`] calls `got` first.
    pub(crate) fn watched(result: thread::Result<T>, got: Got) -> Self {
        let outcome = Outcome::new(detach(result, Weak::new()));
        Handle(Inner::Promised(Ready::promise(outcome, Some(got))))
    }

    /// Returns a handle to a promised result.
    pub(crate) fn promised(promise: Promise<T>) -> Self {
        Handle(Inner::Promised(promise))
    }

    /// Waits for the result, in code that has no token.
    ///
    /// With a token, [`Worker::get`](crate::Worker::get) is faster. If no worker has begun the
    /// task, it runs here. If another worker runs it, this worker leapfrogs meanwhile, as in a
    /// [`join`](crate::Worker::join). A thread outside the task's pool wakes an idle worker for the
    /// task, and sleeps until the task is done. If all workers wait for this thread, a [spare
    /// worker](crate::Builder::spare_workers) runs the task. In a pool without spare workers the
    /// program hangs.
    ///
    /// # Panics
    ///
    /// Panics if the task has panicked, or if its scope was
    /// [cancelled](crate::Scope::cancel) before it began; see [`Self::try_get`].
    pub fn get(self) -> T {
        self.get_at(None)
    }

    /// Waits for the result, as [`Self::get`] does. Returns an error if the scope of the task was
    /// [cancelled](crate::Scope::cancel) before the task began.
    ///
    /// # Errors
    ///
    /// Returns [`Cancelled`] if the task was dropped, or if it ended because it got the result of a
    /// task that was dropped.
    ///
    /// # Panics
    ///
    /// Panics if the task has panicked.
    pub fn try_get(self) -> Result<T, Cancelled> {
        match self.0 {
            Inner::Promised(promise) => promise.try_get(),
            Inner::Ready(outcome) => match outcome.into_result() {
                Err(panic) if panic.is::<Cancelled>() => Err(Cancelled),
                result => Ok(result.unwrap_or_else(|panic| resume_unwind(panic))),
            },
        }
    }

    /// Waits for the result. `place` says which worker this thread is, if it is one.
    #[inline]
    pub(crate) fn get_at(self, place: Option<&Place>) -> T {
        match self.0 {
            Inner::Promised(promise) => promise.get(place),
            Inner::Ready(outcome) => outcome.get(),
        }
    }

    /// Returns whether the task has ended.
    pub fn is_done(&self) -> bool {
        match &self.0 {
            Inner::Ready(_) => true,
            Inner::Promised(promise) => promise.is_done(),
        }
    }
}

impl<T> std::fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle")
            .field("is_done", &self.is_done())
            .finish_non_exhaustive()
    }
}
