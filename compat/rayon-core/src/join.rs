//! Joins.

use std::marker::PhantomData;

use purloin::implement::{join_context_or, join_or};

use crate::global::global_pool;

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
    join_context_or(
        |migrated| oper_a(FnContext::new(migrated)),
        |migrated| oper_b(FnContext::new(migrated)),
        global_pool,
    )
}
