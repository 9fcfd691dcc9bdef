//! The serial elision: a worker that creates no parallelism.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::cancel::Cancelled;
use crate::cancel::{CancelFlag, CancelState};
use crate::handle::Handle;
use crate::implement;
use crate::loops::{self, IntoIterations};
use crate::scope::{Scope, Spawner};
use crate::sync::plain::OnceLock;
use crate::this_thread::{in_scope, raise};
use crate::unwind::{FirstPanic, Panic, catch, drop_cancelled};
use crate::worker::Worker;

/// The state of a finish.
#[derive(Default)]
pub struct Finish {
    /// The first panic of a task, or of a future whose result is never fetched. It continues when the
    /// finish ends. Made for the first panic; the handles of futures may outlive the finish.
    panic: OnceLock<Arc<FirstPanic>>,
    is_cancelled: CancelState,
}

impl Finish {
    fn is_cancelled(&self) -> bool {
        self.is_cancelled.is_set()
    }

    fn flag(&self) -> CancelFlag {
        CancelFlag::of(&self.is_cancelled)
    }

    /// Runs a task in the scope of the finish. Returns its result or its panic.
    #[inline(always)]
    fn run<R>(&self, task: impl FnOnce() -> R) -> Result<R, Panic> {
        in_scope(self.flag(), task)
    }

    #[cold]
    fn keep_panic(&self, panic: Panic) {
        if !(panic.is::<Cancelled>() && self.is_cancelled()) {
            self.panic.get_or_init(Arc::default).keep(panic);
        }
    }
}

/// The serial elision of a program, as a [`Worker`].
///
/// A join calls its closures one after the other, and a spawn calls its task at once. The result is
/// the sequential program, as it would be without Purloin. It is the baseline for the overhead of
/// every scheduler.
///
/// ```
/// use purloin::{Serial, Worker};
///
/// let (a, b) = Serial.join(|_| 1, |_| 2);
/// assert_eq!(a + b, 3);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Serial;

impl Worker for Serial {
    type Token<'t> = Serial;
    type Spawner = Serial;

    #[inline(always)]
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Serial) -> RA + Send,
        B: for<'t> FnOnce(Serial) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        let ra = a(Serial);
        let rb = b(Serial);
        (ra, rb)
    }

    #[inline(always)]
    fn finish<'env, F, R>(&mut self, body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, Serial>) -> R,
    {
        let scope: Scope<'_, 'env, Serial> = Scope::new(Finish::default());
        let result = in_scope(scope.finish().flag(), || body(&scope));
        let result = match scope.finish().panic.get() {
            Some(of_tasks) => of_tasks.conclude(result),
            None => result,
        };
        result.unwrap_or_else(|panic| raise(panic))
    }

    #[inline(always)]
    fn lend<R>(&mut self, f: impl for<'t> FnOnce(Serial) -> R) -> R {
        f(Serial)
    }

    // A plain loop.
    #[inline(always)]
    fn run_loop<I, A, N, F, C>(&mut self, iterations: I, init: N, step: F, _: C) -> A
    where
        I: IntoIterations,
        N: Fn() -> A + Sync,
        F: for<'t> Fn(Serial, A, I::Item) -> ControlFlow<A, A> + Sync,
        C: Fn(A, A) -> A + Sync,
        A: Send,
    {
        loops::in_order(iterations.into_iterations(), init(), |sum, item| {
            step(Serial, sum, item)
        })
    }

    fn future<F, T>(&mut self, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(Serial) -> T + Send + 'static,
        T: Send + 'static,
    {
        implement::ready(|| f(Serial))
    }

    fn split_hint(&mut self, _: usize) -> usize {
        0
    }

    fn sort_pieces(&self) -> usize {
        1
    }
}

impl Spawner for Serial {
    type Token<'t> = Serial;
    type Finish = Finish;

    fn cancelled(finish: &Finish) -> &CancelState {
        &finish.is_cancelled
    }

    #[inline(always)]
    unsafe fn spawn<'scope, F>(finish: &'scope Finish, task: F)
    where
        F: for<'t> FnOnce(Serial) + Send + 'scope,
    {
        let result = match finish.is_cancelled() {
            false => finish.run(|| task(Serial)),
            true => catch(|| drop(task)),
        };
        if let Err(panic) = result {
            finish.keep_panic(panic);
        }
    }

    unsafe fn future<'scope, F, T>(finish: &'scope Finish, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(Serial) -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let result = match finish.is_cancelled() {
            false => finish.run(|| f(Serial)),
            true => drop_cancelled(f),
        };
        match result {
            Ok(result) => Handle::ready(Ok(result)),
            Err(panic) => {
                let first = finish.panic.get_or_init(Arc::default);
                Handle::at_once(Err(panic), Arc::downgrade(first))
            }
        }
    }

    #[inline(always)]
    fn join<A, B, RA, RB>(_: &Finish, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Serial) -> RA + Send,
        B: for<'t> FnOnce(Serial) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        Worker::join(&mut Serial, a, b)
    }
}
