//! Futures: results that may still be on their way.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::thread;

use crate::pool::outside;

/// The result of a task, from [`Worker::future`](crate::Worker::future) or
/// [`Scope::future`](crate::Scope::future): there, or on its way.
///
/// It may be passed on to other tasks, and got by them. Dropped, it detaches
/// the task, which still ends before its scope does.
///
/// A panic of a task that nobody gets is not lost: the [`finish`](crate::Worker::finish)
/// panics in whose scope the future was made, or else the [`Pool::run`](crate::Pool::run)
/// around it, or the next [`Pool::wait`](crate::Pool::wait) after [`Pool::spawn`](crate::Pool::spawn).
/// If the task has ended before the future is dropped, it is the `Pool::run` around the drop.
/// Only a future that is dropped outside of any pool, or was made there by
/// [`future`](crate::future()), takes its panic with it.
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
/// # Ok::<(), purloin::Error>(())
/// ```
///
/// # A word of warning
///
/// Futures make it possible to wait for a task that waits for one's own. Such a
/// program hangs, as it does with locks.
///
/// Source: Channel (channel-based futures: a future is a channel for one
/// message).
#[must_use = "a future that is dropped detaches its task"]
pub struct Future<T>(Inner<T>);

enum Inner<T> {
    Ready(Outcome<T>),
    /// Ready, with something to do when it is got.
    Watched(Outcome<T>, Box<dyn FnOnce() + Send>),
    Promised(Promise<T>),
}

/// A result that is there. If it is a panic that nobody gets, the call around hears of it.
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
            outside::keep_orphan(panic);
        }
    }
}

impl<T> Future<T> {
    /// Runs `f` at once. For whoever implements [`Worker`](crate::Worker)
    /// without parallelism. A panic surfaces at [`get`](Self::get).
    pub fn run(f: impl FnOnce() -> T) -> Self {
        Future::ready(catch_unwind(AssertUnwindSafe(f)))
    }

    /// The same, with something to do when the result is got.
    pub(crate) fn watched(f: impl FnOnce() -> T, got: impl FnOnce() + Send + 'static) -> Self {
        let result = catch_unwind(AssertUnwindSafe(f));
        Future(Inner::Watched(Outcome(Some(result)), Box::new(got)))
    }

    /// What has been there from the beginning.
    pub(crate) fn ready(result: thread::Result<T>) -> Self {
        Future(Inner::Ready(Outcome(Some(result))))
    }

    pub(crate) fn promised(promise: Promise<T>) -> Self {
        Future(Inner::Promised(promise))
    }

    /// Waits for the result: for code that has no token.
    ///
    /// With one, [`Worker::get`](crate::Worker::get) is faster. If no worker has begun the
    /// task, it is run here. If another worker runs it, this one helps that meanwhile, as
    /// in a [`join`](crate::Worker::join). On a thread that is no worker of the task's pool,
    /// it calls an idle worker for the task and sleeps until the task is done. There must
    /// be one: if all workers wait for this thread, a [spare
    /// worker](crate::Builder::spare_workers) takes its place.
    ///
    /// # Panics
    ///
    /// If the task has.
    pub fn get(self) -> T {
        self.get_at(None)
    }

    /// The same, where it is known what this thread is.
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

    /// Whether the task has ended.
    pub fn is_done(&self) -> bool {
        match &self.0 {
            Inner::Ready(_) | Inner::Watched(..) => true,
            Inner::Promised(promise) => promise.is_done(),
        }
    }
}

impl<T> std::fmt::Debug for Future<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Future")
            .field("is_done", &self.is_done())
            .finish_non_exhaustive()
    }
}

/// A result that some scheduler has promised: the consumer's end of a channel
/// for one message.
pub(crate) struct Promise<T> {
    channel: NonNull<()>,
    /// Always valid; a reference would ask that `T` be.
    functions: *const Functions<T>,
}

/// A worker, and the top of its task stack in the token at hand. Without types,
/// as the scheduler may be any.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// The pool's number.
    pub(crate) pool: u64,
    pub(crate) worker: usize,
    pub(crate) top: *const (),
}

/// What can be done with such an end, by whoever made it.
pub(crate) struct Functions<T> {
    /// Waits for the result, or panics as the task has. The end is used up.
    pub(crate) get: unsafe fn(NonNull<()>, Option<Place>) -> T,
    /// Gives up the end.
    pub(crate) drop: unsafe fn(NonNull<()>),
    pub(crate) is_done: unsafe fn(NonNull<()>) -> bool,
}

// SAFETY: it is the one end of a channel, from which a `T` may come out on the
// thread that has it. Nothing can be done with a reference but to look whether
// the task is done, which any thread may.
unsafe impl<T: Send> Send for Promise<T> {}
// SAFETY: with a reference nothing can be done but to look whether the task is done, which
// any thread may.
unsafe impl<T: Send> Sync for Promise<T> {}

impl<T> Promise<T> {
    /// # Safety
    ///
    /// The functions are there for ever, and may be called with this channel:
    /// `get` or `drop` once, in the end, and `is_done` before, on any thread.
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
        // SAFETY: the channel is there until it is used up.
        unsafe { ((*self.functions).is_done)(self.channel) }
    }
}

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        // SAFETY: called once, and not after `get`, which forgets this.
        unsafe { ((*self.functions).drop)(self.channel) };
    }
}
