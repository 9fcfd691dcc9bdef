//! The iterations of a loop: ranges, slices, chunks and pairs.

use std::iter::Zip;
use std::ops::{Range, RangeFrom, RangeInclusive};
use std::slice;

/// The iterations of a loop: a sequence with a length, which can be split.
///
/// A loop can run over ranges of integers, slices, mutable slices, the [chunks](crate::chunks) of
/// either, and pairs of these. A pair runs over both in step, and is as long as the shorter one:
///
/// ```
/// use purloin::{Serial, Worker};
///
/// let (from, mut to) = ([1, 2, 3], [0; 3]);
/// Serial.for_each((&from, &mut to), |(from, to)| *to = 2 * from);
/// assert_eq!(to, [2, 4, 6]);
/// ```
pub trait Iterations: Sized + Send {
    /// The argument of each iteration.
    type Item;

    /// An iterator over these iterations.
    type Iter: Iterator<Item = Self::Item>;

    /// Returns the number of iterations, or [`usize::MAX`] if there are more.
    fn remaining(&self) -> usize;

    /// Splits off the first `index` iterations, and returns them and the rest. `index` is at most
    /// [`remaining`](Self::remaining).
    fn split_at(self, index: usize) -> (Self, Self);

    /// Returns an iterator over all iterations, in their order.
    fn in_order(self) -> Self::Iter;
}

/// Conversion into [`Iterations`]: implemented by all iterations, and by references to vectors and
/// arrays.
pub trait IntoIterations {
    /// The iterations that this is converted into.
    type Iterations: Iterations<Item = Self::Item>;

    /// The argument of each iteration.
    type Item;

    /// Performs the conversion.
    fn into_iterations(self) -> Self::Iterations;
}

/// Iterations that were converted already, as an argument of a loop.
pub(crate) struct Converted<I>(pub(crate) I);

impl<I: Iterations> IntoIterations for Converted<I> {
    type Iterations = I;
    type Item = I::Item;

    #[inline]
    fn into_iterations(self) -> I {
        self.0
    }
}

macro_rules! ranges {
    ($($Int:ident),*) => {
        $(
            impl Iterations for Range<$Int> {
                type Item = $Int;
                type Iter = Range<$Int>;

                #[inline]
                fn remaining(&self) -> usize {
                    match self.start < self.end {
                        // The difference of two signed numbers may be too large for their type.
                        true => usize::try_from(self.end.abs_diff(self.start)).unwrap_or(usize::MAX),
                        false => 0,
                    }
                }

                #[inline]
                fn split_at(self, index: usize) -> (Self, Self) {
                    // Wrapping: `index` may be too large for a signed type, but the sum is in
                    // range.
                    let middle = self.start.wrapping_add(index as $Int);
                    (self.start..middle, middle..self.end)
                }

                #[inline]
                fn in_order(self) -> Self::Iter {
                    self
                }
            }

            impl Iterations for RangeInclusive<$Int> {
                type Item = $Int;
                type Iter = RangeInclusive<$Int>;

                #[inline]
                fn remaining(&self) -> usize {
                    match self.is_empty() {
                        false => usize::try_from(self.end().abs_diff(*self.start()))
                            .unwrap_or(usize::MAX)
                            .saturating_add(1),
                        true => 0,
                    }
                }

                #[inline]
                #[allow(clippy::reversed_empty_ranges)]
                fn split_at(self, index: usize) -> (Self, Self) {
                    let (start, end) = (*self.start(), *self.end());
                    if index == 0 {
                        return (1..=0, self);
                    }
                    let last = start.wrapping_add((index - 1) as $Int);
                    if last == end {
                        return (self, 1..=0);
                    }
                    (start..=last, last.wrapping_add(1)..=end)
                }

                #[inline]
                fn in_order(self) -> Self::Iter {
                    self
                }
            }
        )*
        into_iterations! { $([] Range<$Int>, [] RangeInclusive<$Int>,)* }
    };
}

/// Implements `IntoIterations` for iterations, which convert into themselves.
macro_rules! into_iterations {
    ($([$($generics:tt)*] $Type:ty,)*) => {
        $(
            impl<$($generics)*> IntoIterations for $Type {
                type Iterations = Self;
                type Item = <Self as Iterations>::Item;

                #[inline]
                fn into_iterations(self) -> Self {
                    self
                }
            }
        )*
    };
}

ranges!(
    u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize
);

impl<'s, T: Sync> Iterations for &'s [T] {
    type Item = &'s T;
    type Iter = slice::Iter<'s, T>;

    #[inline]
    fn remaining(&self) -> usize {
        <[T]>::len(self)
    }

    #[inline]
    fn split_at(self, index: usize) -> (Self, Self) {
        <[T]>::split_at(self, index)
    }

    #[inline]
    fn in_order(self) -> Self::Iter {
        self.iter()
    }
}

impl<'s, T: Send> Iterations for &'s mut [T] {
    type Item = &'s mut T;
    type Iter = slice::IterMut<'s, T>;

    #[inline]
    fn remaining(&self) -> usize {
        <[T]>::len(self)
    }

