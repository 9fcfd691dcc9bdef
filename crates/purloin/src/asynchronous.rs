//! Results for asynchronous programs: futures of the standard library, whose executor the end of a
//! task wakes.
//!
//! No thread of the pool waits for a future, so polling one costs a lock. A worker that polls for
//! the result of a task of its own pool runs the task, if no worker has begun it: the executor may
//! go to sleep next, and the worker with it.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use crate::cancel::Cancel;
use crate::handle::{Handle, Inner};
use crate::pool::Pool;
use crate::promise::{TaskRef, wake};
use crate::runtime::{Kind, Token, detached_future};
use crate::scheduler::Scheduler;
use crate::shared_handle::SharedHandle;
use crate::sync::{Mutex, lock};

/// The result of [`Pool::run_async`].
///
/// Dropping it takes the closure back if no worker has begun to run it.
#[must_use = "dropping this takes the closure back"]
pub struct RunFuture<T> {
    result: HandleFuture<T>,
    /// The token to cancel if this is dropped before it has completed.
    cancel: Option<Cancel>,
}

impl<S: Scheduler> Pool<S> {
    /// Hands `f` to this pool at once, and returns a future of its result. No thread waits: the
    /// worker that has run `f` wakes the executor.
    ///
    /// An asynchronous program calls this for work that would keep its executor busy for too long.
    /// Any executor will do. With tokio, `pool.run_async(f).await` is to parallel work what
    /// `spawn_blocking` is to calls that block; see the example `async_server`.
    ///
    /// ```
    /// # use purloin::{Pool, Worker};
    /// # fn block_on<F: Future>(future: F) -> F::Output {
    /// #     struct Unpark(std::thread::Thread);
    /// #     impl std::task::Wake for Unpark {
    /// #         fn wake(self: std::sync::Arc<Self>) { self.0.unpark() }
    /// #     }
    /// #     let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
    /// #     let mut context = std::task::Context::from_waker(&waker);
    /// #     let mut future = std::pin::pin!(future);
    /// #     loop {
    /// #         match future.as_mut().poll(&mut context) {
    /// #             std::task::Poll::Ready(result) => return result,
    /// #             std::task::Poll::Pending => std::thread::park(),
    /// #         }
    /// #     }
    /// # }
    /// async fn squares(pool: &Pool, limit: u64) -> u64 {
    ///     pool.run_async(move |mut w| w.par(0..limit).map(|n| n * n).sum::<u64>())
    ///         .await
    /// }
    ///
    /// let pool = Pool::new()?;
    /// assert_eq!(block_on(squares(&pool, 4)), 14);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// If the future is dropped before a worker has begun `f`, then `f` is dropped, too, and never
    /// runs. If a worker has begun it, it runs to its end, and its result is dropped. When the pool
    /// is dropped, its workers first run everything that waits.
    ///
    /// If the future is polled on a worker of this pool, and no worker has begun `f`, it runs there and
    /// then. A task that waits in another way for a thread that polls, as in
    /// [`JoinHandle::join`](std::thread::JoinHandle::join), does so in [`blocking`](crate::blocking): if
    /// all workers are such tasks, no worker begins `f`.
    ///
    /// [`Pool::wait`] does not wait for `f`.
    ///
    /// # Panics
    ///
    /// Panics in a forked process, which has a copy of the pool but none of its threads. The future
    /// panics if `f` panics. If the future was dropped, the panic goes where that of a
    /// [spawned](Pool::spawn) job goes. So does the panic of a destructor that then drops `f` or its
    /// result.
    pub fn run_async<F, T>(&self, f: F) -> RunFuture<T>
    where
        F: for<'t> FnOnce(Token<'t, S>) -> T + Send + 'static,
        T: Send + 'static,
    {
        self.shared().check_process();
        RunFuture {
            result: detached_future(self.shared(), Kind::Asynchronous, f).into_future(),
            cancel: None,
        }
    }
}

impl<T> RunFuture<T> {
    /// Cancels the token if this future is dropped before it has completed: by `select!` or by a time limit, for example.
    /// The closure looks at its clone of the token, and ends early. A second call replaces the token.
    ///
    /// ```
    /// # use purloin::{Cancel, Cancelled, Pool, prelude::*};
    /// async fn sum(pool: &Pool) -> Result<u64, Cancelled> {
    ///     let cancel = Cancel::new();
    ///     let until = cancel.clone();
    ///     let sum = pool.run_async(move |mut w| {
    ///         let bits = w.par(0..u64::MAX).map(|n| u64::from(n.count_ones()));
    ///         bits.until(&until).sum()
    ///     });
    ///     sum.cancel_on_drop(&cancel).await
    /// }
    ///
    /// let pool = Pool::new()?;
    /// let mut sum = std::pin::pin!(sum(&pool));
    /// let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    /// assert!(sum.as_mut().poll(&mut context).is_pending());
    /// // The sum would take centuries. When `sum` is dropped, at the end, it is cancelled.
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    pub fn cancel_on_drop(mut self, cancel: &Cancel) -> Self {
        self.cancel = Some(cancel.clone());
        self
    }
}

impl<T> Future for RunFuture<T> {
    type Output = T;

