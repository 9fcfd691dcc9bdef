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

    /// Returns the number of iterations, or [`usize::MAX`] if there are more.
    ///
    /// The number may be larger, unless these are [`ExactIterations`]: that of the bytes of a text,
    /// for example, instead of its lines. If it is 0, no iterations are left.
    fn remaining(&self) -> usize;

    /// Returns whether no iterations may be left sooner than [`remaining`](Self::remaining) says, so
    /// that a plain loop must ask from time to time.
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

    /// Returns the iterations with which this part of the loop goes on after it was split and all parts have ended. A
    /// worker asks before each split. Most iterations have none: their parts end when nothing is left.
    #[doc(hidden)]
    #[inline]
    fn again(&self) -> Option<Self> {
        None
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
        super::fold_items(self.strip(len), sum, step)
    }
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
impl<T: Sync> ExactIterations for super::Windows<'_, T> {}
impl<T: Send> ExactIterations for super::Owned<T> {}
impl<I: super::ReversibleIterations> ExactIterations for super::Reversed<I> {}
impl<I: ExactIterations> ExactIterations for super::Stepped<I> {}

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
    ['s, T: Sync] super::Windows<'s, T>,
    [I: super::ReversibleIterations] super::Reversed<I>,
    [I: ExactIterations] super::Stepped<I>,
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
mod tests {
    use super::super::{Reversed, ReversibleIterations, Stepped};
    use super::*;
    use crate::Worker;

    fn all<I: Iterations>(mut iterations: I) -> Vec<I::Item> {
        let len = iterations.remaining();
        iterations.strip(len).collect()
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

    /// Checks what [`check`] checks, of iterations that cannot be cloned, and strips as well.
    fn check_all<I: Iterations>(make: impl Fn() -> I, expected: &[I::Item])
    where
        I::Item: PartialEq + std::fmt::Debug,
    {
        assert_eq!(all(make()), expected);
        for index in 0..=expected.len() {
            let (front, back) = make().split_at(index);
            assert_eq!(front.remaining() + back.remaining(), expected.len());
            assert_eq!((&all(front)[..], &all(back)[..]), expected.split_at(index));
            let mut rest = make();
            let strip: Vec<_> = rest.strip(index).collect();
            assert_eq!(rest.remaining(), expected.len() - index);
            assert_eq!((&strip[..], &all(rest)[..]), expected.split_at(index));
        }
    }

    #[test]
    fn iterations_may_run_backwards() {
        use super::super::{chunks, chunks_mut, reversed};

        fn rev<I: IntoIterations<Iterations: ReversibleIterations>>(
            items: I,
        ) -> Reversed<I::Iterations> {
            reversed(items.into_iterations())
        }
        let numbers = [1, 2, 3, 4, 5];
        check_all(|| rev(-2..3), &[2, 1, 0, -1, -2]);
        check_all(
            || rev(i8::MIN..i8::MAX),
            &(i8::MIN..i8::MAX).rev().collect::<Vec<_>>(),
        );
        check_all(|| rev(&numbers), &numbers.iter().rev().collect::<Vec<_>>());
        check_all(|| rev(vec![1, 2, 3]), &[3, 2, 1]);
        check_all(|| rev(chunks(&numbers, 2)), &[&[5][..], &[3, 4], &[1, 2]]);
        check_all(|| rev(1..=3), &[3, 2, 1]);
        check_all(|| rev(253..=u8::MAX), &[255, 254, 253]);
        let mut numbers = numbers;
        crate::Serial.for_each((0.., rev(&mut numbers)), |(i, n)| *n += 10 * i);
        assert_eq!(numbers, [41, 32, 23, 14, 5]);
        crate::Serial.for_each((0.., rev(chunks_mut(&mut numbers, 3))), |(i, part)| {
            part[0] = i
        });
        assert_eq!(numbers, [1, 32, 23, 0, 5]);
    }

    fn step_by<I: IntoIterations<Iterations: ExactIterations>>(
        items: I,
        step: usize,
    ) -> Stepped<I::Iterations> {
        Stepped::new(items.into_iterations(), step)
    }

    #[test]
    #[should_panic = "fewer than"]
    fn steps_need_iterations_that_can_be_counted() {
        step_by(0..=u64::MAX, 1 << 62);
    }

    #[test]
    fn iterations_may_leave_others_out() {
        use super::super::{chunks_exact, chunks_exact_mut, reversed, windows};

        let numbers = [1, 2, 3, 4, 5];
        check_all(|| step_by(0..10, 3), &[0, 3, 6, 9]);
        check_all(|| step_by(0..9, 3), &[0, 3, 6]);
        check_all(|| step_by(0..0, 3), &[]);
        check_all(|| step_by(&numbers, usize::MAX), &[&1]);
        check_all(
            || windows(&numbers, 3),
            &[&[1, 2, 3][..], &[2, 3, 4], &[3, 4, 5]],
        );
        check_all(|| windows(&numbers, 6), &[]);
        check_all(
            || reversed(windows(&numbers, 3)),
            &[&[3, 4, 5][..], &[2, 3, 4], &[1, 2, 3]],
        );
        check_all(|| reversed(windows(&numbers, 6)), &[]);
        check_all(|| chunks_exact(&numbers, 2), &[&[1, 2][..], &[3, 4]]);
        check_all(|| chunks_exact(&numbers, 9), &[]);
        let mut numbers = numbers;
        assert_eq!(chunks_exact_mut(&mut numbers, 2).remaining(), 2);
    }

    #[test]
    fn tuples_run_in_step() {
        let (a, b) = ([1, 2, 3], ["x", "y", "z"]);
        check_all(
            || (0..9, &b).into_iterations(),
            &[(0, &"x"), (1, &"y"), (2, &"z")],
        );
        check_all(
            || (0.., &a, &b[..2]).into_iterations(),
            &[(0, &1, &"x"), (1, &2, &"y")],
        );
        check_all(
            || (&a, 5.., a, vec![7, 8]).into_iterations(),
            &[(&1, 5, 1, 7), (&2, 6, 2, 8)],
        );
    }

    #[test]
    fn collections_are_iterations() {
        use std::collections::*;

        let numbers = [1, 2, 3];
        let references = [&1, &2, &3];
        check_all(|| numbers.into_iterations(), &numbers);
        check_all(|| numbers.to_vec().into_iterations(), &numbers);
        check_all(|| Box::<[i32]>::from(numbers).into_iterations(), &numbers);
        check_all(|| vec![(); 3].into_iterations(), &[(); 3]);
        check_all(
            || numbers.map(|n| n.to_string()).into_iterations(),
            &["1", "2", "3"].map(String::from),
        );

        let mut deque = VecDeque::from(numbers);
        deque.rotate_left(1);
        check_all(|| deque.clone().into_iterations(), &[2, 3, 1]);
        check_all(|| (&deque).into_iterations(), &[&2, &3, &1]);
        let list = LinkedList::from(numbers);
        check_all(|| list.clone().into_iterations(), &numbers);
        check_all(|| (&list).into_iterations(), &references);
        let set = BTreeSet::from(numbers);
        check_all(|| set.clone().into_iterations(), &numbers);
        check_all(|| (&set).into_iterations(), &references);
        let map = BTreeMap::from(numbers.map(|n| (n, -n)));
        check_all(
            || map.clone().into_iterations(),
            &[(1, -1), (2, -2), (3, -3)],
        );
        check_all(
            || (&map).into_iterations(),
            &[(&1, &-1), (&2, &-2), (&3, &-3)],
        );

        let (mut deque, mut map, mut list) = (deque, map, list);
        crate::Serial.for_each((&mut deque, &mut map, &mut list), |(a, (_, b), c)| {
            (*a, *b, *c) = (1, 1, 1);
        });
        assert_eq!(deque, [1, 1, 1]);
        assert!(map.values().chain(&list).all(|&n| n == 1));

        let set = HashSet::from(numbers);
        let sum = |set| {
            crate::Serial
                .par(set)
                .fold(|| 0, |sum, n: i32| sum + n, |a, b| a + b)
        };
        assert_eq!(sum(set.clone()), 6);
        assert_eq!((&set).into_iterations().remaining(), 3);
        let mut map = HashMap::from(numbers.map(|n| (n, -n)));
        crate::Serial.for_each(&mut map, |(key, value)| *value += key);
        assert!(crate::Serial.par(&map).all(|(_, value)| *value == 0));
        assert_eq!(map.into_iterations().remaining(), 3);
        let heap = BinaryHeap::from(numbers);
        assert_eq!((&heap).into_iterations().remaining(), 3);
        assert_eq!(crate::Serial.map_reduce(heap, |n| n, i32::max), Some(3));
    }

    #[test]
    fn values_that_no_iteration_takes_are_dropped() {
        use std::sync::Arc;

        let counted = Arc::new(());
        let many = || vec![Arc::clone(&counted); 10];
        drop(many().into_iterations());
        let (front, mut back) = many().into_iterations().split_at(3);
        assert_eq!(back.strip(4).take(2).count(), 2);
        assert_eq!(Arc::strong_count(&counted), 1 + 3 + 3);
        drop(front);
        assert_eq!(Arc::strong_count(&counted), 1 + 3);
        drop(back.strip_back(2).next());
        drop(back);
        assert_eq!(Arc::strong_count(&counted), 1);
        assert!(crate::Serial.par((0.., many())).any(|(i, _)| i == 4));
        assert_eq!(Arc::strong_count(&counted), 1);
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
