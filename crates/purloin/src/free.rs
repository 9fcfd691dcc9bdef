//! Joins, finishes, futures and loops for code that has no token.

use std::cmp::Ordering;
use std::panic::resume_unwind;

use crate::handle::Handle;
use crate::loops::{Converted, ExactIterations, IntoIterations, Try};
use crate::par::{Here, Runner};
use crate::pool::{Me, Pool, Remote, current_of_default, global_or_default};
use crate::runtime::{self, ReturnBarrier, Token, in_registers};
use crate::worker::{Scope, SendTask, Worker};

/// Runs two closures, possibly in parallel, and returns both results. For code that cannot pass a
/// token; with one, [`Worker::join`] is faster.
///
/// On a worker of a pool with the default scheduler, the join uses that pool. On any other thread
/// it uses the [global pool](crate::global).
///
/// ```
/// fn fib(n: u32) -> u64 {
///     if n < 2 {
///         return n.into();
///     }
///     let (a, b) = purloin::join(|| fib(n - 1), || fib(n - 2));
///     a + b
/// }
/// assert_eq!(fib(20), 6765);
/// ```
///
/// # Panics
///
/// Panics if a closure panics, after both closures have ended, or if no thread can be started for
/// the global pool.
#[inline(always)]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + SendTask,
    B: FnOnce() -> RB + SendTask,
    RA: Send,
    RB: Send,
{
    join_or(a, b, global_or_default)
}

/// Implements [`join`]: on a worker of a pool with the default scheduler it uses that pool, and on
/// any other thread the pool that `outside` returns.
#[inline(always)]
pub fn join_or<A, B, RA, RB, P>(a: A, b: B, outside: P) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
    P: Fn() -> &'static Pool + Copy + Sync,
{
    match const { in_registers::<A, B>() } {
        true => join_in_registers(a, b, outside),
        false => match current_of_default() {
            Some(thread) => join_on(thread, a, b),
            None => from_outside(a, b, outside(), join_here),
        },
    }
}

/// Joins closures that are passed in registers.
///
/// This function is never inlined; the function of the same name in `runtime/join.rs` says why. It
/// also finds the worker. In [`join`], which is inlined into the program, the access to the
/// thread-local value would be a call.
#[inline(never)]
fn join_in_registers<A, B, RA, RB, P>(a: A, b: B, outside: P) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
    P: Fn() -> &'static Pool + Copy + Sync,
{
    match current_of_default() {
        Some(thread) => join_on(thread, a, b),
        None => from_outside(a, b, outside(), move |a, b| {
            join_in_registers(a, b, outside)
        }),
    }
}

#[inline(always)]
fn join_on<A, B, RA, RB>(thread: Me<'_, ReturnBarrier>, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    Token::at_top(thread).join_inline::<false, _, _, _, _>(move |_| a(), move |_| b())
}

/// Joins on the thread of a worker.
fn join_here<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_on(expect_current(), a, b)
}

/// Implements [`join`] for closures that are told whether they run on another thread than the one
/// that called. See [`join_or`].
#[inline(always)]
pub fn join_context_or<A, B, RA, RB>(a: A, b: B, outside: fn() -> &'static Pool) -> (RA, RB)
where
    A: FnOnce(bool) -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    match current_of_default() {
        Some(thread) => join_context_on(thread, thread.remote(), a, b),
        None => from_outside(a, b, outside(), join_context_here),
    }
}

/// Joins closures for `caller`, on the thread of `thread`. The caller is null if it is no worker.
#[inline(always)]
fn join_context_on<A, B, RA, RB>(
    thread: Me<'_, ReturnBarrier>,
    caller: *const Remote<ReturnBarrier>,
    a: A,
    b: B,
) -> (RA, RB)
where
    A: FnOnce(bool) -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    Token::at_top(thread).join_inline::<false, _, _, _, _>(
        move |w| a(!w.is_of(caller)),
        move |w| b(!w.is_of(caller)),
    )
}

