//! Joins, finishes, futures and loops for code that has no token.

use std::panic::resume_unwind;

use crate::handle::Handle;
use crate::loops::{self, IntoIterations};
use crate::pool::{WorkerThread, current_of_default, global_or_default};
use crate::runtime::{self, ReturnBarrier, Token, in_registers};
use crate::worker::{Scope, Worker};

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
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    match const { in_registers::<A, B>() } {
        true => join_in_registers(a, b),
        false => match current_of_default() {
            Some(thread) => join_on(thread, a, b),
            // In boxes, so that the path above keeps the closures out of memory.
            None => join_outside(in_a_box(a), in_a_box(b)),
        },
    }
}

/// Joins closures that are passed in registers.
///
/// This function is never inlined; the function of the same name in `runtime/join.rs` says why. It
/// also finds the worker. In [`join`], which is inlined into the program, the access to the
/// thread-local value would be a call.
#[inline(never)]
fn join_in_registers<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    match current_of_default() {
        Some(thread) => join_on(thread, a, b),
        None => join_outside(a, b),
    }
}

#[inline(always)]
fn join_on<A, B, RA, RB>(thread: &WorkerThread<ReturnBarrier>, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    Token::at_top(thread).join_inline::<false, _, _, _, _>(move |_| a(), move |_| b())
}

#[cold]
#[inline(never)]
fn join_outside<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    global_or_default().run(move |mut w| w.join(move |_| a(), move |_| b()))
}

fn in_a_box<R>(f: impl FnOnce() -> R) -> impl FnOnce() -> R {
    let f = Box::new(f);
    move || f()
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
    F: FnOnce() -> T + Send + 'static,
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
pub fn for_each<I, F>(iterations: I, body: F)
where
    I: IntoIterations,
    F: Fn(I::Item) + Sync,
{
    map_reduce(iterations, body, |(), ()| ());
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
pub fn map_reduce<I, M, C, T>(iterations: I, map: M, combine: C) -> Option<T>
where
    I: IntoIterations,
    M: Fn(I::Item) -> T + Sync,
    C: Fn(T, T) -> T + Sync,
    T: Send,
{
    let iterations = iterations.into_iterations();
    let (map, combine) = (&map, &combine);
    let on_a_worker = move |w: Token<'_>| {
        loops::map_reduce::<Token, _, _, _, _>(w, iterations, move |_, item| map(item), combine)
    };
    match current_of_default() {
        // Runs in a frame of its own: the body may spawn into a finish around the loop, and the
        // loop uses its token after that.
        Some(thread) => {
            runtime::call(thread, on_a_worker).unwrap_or_else(|panic| resume_unwind(panic))
        }
        None => global_or_default().run(on_a_worker),
    }
}
