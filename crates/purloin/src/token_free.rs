//! Joins, finishes and futures for code that has no token, and where a parallel iterator runs.

use std::panic::resume_unwind;

use crate::handle::Handle;
use crate::loops::IntoIterations;
use crate::par::{Here, IntoParallel, Runner};
use crate::pool::{Me, Pool, Remote, current_of_default, global_or_default};
use crate::runtime::{self, ReturnBarrier, Token, in_registers};
use crate::scope::Scope;
use crate::this_thread::raise;
use crate::unwind::{Panic, catch, discard};
use crate::worker::{SendTask, Worker};

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
            None => from_outside((a, b), outside(), |(a, b)| join_here(a, b)),
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
        None => from_outside((a, b), outside(), move |(a, b)| {
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
        None => from_outside((a, b), outside(), |(a, b)| join_context_here(a, b)),
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

/// Calls `call` with these closures on a worker of `pool`.
///
/// The closures are moved to a box in the caller, and no function gets them by value. Otherwise the path of a
/// join on a worker would keep them in memory, too: see `in_registers` in `runtime/join.rs`. The calling thread
/// frees the box: see [`Job::in_frame`](crate::pool::Job::in_frame).
#[inline(always)]
fn from_outside<F: Send, R: Send>(closures: F, pool: &Pool, call: impl Fn(F) -> R + Sync) -> R {
    from_outside_in_box(Box::new(Some(closures)), pool, call)
}

/// Every join and every loop of a program compiles this function once more, so it does as little as it can.
#[cold]
#[inline(never)]
#[expect(
    clippy::boxed_local,
    reason = "closures that are passed by value lie in memory on every path of the caller"
)]
fn from_outside_in_box<F: Send, R: Send>(
    mut closures: Box<Option<F>>,
    pool: &Pool,
    call: impl Fn(F) -> R + Sync,
) -> R {
    let mut result = None;
    if let Err(panic) = run_outside(pool, &mut || result = closures.take().map(&call)) {
        // The panic of a task whose result is never fetched. The destructor of the result may panic, too.
        discard(result);
        resume_unwind(panic);
    }
    result.expect("the worker has run the call")
}

/// Calls `f` on a worker of `pool`, and returns its panic.
#[cold]
#[inline(never)]
fn run_outside(pool: &Pool, f: &mut (dyn FnMut() + Send)) -> Result<(), Panic> {
    catch(|| pool.run(|_| f()))
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
/// Without a worker there is no scope: only [`Handle::get`] waits for the task. There is no scope in a panic handler,
/// either, nor on a thread of the program that is a worker ([`WorkerStart::attach`](crate::WorkerStart::attach)), outside
/// of all calls. Such a task is like a [job](Pool::spawn): a worker that is idle runs it.
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

/// Returns a handle to the results of several futures, in the order of their handles.
///
/// A task waits for them. It belongs to the same scope as a [`future`] that is
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
    future(move || handles.into_iter().map(Handle::get).collect())
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
    iterations.into_par().for_each(body);
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
    iterations.into_par().map(map).reduce(combine)
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
        // Runs in a frame of its own: `f` may spawn into a finish around this call, and uses its token after
        // that.
        Some(thread) => {
            runtime::call(thread, |token| f(Some(token))).unwrap_or_else(|panic| raise(panic))
        }
        None => f(None),
    }
}

impl Runner for Here {
    type Token<'t> = Token<'t>;

    /// On a worker, the loop runs in the innermost frame, as a join without a token does.
    ///
    /// Inlined, so that a short loop becomes part of the code around it: see [`run_loop`](crate::loops::run_loop).
    #[inline(always)]
    fn on_worker<R: Send>(self, run: impl for<'t> FnOnce(Token<'t>) -> R + Send) -> R {
        match current_of_default() {
            Some(thread) => run(Token::at_top(thread)),
            None => from_outside(run, global_or_default(), |run| Here.on_worker(run)),
        }
    }
}