/// Joins on the thread of a worker, for a caller that is no worker.
fn join_context_here<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(bool) -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_context_on(expect_current(), std::ptr::null(), a, b)
}

fn expect_current<'w>() -> Me<'w, ReturnBarrier> {
    current_of_default().expect("a call to a pool runs on a worker")
}

/// Calls `f` with these closures on a worker of `pool`.
///
/// Every join of a program compiles this function once more, so it does as little as it can. The
/// closures are moved to boxes, so that the path of a join on a worker keeps them out of memory. The
/// calling thread frees the boxes: see [`Job::in_frame`](crate::pool::Job::in_frame).
#[cold]
#[inline(never)]
fn from_outside<A, B, R>(a: A, b: B, pool: &Pool, f: impl Fn(A, B) -> R + Sync) -> R
where
    A: Send,
    B: Send,
    R: Send,
{
    let mut closures = Box::new(Some((a, b)));
    let mut result = None;
    run_outside(pool, &mut || {
        result = closures.take().map(|(a, b)| f(a, b));
    });
    result.expect("the worker has run the call")
}

/// Calls `f` on a worker of `pool`.
#[cold]
#[inline(never)]
fn run_outside(pool: &Pool, f: &mut (dyn FnMut() + Send)) {
    pool.run(|_| f());
}

/// Runs `body`, and waits until all tasks that it spawns have ended. For code that has no token;
/// see [`Worker::finish`].
///
/// On a worker of a pool with the default scheduler, `body` runs there. On any other thread a
/// worker of the [global pool](crate::global) runs it.
///
/// ```
/// let mut words = ["one", "two"].map(String::from);
/// purloin::finish(|scope| {
///     for word in &mut words {
///         scope.spawn(move |_| word.push('!'));
///     }
/// });
/// assert_eq!(words, ["one!", "two!"]);
/// ```
///
/// # Panics
///
/// Panics if the body or a task panics, after all of them have ended, or if no thread can be
/// started for the global pool.
pub fn finish<'env, F, R>(body: F) -> R
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, ReturnBarrier>) -> R + Send,
    R: Send,
{
    match current_of_default() {
        Some(thread) => Token::at_top(thread).finish(body),
        // The closure runs on a worker, so this recurses once.
        None => global_or_default().run(move |_| finish(body)),
    }
}

/// Makes `f` a task, and returns a handle to its result. For code that has no token; see
/// [`Worker::future`].
///
/// On a worker of a pool with the default scheduler, the task ends before its scope does, as with a
/// token. On any other thread an idle worker of the [global pool](crate::global) runs the task.
/// Without a worker there is no scope: only [`Handle::get`] waits for the task.
///
/// ```
/// let six = purloin::future(|| 6); // a worker runs it, while this thread goes on
/// let seven = 7;
/// assert_eq!(six.get() * seven, 42);
/// ```
///
/// # Panics
///
/// Panics if no thread can be started for the global pool. A panic of the task reaches
/// [`Handle::get`].
pub fn future<F, T>(f: F) -> Handle<T>
where
    F: FnOnce() -> T + SendTask + 'static,
    T: Send + 'static,
{
    match current_of_default() {
        Some(thread) => Token::at_top(thread).future(move |_| f()),
        None => global_or_default().future(move |_| f()),
    }
}

/// Runs `body` for each of the iterations, possibly in parallel. For code that has no token; see
/// [`Worker::for_each`].
///
/// On a worker of a pool with the default scheduler, the loop uses that pool. On any other thread
/// it uses the [global pool](crate::global).
///
/// ```
/// let mut numbers = [1, 2, 3];
/// purloin::for_each(&mut numbers, |number| *number *= 2);
/// assert_eq!(numbers, [2, 4, 6]);
/// ```
///
/// # Panics
///
/// Panics if an iteration panics, after all iterations that were started have ended, or if no
/// thread can be started for the global pool.
#[doc(alias = "par_iter")]
pub fn for_each<I, F>(iterations: I, body: F)
where
    I: IntoIterations,
    F: Fn(I::Item) + Sync,
{
    let body = &body;
    loop_on_a_worker(iterations, move |mut w, items| w.for_each(items, body));
}

