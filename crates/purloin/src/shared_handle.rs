//! Shared handles: results that several tasks need.
//!
//! If a worker of the task's pool needs the result of a task that no worker has begun, it runs the
//! task, after the tasks on which it depends (see [`graph`](crate::graph)). Otherwise the first worker
//! waits in the way of [`Handle::get`]. All other threads sleep, and the end of the task wakes them.
//! They cannot help the worker that runs the task, because it knows only one worker that waits for
//! it.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::cancel::Cancelled;
use crate::handle::{Handle, Inner};
use crate::promise::{Getter, Ready, SharedTask, reveal};
use crate::this_thread::raise;
use crate::unwind::Panic;

/// The result of a task that several others need, available now or later, from [`Handle::share`].
///
/// Clones refer to the same result. A node of a dependency graph, for example, is a future that
/// gets the shared handles of the nodes on which it depends:
///
/// ```
/// use purloin::{Pool, Worker};
///
/// let pool = Pool::new()?;
/// let total = pool.run(|mut w| {
///     let base = w.future(|_| 10).share();
///     let (left, right) = (base.clone(), base);
///     let left = w.future(move |_| left.get() + 1);
///     let right = w.future(move |_| right.get() * 2);
///     w.get(left) + w.get(right)
/// });
/// assert_eq!(total, 31);
/// # Ok::<(), purloin::BuildError>(())
/// ```
///
/// In a scope, a task can begin [after](crate::Scope::after) those whose results it needs. Then no worker
/// waits for them.
///
/// A result that was got is dropped with its last handle, or with the last task that waits for it. A handle cannot outlive
/// what its result borrows:
///
/// ```compile_fail,E0597
/// # use purloin::{Pool, Worker};
/// # let pool = Pool::new().unwrap();
/// let shared;
/// {
///     let number = 7;
///     shared = pool.run(|mut w| w.finish(|scope| scope.shared_future(|_| &number)));
/// }
/// ```
///
/// Source: Channel (channel-based futures), with one receiver that keeps the message for all.
pub struct SharedHandle<T> {
    task: SharedTask,
    /// This gives access to the result by reference, and may drop it.
    result: PhantomData<Arc<T>>,
}

impl<T> Handle<T> {
    /// Turns this handle into one that can be cloned, and that gives access to the result by
    /// reference.
    pub fn share(self) -> SharedHandle<T> {
        let promise = match self.0 {
            Inner::Promised(promise) => promise,
            Inner::Ready(outcome) => Ready::promise(outcome, None),
        };
        SharedHandle {
            task: promise.share(),
            result: PhantomData,
        }
    }
}

impl<T> SharedHandle<T> {
    /// Waits for the result.
    ///
    /// If no worker has begun the task, it runs here, as with [`Handle::get`]. The tasks
    /// [after](crate::Scope::after) which it begins run here before it, if no worker has begun them.
    /// Otherwise, if the first thread that calls this is a worker, it helps the worker that runs the
    /// task. Any other worker hands off its processor to a [spare
    /// worker](crate::Builder::spare_workers) until the task has ended.
    ///
    /// # Panics
    ///
    /// Panics if the task has panicked: one call with the panic of the task, and the others with a
    /// message that says so. Panics if the calling code belongs to the awaited task and runs on the
    /// thread that has begun it: the task would wait for its own end.
    pub fn get(&self) -> &T {
        self.task.call_got();
        self.task.await_end(&Getter::SHARER);
        let channel = &self.task.head().channel;
        let is_first = channel.note_fetched();
        // SAFETY: the handle was made of a promise with this type. The task has ended, so threads only read the message
        // until the last handle is gone, but for the one thread below.
        unsafe {
            self.task.message::<T>().with(|message| match &*message {
                Some(Ok(result)) => result,
                // SAFETY: only this thread takes the panic out, and no thread looks at it afterwards.
                Some(Err(panic)) if is_first => {
                    raise(reveal(std::ptr::from_ref::<Panic>(panic).read()))
                }
                Some(Err(_)) if channel.is_cancelled() => raise(Box::new(Cancelled)),
                Some(Err(_)) => panic!("the task of this shared handle has panicked"),
                None => unreachable!("the task has left a result"),
            })
        }
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
    /// Panics as [`Self::get`] does.
    pub fn try_get(&self) -> Result<&T, Cancelled> {
        self.task.await_end(&Getter::SHARER);
        match self.task.head().channel.is_cancelled() {
            true => {
                self.task.call_got();
                Err(Cancelled)
            }
            false => Ok(self.get()),
        }
    }

    /// Returns the task, if a task after it must wait for it or report that it gets its result.
    pub(crate) fn to_wait_for(&self) -> Option<SharedTask> {
        (!self.is_done() || self.task.is_measured()).then(|| self.task.clone())
    }

    pub(crate) fn task(&self) -> &SharedTask {
        &self.task
    }

    /// Returns whether the task has ended.
    pub fn is_done(&self) -> bool {
        self.task.is_done()
    }
}

/// For tasks that may fail.
impl<T, E> SharedHandle<Result<T, Arc<E>>> {
    /// Waits for the result, and returns the value or the error. So an error passes from task to task by `?`, and is not
    /// cloned.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use purloin::{Pool, Worker};
    /// # let pool = Pool::new()?;
    /// let sum = pool.run(|mut w| {
    ///     w.finish(|scope| {
    ///         let parse = |text: &'static str| {
    ///             scope.shared_future(move |_| Ok(text.parse::<u32>()?))
    ///         };
    ///         let (a, b) = (parse("7"), parse("x"));
    ///         scope.after([&a, &b]).future(move |_| Ok(a.ok()? + b.ok()?)).get()
    ///     })
    /// });
    /// let sum: Result<u32, Arc<std::num::ParseIntError>> = sum;
    /// assert!(sum.is_err());
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the error of the task.
    ///
    /// # Panics
    ///
    /// Panics as [`get`](Self::get) does.
    pub fn ok(&self) -> Result<&T, Arc<E>> {
        self.get().as_ref().map_err(Arc::clone)
    }
}

/// So that what the result borrows outlives the handle, which may drop the result: `PhantomData<Arc<T>>` alone would not
/// demand that.
impl<T> Drop for SharedHandle<T> {
    fn drop(&mut self) {}
}

impl<T> Clone for SharedHandle<T> {
    fn clone(&self) -> Self {
        SharedHandle {
            task: self.task.clone(),
            result: PhantomData,
        }
    }
}

impl<T> std::fmt::Debug for SharedHandle<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedHandle")
            .field("is_done", &self.is_done())
            .finish_non_exhaustive()
    }
}
