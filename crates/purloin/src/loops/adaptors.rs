//! Other orders and other items: backwards, every n-th iteration, windows.

use std::iter::{Rev, StepBy};
use std::ops::ControlFlow;
use std::slice;

use super::{ExactIterations, IntoIterations, Iterations, fold_items};

/// Iterations that can also run backwards.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot run backwards",
    label = "ranges, slices, vectors and pieces of slices can run backwards",
    note = "collect a `Vec` first"
)]
pub trait ReversibleIterations: ExactIterations {
    /// An iterator over some of these iterations.
    type Back<'s>: Iterator<Item = Self::Item>
    where
        Self: 's;

    /// Splits off the last `len` iterations, and returns the rest and them. `len` is at most
    /// [`remaining`](Iterations::remaining).
    ///
    /// Iterations that may be more than [`usize::MAX`] override this: the default counts `len` from
    /// the front.
    #[inline]
    fn split_back(self, len: usize) -> (Self, Self) {
        let middle = self.remaining() - len;
        self.split_at(middle)
    }

    /// Removes the last `len` iterations, and returns an iterator over them, the last one first.
    /// `len` is at most [`remaining`](Iterations::remaining).
    fn strip_back(&mut self, len: usize) -> Self::Back<'_>;
}

/// Returns iterations in the reverse order.
pub(crate) fn reversed<I: ReversibleIterations>(iterations: I) -> Reversed<I> {
    Reversed(iterations)
}

/// Iterations in the reverse order, from [`Par::rev`](crate::iter::Par::rev).
#[derive(Debug)]
pub struct Reversed<I>(I);

impl<I: ReversibleIterations> Iterations for Reversed<I> {
    type Item = I::Item;
    type Strip<'s>
        = I::Back<'s>
    where
        Self: 's;

    const IS_EXACT: bool = true;

    #[inline]
    fn remaining(&self) -> usize {
        self.0.remaining()
    }

    #[inline]
    fn split_at(self, index: usize) -> (Self, Self) {
        let (rest, last) = self.0.split_back(index);
        (Reversed(last), Reversed(rest))
    }

    #[inline]
    fn strip(&mut self, len: usize) -> Self::Strip<'_> {
        self.0.strip_back(len)
    }
}

impl<I: ReversibleIterations> ReversibleIterations for Reversed<I> {
    type Back<'s>
        = I::Strip<'s>
    where
        Self: 's;

    #[inline]
    fn split_back(self, len: usize) -> (Self, Self) {
        let (last, rest) = self.0.split_at(len);
        (Reversed(rest), Reversed(last))
    }

    #[inline]
    fn strip_back(&mut self, len: usize) -> Self::Back<'_> {
        self.0.strip(len)
    }
}

impl<I: ReversibleIterations> ExactIterations for Reversed<I> {}

/// Every n-th of some iterations, from [`Par::step_by`](crate::iter::Par::step_by).
#[derive(Debug)]
pub struct Stepped<I> {
    all: I,
    step: usize,
}

impl<I: Iterations> Stepped<I> {
    /// The iterations must be exact.
    pub(crate) fn new(all: I, step: usize) -> Self {
        assert!(step > 0, "the step must be at least 1");
        assert!(
            all.remaining() < usize::MAX,
            "`step_by` needs fewer than `usize::MAX` iterations"
        );
        Stepped { all, step }
    }

    /// Returns how many of all iterations the first `len` of these take.
    fn width(&self, len: usize) -> usize {
        len.saturating_mul(self.step).min(self.all.remaining())
    }
}

impl<I: Iterations> Iterations for Stepped<I> {
    type Item = I::Item;
    type Strip<'s>
        = StepBy<I::Strip<'s>>
    where
        Self: 's;

    const IS_EXACT: bool = I::IS_EXACT;

    #[inline]
    fn remaining(&self) -> usize {
        self.all.remaining().div_ceil(self.step)
    }

    #[inline]
    fn may_end_early(&self) -> bool {
        self.all.may_end_early()
    }

    #[inline]
    fn split_at(self, index: usize) -> (Self, Self) {
        let (step, width) = (self.step, self.width(index));
        let (front, back) = self.all.split_at(width);
        (Stepped { all: front, step }, Stepped { all: back, step })
    }