    #[inline]
    fn split_at(self, index: usize) -> (Self, Self) {
        self.split_at_mut(index)
    }

    #[inline]
    fn in_order(self) -> Self::Iter {
        self.iter_mut()
    }
}

/// Iterates over both in step.
impl<A: Iterations, B: Iterations> Iterations for Pair<A, B> {
    type Item = (A::Item, B::Item);
    type Iter = Zip<A::Iter, B::Iter>;

    #[inline]
    fn remaining(&self) -> usize {
        self.0.remaining().min(self.1.remaining())
    }

    #[inline]
    fn split_at(self, index: usize) -> (Self, Self) {
        let (a, b) = (self.0.split_at(index), self.1.split_at(index));
        (Pair(a.0, b.0), Pair(a.1, b.1))
    }

    #[inline]
    fn in_order(self) -> Self::Iter {
        self.0.in_order().zip(self.1.in_order())
    }
}

/// The iterations of a pair: a loop over both in step.
#[derive(Debug)]
pub struct Pair<A, B>(A, B);

impl<A: IntoIterations, B: IntoIterations> IntoIterations for (A, B) {
    type Iterations = Pair<A::Iterations, B::Iterations>;
    type Item = (A::Item, B::Item);

    #[inline]
    fn into_iterations(self) -> Self::Iterations {
        Pair(self.0.into_iterations(), self.1.into_iterations())
    }
}

into_iterations! {
    ['s, T: Sync] &'s [T],
    ['s, T: Send] &'s mut [T],
    ['s, T: Sync] super::Chunks<'s, T>,
    ['s, T: Send] super::ChunksMut<'s, T>,
}

/// An endless range, which numbers the iterations of a loop over a pair.
impl IntoIterations for RangeFrom<usize> {
    type Iterations = Range<usize>;
    type Item = usize;

    #[inline]
    fn into_iterations(self) -> Range<usize> {
        self.start..usize::MAX
    }
}

/// Implements `IntoIterations` for references that convert into slices.
macro_rules! into_slice {
    ($([$($generics:tt)*] $Type:ty => $Slice:ty,)*) => {
        $(
            impl<$($generics)*> IntoIterations for $Type {
                type Iterations = $Slice;
                type Item = <$Slice as Iterations>::Item;

                #[inline]
                fn into_iterations(self) -> $Slice {
                    self
                }
            }
        )*
    };
}

into_slice! {
    ['s, T: Sync] &'s Vec<T> => &'s [T],
    ['s, T: Send] &'s mut Vec<T> => &'s mut [T],
    ['s, T: Sync, const N: usize] &'s [T; N] => &'s [T],
    ['s, T: Send, const N: usize] &'s mut [T; N] => &'s mut [T],
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all<I: Iterations>(iterations: I) -> Vec<I::Item> {
        iterations.in_order().collect()
    }

    /// Splits at each place, and compares the parts with the whole.
    fn check<I: Iterations + Clone>(iterations: I)
    where
        I::Item: PartialEq + std::fmt::Debug,
    {
        let expected = all(iterations.clone());
        assert_eq!(iterations.remaining(), expected.len());
        for index in 0..=expected.len() {
            let (front, back) = iterations.clone().split_at(index);
            assert_eq!(
                (front.remaining(), back.remaining()),
                (index, expected.len() - index)
            );
            let mut both = all(front);
            both.extend(all(back));
            assert_eq!(both, expected);
        }
    }

    #[test]
    fn ranges_can_be_split_anywhere() {
        check(0..0);
        check(3_u8..10);
        check(u64::MAX - 3..u64::MAX);
        check(u64::MAX - 3..=u64::MAX);
        check(i64::MIN..i64::MIN + 3);
        check(i128::MAX - 3..=i128::MAX);
        #[allow(clippy::reversed_empty_ranges)]
        check(5..3);
    }

    #[test]
    #[cfg_attr(miri, ignore = "it takes a minute")]
    fn ranges_of_all_bytes_can_be_split_anywhere() {
        check(i8::MIN..i8::MAX);
        check(i8::MIN..=i8::MAX);
        check(0..=u8::MAX);
    }

    #[test]
    fn the_longest_ranges_have_halves() {
        let (front, back) = (i64::MIN..i64::MAX).split_at(1 << 63);
        assert_eq!((front, back), (i64::MIN..0, 0..i64::MAX));
        let all = 0..=u64::MAX;
        assert_eq!(all.remaining(), usize::MAX);
        assert_eq!(
            all.split_at(1 << 63),
            (0..=(1 << 63) - 1, 1 << 63..=u64::MAX)
        );
        assert_eq!((0..u128::MAX).remaining(), usize::MAX);
        let (front, back) = (1..=u64::MAX).split_at(usize::MAX);
        assert_eq!((front.remaining(), back.remaining()), (usize::MAX, 0));
    }

    #[test]
    fn an_inclusive_range_that_was_used_up_is_empty() {
        let mut range = 0..=u8::MAX;
        while range.next().is_some() {}
        assert_eq!(range.remaining(), 0);
    }
}
