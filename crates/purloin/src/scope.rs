//! The scope of a finish: [`Scope`], and [`Spawner`], by which it spawns.

use std::marker::PhantomData;

use crate::cancel::{Cancel, CancelState, Cancelled};
use crate::graph::Inputs;
use crate::handle::Handle;
use crate::runtime::ReturnBarrier;
use crate::shared_handle::SharedHandle;
use crate::worker::{SendTask, Worker};

/// The scope of a [finish](Worker::finish): tasks spawned into it end before the finish does.
///
/// A program may share it freely: with spawned tasks, which may spawn further tasks, with the
/// closures of a join, and even with threads outside the pool.
pub struct Scope<'scope, 'env: 'scope, S: Spawner = ReturnBarrier> {
    finish: S::Finish,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

impl<'scope, 'env, S: Spawner> Scope<'scope, 'env, S> {
    /// Returns a scope around the state of a finish. The implementor of [`Worker::finish`] must
    /// wait for all spawned tasks before it drops the scope.
    pub(crate) fn new(finish: S::Finish) -> Self {
        Scope {
            finish,
            scope: PhantomData,
            env: PhantomData,
        }
    }

    /// Returns the state of the finish.
    pub(crate) fn finish(&self) -> &S::Finish {
        &self.finish
    }

    /// Spawns a task, which any worker may run until the finish ends.
    ///
    /// The task may borrow values that outlive the finish, and may spawn into the same scope:
    ///
    /// ```
    /// # use purloin::{Pool, Scope, Spawner, Worker};
    /// # use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    /// struct Node { children: Vec<Node> }
    ///
    /// fn count<'s, S>(scope: &'s Scope<'s, '_, S>, node: &'s Node, seen: &'s AtomicUsize)
    /// where
    ///     S: Spawner,
    /// {
    ///     seen.fetch_add(1, Relaxed);
    ///     for child in &node.children {
    ///         scope.spawn(move |_| count(scope, child, seen));
    ///     }
    /// }
    /// # let pool = Pool::new()?;
    /// # let leaf = || Node { children: vec![] };
    /// # let root = Node { children: vec![leaf(), Node { children: vec![leaf(), leaf()] }] };
    /// # let seen = AtomicUsize::new(0);
    /// pool.run(|mut w| w.finish(|scope| count(scope, &root, &seen)));
    /// assert_eq!(seen.into_inner(), 5);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// On a pool, this neither runs the task nor waits for it, so the calling code may hold a lock that
    /// the task takes. Each waiting task takes memory. The [serial elision](crate::Serial) runs the task
    /// at once.
    #[inline(always)]
    #[track_caller]
    pub fn spawn<F>(&'scope self, task: F)
    where
        F: for<'t> FnOnce(S::Token<'t>) + SendTask + 'scope,
    {
        // SAFETY: `'scope` is the lifetime parameter of this scope, which holds `finish`. It is
        // invariant, so the caller cannot shorten it.
        unsafe { S::spawn(&self.finish, task) };
    }

    /// Spawns a task with a result, and returns a handle to it. Unlike the task of
    /// [`Worker::future`], this task may borrow values that outlive the finish.
    ///
    /// ```
    /// # use purloin::{Pool, Worker};
    /// # let pool = Pool::new()?;
    /// let words = ["purloin", "steal"];
    /// let length = pool.run(|mut w| {
    ///     w.finish(|scope| {
    ///         let [a, b] = words.each_ref().map(|word| scope.future(|_| word.len()));
    ///         a.get() + b.get()
    ///     })
    /// });
    /// assert_eq!(length, 12);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    #[track_caller]
    pub fn future<F, T>(&'scope self, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(S::Token<'t>) -> T + SendTask + 'scope,
        T: Send + 'scope,
    {
        // SAFETY: `'scope` is the lifetime parameter of this scope, which holds `finish`. It is
        // invariant, so the caller cannot shorten it.
        unsafe { S::future(&self.finish, f) }
    }