/// Maps each of the iterations, possibly in parallel, and combines the results in their order.
/// Returns `None` if there are no iterations. For code that has no token; see
/// [`Worker::map_reduce`].
///
/// On a worker of a pool with the default scheduler, the loop uses that pool. On any other thread
/// it uses the [global pool](crate::global).
///
/// ```
/// let squares = purloin::map_reduce(1..=4, |i| i * i, |a, b| a + b);
/// assert_eq!(squares, Some(30));
/// ```
///
/// # Panics
///
/// Panics if `map` or `combine` panics, after all iterations that were started have ended, or if no
/// thread can be started for the global pool.
#[doc(alias = "reduce_with")]
#[doc(alias = "min")]
#[doc(alias = "max")]
pub fn map_reduce<I, M, C, T>(iterations: I, map: M, combine: C) -> Option<T>
where
    I: IntoIterations,
    M: Fn(I::Item) -> T + Sync,
    C: Fn(T, T) -> T + Sync,
    T: Send,
{
    let (map, combine) = (&map, &combine);
    loop_on_a_worker(iterations, move |mut w, items| {
        w.map_reduce(items, map, combine)
    })
}

/// Maps each of the iterations, possibly in parallel, and combines the results in their order,
/// beginning with `identity()`. For code that has no token; see [`Worker::map_reduce_from`].
///
/// On a worker of a pool with the default scheduler, the loop uses that pool. On any other thread
/// it uses the [global pool](crate::global).
///
/// ```
/// let squares = purloin::map_reduce_from(1..=4, || 0, |i| i * i, |a, b| a + b);
/// assert_eq!(squares, 30);
/// ```
///
/// # Panics
///
/// Panics if a closure panics, after all iterations that were started have ended, or if no thread
/// can be started for the global pool.
#[doc(alias = "sum")]
#[doc(alias = "product")]
#[doc(alias = "count")]
#[doc(alias = "reduce")]
pub fn map_reduce_from<I, N, M, C, T>(iterations: I, identity: N, map: M, combine: C) -> T
where
    I: IntoIterations,
    N: Fn() -> T + Sync,
    M: Fn(I::Item) -> T + Sync,
    C: Fn(T, T) -> T + Sync,
    T: Send,
{
    let (identity, map, combine) = (&identity, &map, &combine);
    loop_on_a_worker(iterations, move |mut w, items| {
        w.map_reduce_from(items, identity, map, combine)
    })
}

/// Folds the iterations, possibly in parallel, and combines the results. For code that has no
/// token; see [`Worker::fold`].
///
/// On a worker of a pool with the default scheduler, the loop uses that pool. On any other thread
/// it uses the [global pool](crate::global).
///
/// ```
/// let vowels = purloin::fold(
///     &["steal", "pilfer", "purloin"],
///     String::new,
///     |found, word| found + &word.replace(|c| !"aeiou".contains(c), ""),
///     |left, right| left + &right,
/// );
/// assert_eq!(vowels, "eaieuoi");
/// ```
///
/// # Panics
///
/// Panics if a closure panics, after all iterations that were started have ended, or if no thread
/// can be started for the global pool.
pub fn fold<I, A, N, F, C>(iterations: I, init: N, step: F, combine: C) -> A
where
    I: IntoIterations,
    N: Fn() -> A + Sync,
    F: Fn(A, I::Item) -> A + Sync,
    C: Fn(A, A) -> A + Sync,
    A: Send,
{
    let (init, step, combine) = (&init, &step, &combine);
    loop_on_a_worker(iterations, move |mut w, items| {
        w.fold(items, init, step, combine)
    })
}

