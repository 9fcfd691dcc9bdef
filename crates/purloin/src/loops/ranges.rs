//! Ranges of integers as the iterations of a loop.
//!
//! One implementation serves all integers, so that the compiler infers the type of a literal:
//! `(0..4).into_par().map(|n| n * n).collect::<Vec<u64>>()`.

use std::iter::Rev;
use std::ops::{Range, RangeFrom, RangeInclusive};

use super::{ExactIterations, IntoIterations, Iterations, ReversibleIterations};

/// An integer, as a bound of a range. Only Purloin implements this trait.
pub trait Integer: Copy + Ord + Send + sealed::Sealed {
    /// Zero.
    #[doc(hidden)]
    const ZERO: Self;
    /// One.
    #[doc(hidden)]
    const ONE: Self;

    /// Returns `self + n`, which the caller knows to be in range, although `n` may be too large for a signed type.
    #[doc(hidden)]
    fn plus(self, n: usize) -> Self;

    /// Returns `self - n`, which the caller knows to be in range, although `n` may be too large for a signed type.
    #[doc(hidden)]
    fn minus(self, n: usize) -> Self;

    /// Returns `end - self`, or [`usize::MAX`] if it is more. `end` is not less than `self`.
    #[doc(hidden)]
    fn distance(self, end: Self) -> usize;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! integers {
    ($($Int:ident),*) => {
        $(
            impl sealed::Sealed for $Int {}

            impl Integer for $Int {
                const ZERO: Self = 0;
                const ONE: Self = 1;

                #[inline(always)]
                fn plus(self, n: usize) -> Self {
                    self.wrapping_add(n as $Int)
                }

                #[inline(always)]
                fn minus(self, n: usize) -> Self {
                    self.wrapping_sub(n as $Int)
                }

                #[inline(always)]
                fn distance(self, end: Self) -> usize {
                    // The difference of two signed numbers may be too large for their type.
                    usize::try_from(end.abs_diff(self)).unwrap_or(usize::MAX)
                }
            }
        )*
    };
}

integers!(
    u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize
);

impl<T: Integer> Iterations for Range<T>
where
    Range<T>: DoubleEndedIterator<Item = T>,
{
    type Item = T;
    type Strip<'s>
        = Range<T>
    where
        Self: 's;

    const IS_EXACT: bool = true;

    #[inline]
    fn remaining(&self) -> usize {
        match self.start < self.end {
            true => self.start.distance(self.end),
            false => 0,
        }
    }

    #[inline]
    fn split_at(self, index: usize) -> (Self, Self) {
        let middle = self.start.plus(index);
        (self.start..middle, middle..self.end)
    }

    #[inline]
    fn strip(&mut self, len: usize) -> Range<T> {
        let start = self.start;
        self.start = start.plus(len);
        start..self.start
    }
}

impl<T: Integer> ReversibleIterations for Range<T>
where
    Range<T>: DoubleEndedIterator<Item = T>,
{
    type Back<'s>
        = Rev<Range<T>>
    where
        Self: 's;

    #[inline]
    fn split_back(self, len: usize) -> (Self, Self) {
        // An empty range stays as it is.
        let middle = self.end.minus(len);
        (self.start..middle, middle..self.end)
    }

    #[inline]
    fn strip_back(&mut self, len: usize) -> Rev<Range<T>> {
        let (rest, strip) = self.clone().split_back(len);
        *self = rest;
        strip.rev()
    }
}

fn empty<T: Integer>() -> RangeInclusive<T> {
    T::ONE..=T::ZERO
}

impl<T: Integer> Iterations for RangeInclusive<T>
where
    RangeInclusive<T>: DoubleEndedIterator<Item = T>,
{
    type Item = T;
    type Strip<'s>
        = RangeInclusive<T>
    where
        Self: 's;

    const IS_EXACT: bool = true;

    #[inline]
    fn remaining(&self) -> usize {
        match self.is_empty() {
            false => self.start().distance(*self.end()).saturating_add(1),
            true => 0,
        }
    }

    #[inline]
    fn split_at(self, index: usize) -> (Self, Self) {
        let (start, end) = (*self.start(), *self.end());
        if index == 0 {
            return (empty(), self);
        }
        let last = start.plus(index - 1);
        if last == end {
            return (self, empty());
        }
        (start..=last, last.plus(1)..=end)
    }

    #[inline]
    fn strip(&mut self, len: usize) -> RangeInclusive<T> {
        let (strip, rest) = self.clone().split_at(len);
        *self = rest;
        strip
    }
}

impl<T: Integer> ReversibleIterations for RangeInclusive<T>
where
    RangeInclusive<T>: DoubleEndedIterator<Item = T>,
{
    type Back<'s>
        = Rev<RangeInclusive<T>>
    where
        Self: 's;

    #[inline]
    fn split_back(self, len: usize) -> (Self, Self) {
        let (start, end) = (*self.start(), *self.end());
        if len == 0 {
            return (self, empty());
        }
        let first = end.minus(len - 1);
        if first == start {
            return (empty(), self);
        }
        (start..=first.minus(1), first..=end)
    }

    #[inline]
    fn strip_back(&mut self, len: usize) -> Rev<RangeInclusive<T>> {
        let (rest, strip) = self.clone().split_back(len);
        *self = rest;
        strip.rev()
    }
}

/// Implements what follows for one kind of ranges.
macro_rules! convert {
    ($($Range:ident),*) => {
        $(
            impl<T: Integer> ExactIterations for $Range<T> where
                $Range<T>: DoubleEndedIterator<Item = T>
            {
            }

            impl<T: Integer> IntoIterations for $Range<T>
            where
                $Range<T>: DoubleEndedIterator<Item = T>,
            {
                type Iterations = Self;
                type Item = T;

                #[inline]
                fn into_iterations(self) -> Self {
                    self
                }
            }

            impl<T: Integer> IntoIterations for &$Range<T>
            where
                $Range<T>: DoubleEndedIterator<Item = T>,
            {
                type Iterations = $Range<T>;
                type Item = T;

                #[inline]
                fn into_iterations(self) -> $Range<T> {
                    self.clone()
                }
            }
        )*
    };
}

convert!(Range, RangeInclusive);

/// An endless range, which numbers the iterations of a loop over a pair.
impl IntoIterations for RangeFrom<usize> {
    type Iterations = Range<usize>;
    type Item = usize;

    #[inline]
    fn into_iterations(self) -> Range<usize> {
        self.start..usize::MAX - 1
    }
}
