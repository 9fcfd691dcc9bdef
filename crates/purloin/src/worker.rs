//! The programming model: [`Worker`] and [`Scope`].

use std::cmp;
use std::marker::PhantomData;
use std::ops::ControlFlow;

use crate::cancel::{Cancel, CancelFlag, CancelState, Cancelled};
use crate::graph::After;
use crate::handle::Handle;
use crate::loops::{self, Internal, IntoIterations};
use crate::par::{Par, Source};
use crate::pool::current_scope;
use crate::runtime::ReturnBarrier;
use crate::shared_handle::SharedHandle;
use crate::sort;

/// A token that lets a program create parallelism: joins, finishes, futures and loops.
///
/// A token stands for the worker that runs the current code. It is small, and passed **by value**.
/// A function that is generic over its `Worker` runs under every scheduler, serially, and under
/// measuring instruments: each of these is a type that implements this trait.
///
/// ```
/// use purloin::{Pool, Worker};
///
/// fn fib<W: Worker>(mut w: W, n: u32) -> u64 {
///     if n < 2 {
///         return n.into();
///     }
///     let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
///     a + b
/// }
///
/// let pool = Pool::new()?;
/// assert_eq!(pool.run(|w| fib(w, 20)), 6765);
/// assert_eq!(fib(purloin::Serial, 20), 6765);
/// # Ok::<(), purloin::BuildError>(())
/// ```
///
/// # How tokens work
///
/// Each closure receives a token of its own, which is valid while the closure runs. Meanwhile the
/// token from which it was made is mutably borrowed. So the program always uses the newest token of
/// a worker, and that token carries the top of the worker's task stack in a register.
///
/// The compiler rejects the misuse of tokens.
///
/// A token is not [`Send`], so a closure that may run on another worker cannot capture it:
///
/// ```compile_fail,E0277
/// # use purloin::{Pool, Worker};
/// # let pool = Pool::new().unwrap();
/// pool.run(|mut w| purloin::join(|| (), || w.join(|_| (), |_| ())));
/// ```
///
/// A token cannot leave its closure:
///
/// ```compile_fail
/// # use purloin::{Pool, Worker};
/// # let pool = Pool::new().unwrap();
/// let mut kept = pool.run(|w| w);
/// # kept.join(|_| (), |_| ());
/// ```
///
/// ```compile_fail,E0521
/// # use purloin::{Pool, Worker};
/// # let pool = Pool::new().unwrap();
/// pool.run(|mut w| {
///     let mut kept = None;
///     w.lend(|inner| kept = Some(inner));
/// });
/// ```
///
/// A token cannot be used while it is lent:
///
/// ```compile_fail,E0499
/// # use purloin::{Pool, Worker};
/// # let pool = Pool::new().unwrap();
/// pool.run(|mut w| w.lend(|_| w.join(|_| (), |_| ())));
/// ```
///
/// A wrapper that makes any value `Send`, and checks the thread at run time, can carry a token into
/// a closure that has another token of the same worker. This token is then *stale*. It still works,
/// but its joins take a few nanoseconds more, because they look up the top in memory.
///
/// # Panics
///
/// If a closure panics, every other closure that was started runs to its end, and then the panic
/// continues in the caller. As in rayon, that includes the second closure of a join whose first
/// closure has panicked. If both closures of a join panic, the caller sees the panic of the first;
/// if the body of a finish and a task panic, it sees the panic of the body.
///
/// There are three exceptions:
///
/// - A loop starts few iterations after one has panicked.
/// - [`Serial`](crate::Serial) stops where a serial program would stop.
/// - If joins nest too deeply for the task stack, the innermost join panics, and no join that this
///   panic passes starts its second closure.
pub trait Worker: Sized {
    /// The token that closures receive.
    ///
    /// For every worker of this crate, this is the worker's own type with another lifetime, so a
    /// recursive function is compiled once.
    type Token<'t>: for<'u> Worker<Token<'u> = Self::Token<'u>>;

    /// The implementation behind [`Scope`], which is generic over it.
    type Spawner: Spawner;