/// Runs `body` for each of the iterations, possibly in parallel, until one fails. For code that has no token;
/// see [`Worker::try_for_each`].
///
/// ```
/// let lines = ["7", "11", "twelve"];
/// assert!(purloin::try_for_each(&lines, |line| line.parse::<u64>().map(|_| ())).is_err());
/// ```
///
/// # Panics
///
/// Panics if a closure panics, after all iterations that were started have ended, or if no thread
/// can be started for the global pool.
pub fn try_for_each<I, F, R>(iterations: I, body: F) -> R
where
    I: IntoIterations,
    F: Fn(I::Item) -> R + Sync,
    R: Try<Output = ()> + Send,
{
    let body = &body;
    loop_on_a_worker(iterations, move |mut w, items| w.try_for_each(items, body))
}

/// Folds the iterations, possibly in parallel, until a step fails. For code that has no token;
/// see [`Worker::try_fold`].
///
/// ```
/// let add = |sum: u8, &size: &u8| sum.checked_add(size);
/// let sum = purloin::try_fold(&[200, 50, 10], || 0, add, u8::checked_add);
/// assert_eq!(sum, None);
/// ```
///
/// # Panics
///
/// Panics if a closure panics, after all iterations that were started have ended, or if no thread
/// can be started for the global pool.
pub fn try_fold<I, A, N, F, C, R>(iterations: I, init: N, step: F, combine: C) -> R
where
    I: IntoIterations,
    N: Fn() -> A + Sync,
    F: Fn(A, I::Item) -> R + Sync,
    C: Fn(A, A) -> R + Sync,
    A: Send,
    R: Try<Output = A> + Send,
{
    let (init, step, combine) = (&init, &step, &combine);
    loop_on_a_worker(iterations, move |mut w, items| {
        w.try_fold(items, init, step, combine)
    })
}

/// Maps each of the iterations, possibly in parallel, and combines the results, until a closure fails.
/// For code that has no token; see [`Worker::try_map_reduce`].
///
/// ```
/// let factorial = |n: u64| purloin::try_map_reduce(1..=n, Some, u64::checked_mul);
/// assert_eq!(factorial(5), Some(Some(120)));
/// assert_eq!(factorial(50), Some(None));
/// ```
///
/// # Panics
///
/// Panics if a closure panics, after all iterations that were started have ended, or if no thread
/// can be started for the global pool.
pub fn try_map_reduce<I, T, M, C, R>(iterations: I, map: M, combine: C) -> Option<R>
where
    I: IntoIterations,
    M: Fn(I::Item) -> R + Sync,
    C: Fn(T, T) -> R + Sync,
    T: Send,
    R: Try<Output = T> + Send,
{
    let (map, combine) = (&map, &combine);
    loop_on_a_worker(iterations, move |mut w, items| {
        w.try_map_reduce(items, map, combine)
    })
}

/// Returns whether `holds` is true for any of the iterations. For code that has no token;
/// see [`Worker::any`].
///
/// ```
/// assert!(purloin::any(0..1000, |n| n * n == 49));
/// ```
///
/// # Panics
///
/// Panics if a closure panics, after all iterations that were started have ended, or if no thread
/// can be started for the global pool.
pub fn any<I, F>(iterations: I, holds: F) -> bool
where
    I: IntoIterations,
    F: Fn(I::Item) -> bool + Sync,
{
    let holds = &holds;
    loop_on_a_worker(iterations, move |mut w, items| w.any(items, holds))
}

/// Returns whether `holds` is true for all of the iterations. For code that has no token;
/// see [`Worker::all`].
///
/// ```
/// assert!(purloin::all(0..1000, |n| n * n != 50));
/// ```
///
/// # Panics
///
/// Panics if a closure panics, after all iterations that were started have ended, or if no thread
/// can be started for the global pool.
pub fn all<I, F>(iterations: I, holds: F) -> bool
where
    I: IntoIterations,
    F: Fn(I::Item) -> bool + Sync,
{
    let holds = &holds;
    loop_on_a_worker(iterations, move |mut w, items| w.all(items, holds))
}

