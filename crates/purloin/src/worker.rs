//! The programming model: [`Worker`].

use std::cmp;
use std::ops::ControlFlow;

use crate::cancel::CancelFlag;
use crate::handle::Handle;
use crate::loops::{self, Internal, IntoIterations};
use crate::par::{Par, Source};
use crate::scope::{Scope, Spawner};
use crate::sort;
use crate::this_thread::current_scope;

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
    /// [`Pool::run`](crate::Pool::run). [`purloin::future`](crate::future()) names the code that is in no scope. A task that borrows from its surroundings needs
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
    /// ```
    /// # use purloin::{Pool, Worker};
    /// # let pool = Pool::new()?;
    /// let mut squares = vec![0; 1000];
    /// pool.run(|mut w| w.for_each((0..1000, &mut squares), |(i, square)| *square = i * i));
    /// assert_eq!(squares[9], 81);
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
    /// `self.par(iterations).map(map).reduce(combine)`; see [`Par::reduce`] about the order.
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
    /// # use purloin::{Serial, Worker};
    /// let mut words = ["steal", "pilfer", "purloin"];
    /// Serial.sort(&mut words);
    /// assert_eq!(words, ["pilfer", "purloin", "steal"]);
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
    /// # use purloin::{Serial, Worker};
    /// let mut numbers = [2.5, -1.0, 7.25];
    /// Serial.sort_by(&mut numbers, |a, b| f64::total_cmp(b, a));
    /// assert_eq!(numbers, [7.25, 2.5, -1.0]);
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
    /// # use purloin::{Serial, Worker};
    /// let mut words = ["purloin", "steal", "pilfer"];
    /// Serial.sort_by_key(&mut words, |word| word.len());
    /// assert_eq!(words, ["steal", "pilfer", "purloin"]);
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
    /// # use purloin::{Serial, Worker};
    /// let mut words = ["Steal", "pilfer", "Purloin"];
    /// Serial.sort_by_cached_key(&mut words, |word| word.to_lowercase());
    /// assert_eq!(words, ["pilfer", "Purloin", "Steal"]);
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
    /// # use purloin::{Serial, Worker};
    /// let mut numbers = [3, 1, 4, 1, 5];
    /// Serial.sort_unstable(&mut numbers);
    /// assert_eq!(numbers, [1, 1, 3, 4, 5]);
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
    /// # use purloin::{Serial, Worker};
    /// let mut numbers = [2.5, -1.0, 7.25];
    /// Serial.sort_unstable_by(&mut numbers, f64::total_cmp);
    /// assert_eq!(numbers, [-1.0, 2.5, 7.25]);
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
    /// # use purloin::{Serial, Worker};
    /// let mut numbers = [-3, 1, 2];
    /// Serial.sort_unstable_by_key(&mut numbers, |number: &i32| number.abs());
    /// assert_eq!(numbers, [1, 2, -3]);
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
