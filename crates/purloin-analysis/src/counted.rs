//! Counting tasks by instantiating a program with a worker that counts.

use std::cell::OnceCell;
use std::sync::atomic::{AtomicU64, Ordering};

use purloin::{Handle, Scope, Spawner, Worker, implement};
use std::marker::PhantomData;

/// A [`Worker`] that counts the tasks of a program: one for each join,
/// spawn and future. Otherwise it is the worker that it wraps.
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
    /// Wraps `worker`, counting into `tasks`.
    pub fn new(worker: W, tasks: &'c AtomicU64) -> Self {
        Counted { worker, tasks }
    }
}

fn count(tasks: &AtomicU64) {
    tasks.fetch_add(1, Ordering::Relaxed);
}

/// A finish of the wrapped worker, with the counter.
pub struct Finish<F> {
    inner: *const F,
    tasks: *const AtomicU64,
}

// SAFETY: both pointers are to what outlives the finish and is `Sync`.
unsafe impl<F: Sync> Sync for Finish<F> {}

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
        let tasks = self.tasks;
        // Outside the inner finish, as tasks use it until that ends.
        let counted = OnceCell::new();
        self.worker.finish(|scope| {
            let inner = implement::finish_of(scope);
            body(counted.get_or_init(|| implement::scope(Finish { inner, tasks })))
        })
    }

    fn lend<R>(&mut self, f: impl for<'t> FnOnce(Self::Token<'t>) -> R) -> R {
        let tasks = self.tasks;
        self.worker.lend(|worker| f(Counted { worker, tasks }))
    }

    /// Runs it at once, as it might outlive the counter otherwise.
    fn future<F, T>(&mut self, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(Self::Token<'t>) -> T + Send + 'static,
        T: Send + 'static,
    {
        count(self.tasks);
        implement::ready(|| self.lend(f))
    }

    fn split_hint(&mut self, rest: usize) -> usize {
        self.worker.split_hint(rest)
    }
}

/// The [`Spawner`] of [`Counted`].
pub struct CountedSpawner<S>(PhantomData<S>);

impl<S: Spawner> Spawner for CountedSpawner<S> {
    type Token<'t> = Counted<'t, S::Token<'t>>;
    type Finish = Finish<S::Finish>;

    unsafe fn spawn<'scope, F>(finish: &'scope Self::Finish, task: F)
    where
        F: for<'t> FnOnce(Self::Token<'t>) + Send + 'scope,
    {
        // SAFETY: see `Finish`; and the inner scope lives longer than ours,
        // whose lifetime the caller vouches for.
        unsafe {
            let (inner, tasks) = (&*finish.inner, &*finish.tasks);
            count(tasks);
            S::spawn(inner, move |worker| task(Counted { worker, tasks }));
        }
    }

    unsafe fn future<'scope, F, T>(finish: &'scope Self::Finish, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(Self::Token<'t>) -> T + Send + 'scope,
        T: Send + 'scope,
    {
        // SAFETY: see `Finish`; and the inner scope lives longer than ours,
        // whose lifetime the caller vouches for.
        unsafe {
            let (inner, tasks) = (&*finish.inner, &*finish.tasks);
            count(tasks);
            S::future(inner, move |worker| f(Counted { worker, tasks }))
        }
    }

    fn join<A, B, RA, RB>(finish: &Self::Finish, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Self::Token<'t>) -> RA + Send,
        B: for<'t> FnOnce(Self::Token<'t>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        // SAFETY: see `Finish`.
        let (inner, tasks) = unsafe { (&*finish.inner, &*finish.tasks) };
        count(tasks);
        S::join(
            inner,
            move |worker| a(Counted { worker, tasks }),
            move |worker| b(Counted { worker, tasks }),
        )
    }
}