/// Returns an item for which `holds` is true, or `None` if there is none. For code that has no token;
/// see [`Worker::find_any`].
///
/// ```
/// let even = purloin::find_any(&[3, 4, 5, 6], |n| *n % 2 == 0);
/// assert!(even == Some(&4) || even == Some(&6));
/// ```
///
/// # Panics
///
/// Panics if a closure panics, after all iterations that were started have ended, or if no thread
/// can be started for the global pool.
pub fn find_any<I, F>(iterations: I, holds: F) -> Option<I::Item>
where
    I: IntoIterations,
    I::Item: Send,
    F: Fn(&I::Item) -> bool + Sync,
{
    let holds = &holds;
    loop_on_a_worker(iterations, move |mut w, items| w.find_any(items, holds))
}

/// Returns the first item for which `holds` is true, or `None` if there is none. For code that has no token;
/// see [`Worker::find_first`].
///
/// ```
/// assert_eq!(purloin::find_first(&[3, 4, 5, 6], |n| *n % 2 == 0), Some(&4));
/// ```
///
/// # Panics
///
/// Panics if a closure panics, after all iterations that were started have ended, or if no thread
/// can be started for the global pool.
pub fn find_first<I, F>(iterations: I, holds: F) -> Option<I::Item>
where
    I: IntoIterations<Iterations: ExactIterations>,
    I::Item: Send,
    F: Fn(&I::Item) -> bool + Sync,
{
    let holds = &holds;
    loop_on_a_worker(iterations, move |mut w, items| w.find_first(items, holds))
}

/// Returns the position of the first item for which `holds` is true, or `None` if there is none. For
/// code that has no token; see [`Worker::position`].
///
/// ```
/// assert_eq!(purloin::position(&[3, 4, 5, 6], |n| n % 2 == 0), Some(1));
/// ```
///
/// # Panics
///
/// Panics if a closure panics, after all iterations that were started have ended, or if no thread
/// can be started for the global pool.
pub fn position<I, F>(iterations: I, holds: F) -> Option<usize>
where
    I: IntoIterations<Iterations: ExactIterations>,
    F: Fn(I::Item) -> bool + Sync,
{
    let holds = &holds;
    loop_on_a_worker(iterations, move |mut w, items| w.position(items, holds))
}

/// Maps each of the iterations, possibly in parallel, and collects the results in order.
/// For code that has no token; see [`Worker::map_into_vec`].
///
/// ```
/// assert_eq!(purloin::map_into_vec(1..=4, |n| n * n), [1, 4, 9, 16]);
/// ```
///
/// # Panics
///
/// Panics if a closure panics, after all iterations that were started have ended, or if no thread
/// can be started for the global pool.
#[doc(alias = "collect")]
pub fn map_into_vec<I, M, T>(iterations: I, map: M) -> Vec<T>
where
    I: IntoIterations<Iterations: ExactIterations>,
    M: Fn(I::Item) -> T + Sync,
    T: Send,
{
    let map = &map;
    loop_on_a_worker(iterations, move |mut w, items| w.map_into_vec(items, map))
}

/// Maps each of the iterations to a pair, possibly in parallel, and collects both halves in order.
/// For code that has no token; see [`Worker::map_into_vecs`].
///
/// ```
/// let (quotients, remainders) = purloin::map_into_vecs(4..7, |n| (n / 2, n % 2));
/// assert_eq!((quotients, remainders), (vec![2, 2, 3], vec![0, 1, 0]));
/// ```
///
/// # Panics
///
/// Panics if a closure panics, after all iterations that were started have ended, or if no thread
/// can be started for the global pool.
#[doc(alias = "unzip")]
pub fn map_into_vecs<I, M, T, U>(iterations: I, map: M) -> (Vec<T>, Vec<U>)
where
    I: IntoIterations<Iterations: ExactIterations>,
    M: Fn(I::Item) -> (T, U) + Sync,
    T: Send,
    U: Send,
{
    let map = &map;
    loop_on_a_worker(iterations, move |mut w, items| w.map_into_vecs(items, map))
}