    /// # Panics
    ///
    /// Panics if the closure has panicked, if this future has completed before, and in a forked
    /// process, unless the closure had ended before the fork.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        Pin::new(&mut self.result).poll(context)
    }
}

impl<T> Drop for RunFuture<T> {
    fn drop(&mut self) {
        if let Some(handle) = self.result.handle.take() {
            if let Some(cancel) = &self.cancel {
                cancel.cancel();
            }
            if let Handle(Inner::Promised(promise)) = handle {
                promise.abandon();
            }
        }
    }
}

/// The executor that polled a future last.
#[derive(Default)]
struct Latest(Mutex<Option<Waker>>);

impl Latest {
    fn set(&self, waker: Option<Waker>) {
        let old = std::mem::replace(&mut *lock(&self.0), waker);
        drop(old);
    }
}

impl Wake for Latest {
    fn wake(self: Arc<Self>) {
        let waker = lock(&self.0).take();
        waker.into_iter().for_each(wake);
    }
}

/// Runs a task as far as this worker can without a wait, and returns whether it has ended. If not, its end wakes `waker`,
/// and idle workers are called for it. `latest` is the watcher of the task, from the first call on.
fn poll(task: &TaskRef, latest: &mut Option<Arc<Latest>>, waker: &Waker) -> bool {
    task.run_ready();
    if task.is_done() {
        return true;
    }
    // First, because a waker is the program's and may panic.
    let waker = waker.clone();
    let is_first = latest.is_none();
    let latest = latest.get_or_insert_default();
    latest.set(Some(waker));
    if is_first {
        (task.head().channel).watch(Waker::from(Arc::clone(latest)));
    }
    task.call_workers();
    // Once more: the end may have come before `waker`.
    task.is_done()
}

/// A [`Handle`] as a future: `handle.await` is its result.
#[must_use = "dropping this detaches the task"]
pub struct HandleFuture<T> {
    /// None once the future has completed.
    handle: Option<Handle<T>>,
    latest: Option<Arc<Latest>>,
}

impl<T> Unpin for HandleFuture<T> {}

impl<T> Drop for HandleFuture<T> {
    fn drop(&mut self) {
        if let Some(latest) = self.latest.take() {
            latest.set(None);
        }
    }
}

impl<T> IntoFuture for Handle<T> {
    type Output = T;
    type IntoFuture = HandleFuture<T>;

    /// Turns this handle into a future of the result, for an asynchronous program.
    ///
    /// On a worker of the task's pool, polling runs the task if no worker has begun it, as
    /// [`Handle::get`] does. On any other thread, polling calls an idle worker for it; see
    /// [`Pool::run_async`] for tasks that wait for such a thread.
    fn into_future(self) -> HandleFuture<T> {
        HandleFuture {
            handle: Some(self),
            latest: None,
        }
    }
}

impl<T> Future for HandleFuture<T> {
    type Output = T;

    /// # Panics
    ///
    /// Panics where [`Handle::get`] does, and if this future has completed before. In a forked process it
    /// does not panic if the task had ended before the fork.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let HandleFuture { handle, latest } = &mut *self;
        let pending = handle
            .as_ref()
            .expect("this future was polled after it had completed");
        let has_ended = match &pending.0 {
            Inner::Promised(promise) => poll(promise, latest, context.waker()),
            Inner::Ready(_) => true,
        };
        if !has_ended {
            return Poll::Pending;
        }
        let handle = handle.take().expect("it was there");
        Poll::Ready(handle.get())
    }
}

/// A [`SharedHandle`] as a future: `(&handle).await` is a reference to its result.
pub struct SharedHandleFuture<'h, T> {
    handle: &'h SharedHandle<T>,
    latest: Option<Arc<Latest>>,
}

impl<'h, T> IntoFuture for &'h SharedHandle<T> {
    type Output = &'h T;
    type IntoFuture = SharedHandleFuture<'h, T>;

    /// Turns this handle into a future of a reference to the result, for an asynchronous program.
    fn into_future(self) -> SharedHandleFuture<'h, T> {
        SharedHandleFuture {
            handle: self,
            latest: None,
        }
    }
}

impl<'h, T> Future for SharedHandleFuture<'h, T> {
    type Output = &'h T;

    /// # Panics
    ///
    /// Panics where [`SharedHandle::get`] does.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<&'h T> {
        let SharedHandleFuture { handle, latest } = &mut *self;
        match poll(handle.task(), latest, context.waker()) {
            true => Poll::Ready(handle.get()),
            false => Poll::Pending,
        }
    }
}

impl<T> Drop for SharedHandleFuture<'_, T> {
    fn drop(&mut self) {
        if let Some(latest) = self.latest.take() {
            latest.set(None);
            let channel = &self.handle.task().head().channel;
            channel.unwatch(&Waker::from(latest));
        }
    }
}

impl<T> std::fmt::Debug for RunFuture<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RunFuture")
            .field(&self.result.handle)
            .finish()
    }
}

impl<T> std::fmt::Debug for HandleFuture<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("HandleFuture").field(&self.handle).finish()
    }
}

impl<T> std::fmt::Debug for SharedHandleFuture<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SharedHandleFuture")
            .field(self.handle)
            .finish()
    }
}
