//! Joins.

use std::marker::PhantomData;

use purloin::implement::join_or;

use crate::registry::{current, global, global_pool};

/// Tells a closure of [`join_context`] where it runs.
#[derive(Debug)]
pub struct FnContext {
    migrated: bool,
    /// Not `Send`: it says something about this thread.
    _thread: PhantomData<*mut ()>,
}

impl FnContext {
    fn new(migrated: bool) -> FnContext {
        FnContext {
            migrated,
            _thread: PhantomData,
        }
    }

    /// Returns whether the closure runs on another thread than the one that called for it.
    #[inline]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

/// Runs two closures, possibly in parallel, and returns both results.
///
/// ```
/// fn fib(n: u32) -> u64 {
///     if n < 2 {
///         return n.into();
///     }
///     let (a, b) = rayon_core::join(|| fib(n - 1), || fib(n - 2));
///     a + b
/// }
/// assert_eq!(fib(20), 6765);
/// ```
///
/// # Panics
///
/// Panics if a closure panics, after both have ended.
#[inline(always)]
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_or(oper_a, oper_b, global_pool)
}

/// Like [`join`], but tells the closures where they run.
#[inline]
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    match current() {
        Some(worker) => join_from(worker.id, false, oper_a, oper_b),
        None => global().install(|| match current() {
            Some(worker) => join_from(worker.id, true, oper_a, oper_b),
            None => unreachable!("`install` runs its closure on a thread of the pool"),
        }),
    }
}

/// Joins on the worker with this number.
#[inline]
fn join_from<A, B, RA, RB>(id: usize, is_from_outside: bool, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    join(
        move || a(FnContext::new(is_from_outside)),
        move || {
            let is_elsewhere = current().is_none_or(|worker| worker.id != id);
            b(FnContext::new(is_from_outside || is_elsewhere))
        },
    )
}
