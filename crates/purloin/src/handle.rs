//! Handles: results that may still be on their way.

use std::panic::resume_unwind;
use std::ptr::NonNull;
use std::thread;

use crate::pool::keep_orphan;

/// The result of a task, from [`Worker::future`](crate::Worker::future) or
/// [`Scope::future`](crate::Scope::future): already there, or on its way.
///
/// A program may pass a handle on to other tasks, which get the result. A dropped handle
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
/// [`Pool::spawn`](crate::Pool::spawn). If the task has ended before the handle is dropped, the
/// panic reaches the `Pool::run` around the drop.
///
/// There are two exceptions: if a handle is dropped outside of any pool, or was returned by
/// [`future`](crate::future()) there, the panic is dropped.
///
/// # Deadlocks
///
/// With futures two tasks can wait for each other. Such a program hangs, as it does with locks.
///
/// Source: Channel (channel-based futures: a future is a channel for one message).
#[must_use = "dropping a handle detaches its task"]
pub struct Handle<T>(Inner<T>);

enum Inner<T> {
    Ready(Outcome<T>),
    /// Ready, with a function to call when a thread gets it.
    Watched(Outcome<T>, Box<dyn FnOnce() + Send>),
    Promised(Promise<T>),
}

/// A result that is there. If it is a panic and never fetched, the call around the drop gets it.
struct Outcome<T>(Option<thread::Result<T>>);

impl<T> Outcome<T> {
    fn get(mut self) -> T {
        let result = self.0.take().expect("it is taken once");
        result.unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl<T> Drop for Outcome<T> {
    fn drop(&mut self) {
        if let Some(Err(panic)) = self.0.take_if(|result| result.is_err()) {
            keep_orphan(panic);
        }
    }
}

impl<T> Handle<T> {
    /// Returns a handle to a result that is there.
    pub(crate) fn ready(result: thread::Result<T>) -> Self {
        Handle(Inner::Ready(Outcome(Some(result))))
    }

    /// Returns a handle to a result that is there, with a function to call when it is got.
    pub(crate) fn watched(result: thread::Result<T>, got: Box<dyn FnOnce() + Send>) -> Self {
        Handle(Inner::Watched(Outcome(Some(result)), got))
    }

    /// Returns a handle to a promised result.
    pub(crate) fn promised(promise: Promise<T>) -> Self {
        Handle(Inner::Promised(promise))
    }

    /// Waits for the result: for code that has no token.
    ///
    /// With a token, [`Worker::get`](crate::Worker::get) is faster. If no worker has begun the
    /// task, it runs here. If another worker runs it, this one leapfrogs meanwhile, as in a
    /// [`join`](crate::Worker::join). A thread that is no worker of the task's pool calls an idle
    /// worker for the task and sleeps until the task is done. If all workers wait for this
    /// thread, a [spare worker](crate::Builder::spare_workers) takes its place; a pool without
    /// spare workers hangs then.
    ///
    /// # Panics
    ///
    /// If the task has panicked.
    pub fn get(self) -> T {
        self.get_at(None)
    }

    /// Waits for the result, where it is known which worker this thread is.
    #[inline]
    pub(crate) fn get_at(self, place: Option<Place>) -> T {
        match self.0 {
            Inner::Promised(promise) => promise.get(place),
            Inner::Ready(outcome) => outcome.get(),
            Inner::Watched(outcome, got) => {
                got();
                outcome.get()
            }
        }
    }

    /// Returns whether the task has ended.
    pub fn is_done(&self) -> bool {
        match &self.0 {
            Inner::Ready(_) | Inner::Watched(..) => true,
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

/// A result that a scheduler has promised: the consumer's end of a oneshot channel, without the
/// scheduler's type.
pub(crate) struct Promise<T> {
    channel: NonNull<()>,
    /// Always valid. A reference would demand that `T` outlive it.
    functions: *const Functions<T>,
}

/// A worker, and the top of its task stack in the token at hand. Without types, because the
/// scheduler may be any.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// The pool's number.
    pub(crate) pool: u64,
    pub(crate) worker: usize,
    pub(crate) top: *const (),
}

/// What a consumer's end can do.
pub(crate) struct Functions<T> {
    /// Waits for the result, or panics as the task has. Uses up the end.
    pub(crate) get: unsafe fn(NonNull<()>, Option<Place>) -> T,
    /// Gives up the end.
    pub(crate) drop: unsafe fn(NonNull<()>),
    pub(crate) is_done: unsafe fn(NonNull<()>) -> bool,
}

// SAFETY: it is the consumer's end of a channel, from which a `T` may come out on the thread
// that has it.
unsafe impl<T: Send> Send for Promise<T> {}
// SAFETY: a shared reference only lets a thread look whether the task is done, which any thread
// may.
unsafe impl<T: Send> Sync for Promise<T> {}

impl<T> Promise<T> {
    /// # Safety
    ///
    /// The functions live for ever, and may be called with this channel: `get` or `drop` once,
    /// at the end, and `is_done` before, on any thread.
    pub(crate) unsafe fn new(channel: NonNull<()>, functions: *const Functions<T>) -> Self {
        Promise { channel, functions }
    }

    fn get(self, place: Option<Place>) -> T {
        let (channel, functions) = (self.channel, self.functions);
        std::mem::forget(self);
        // SAFETY: called once, instead of `drop`.
        unsafe { ((*functions).get)(channel, place) }
    }

    fn is_done(&self) -> bool {
        // SAFETY: the channel lives until this end is used up.
        unsafe { ((*self.functions).is_done)(self.channel) }
    }
}

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        // SAFETY: called once, and not after `get`, which forgets this.
        unsafe { ((*self.functions).drop)(self.channel) };
    }
}
