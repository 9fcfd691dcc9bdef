//! Joins, finishes, futures and loops without a token.

use crate::handle::Handle;
use crate::loops::{self, IntoIterations};
use crate::pool::{current_of_default, global_or_default};
use crate::runtime::{self, ReturnBarrier, Token, in_registers};
use crate::worker::{Scope, Worker};

/// Runs two closures, possibly in parallel, and returns both results: for code
/// that cannot pass a token. See [`Worker::join`], which is faster.
///
/// On a worker of a pool with the default scheduler it joins there; anywhere
/// else it uses the [global pool](crate::global).
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
/// If a closure panics, after both have ended; or if no thread can be started
/// for the global pool.
#[inline(always)]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    match current_of_default() {
        Some(thread) => {
            Token::at_top(thread).join_at_top::<false, _, _, _, _>(move |_| a(), move |_| b())
        }
        None if const { in_registers::<A>() && in_registers::<B>() } => join_outside(a, b),
        // In boxes, so that the path above has them in registers.
        None => join_outside(in_a_box(a), in_a_box(b)),
    }
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

/// Runs `body` and everything that it spawns: for code that has no token. See
/// [`Worker::finish`].
///
/// On a worker of a pool with the default scheduler it runs there; anywhere
/// else, on a worker of the [global pool](crate::global).
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
/// If the body or a task panics, after all have ended; or if no thread can be
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

/// Makes a task of `f` and returns its result to come: for code that has no
/// token. See [`Worker::future`].
///
/// On a worker of a pool with the default scheduler the task ends before its scope does,
/// as with a token. On any other thread an idle worker of the [global
/// pool](crate::global) runs it; there is no scope, so nothing waits for it but
/// [`Handle::get`].
///
/// ```
/// let six = purloin::future(|| 6); // run by a worker, while this thread goes on
/// let seven = 7;
/// assert_eq!(six.get() * seven, 42);
/// ```
///
/// # Panics
///
/// If no thread can be started for the global pool. If the task panics, then
/// [`Handle::get`] does.
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

/// Does `body` for each of the iterations, possibly in parallel: for code that
/// has no token. See [`Worker::for_each`].
///
/// On a worker of a pool with the default scheduler it runs there; anywhere
/// else, on the workers of the [global pool](crate::global).
///
/// ```
/// let mut numbers = [1, 2, 3];
/// purloin::for_each(&mut numbers, |number| *number *= 2);
/// assert_eq!(numbers, [2, 4, 6]);
/// ```
///
/// # Panics
///
/// If an iteration does, after all that were started have ended; or if no
/// thread can be started for the global pool.
pub fn for_each<I, F>(iterations: I, body: F)
where
    I: IntoIterations,
    F: Fn(I::Item) + Sync,
{
    map_reduce(iterations, body, |(), ()| ());
}

/// Maps each of the iterations, possibly in parallel, and combines the results
/// in their order; `None` if there are no iterations. For code that has no
/// token, as [`for_each`]. See [`Worker::map_reduce`].
///
/// ```
/// let squares = purloin::map_reduce(1..=4, |i| i * i, |a, b| a + b);
/// assert_eq!(squares, Some(30));
/// ```
///
/// # Panics
///
/// If an iteration or a combination does, after all that were started have
/// ended; or if no thread can be started for the global pool.
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
        // In a frame of its own: the loop goes on with its token after the body
        // has spawned into a finish around it.
        Some(thread) => runtime::call(thread, on_a_worker),
        None => global_or_default().run(on_a_worker),
    }
}