/// Maps each of the iterations, possibly in parallel, and collects what is `Some`, in order.
/// For code that has no token; see [`Worker::filter_map_into_vec`].
///
/// ```
/// let numbers = purloin::filter_map_into_vec(&["4", "x", "7"], |text| text.parse::<u32>().ok());
/// assert_eq!(numbers, [4, 7]);
/// ```
///
/// # Panics
///
/// Panics if a closure panics, after all iterations that were started have ended, or if no thread
/// can be started for the global pool.
#[doc(alias = "collect")]
#[doc(alias = "filter")]
pub fn filter_map_into_vec<I, M, T>(iterations: I, map: M) -> Vec<T>
where
    I: IntoIterations,
    M: Fn(I::Item) -> Option<T> + Sync,
    T: Send,
{
    let map = &map;
    loop_on_a_worker(iterations, move |mut w, items| {
        w.filter_map_into_vec(items, map)
    })
}

/// Sorts a slice. Equal elements keep their order. For code that has no token; see [`Worker::sort`].
///
/// ```
/// let mut words = ["steal", "pilfer", "purloin"];
/// purloin::sort(&mut words);
/// assert_eq!(words, ["pilfer", "purloin", "steal"]);
/// ```
///
/// # Panics
///
/// Panics as [`Worker::sort`] does, or if no thread can be started for the global pool.
pub fn sort<T>(slice: &mut [T])
where
    T: Ord + Send,
{
    on_a_worker(move |mut w| w.sort(slice));
}

/// Sorts a slice in the order that `compare` defines. Equal elements keep their order. For code that has
/// no token; see [`Worker::sort_by`].
///
/// ```
/// let mut numbers = [2.5, -1.0, 7.25];
/// purloin::sort_by(&mut numbers, |a, b| f64::total_cmp(b, a));
/// assert_eq!(numbers, [7.25, 2.5, -1.0]);
/// ```
///
/// # Panics
///
/// Panics as [`Worker::sort_by`] does, or if no thread can be started for the global pool.
pub fn sort_by<T, C>(slice: &mut [T], compare: C)
where
    T: Send,
    C: Fn(&T, &T) -> Ordering + Sync,
{
    let compare = &compare;
    on_a_worker(move |mut w| w.sort_by(slice, compare));
}

/// Sorts a slice by a key of each element. Elements with equal keys keep their order. For code that has
/// no token; see [`Worker::sort_by_key`].
///
/// ```
/// let mut words = ["purloin", "steal", "pilfer"];
/// purloin::sort_by_key(&mut words, |word| word.len());
/// assert_eq!(words, ["steal", "pilfer", "purloin"]);
/// ```
///
/// # Panics
///
/// Panics as [`Worker::sort_by_key`] does, or if no thread can be started for the global pool.
pub fn sort_by_key<T, K, F>(slice: &mut [T], key: F)
where
    T: Send,
    K: Ord,
    F: Fn(&T) -> K + Sync,
{
    let key = &key;
    on_a_worker(move |mut w| w.sort_by_key(slice, key));
}

/// Sorts a slice by a key of each element, and computes each key once. Elements with equal keys keep
/// their order. For code that has no token; see [`Worker::sort_by_cached_key`].
///
/// ```
/// let mut words = ["Steal", "pilfer", "Purloin"];
/// purloin::sort_by_cached_key(&mut words, |word| word.to_lowercase());
/// assert_eq!(words, ["pilfer", "Purloin", "Steal"]);
/// ```
///
/// # Panics
///
/// Panics as [`Worker::sort_by_cached_key`] does, or if no thread can be started for the global pool.
pub fn sort_by_cached_key<T, K, F>(slice: &mut [T], key: F)
where
    T: Send,
    K: Ord + Send,
    F: Fn(&T) -> K + Sync,
{
    let key = &key;
    on_a_worker(move |mut w| w.sort_by_cached_key(slice, key));
}

