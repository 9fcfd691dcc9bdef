//! The iterations of a loop: slices and tuples, and what all iterations have in common.

use std::iter::{Map, Zip};
use std::marker::PhantomData;
use std::mem;
use std::ops::ControlFlow;
use std::slice;
use std::sync::Arc;

/// The iterations of a loop: a sequence with a length, which can be split.
///
/// A tuple runs over all of its fields in step, and is as long as the shortest one:
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

    /// An iterator over some of these iterations.
    type Strip<'s>: Iterator<Item = Self::Item>
    where
        Self: 's;

    /// Whether these are [`ExactIterations`], so that their results can be collected in place.
    #[doc(hidden)]
    const IS_EXACT: bool = false;

    /// Whether the items of the front of a split come before those of the back. If not, `remaining` may have to
    /// wait for an item. Iterations that contain others have the order of these.
    #[doc(hidden)]
    const IS_ORDERED: bool = true;

    /// Returns the number of iterations, or [`usize::MAX`] if there are more.
    ///
    /// The number may be larger, unless these are [`ExactIterations`]: that of the bytes of a text,
    /// for example, instead of its lines. If it is 0, no iterations are left.
    fn remaining(&self) -> usize;

    /// Returns whether the iterations may end before as many have run as [`remaining`](Self::remaining) says. Then
    /// even a plain loop asks from time to time.
    #[doc(hidden)]
    #[inline]
    fn may_end_early(&self) -> bool {
        false
    }

    /// Splits off the first `index` iterations, and returns them and the rest. `index` is at most
    /// [`remaining`](Self::remaining).
    ///
    /// If the number is inexact, so is the place, but the front is not empty if `index` is at least
    /// 1.
    fn split_at(self, index: usize) -> (Self, Self);

    /// Returns how many of the [remaining](Self::remaining) iterations are there already. Unlike that method, this one
    /// never waits for an item. The methods that split off a part or a strip do not, either: only these iterations
    /// count for them.
    #[doc(hidden)]
    #[inline]
    fn own(&self) -> usize {
        self.remaining()
    }

    /// Returns whether there may be iterations besides the [remaining](Self::remaining) ones. Then a further part may get
    /// some; and if none are remaining, another part has them at present. Always false if they have an
    /// [order](Self::IS_ORDERED).
    #[doc(hidden)]
    #[inline]
    fn is_open(&self) -> bool {
        false
    }

    /// Removes the first `len` iterations, and returns an iterator over them, in their order. `len`
    /// is at most [`remaining`](Self::remaining), unless the number is inexact: then it may be
    /// larger.
    fn strip(&mut self, len: usize) -> Self::Strip<'_>;

    /// Removes the first `len` iterations, and folds them until a step breaks. See
    /// [`strip`](Self::strip).
    #[inline]
    fn fold_strip<A>(
        &mut self,
        len: usize,
        sum: A,
        step: impl FnMut(A, Self::Item) -> ControlFlow<A, A>,
    ) -> ControlFlow<A, A> {
        fold_items(self.strip(len), sum, step)
    }
}

/// Folds the items of an iterator until a step breaks, and drops the other items.
#[inline]
pub(crate) fn fold_items<T, A>(
    mut items: impl Iterator<Item = T>,
    sum: A,
    step: impl FnMut(A, T) -> ControlFlow<A, A>,
) -> ControlFlow<A, A> {
    let result = items.try_fold(sum, step);
    // See the page on panics in `loops`.
    drop(items);
    result
}

/// Iterations whose number is exact: all but [`lines`](crate::lines), [`words`](crate::words),
/// [`chars`](crate::chars) and [`bridge`](crate::bridge()).
///
/// Only these have positions, and can run in step with others.
#[diagnostic::on_unimplemented(
    message = "the iterations `{Self}` have no numbers",
    label = "nobody knows how many lines, words, characters or items of an iterator are before one of them",
    note = "for tuples and positions, collect a vector first: `lines(text).into_par().collect::<Vec<_>>()`"
)]
pub trait ExactIterations: Iterations {}

