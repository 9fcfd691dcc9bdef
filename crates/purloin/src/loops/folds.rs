//! Folds: what most ends of a parallel iterator are made of. Those that [collect](super::collect), and those that look
//! for the [first](mod@super::first) item, run their loops themselves.
//!
//! The closures receive a token. An end without tokens ignores it.

use std::ops::ControlFlow;

use super::{Converted, Internal, Iterations, Try, UntilCancelled};
use crate::cancel::{CancelFlag, CancelState};
use crate::worker::Worker;

/// Folds all iterations.
#[inline]
pub(crate) fn fold<W, I, A, N, F, C>(w: &mut W, iterations: I, init: N, step: F, combine: C) -> A
where
    W: Worker,
    I: Iterations,
    N: Fn() -> A + Sync,
    F: for<'t> Fn(W::Token<'t>, A, I::Item) -> A + Sync,
    C: Fn(A, A) -> A + Sync,
    A: Send,
{
    let step = move |w: W::Token<'_>, sum, item| ControlFlow::Continue(step(w, sum, item));
    w.run_loop(Converted(iterations), init, step, combine)
}

/// Calls `body` for each iteration, until the innermost scope around the loop is cancelled.
#[inline]
pub(crate) fn for_each<W, I, F>(w: &mut W, iterations: I, body: F)
where
    W: Worker,
    I: Iterations,
    F: for<'t> Fn(W::Token<'t>, I::Item) + Sync,
{
    let flag = w.cancel_flag(Internal(()));
    let iterations = UntilCancelled::new(iterations, flag);
    fold(
        w,
        iterations,
        || (),
        |w, (), item| body(w, item),
        |(), ()| (),
    );
}

/// Combines the results of `map`, in the order of the iterations. Returns `None` if there are none.
#[inline]
pub(crate) fn map_reduce<W, I, M, C, T>(w: &mut W, iterations: I, map: M, combine: C) -> Option<T>
where
    W: Worker,
    I: Iterations,
    M: for<'t> Fn(W::Token<'t>, I::Item) -> T + Sync,
    C: Fn(T, T) -> T + Sync,
    T: Send,
{
    fold(
        w,
        iterations,
        || None,
        |w, sum, item| {
            let item = map(w, item);
            Some(match sum {
                Some(sum) => combine(sum, item),
                None => item,
            })
        },
        |left, right| match (left, right) {
            (Some(left), Some(right)) => Some(combine(left, right)),
            (left, None) => left,
            (None, right) => right,
        },
    )
}

/// Folds the iterations until a step or a combination fails.
#[inline]
pub(crate) fn try_fold<W, I, A, N, F, C, R>(
    w: &mut W,
    iterations: I,
    init: N,
    step: F,
    combine: C,
) -> R
where
    W: Worker,
    I: Iterations,
    N: Fn() -> A + Sync,
    F: for<'t> Fn(W::Token<'t>, A, I::Item) -> R + Sync,
    C: Fn(A, A) -> R + Sync,
    A: Send,
    R: Try<Output = A> + Send,
{
    // Each worker finds out sooner or later, and the joins order the results.
    let is_over = CancelState::new();
    let end = |failure| {
        is_over.set();
        ControlFlow::Break(failure)
    };
    // A part that leaves out all of its items never comes to a step, which would see the flag.
    let flag = match I::IS_EXACT {
        true => CancelFlag::NONE,
        false => CancelFlag::of(&is_over),
    };
    let result = w.run_loop(
        UntilCancelled::new(iterations, flag),
        || ControlFlow::Continue(init()),
        |w, sum, item| match sum {
            ControlFlow::Continue(so_far) if !is_over.is_set() => {
                match step(w, so_far, item).branch() {
                    ControlFlow::Continue(sum) => ControlFlow::Continue(ControlFlow::Continue(sum)),
                    ControlFlow::Break(failure) => ControlFlow::Break(end(failure)),
                }
            }
            sum => {
                // Before the result: if its destructor panics, `sum` is still dropped.
                drop(item);
                ControlFlow::Break(sum)
            }
        },
        |left, right| match (left, right) {
            (ControlFlow::Continue(left), ControlFlow::Continue(right)) => {
                match combine(left, right).branch() {
                    ControlFlow::Continue(sum) => ControlFlow::Continue(sum),
                    ControlFlow::Break(failure) => end(failure),
                }
            }
            (ControlFlow::Break(failure), other) => {
                drop(other);
                ControlFlow::Break(failure)
            }
            (other, ControlFlow::Break(failure)) => {
                drop(other);
                ControlFlow::Break(failure)
            }
        },
    );
    match result {
        ControlFlow::Continue(sum) => R::from_output(sum),
        ControlFlow::Break(failure) => failure,
    }
}

/// Combines the results of `map` until one of them, or a combination, fails. Returns `None` if there are none.
#[inline]
pub(crate) fn try_map_reduce<W, I, T, M, C, R>(
    w: &mut W,
    iterations: I,
    map: M,
    combine: C,
) -> Option<R>
where
    W: Worker,
    I: Iterations,
    M: for<'t> Fn(W::Token<'t>, I::Item) -> R + Sync,
    C: Fn(T, T) -> R + Sync,
    T: Send,
    R: Try<Output = T> + Send,
{
    /// Returns the value of a result in `Some`, or the result itself if it ends the loop.
    fn keep<R: Try>(result: R) -> ControlFlow<R, Option<R::Output>> {
        match result.branch() {
            ControlFlow::Continue(output) => ControlFlow::Continue(Some(output)),
            ControlFlow::Break(failure) => ControlFlow::Break(failure),
        }
    }

    let result = try_fold(
        w,
        iterations,
        || None,
        |w, sum, item| match map(w, item).branch() {
            ControlFlow::Continue(item) => match sum {
                Some(sum) => keep(combine(sum, item)),
                None => ControlFlow::Continue(Some(item)),
            },
            ControlFlow::Break(failure) => {
                // See the page on panics.
                drop(sum);
                ControlFlow::Break(failure)
            }
        },
        |left, right| match (left, right) {
            (Some(left), Some(right)) => keep(combine(left, right)),
            (left, right) => ControlFlow::Continue(left.or(right)),
        },
    );
    match result {
        ControlFlow::Continue(sum) => sum.map(R::from_output),
        ControlFlow::Break(failure) => Some(failure),
    }
}
