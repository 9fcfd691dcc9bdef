//! Counting the tasks of a program.

use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use purloin::implement::{self, CancelState};
use purloin::{Handle, IntoIterations, Scope, Spawner, Worker};

use crate::finish::{Wrapped, finish};
use crate::sorts::sorts_of;

/// A [`Worker`] that counts the tasks of a program: one for each join, spawn and future.
///
/// A loop or a sort counts as no task, because it splits only on demand. [`profile()`](crate::profile()) and
/// [`record()`](crate::record()) count in the same way.
///
/// Apart from counting, it behaves like the worker that it wraps, with one exception: it runs a
/// future of [`Worker::future`] at once, because the task could outlive the counter. Futures of a
/// scope are tasks as usual.
///
/// ```
/// use std::sync::atomic::AtomicU64;
/// use purloin::{Serial, Worker};
/// use purloin_analysis::Counted;
///
/// fn fib<W: Worker>(mut w: W, n: u32) -> u64 {
///     if n < 2 {
///         return n.into();
///     }
///     let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
///     a + b
/// }
///
/// let tasks = AtomicU64::new(0);
/// fib(Counted::new(Serial, &tasks), 10);
/// assert_eq!(tasks.into_inner(), 88);
/// ```
pub struct Counted<'c, W> {
    worker: W,
    tasks: &'c AtomicU64,
}

impl<'c, W: Worker> Counted<'c, W> {
    /// Wraps `worker`, and adds the number of tasks to `tasks`.
    pub fn new(worker: W, tasks: &'c AtomicU64) -> Self {
        Counted { worker, tasks }
    }
}

/// Counts a task.
fn count(tasks: &AtomicU64) {
    tasks.fetch_add(1, Ordering::Relaxed);
}

impl<'c, W: Worker> Worker for Counted<'c, W> {
    type Token<'t> = Counted<'c, W::Token<'t>>;
    type Spawner = CountedSpawner<W::Spawner>;

    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Self::Token<'t>) -> RA + Send,
        B: for<'t> FnOnce(Self::Token<'t>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        let tasks = self.tasks;
        count(tasks);
        self.worker.join(
            move |worker| a(Counted { worker, tasks }),
            move |worker| b(Counted { worker, tasks }),
        )
    }

    fn finish<'env, F, R>(&mut self, body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, Self::Spawner>) -> R,
    {
        finish(&mut self.worker, self.tasks, body)
    }

    fn lend<R>(&mut self, f: impl for<'t> FnOnce(Self::Token<'t>) -> R) -> R {
        let tasks = self.tasks;
        self.worker.lend(|worker| f(Counted { worker, tasks }))
    }

    /// Runs `f` at once, because the task could outlive the counter.
    fn future<F, T>(&mut self, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(Self::Token<'t>) -> T + Send + 'static,
        T: Send + 'static,
    {
        count(self.tasks);
        implement::ready(|| self.lend(f))
    }

    fn run_loop<I, A, N, F, C>(&mut self, iterations: I, init: N, step: F, combine: C) -> A
    where
        I: IntoIterations,
        N: Fn() -> A + Sync,
        F: for<'t> Fn(Self::Token<'t>, A, I::Item) -> ControlFlow<A, A> + Sync,
        C: Fn(A, A) -> A + Sync,
        A: Send,
    {
        let tasks = self.tasks;
        let step = |worker: W::Token<'_>, sum, item| step(Counted { worker, tasks }, sum, item);
        self.worker.run_loop(iterations, init, step, combine)
    }

    fn split_hint(&mut self, rest: usize) -> usize {
        self.worker.split_hint(rest)
    }

    sorts_of!(self, self.worker);
}

/// The [`Spawner`] of [`Counted`].
pub struct CountedSpawner<S>(PhantomData<S>);

/// The state of a finish that wraps an inner finish with the state `F`.
type Finish<F> = Wrapped<F, AtomicU64>;

/// Counts a task of a finish. Returns the counter, for the tokens of the task.
fn count_in<'t, F>(finish: &Finish<F>) -> &'t AtomicU64 {
    // SAFETY: only tokens of tasks and closures carry the reference. A token cannot outlive its
    // task, and the finish waits for all tasks and closures.
    let tasks = unsafe { finish.context_for_tokens() };
    count(tasks);
    tasks
}

impl<S: Spawner> Spawner for CountedSpawner<S> {
    type Token<'t> = Counted<'t, S::Token<'t>>;
    type Finish = Finish<S::Finish>;

    fn cancelled(finish: &Self::Finish) -> &CancelState {
        S::cancelled(finish.inner())
    }

    unsafe fn spawn<'scope, F>(finish: &'scope Self::Finish, task: F)
    where
        F: for<'t> FnOnce(Self::Token<'t>) + Send + 'scope,
    {
        let tasks = count_in(finish);
        // SAFETY: the caller promises that `'scope` is the scope's own lifetime. The scope lies
        // outside the inner finish, and that waits for the task.
        unsafe {
            S::spawn(finish.inner(), move |worker| {
                task(Counted { worker, tasks })
            })
        };
    }

    unsafe fn future<'scope, F, T>(finish: &'scope Self::Finish, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(Self::Token<'t>) -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let tasks = count_in(finish);
        // SAFETY: the caller promises that `'scope` is the scope's own lifetime. The scope lies
        // outside the inner finish, and that waits for the task.
        unsafe { S::future(finish.inner(), move |worker| f(Counted { worker, tasks })) }
    }

    fn join<A, B, RA, RB>(finish: &Self::Finish, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Self::Token<'t>) -> RA + Send,
        B: for<'t> FnOnce(Self::Token<'t>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        let tasks = count_in(finish);
        S::join(
            finish.inner(),
            move |worker| a(Counted { worker, tasks }),
            move |worker| b(Counted { worker, tasks }),
        )
    }
}