/// What a loop can run over: everything that converts into [`Iterations`].
///
/// | value | item |
/// |---|---|
/// | `a..b`, `a..=b`, of any integer type | the integer |
/// | slices, `&vec`, `&array`, `&boxed_slice`, `&Arc<[T]>` | `&T` |
/// | mutable slices, `&mut vec`, `&mut array` | `&mut T` |
/// | `vec`, `array`, `boxed_slice`, by value | `T` |
/// | the standard collections, by value or by reference | what their iterators return |
/// | a tuple of two to four of these | a tuple; the loop ends with the shortest |
/// | `(0.., a)` | the index, as a `usize`, and the item |
/// | [`lines`](crate::lines), [`words`](crate::words), [`chars`](crate::chars) of a text; not in tuples | `&str`, `char` |
/// | [`bridge`](crate::bridge)`(iterator)`; not in tuples | the item |
/// | a parallel iterator without closures: [`par.chunks(n).into_iterations()`](crate::iter::Par::into_iterations) | the item |
///
/// A collection that cannot be split in place is copied into a vector first: a map by value, item
/// by item; a map by reference, one reference for each item.
#[diagnostic::on_unimplemented(
    message = "a parallel loop cannot run over `{Self}`",
    label = "not ranges, slices, collections or tuples of these",
    note = "a loop can run over ranges of integers, slices, collections by value or by reference, \
            `lines`, `words` and `chars` of a text, and tuples of these",
    note = "instead of `.iter()`, pass `&collection`; instead of `text.lines()`, `lines(text)`; \
            from any other iterator, collect a `Vec` first, or call `bridge(iterator)`"
)]
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

impl<'s, T: Sync> Iterations for &'s [T] {
    type Item = &'s T;
    type Strip<'p>
        = slice::Iter<'s, T>
    where
        Self: 'p;

    const IS_EXACT: bool = true;

    #[inline]
    fn remaining(&self) -> usize {
        <[T]>::len(self)
    }

    #[inline]
    fn split_at(self, index: usize) -> (Self, Self) {
        <[T]>::split_at(self, index)
    }

    #[inline]
    fn strip(&mut self, len: usize) -> slice::Iter<'s, T> {
        let (strip, rest) = <[T]>::split_at(self, len);
        *self = rest;
        strip.iter()
    }
}

impl<'s, T: Send> Iterations for &'s mut [T] {
    type Item = &'s mut T;
    type Strip<'p>
        = slice::IterMut<'s, T>
    where
        Self: 'p;

    const IS_EXACT: bool = true;

    #[inline]
    fn remaining(&self) -> usize {
        <[T]>::len(self)
    }

    #[inline]
    fn split_at(self, index: usize) -> (Self, Self) {
        self.split_at_mut(index)
    }

    #[inline]
    fn strip(&mut self, len: usize) -> slice::IterMut<'s, T> {
        let (strip, rest) = mem::take(self).split_at_mut(len);
        *self = rest;
        strip.iter_mut()
    }
}

/// Iterates over both in step.
impl<A: Iterations, B: Iterations> Iterations for Pair<A, B> {
    type Item = (A::Item, B::Item);
    type Strip<'s>
        = Zip<A::Strip<'s>, B::Strip<'s>>
    where
        Self: 's;

    const IS_EXACT: bool = A::IS_EXACT && B::IS_EXACT;

    #[inline]
    fn remaining(&self) -> usize {
        self.0.remaining().min(self.1.remaining())
    }

    #[inline]
    fn may_end_early(&self) -> bool {
        self.0.may_end_early() || self.1.may_end_early()
    }

    #[inline]
    fn split_at(self, index: usize) -> (Self, Self) {
        let (a, b) = (self.0.split_at(index), self.1.split_at(index));
        (Pair(a.0, b.0), Pair(a.1, b.1))
    }

    #[inline]
    fn strip(&mut self, len: usize) -> Self::Strip<'_> {
        self.0.strip(len).zip(self.1.strip(len))
    }
}

impl<T: Sync> ExactIterations for &[T] {}
impl<T: Send> ExactIterations for &mut [T] {}
impl<A: ExactIterations, B: ExactIterations> ExactIterations for Pair<A, B> {}
impl<P: ExactIterations, T> ExactIterations for Tuple<P, T> where P::Item: Flat<T> {}

/// The iterations of a pair: a loop over both in step.
#[derive(Debug)]
pub struct Pair<A, B>(A, B);

impl<A, B> Pair<A, B> {
    /// Both must be exact.
    pub(crate) fn new(a: A, b: B) -> Self {
        Pair(a, b)
    }
}