    #[inline]
    fn strip(&mut self, len: usize) -> Self::Strip<'_> {
        let width = self.width(len);
        self.all.strip(width).step_by(self.step)
    }

    #[inline]
    fn fold_strip<A>(
        &mut self,
        len: usize,
        sum: A,
        mut step: impl FnMut(A, I::Item) -> ControlFlow<A, A>,
    ) -> ControlFlow<A, A> {
        let width = self.width(len);
        let strip = self.all.strip(width);
        with_size!(self.step, |size| fold_items(
            strip.step_by(size),
            sum,
            &mut step
        ))
    }
}

impl<I: ExactIterations> ExactIterations for Stepped<I> {}

/// Returns all series of `size` consecutive elements of a slice as the iterations of a loop. They
/// overlap.
///
/// # Panics
///
/// Panics if `size` is 0.
pub(crate) fn windows<T>(slice: &[T], size: usize) -> Windows<'_, T> {
    assert!(size > 0, "the size of windows must be at least 1");
    Windows { slice, size }
}

/// Series of consecutive elements, from [`Par::windows`](crate::iter::Par::windows).
#[derive(Debug)]
pub struct Windows<'s, T> {
    slice: &'s [T],
    size: usize,
}

impl<'s, T> Windows<'s, T> {
    /// Returns the elements of the first `len` windows.
    fn front(&self, len: usize) -> &'s [T] {
        match len {
            0 => &[],
            _ => &self.slice[..len + (self.size - 1)],
        }
    }
}

impl<'s, T: Sync> Iterations for Windows<'s, T> {
    type Item = &'s [T];
    type Strip<'p>
        = slice::Windows<'s, T>
    where
        Self: 'p;

    const IS_EXACT: bool = true;

    #[inline]
    fn remaining(&self) -> usize {
        self.slice.len().saturating_sub(self.size - 1)
    }

    #[inline]
    fn split_at(self, index: usize) -> (Self, Self) {
        let front = windows(self.front(index), self.size);
        (front, windows(&self.slice[index..], self.size))
    }

    #[inline]
    fn strip(&mut self, len: usize) -> slice::Windows<'s, T> {
        let front = self.front(len);
        self.slice = &self.slice[len..];
        front.windows(self.size)
    }

    #[inline]
    fn fold_strip<A>(
        &mut self,
        len: usize,
        sum: A,
        mut step: impl FnMut(A, &'s [T]) -> ControlFlow<A, A>,
    ) -> ControlFlow<A, A> {
        let front = self.front(len);
        self.slice = &self.slice[len..];
        with_size!(self.size, |size| front
            .windows(size)
            .try_fold(sum, &mut step))
    }
}

impl<'s, T: Sync> ReversibleIterations for Windows<'s, T> {
    type Back<'p>
        = Rev<slice::Windows<'s, T>>
    where
        Self: 'p;

    #[inline]
    fn strip_back(&mut self, len: usize) -> Self::Back<'_> {
        let rest = self.remaining() - len;
        let strip = self.slice[rest..].windows(self.size);
        self.slice = self.front(rest);
        strip.rev()
    }
}

impl<T: Sync> ExactIterations for Windows<'_, T> {}

into_iterations! {
    [I: ReversibleIterations] Reversed<I>,
    [I: ExactIterations] Stepped<I>,
    ['s, T: Sync] Windows<'s, T>,
}

impl<'s, T: Sync> ReversibleIterations for &'s [T] {
    type Back<'p>
        = Rev<slice::Iter<'s, T>>
    where
        Self: 'p;

    #[inline]
    fn strip_back(&mut self, len: usize) -> Self::Back<'_> {
        let (rest, strip) = <[T]>::split_at(self, self.len() - len);
        *self = rest;
        strip.iter().rev()
    }
}

impl<'s, T: Send> ReversibleIterations for &'s mut [T] {
    type Back<'p>
        = Rev<slice::IterMut<'s, T>>
    where
        Self: 'p;

    #[inline]
    fn strip_back(&mut self, len: usize) -> Self::Back<'_> {
        let middle = self.len() - len;
        let (rest, strip) = std::mem::take(self).split_at_mut(middle);
        *self = rest;
        strip.iter_mut().rev()
    }
}