    /// Runs two closures, possibly in parallel, and returns both results.
    ///
    /// `a` runs at once. `b` becomes a task that another worker may steal while `a` runs. If no
    /// thief has taken it, `b` runs here next, by a plain call. If a thief still runs `b`, this
    /// worker helps it: it runs tasks that descend from `b`, and **never anything else**. So a
    /// program may hold a lock across a join, as long as the closures do not take it.
    ///
    /// ```
    /// # use purloin::Worker;
    /// fn sum<W: Worker>(mut w: W, numbers: &[u64]) -> u64 {
    ///     if let [number] = numbers {
    ///         return *number;
    ///     }
    ///     let (left, right) = numbers.split_at(numbers.len() / 2);
    ///     let (a, b) = w.join(|w| sum(w, left), |w| sum(w, right));
    ///     a + b
    /// }
    /// # assert_eq!(sum(purloin::Serial, &[1, 2, 3]), 6);
    /// ```
    ///
    /// Closures that own a few words (`move`) are faster than closures that borrow, because their
    /// captures lie in the task itself.
    ///
    /// Source: Wool, section 3 (spawn, call, join).
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Self::Token<'t>) -> RA + SendTask,
        B: for<'t> FnOnce(Self::Token<'t>) -> RB + SendTask,
        RA: Send,
        RB: Send;

    /// Runs `body`, which may spawn tasks into its scope. Returns the result of `body` when `body`
    /// and all of these tasks have ended.
    ///
    /// ```
    /// # use purloin::{Pool, Worker};
    /// # let pool = Pool::new()?;
    /// let mut squares = [1, 2, 3, 4];
    /// pool.run(|mut w| {
    ///     w.finish(|scope| {
    ///         for number in &mut squares {
    ///             scope.spawn(move |_| *number *= *number);
    ///         }
    ///     })
    /// });
    /// assert_eq!(squares, [1, 4, 9, 16]);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// Inside the finish this token is lent; use [`Scope::join`] there.
    ///
    /// Source: X10's finish and async, as in Return barrier, section 2.3.
    fn finish<'env, F, R>(&mut self, body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, Self::Spawner>) -> R;

    /// Lends this token to `f`: calls `f` with a token that it may pass on by value.
    ///
    /// ```
    /// # use purloin::Worker;
    /// fn twice<W: Worker>(w: &mut W, numbers: &[u64]) -> u64 {
    /// #   fn sum<W: Worker>(_: W, numbers: &[u64]) -> u64 { numbers.iter().sum() }
    ///     let once = w.lend(|w| sum(w, numbers));
    ///     once + w.lend(|w| sum(w, numbers))
    /// }
    /// # assert_eq!(twice(&mut purloin::Serial, &[1, 2, 3]), 12);
    /// ```
    fn lend<R>(&mut self, f: impl for<'t> FnOnce(Self::Token<'t>) -> R) -> R;

    /// Makes `f` a task, which any worker may run from now on, and returns a handle to its result.
    ///
    /// [`Worker::get`] waits for the result, and runs the task itself if no worker has begun it.
    /// The task ends before its scope does, even if its result is never fetched. The scope is the
    /// closure that received this token, or a closure around it, or at the latest
    /// [`Pool::run`](crate::Pool::run). A task that borrows from its surroundings needs
    /// [`Scope::future`].
    ///
    /// Do not hold a lock that `f` takes: when hundreds of thousands of tasks wait on this worker, this
    /// call runs `f` itself. The [serial elision](crate::Serial) always does. [`Scope::future`] never
    /// does on a pool.
    ///
    /// ```
    /// use purloin::{Pool, Worker};
    ///
    /// fn fib<W: Worker>(mut w: W, n: u32) -> u64 {
    ///     if n < 2 {
    ///         return n.into();
    ///     }
    ///     let a = w.future(move |w| fib(w, n - 1));
    ///     let b = w.lend(|w| fib(w, n - 2));
    ///     w.get(a) + b
    /// }
    ///
    /// let pool = Pool::new()?;
    /// assert_eq!(pool.run(|w| fib(w, 20)), 6765);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// Source: Channel (channel-based futures).
    fn future<F, T>(&mut self, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(Self::Token<'t>) -> T + SendTask + 'static,
        T: Send + 'static;

    /// Waits for the result of a future. See [`Handle::get`].
    ///
    /// # Panics
    ///
    /// Panics if the task has panicked.
    fn get<T: Send>(&mut self, future: Handle<T>) -> T {
        future.get()
    }

    /// Runs `body` for each of the iterations, possibly in parallel. This is a shorthand for
    /// `self.par(iterations).for_each(body)`; see [`Par`] for other loops.
    ///
    /// There is no grain size to choose. A worker runs the iterations in their order, as a plain
    /// loop would. When another worker has nothing to do, it gets a part of the remaining
    /// iterations.
    ///
    /// ```
    /// # use purloin::{Pool, Worker};
    /// # let pool = Pool::new()?;
    /// let mut squares = vec![0; 1000];
    /// pool.run(|mut w| {
    ///     w.for_each((0..1000, &mut squares), |(i, square)| *square = i * i);
    ///     w.for_each(&mut squares, |square| *square += 1);
    ///     w.par(&mut squares).chunks(10).for_each(|ten| ten.reverse());
    /// });
    /// assert_eq!(squares[9], 1);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// A loop runs over [`IntoIterations`]: ranges, slices, collections, and tuples of
    /// these. A body that is itself parallel needs [`Par::for_each_with_token`].
    ///
    /// # Panics
    ///
    /// Panics if an iteration panics, after all iterations that were started have ended. Other
    /// iterations may never start.
    ///
    /// Source: Channel (splittable tasks).
    #[inline]
    #[doc(alias = "par_iter")]
    fn for_each<I, F>(&mut self, iterations: I, body: F)
    where
        I: IntoIterations,
        F: Fn(I::Item) + SyncBody,
    {
        loops::for_each(self, iterations.into_iterations(), |_, item| body(item));
    }

    /// Maps each of the iterations, possibly in parallel, and combines the results. Returns `None`
    /// if there are no iterations. This is a shorthand for
    /// `self.par(iterations).map(map).reduce(combine)`.
    ///
    /// Results are combined in the order of the iterations, so `combine` need not be commutative.
    /// It must be associative: the bracketing may differ from run to run, and with it the rounding
    /// of floating-point sums.
    ///
    /// ```
    /// # use purloin::{Pool, Worker};
    /// # let pool = Pool::new()?;
    /// let words = ["steal", "pilfer", "purloin"];
    /// let longest = pool.run(|mut w| w.map_reduce(&words, |word| word.len(), usize::max));
    /// assert_eq!(longest, Some(7));
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if `map` or `combine` panics, after all iterations that were started have ended. The
    /// results of these iterations are dropped.
    #[inline]
    #[doc(alias = "reduce_with")]
    #[doc(alias = "min")]
    #[doc(alias = "max")]
    fn map_reduce<I, M, C, T>(&mut self, iterations: I, map: M, combine: C) -> Option<T>
    where
        I: IntoIterations,
        M: Fn(I::Item) -> T + SyncBody,
        C: Fn(T, T) -> T + Sync,
        T: Send,
    {
        let iterations = iterations.into_iterations();
        loops::map_reduce(self, iterations, |_, item| map(item), combine)
    }

    /// Sorts a slice. Equal elements keep their order.
    ///
    /// ```
    /// # use purloin::{Pool, Worker};
    /// # let pool = Pool::new()?;
    /// let mut words = ["steal", "pilfer", "purloin"];
    /// pool.run(|mut w| w.sort(&mut words));
    /// assert_eq!(words, ["pilfer", "purloin", "steal"]);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// The sort allocates a buffer for as many elements as the slice has, unless it runs on a single
    /// worker. If the order of equal elements does not matter, [`Self::sort_unstable`] is faster.
    ///
    /// # Panics
    ///
    /// Panics if a comparison panics, and may panic if comparisons contradict each other. In any
    /// case the slice then still has all its elements, in some order.
    #[inline]
    fn sort<T: Ord + Send>(&mut self, slice: &mut [T]) {
        sort::sort_by(self, slice, &T::cmp);
    }

    /// Sorts a slice in the order that `compare` defines. Equal elements keep their order. See
    /// [`Self::sort`].
    ///
    /// ```
    /// # use purloin::{Pool, Worker};
    /// # let pool = Pool::new()?;
    /// let mut numbers = [2.5, -1.0, 7.25];
    /// pool.run(|mut w| w.sort_by(&mut numbers, |a, b| f64::total_cmp(b, a)));
    /// assert_eq!(numbers, [7.25, 2.5, -1.0]);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    #[inline]
    fn sort_by<T, C>(&mut self, slice: &mut [T], compare: C)
    where
        T: Send,
        C: Fn(&T, &T) -> cmp::Ordering + Sync,
    {
        sort::sort_by(self, slice, &compare);
    }

    /// Sorts a slice by a key of each element. Elements with equal keys keep their order. See
    /// [`Self::sort`].
    ///
    /// The sort computes two keys for each comparison. If that takes long,
    /// [`Self::sort_by_cached_key`] is faster.
    ///
    /// ```
    /// # use purloin::{Pool, Worker};
    /// # let pool = Pool::new()?;
    /// let mut words = ["purloin", "steal", "pilfer"];
    /// pool.run(|mut w| w.sort_by_key(&mut words, |word| word.len()));
    /// assert_eq!(words, ["steal", "pilfer", "purloin"]);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    #[inline]
    fn sort_by_key<T, K, F>(&mut self, slice: &mut [T], key: F)
    where
        T: Send,
        K: Ord,
        F: Fn(&T) -> K + Sync,
    {
        sort::sort_by(self, slice, &|a: &T, b: &T| key(a).cmp(&key(b)));
    }

    /// Sorts a slice by a key of each element, and computes each key once. Elements with equal keys
    /// keep their order. See [`Self::sort`].
    ///
    /// ```
    /// # use purloin::{Pool, Worker};
    /// # let pool = Pool::new()?;
    /// let mut words = ["Steal", "pilfer", "Purloin"];
    /// pool.run(|mut w| w.sort_by_cached_key(&mut words, |word| word.to_lowercase()));
    /// assert_eq!(words, ["pilfer", "Purloin", "Steal"]);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    fn sort_by_cached_key<T, K, F>(&mut self, slice: &mut [T], key: F)
    where
        T: Send,
        K: Ord + Send,
        F: Fn(&T) -> K + Sync,
    {
        sort::sort_by_cached_key(self, slice, key);
    }

    /// Sorts a slice in place. Equal elements may change their order.
    ///
    /// ```
    /// # use purloin::{Pool, Worker};
    /// # let pool = Pool::new()?;
    /// let mut numbers = [3, 1, 4, 1, 5];
    /// pool.run(|mut w| w.sort_unstable(&mut numbers));
    /// assert_eq!(numbers, [1, 1, 3, 4, 5]);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Self::sort`] does.
    #[inline]
    fn sort_unstable<T: Ord + Send>(&mut self, slice: &mut [T]) {
        sort::sort_unstable_by(self, slice, &T::cmp);
    }

    /// Sorts a slice in place, in the order that `compare` defines. Equal elements may change their
    /// order. See [`Self::sort_unstable`].
    ///
    /// ```
    /// # use purloin::{Pool, Worker};
    /// # let pool = Pool::new()?;
    /// let mut numbers = [2.5, -1.0, 7.25];
    /// pool.run(|mut w| w.sort_unstable_by(&mut numbers, f64::total_cmp));
    /// assert_eq!(numbers, [-1.0, 2.5, 7.25]);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    #[inline]
    fn sort_unstable_by<T, C>(&mut self, slice: &mut [T], compare: C)
    where
        T: Send,
        C: Fn(&T, &T) -> cmp::Ordering + Sync,
    {
        sort::sort_unstable_by(self, slice, &compare);
    }

    /// Sorts a slice in place, by a key of each element. Elements with equal keys may change their
    /// order. See [`Self::sort_unstable`].
    ///
    /// ```
    /// # use purloin::{Pool, Worker};
    /// # let pool = Pool::new()?;
    /// let mut numbers = [-3, 1, 2];
    /// pool.run(|mut w| w.sort_unstable_by_key(&mut numbers, |number: &i32| number.abs()));
    /// assert_eq!(numbers, [1, 2, -3]);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    #[inline]
    fn sort_unstable_by_key<T, K, F>(&mut self, slice: &mut [T], key: F)
    where
        T: Send,
        K: Ord,
        F: Fn(&T) -> K + Sync,
    {
        sort::sort_unstable_by(self, slice, &|a: &T, b: &T| key(a).cmp(&key(b)));
    }

    /// Makes a parallel iterator that runs on this worker, from a reference to a collection, a range, or anything
    /// else that a loop can run over. For programs that are generic over their worker; others call
    /// [`par`](crate::prelude::Parallel::par).
    ///
    /// ```
    /// # use purloin::Serial;
    /// use purloin::prelude::*;
    ///
    /// let squares: Vec<u32> = Serial.par(&[1, 2, 3]).map(|n| n * n).collect();
    /// assert_eq!(squares, [1, 4, 9]);
    /// ```
    #[inline]
    fn par<I: IntoIterations>(&mut self, items: I) -> Par<&mut Self, Source<I::Iterations>> {
        Par::over(self, items)
    }

    /// Folds the iterations like [`Par::fold`]. If `step` returns [`ControlFlow::Break`], its
    /// run ends with that value. All other runs go on.
    ///
    /// All loops are built on this method. Implementors of `Worker` may override it.
    #[inline]
    fn run_loop<I, A, N, F, C>(&mut self, iterations: I, init: N, step: F, combine: C) -> A
    where
        I: IntoIterations,
        N: Fn() -> A + Sync,
        F: for<'t> Fn(Self::Token<'t>, A, I::Item) -> ControlFlow<A, A> + Sync,
        C: Fn(A, A) -> A + Sync,
        A: Send,
    {
        let iterations = iterations.into_iterations();
        self.lend(|w| loops::run_loop::<Self, _, _, _, _, _>(w, iterations, init, step, combine))
    }

    /// Returns a hint for loops: how many of the `rest` iterations to split off now. The hint is 0
    /// unless a thief asks for work and this worker has no other task to offer.
    fn split_hint(&mut self, rest: usize) -> usize;

    /// Returns the flag of the scope in whose body or task this code runs, if there is one. It stays
    /// valid while this code runs.
    #[doc(hidden)]
    fn cancel_flag(&self, _: Internal) -> CancelFlag {
        current_scope()
    }

    /// Returns a hint for sorts: into how many pieces to divide a slice, at least. The default
    /// suits a few workers.
    fn sort_pieces(&self) -> usize {
        32
    }
}