impl<A: IntoIterations, B: IntoIterations> IntoIterations for (A, B)
where
    A::Iterations: ExactIterations,
    B::Iterations: ExactIterations,
{
    type Iterations = Pair<A::Iterations, B::Iterations>;
    type Item = (A::Item, B::Item);

    #[inline]
    fn into_iterations(self) -> Self::Iterations {
        Pair(self.0.into_iterations(), self.1.into_iterations())
    }
}

/// The iterations of a tuple of three or four fields, as pairs of pairs. `T` is the tuple of their
/// items.
#[derive(Debug)]
pub struct Tuple<P, T>(P, PhantomData<fn() -> T>);

/// A pair of pairs whose items are a tuple `T`.
pub trait Flat<T> {
    /// Returns the same items in one tuple.
    fn flat(self) -> T;
}

impl<A, B, C> Flat<(A, B, C)> for ((A, B), C) {
    #[inline]
    fn flat(self) -> (A, B, C) {
        let ((a, b), c) = self;
        (a, b, c)
    }
}

impl<A, B, C, D> Flat<(A, B, C, D)> for ((A, B), (C, D)) {
    #[inline]
    fn flat(self) -> (A, B, C, D) {
        let ((a, b), (c, d)) = self;
        (a, b, c, d)
    }
}

impl<P, T> Iterations for Tuple<P, T>
where
    P: Iterations,
    P::Item: Flat<T>,
{
    type Item = T;
    type Strip<'s>
        = Map<P::Strip<'s>, fn(P::Item) -> T>
    where
        Self: 's;

    const IS_EXACT: bool = P::IS_EXACT;

    #[inline]
    fn remaining(&self) -> usize {
        self.0.remaining()
    }

    #[inline]
    fn may_end_early(&self) -> bool {
        self.0.may_end_early()
    }

    #[inline]
    fn split_at(self, index: usize) -> (Self, Self) {
        let (front, back) = self.0.split_at(index);
        (Tuple(front, PhantomData), Tuple(back, PhantomData))
    }

    #[inline]
    fn strip(&mut self, len: usize) -> Self::Strip<'_> {
        self.0.strip(len).map(Flat::flat)
    }
}

impl<A, B, C> IntoIterations for (A, B, C)
where
    A: IntoIterations<Iterations: ExactIterations>,
    B: IntoIterations<Iterations: ExactIterations>,
    C: IntoIterations<Iterations: ExactIterations>,
{
    type Iterations =
        Tuple<Pair<Pair<A::Iterations, B::Iterations>, C::Iterations>, (A::Item, B::Item, C::Item)>;
    type Item = (A::Item, B::Item, C::Item);

    #[inline]
    fn into_iterations(self) -> Self::Iterations {
        let (a, b, c) = self;
        let pair = (a, b).into_iterations();
        Tuple(Pair(pair, c.into_iterations()), PhantomData)
    }
}

impl<A, B, C, D> IntoIterations for (A, B, C, D)
where
    A: IntoIterations<Iterations: ExactIterations>,
    B: IntoIterations<Iterations: ExactIterations>,
    C: IntoIterations<Iterations: ExactIterations>,
    D: IntoIterations<Iterations: ExactIterations>,
{
    type Iterations = Tuple<
        Pair<Pair<A::Iterations, B::Iterations>, Pair<C::Iterations, D::Iterations>>,
        (A::Item, B::Item, C::Item, D::Item),
    >;
    type Item = (A::Item, B::Item, C::Item, D::Item);

    #[inline]
    fn into_iterations(self) -> Self::Iterations {
        let (a, b, c, d) = self;
        let pairs = Pair((a, b).into_iterations(), (c, d).into_iterations());
        Tuple(pairs, PhantomData)
    }
}

into_iterations! {
    ['s, T: Sync] &'s [T],
    ['s, T: Send] &'s mut [T],
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
    ['s, T: Sync] &'s Box<[T]> => &'s [T],
    ['s, T: Send] &'s mut Box<[T]> => &'s mut [T],
    ['s, T: Sync] &'s Arc<[T]> => &'s [T],
    ['s, T: Sync, const N: usize] &'s [T; N] => &'s [T],
    ['s, T: Send, const N: usize] &'s mut [T; N] => &'s mut [T],
}

#[cfg(all(test, not(loom)))]
mod tests;
