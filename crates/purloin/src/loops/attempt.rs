//! The results of iterations that may end a loop early.

use std::ops::ControlFlow;

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