/// A closure that may run on another worker: any closure that is [`Send`].
///
/// The compiler reports a closure that is not `Send` under this name, because it can then say what
/// is usually wrong: the closure captures a token.
#[diagnostic::on_unimplemented(
    message = "this closure may run on another worker, but captures a token or another value that is not `Send`",
    label = "captures a value that must stay on its thread",
    note = "use the token that the closure receives: `|w| f(w)` instead of `|_| f(w)`",
    note = "\"Tokens in practice\", a page of Purloin's documentation, has more about tokens"
)]
pub trait SendTask: Send {}

#[diagnostic::do_not_recommend]
impl<T: Send> SendTask for T {}

/// The body of a loop, which may run on several workers at once: any closure that is [`Sync`].
///
/// The compiler reports a closure that is not `Sync` under this name, because it can then say what
/// is usually wrong: the closure captures a token.
#[diagnostic::on_unimplemented(
    message = "this loop's body may run on several workers at once, but captures a token or another value that is not `Sync`",
    label = "captures a value that must stay on its thread",
    note = "a body that is itself parallel needs a token of its own: `w.par(items).for_each_with_token(|w, item| ..)`, `map_with_token`",
    note = "\"Tokens in practice\", a page of Purloin's documentation, has more about tokens"
)]
pub trait SyncBody: Sync {}