/// Sorts a slice in place. Equal elements may change their order. For code that has no token; see
/// [`Worker::sort_unstable`].
///
/// ```
/// let mut numbers = [3, 1, 4, 1, 5];
/// purloin::sort_unstable(&mut numbers);
/// assert_eq!(numbers, [1, 1, 3, 4, 5]);
/// ```
///
/// # Panics
///
/// Panics as [`Worker::sort_unstable`] does, or if no thread can be started for the global pool.
pub fn sort_unstable<T>(slice: &mut [T])
where
    T: Ord + Send,
{
    on_a_worker(move |mut w| w.sort_unstable(slice));
}

/// Sorts a slice in place, in the order that `compare` defines. Equal elements may change their order.
/// For code that has no token; see [`Worker::sort_unstable_by`].
///
/// ```
/// let mut numbers = [2.5, -1.0, 7.25];
/// purloin::sort_unstable_by(&mut numbers, f64::total_cmp);
/// assert_eq!(numbers, [-1.0, 2.5, 7.25]);
/// ```
///
/// # Panics
///
/// Panics as [`Worker::sort_unstable_by`] does, or if no thread can be started for the global pool.
pub fn sort_unstable_by<T, C>(slice: &mut [T], compare: C)
where
    T: Send,
    C: Fn(&T, &T) -> Ordering + Sync,
{
    let compare = &compare;
    on_a_worker(move |mut w| w.sort_unstable_by(slice, compare));
}

/// Sorts a slice in place, by a key of each element. Elements with equal keys may change their order.
/// For code that has no token; see [`Worker::sort_unstable_by_key`].
///
/// ```
/// let mut numbers = [-3, 1, 2];
/// purloin::sort_unstable_by_key(&mut numbers, |number: &i32| number.abs());
/// assert_eq!(numbers, [1, 2, -3]);
/// ```
///
/// # Panics
///
/// Panics as [`Worker::sort_unstable_by_key`] does, or if no thread can be started for the global pool.
pub fn sort_unstable_by_key<T, K, F>(slice: &mut [T], key: F)
where
    T: Send,
    K: Ord,
    F: Fn(&T) -> K + Sync,
{
    let key = &key;
    on_a_worker(move |mut w| w.sort_unstable_by_key(slice, key));
}

/// Calls `f` with a token if this thread is a worker of a pool with the default scheduler, and with
/// `None` if it is not.
///
/// ```
/// let index = || purloin::with_token(|token| token.map(|w| w.index()));
/// assert_eq!(index(), None);
/// assert!(purloin::global()?.run(|_| index()).is_some());
/// # Ok::<(), purloin::BuildError>(())
/// ```
///
/// # Panics
///
/// Panics if `f` panics.
pub fn with_token<R>(f: impl FnOnce(Option<Token<'_>>) -> R) -> R {
    match current_of_default() {
        // In a frame of its own, as in `on_a_worker`.
        Some(thread) => runtime::call(thread, |token| f(Some(token)))
            .unwrap_or_else(|panic| resume_unwind(panic)),
        None => f(None),
    }
}

/// Runs a loop on this worker, or on a worker of the global pool.
fn loop_on_a_worker<I, R>(
    iterations: I,
    run: impl FnOnce(Token<'_>, Converted<I::Iterations>) -> R + Send,
) -> R
where
    I: IntoIterations,
    R: Send,
{
    let iterations = Converted(iterations.into_iterations());
    on_a_worker(move |w| run(w, iterations))
}

impl Runner for Here {
    type Worker<'w> = Token<'w>;

    #[inline]
    fn on_worker<R: Send>(self, run: impl for<'w> FnOnce(Token<'w>) -> R + Send) -> R {
        on_a_worker(run)
    }
}

/// Runs `run` on this worker, or on a worker of the global pool.
fn on_a_worker<R: Send>(run: impl FnOnce(Token<'_>) -> R + Send) -> R {
    match current_of_default() {
        // Runs in a frame of its own: `run` may spawn into a finish around this call, and uses its
        // token after that.
        Some(thread) => runtime::call(thread, run).unwrap_or_else(|panic| resume_unwind(panic)),
        None => global_or_default().run(run),
    }
}
