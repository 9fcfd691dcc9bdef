//! Shared handles: results that several tasks need.
//!
//! The result stays where the task has left it, and all threads read it there. If a worker of the
//! task's pool needs the result of a task that no worker has begun, it runs the task. Otherwise one
//! thread waits in the way of [`Handle::get`], and wakes the others. They cannot all help the worker
//! that runs the task, because it knows only one that waits for it.

use std::any::Any;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread, ThreadId};

use crate::handle::{Handle, Inner};
use crate::pool::block_until;

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
/// A task can only get handles that exist when it is made, so tasks do not wait for each other in a
/// circle, unless they find their handles in a variable that is filled later.
///
/// Source: Channel (channel-based futures), with one receiver that keeps the message for all.
pub struct SharedHandle<T>(Arc<State<T>>);

struct State<T> {
    handle: Handle<T>,
    waiting: Mutex<Waiting>,
}

// SAFETY: threads that share this value share the result, so `T` is `Sync`; the last of them drops
// it, so `T` is `Send`. One thread alone takes the panic of the task, as `is_panic_taken` says.
unsafe impl<T: Send + Sync> Sync for State<T> {}

#[derive(Default)]
struct Waiting {
    /// The thread that waits for the task on behalf of all.
    first: Option<ThreadId>,
    /// The threads that wait for the first.
    others: Vec<Thread>,
    /// Whether a thread has taken the task's panic, of which the handle still has the bits.
    is_panic_taken: bool,
}

impl<T> Handle<T> {
    /// Turns this handle into one that can be cloned, and that gives access to the result by
    /// reference.
    pub fn share(self) -> SharedHandle<T> {
        SharedHandle(Arc::new(State {
            handle: self.watched_now(),
            waiting: Mutex::default(),
        }))
    }
}

impl<T> SharedHandle<T> {
    /// Waits for the result.
    ///
    /// If no worker has begun the task, it runs here, as with [`Handle::get`]. Otherwise the first
    /// thread that calls this waits as `Handle::get` does: a worker helps the worker that runs the
    /// task. Any other worker hands off its processor to a [spare
    /// worker](crate::Builder::spare_workers) until the first has the result.
    ///
    /// # Panics
    ///
    /// Panics if the task has panicked: one call with the panic of the task, and the others with a
    /// message that says so. Panics if the calling task is the awaited one, or a part of it that
    /// runs on the same thread.
    pub fn get(&self) -> &T {
        let state = &*self.0;
        if !state.handle.is_done() {
            state.wait();
        }
        match state.result() {
            Ok(result) => result,
            Err(panic) => state.panic(panic),
        }
    }

    /// Returns whether the task has ended.
    pub fn is_done(&self) -> bool {
        self.0.handle.is_done()
    }
}

impl<T> State<T> {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the task has ended.
    #[cold]
    fn wait(&self) {
        let Inner::Promised(promise) = &self.handle.0 else {
            return;
        };
        promise.run();
        while !promise.is_done() {
            let me = thread::current();
            let mut waiting = self.lock();
            match waiting.first {
                None => {
                    waiting.first = Some(me.id());
                    drop(waiting);
                    let first = First(self);
                    // SAFETY: no other thread waits, as `first` says.
                    unsafe { promise.wait() };
                    drop(first);
                }
                // While a worker waits, it runs only descendants of the task.
                Some(first) if first == me.id() => {
                    drop(waiting);
                    panic!("this task waits for its own result, through a shared handle");
                }
                Some(_) => {
                    waiting.others.push(me);
                    drop(waiting);
                    block_until(|| promise.is_done() || self.lock().first.is_none());
                }
            }
        }
    }

    /// Returns the result of the task, which has ended.
    fn result(&self) -> &thread::Result<T> {
        let result = match &self.handle.0 {
            Inner::Ready(outcome) | Inner::Watched(outcome, _) => &outcome.0,
            // SAFETY: the task has ended. Several threads may call this only if they share the
            // state, and so only if `T` is `Sync`.
            Inner::Promised(promise) => unsafe { promise.result() },
        };
        result.as_ref().expect("the task has left a result")
    }

    /// Continues the task's panic, or says that there was one.
    #[cold]
    fn panic(&self, panic: &Box<dyn Any + Send>) -> ! {
        let is_taken = std::mem::replace(&mut self.lock().is_panic_taken, true);
        match is_taken {
            // SAFETY: this is done once, and `drop` does not drop the panic then.
            false => resume_unwind(unsafe { std::ptr::read(panic) }),
            true => panic!("the task of this shared handle has panicked"),
        }
    }
}

/// The thread that waits on behalf of all. When it has waited, it wakes the others.
struct First<'s, T>(&'s State<T>);

impl<T> Drop for First<'_, T> {
    fn drop(&mut self) {
        let mut waiting = self.0.lock();
        waiting.first = None;
        waiting.others.drain(..).for_each(|other| other.unpark());
    }
}

impl<T> Drop for State<T> {
    fn drop(&mut self) {
        if self.lock().is_panic_taken {
            std::mem::forget(self.handle.take_result());
        }
    }
}

/// Returns a handle to the results of several futures, in the order of their handles.
///
/// A task waits for them. It belongs to the same scope as a [`future`](crate::future()) that is
/// made here.
///
/// ```
/// let squares = (1..=3).map(|n| purloin::future(move || n * n)).collect();
/// assert_eq!(purloin::when_all(squares).get(), [1, 4, 9]);
/// ```
///
/// # Panics
///
/// [`Handle::get`] panics if one of the tasks has panicked.
pub fn when_all<T: Send + 'static>(handles: Vec<Handle<T>>) -> Handle<Vec<T>> {
    crate::future(move || handles.into_iter().map(Handle::get).collect())
}

impl<T> Clone for SharedHandle<T> {
    fn clone(&self) -> Self {
        SharedHandle(Arc::clone(&self.0))
    }
}

impl<T> std::fmt::Debug for SharedHandle<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedHandle")
            .field("is_done", &self.is_done())
            .finish_non_exhaustive()
    }
}