#[diagnostic::do_not_recommend]
impl<T: Sync> SyncBody for T {}

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

    /// Whether futures of a scope can begin later. If not, the next three methods are not called.
    #[doc(hidden)]
    const DEFERS: bool = false;

    /// Returns the flag that says whether tasks that have not begun are dropped.
    #[doc(hidden)]
    fn cancelled(finish: &Self::Finish) -> &CancelState;

    /// Spawns the ticket of a [deferred future](Self::deferred_future), which runs even if the scope
    /// is cancelled. If a thread outside the pool waits for it, the caller `calls` an idle worker.
    ///
    /// # Safety
    ///
    /// As for [`Self::spawn`].
    #[doc(hidden)]
    unsafe fn spawn_ticket<'scope, F>(finish: &'scope Self::Finish, ticket: F, calls: bool)
    where
        F: for<'t> FnOnce(Self::Token<'t>) + Send + 'scope,
    {
        let _ = calls;
        // SAFETY: the caller guarantees the same.
        unsafe { Self::spawn(finish, ticket) };
    }

    /// Makes a future that no worker runs by itself. The caller spawns its ticket, the second
    /// value.
    ///
    /// # Safety
    ///
    /// `'scope` is the lifetime of that name in the [`Scope`] that holds `finish`, as for
    /// [`Self::spawn`]. The ticket is spawned into the scope, and runs once; or it is dropped once the
    /// future has ended.
    #[doc(hidden)]
    unsafe fn deferred_future<'scope, F, T>(
        finish: &'scope Self::Finish,
        f: F,
    ) -> (
        Handle<T>,
        impl for<'t> FnOnce(Self::Token<'t>) + Send + 'scope,
    )
    where
        F: for<'t> FnOnce(Self::Token<'t>) -> T + Send + 'scope,
        T: Send + 'scope,
    {
        // SAFETY: the caller guarantees the same.
        let handle = unsafe { Self::future(finish, f) };
        (handle, |_: Self::Token<'_>| ())
    }

    /// Keeps the finish from ending until [`Self::release`].
    #[doc(hidden)]
    fn hold(finish: &Self::Finish) {
        let _ = finish;
    }

    /// Takes a [`Self::hold`] back. The finish may be gone afterwards.
    ///
    /// # Safety
    ///
    /// The caller has held the finish, and takes each hold back once.
    #[doc(hidden)]
    unsafe fn release(finish: *const Self::Finish) {
        let _ = finish;
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

impl<'scope> Scope<'scope, '_> {
    /// Lets each worker of the pool run `f` once before the finish ends. See
    /// [`Pool::broadcast`](crate::Pool::broadcast).
    ///
    /// ```
    /// # use purloin::Pool;
    /// # use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    /// let pool = Pool::builder().workers(3).build()?;
    /// let seen = AtomicUsize::new(0);
    /// pool.finish(|scope| {
    ///     scope.spawn_broadcast(|w| {
    ///         seen.fetch_add(1 << w.index(), Relaxed);
    ///     });
    /// });
    /// assert_eq!(seen.into_inner(), 0b111);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    pub fn spawn_broadcast<F>(&'scope self, f: F)
    where
        F: for<'t> Fn(crate::Token<'t>) + Send + Sync + 'scope,
    {
        self.finish.spawn_broadcast(f);
    }
}

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
    /// - A loop [`for_each`](Par::for_each) that runs in the scope's body or in one of its tasks
    ///   stops before the next block of iterations, some microseconds long. It does so whichever
    ///   token it has, if any, and whichever worker runs it: in a closure of a [`join`](Self::join),
    ///   in a future, or in a call of [`Pool::run`](crate::Pool::run) that the scope waits for. A
    ///   loop within several scopes belongs to the innermost one. Other loops go on, because their
    ///   results would be wrong; use [`Self::check`] with [`try_for_each`](Par::try_for_each) and
    ///   [`try_fold`](Par::try_fold).
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

    /// Spawns a task whose result several others need, and returns a shared handle to it.
    ///
    /// Unlike with [`future`](Self::future) and [`Handle::share`], other tasks can begin
    /// [after](Self::after) this one.
    pub fn shared_future<F, T>(&'scope self, f: F) -> SharedHandle<T>
    where
        F: for<'t> FnOnce(S::Token<'t>) -> T + SendTask + 'scope,
        T: Send + 'scope,
    {
        After::nothing(self).shared_future(f)
    }

    /// Begins the description of a task that depends on others: the node of a dependency graph. It
    /// begins when all of these tasks have ended, and no worker waits meanwhile.
    ///
    /// ```
    /// # use purloin::{Pool, Worker};
    /// # let pool = Pool::new()?;
    /// let total = pool.run(|mut w| {
    ///     w.finish(|scope| {
    ///         let parts = [1, 2, 3].map(|n| scope.shared_future(move |_| n * n));
    ///         let sum = scope.after(&parts).shared_future(move |_| {
    ///             parts.iter().map(|part| part.get()).sum::<u32>()
    ///         });
    ///         *sum.get()
    ///     })
    /// });
    /// assert_eq!(total, 14);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// A task can only depend on handles that exist when it is made, so tasks do not wait for each
    /// other in a circle.
    pub fn after<'d, T>(
        &'scope self,
        tasks: impl IntoIterator<Item = &'d SharedHandle<T>>,
    ) -> After<'scope, 'env, S>
    where
        T: Send + 'scope + 'd,
    {
        After::nothing(self).and(tasks)
    }

    /// Runs two closures, possibly in parallel. For the body of the finish, where the token is
    /// lent. See [`Worker::join`].
    ///
    /// A thread outside the pool waits until an idle worker runs the join. If no worker becomes
    /// idle within 20 milliseconds, a [spare worker](crate::Builder::spare_workers) runs it.
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
