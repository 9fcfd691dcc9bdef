//! The results of iterations that may end a loop early.

use std::ops::ControlFlow;

use super::{Converted, IntoIterations, Pair};
use crate::sync::plain::{AtomicUsize, Ordering};
use crate::worker::Worker;

/// A result that may end a loop early: [`Result`], [`Option`] or [`ControlFlow`].
///
/// `Err`, `None` and `Break` end the loop. The standard library has the same trait, but it is not
/// stable yet. Other crates cannot implement this one.
pub trait Try: Sized + sealed::Sealed {
    /// The value of a result that does not end the loop.
    type Output;

    /// Returns the result that has this value, and does not end the loop.
    fn from_output(output: Self::Output) -> Self;

    /// Returns the value, or the result itself if it ends the loop.
    fn branch(self) -> ControlFlow<Self, Self::Output>;
}

mod sealed {
    pub trait Sealed {}

    impl<T> Sealed for Option<T> {}
    impl<T, E> Sealed for Result<T, E> {}
    impl<T, B> Sealed for std::ops::ControlFlow<B, T> {}
}

impl<T> Try for Option<T> {
    type Output = T;

    #[inline]
    fn from_output(output: T) -> Self {
        Some(output)
    }

    #[inline]
    fn branch(self) -> ControlFlow<Self, T> {
        self.map_or(ControlFlow::Break(None), ControlFlow::Continue)
    }
}

impl<T, E> Try for Result<T, E> {
    type Output = T;

    #[inline]
    fn from_output(output: T) -> Self {
        Ok(output)
    }

    #[inline]
    fn branch(self) -> ControlFlow<Self, T> {
        match self {
            Ok(output) => ControlFlow::Continue(output),
            Err(error) => ControlFlow::Break(Err(error)),
        }
    }
}

impl<T, B> Try for ControlFlow<B, T> {
    type Output = T;

    #[inline]
    fn from_output(output: T) -> Self {
        ControlFlow::Continue(output)
    }

    #[inline]
    fn branch(self) -> ControlFlow<Self, T> {
        match self {
            ControlFlow::Continue(output) => ControlFlow::Continue(output),
            ControlFlow::Break(value) => ControlFlow::Break(ControlFlow::Break(value)),
        }
    }
}

/// Returns the value of a result in `Some`, or the result itself if it ends the loop.
pub(crate) fn keep<R: Try>(result: R) -> ControlFlow<R, Option<R::Output>> {
    match result.branch() {
        ControlFlow::Continue(output) => ControlFlow::Continue(Some(output)),
        ControlFlow::Break(failure) => ControlFlow::Break(failure),
    }
}

/// Returns the first value that `pick` returns, in the order of these exact iterations, and its position.
pub(crate) fn first<W, I, T>(
    w: &mut W,
    iterations: I,
    pick: impl Fn(I::Item) -> Option<T> + Sync,
) -> Option<(usize, T)>
where
    W: Worker,
    I: IntoIterations,
    T: Send,
{
    // The first position so far. Relaxed: a worker that misses it runs some iterations in vain.
    let first = AtomicUsize::new(usize::MAX);
    w.run_loop(
        Converted(Pair::new(0..usize::MAX, iterations.into_iterations())),
        || None,
        |_, found, (position, item)| {
            if position >= first.load(Ordering::Relaxed) {
                // Before the result: see the page on panics.
                drop(item);
                return ControlFlow::Break(found);
            }
            match pick(item) {
                Some(value) => {
                    first.fetch_min(position, Ordering::Relaxed);
                    ControlFlow::Break(Some((position, value)))
                }
                None => ControlFlow::Continue(found),
            }
        },
        |left, right| match left {
            Some(_) => {
                drop(right);
                left
            }
            None => right,
        },
    )
}