    /// Cancels the tasks of this scope that have not begun: they are dropped. Tasks that run go on.
    ///
    /// - A loop [`for_each`](crate::iter::Par::for_each) that runs in the scope's body or in one of its tasks
    ///   stops before the next block of iterations, some microseconds long. It does so whichever
    ///   token it has, if any, and whichever worker runs it: in a closure of a [`join`](Self::join),
    ///   in a future, or in a call of [`Pool::run`](crate::Pool::run) that the scope waits for. A
    ///   loop within several scopes belongs to the innermost one. Other loops go on, because their
    ///   results would be wrong; use [`Self::check`] with [`try_for_each`](crate::iter::Par::try_for_each) and
    ///   [`try_fold`](crate::iter::Par::try_fold).
    /// - The result of a dropped task cannot be got: [`Handle::try_get`] returns [`Cancelled`], and
    ///   [`Handle::get`] panics with it. A task of the scope that panics with it has just ended.
    /// - Scopes within tasks that run are not cancelled. A second call does nothing.
    /// - If the destructor of a dropped task panics, the finish panics, as it does for the
    ///   [task's own panic](Handle#panics-of-destructors).
    ///
    /// ```
    /// # use purloin::{Pool, Worker};
    /// # use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    /// # let pool = Pool::new()?;
    /// let tries = AtomicUsize::new(0);
    /// pool.run(|mut w| {
    ///     w.finish(|scope| {
    ///         for guess in 0..1_000_000_u64 {
    ///             if scope.is_cancelled() {
    ///                 break;
    ///             }
    ///             let tries = &tries;
    ///             scope.spawn(move |_| {
    ///                 tries.fetch_add(1, Relaxed);
    ///                 if guess * guess == 144 {
    ///                     scope.cancel();
    ///                 }
    ///             });
    ///         }
    ///     })
    /// });
    /// assert!(tries.into_inner() > 0);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    pub fn cancel(&self) {
        S::cancelled(&self.finish).set();
    }

    /// Cancels the scope, as [`Self::cancel`] does, when the token is cancelled.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use purloin::{Cancel, Pool, Worker};
    /// # let pool = Pool::new()?;
    /// let limit = Cancel::after(Duration::from_millis(10));
    /// pool.run(|mut w| {
    ///     w.finish(|scope| {
    ///         scope.cancel_by(&limit);
    ///         // Without the limit this would take an hour.
    ///         w_for_an_hour(scope);
    ///     })
    /// });
    /// # fn w_for_an_hour(_: &purloin::Scope<'_, '_>) {
    /// purloin::for_each(0..3_600_000, |_| std::thread::sleep(Duration::from_millis(1)));
    /// # }
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the scope has another token. Make one that both cancel: [`Cancel::child`].
    pub fn cancel_by(&self, cancel: &Cancel) {
        assert!(
            S::cancelled(&self.finish).link(cancel),
            "this scope has another token; make one that both cancel, with `Cancel::child`"
        );
    }

    /// Returns whether [`Self::cancel`] was called, or whether the token of [`Self::cancel_by`] is cancelled.
    pub fn is_cancelled(&self) -> bool {
        S::cancelled(&self.finish).is_set()
    }

    /// Returns an error if the scope is cancelled, for loops that end at the first error.
    ///
    /// ```
    /// # use purloin::{Cancelled, Pool};
    /// use purloin::prelude::*;
    ///
    /// # let pool = Pool::new()?;
    /// let sum: Result<u32, Cancelled> = pool.run(|mut w| {
    ///     w.finish(|scope| {
    ///         scope.cancel();
    ///         let add = |sum: u32, n: u32| scope.check().map(|()| sum + n);
    ///         (0..100_u32).into_par().try_fold(|| 0, add, |a, b| Ok(a + b))
    ///     })
    /// });
    /// assert_eq!(sum, Err(Cancelled));
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Cancelled`] if the scope [is cancelled](Self::is_cancelled).
    pub fn check(&self) -> Result<(), Cancelled> {
        match self.is_cancelled() {
            false => Ok(()),
            true => Err(Cancelled),
        }
    }

    /// Spawns a task whose result several others need, and returns a shared handle to it: a
    /// [`future`](Self::future) whose handle is [shared](Handle::share). Other tasks can begin
    /// [after](Self::after) it.
    #[track_caller]
    pub fn shared_future<F, T>(&'scope self, f: F) -> SharedHandle<T>
    where
        F: for<'t> FnOnce(S::Token<'t>) -> T + SendTask + 'scope,
        T: Send + 'scope,
    {
        self.future(f).share()
    }

    /// Runs two closures, possibly in parallel. For the body of the finish, where the token is
    /// lent. See [`Worker::join`].
    ///
    /// A thread outside the pool waits until an idle worker runs the join. If no worker becomes
    /// idle within 20 milliseconds, a [spare worker](crate::Builder::spare_workers) runs it.
    #[track_caller]
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(S::Token<'t>) -> RA + SendTask,
        B: for<'t> FnOnce(S::Token<'t>) -> RB + SendTask,
        RA: Send,
        RB: Send,
    {
        S::join(&self.finish, a, b)
    }
}

/// The type behind a [`Scope`], which determines how the scope spawns.
///
/// Programs use it only as a bound, as in [`Scope::spawn`]'s example. Its methods are for
/// implementors of [`Worker`].
///
/// A scope is not generic over the token's type, because it must not depend on the lifetime of the
/// token that opened it. Otherwise a program could not spawn closures that borrow from outside the
/// finish.
pub trait Spawner: Sized + 'static {
    /// The token that spawned tasks receive.
    type Token<'t>: Worker;

    /// The state of a finish, which its scope holds.
    #[doc(hidden)]
    type Finish: Sync;

    /// Implements [`Scope::spawn`].
    ///
    /// # Safety
    ///
    /// `'scope` is the lifetime of that name in the [`Scope`] that holds `finish`. A shorter
    /// lifetime would let the task outlive its borrows.
    #[doc(hidden)]
    unsafe fn spawn<'scope, F>(finish: &'scope Self::Finish, task: F)
    where
        F: for<'t> FnOnce(Self::Token<'t>) + Send + 'scope;

    /// Implements [`Scope::future`].
    ///
    /// # Safety
    ///
    /// `'scope` is the lifetime of that name in the [`Scope`] that holds `finish`, as for
    /// [`Self::spawn`].
    #[doc(hidden)]
    unsafe fn future<'scope, F, T>(finish: &'scope Self::Finish, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(Self::Token<'t>) -> T + Send + 'scope,
        T: Send + 'scope;

    /// Whether a task of a scope can begin later. If not, [`Self::after`] is not called.
    #[doc(hidden)]
    const DEFERS: bool = false;

    /// Returns the flag that says whether tasks that have not begun are dropped.
    #[doc(hidden)]
    fn cancelled(finish: &Self::Finish) -> &CancelState;

    /// Makes a task that begins when its inputs have ended. Returns a handle to its result, unless it is a spawn.
    ///
    /// # Safety
    ///
    /// `'scope` is the lifetime of that name in the [`Scope`] that holds `finish`, as for
    /// [`Self::spawn`]. There is an input, and all inputs are tasks of this scope.
    #[doc(hidden)]
    unsafe fn after<'scope, F, T>(
        finish: &'scope Self::Finish,
        inputs: Inputs,
        is_spawn: bool,
        f: F,
    ) -> Option<Handle<T>>
    where
        F: for<'t> FnOnce(Self::Token<'t>) -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let _ = (finish, inputs, is_spawn, f);
        unreachable!("see `DEFERS`")
    }

    /// Implements [`Scope::join`].
    #[doc(hidden)]
    fn join<A, B, RA, RB>(finish: &Self::Finish, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Self::Token<'t>) -> RA + Send,
        B: for<'t> FnOnce(Self::Token<'t>) -> RB + Send,
        RA: Send,
        RB: Send;
}
