//! The ends of chains: what runs them, and combines the results.

use std::cmp::Ordering;
use std::iter::{Product, Sum, empty, once};
use std::ops::ControlFlow;

use super::chain::{Chain, Exact};
use super::{FromPar, Par, Runner};
use crate::loops::{Converted, Try};
use crate::worker::Worker;

impl<R: Runner, C: Chain> Par<R, C> {
    /// Calls `run` with a worker and the iterations of the chain.
    #[inline]
    pub(super) fn run<T: Send>(
        self,
        run: impl for<'w, 'c> FnOnce(R::Worker<'w>, Converted<C::Iterations<'c>>) -> T + Send,
    ) -> T {
        let (source, closures) = self.chain.take_apart();
        let result = {
            let closures = &closures;
            self.runner
                .on_worker(move |w| run(w, Converted(C::iterations(source, closures))))
        };
        // While the result is in a variable: if a destructor panics, the result is still dropped.
        drop(closures);
        result
    }

    /// Calls `body` on each item. If the innermost scope around the loop is cancelled, the loop stops within some
    /// microseconds. No other end stops then, because its result would be wrong.
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let mut numbers = [1, 2, 3];
    /// numbers.par_mut().for_each(|number| *number *= 2);
    /// assert_eq!(numbers, [2, 4, 6]);
    /// ```
    #[inline]
    pub fn for_each<F: Fn(C::Item) + Sync>(self, body: F) {
        let body = &body;
        self.run(move |mut w, items| w.for_each(items, body));
    }

    /// Calls `body` on each item, until it fails. Returns a failure, or success.
    ///
    /// `body` returns a [`Result`], an [`Option`] or a [`ControlFlow`]. After a failure the other workers stop within
    /// some microseconds. If several items fail, one of the failures is returned, and the others are dropped.
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let result = ["1", "x"].par().try_for_each(|text| text.parse::<i32>().map(|_| ()));
    /// assert!(result.is_err());
    /// ```
    #[inline]
    pub fn try_for_each<F, T>(self, body: F) -> T
    where
        F: Fn(C::Item) -> T + Sync,
        T: Try<Output = ()> + Send,
    {
        let body = &body;
        self.run(move |mut w, items| w.try_for_each(items, body))
    }

    /// Folds the items. Each serial run of items begins with the value of `init` and adds one item after the
    /// other by `step`. `combine` puts the results of neighbouring runs together.
    ///
    /// There are about as many runs as workers that help, and each of them is as long as possible. Where they
    /// begin depends on chance.
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let text = ["a", "b", "c"].par().fold(String::new, |text, s| text + s, |a, b| a + &b);
    /// assert_eq!(text, "abc");
    /// ```
    #[inline]
    pub fn fold<A, N, F, K>(self, init: N, step: F, combine: K) -> A
    where
        A: Send,
        N: Fn() -> A + Sync,
        F: Fn(A, C::Item) -> A + Sync,
        K: Fn(A, A) -> A + Sync,
    {
        let (init, step, combine) = (&init, &step, &combine);
        self.run(move |mut w, items| w.fold(items, init, step, combine))
    }

    /// Folds the items until a step or a combination fails. See [`fold`](Self::fold) and
    /// [`try_for_each`](Self::try_for_each).
    #[inline]
    pub fn try_fold<A, N, F, K, T>(self, init: N, step: F, combine: K) -> T
    where
        A: Send,
        N: Fn() -> A + Sync,
        F: Fn(A, C::Item) -> T + Sync,
        K: Fn(A, A) -> T + Sync,
        T: Try<Output = A> + Send,
    {
        let (init, step, combine) = (&init, &step, &combine);
        self.run(move |mut w, items| w.try_fold(items, init, step, combine))
    }

    /// Combines the items, or returns `None` if there are none. Items are combined in their order, so `combine`
    /// need not be commutative. It must be associative: the bracketing depends on chance, and with it the
    /// rounding of floating-point sums. See [`Iterator::reduce`].
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// assert_eq!((1..=5).into_par().reduce(|a, b| a * b), Some(120));
    /// ```
    #[inline]
    pub fn reduce<K>(self, combine: K) -> Option<C::Item>
    where
        C::Item: Send,
        K: Fn(C::Item, C::Item) -> C::Item + Sync,
    {
        let combine = &combine;
        self.run(move |mut w, items| w.map_reduce(items, |item| item, combine))
    }

    /// Returns the sum of the items. See [`Iterator::sum`].
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// assert_eq!([1, 2, 3].par().sum::<i32>(), 6);
    /// ```
    #[inline]
    pub fn sum<S: Sum<C::Item> + Sum<S> + Send>(self) -> S {
        self.fold(
            || empty::<S>().sum(),
            |sum, item| [sum, once(item).sum()].into_iter().sum(),
            |a, b| [a, b].into_iter().sum(),
        )
    }

    /// Returns the product of the items. See [`Iterator::product`].
    #[inline]
    pub fn product<S: Product<C::Item> + Product<S> + Send>(self) -> S {
        self.fold(
            || empty::<S>().product(),
            |product, item| [product, once(item).product()].into_iter().product(),
            |a, b| [a, b].into_iter().product(),
        )
    }

    /// Returns the number of items. See [`Iterator::count`].
    #[inline]
    pub fn count(self) -> usize {
        self.fold(|| 0, |count, _| count + 1, |a, b| a + b)
    }

    /// Returns the smallest item, the first of several. See [`Iterator::min`].
    #[inline]
    pub fn min(self) -> Option<C::Item>
    where
        C::Item: Ord + Send,
    {
        self.min_by(Ord::cmp)
    }

    /// Returns the largest item, the last of several. See [`Iterator::max`].
    #[inline]
    pub fn max(self) -> Option<C::Item>
    where
        C::Item: Ord + Send,
    {
        self.max_by(Ord::cmp)
    }

    /// Returns the item that is smallest by `compare`, the first of several. See [`Iterator::min_by`].
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// assert_eq!([2.5_f64, 1.5].par().min_by(|a, b| a.total_cmp(b)), Some(&1.5));
    /// ```
    #[inline]
    pub fn min_by<F>(self, compare: F) -> Option<C::Item>
    where
        C::Item: Send,
        F: Fn(&C::Item, &C::Item) -> Ordering + Sync,
    {
        self.reduce(|a, b| match compare(&a, &b) {
            Ordering::Greater => {
                // Before the result: see the page on panics in `loops`.
                drop(a);
                b
            }
            _ => {
                drop(b);
                a
            }
        })
    }

    /// Returns the item that is largest by `compare`, the last of several. See [`Iterator::max_by`].
    #[inline]
    pub fn max_by<F>(self, compare: F) -> Option<C::Item>
    where
        C::Item: Send,
        F: Fn(&C::Item, &C::Item) -> Ordering + Sync,
    {
        self.reduce(|a, b| match compare(&a, &b) {
            Ordering::Greater => {
                drop(b);
                a
            }
            _ => {
                drop(a);
                b
            }
        })
    }

    /// Returns the item with the smallest key, the first of several. Computes each key once. See
    /// [`Iterator::min_by_key`].
    #[inline]
    pub fn min_by_key<K: Ord + Send, F>(self, key: F) -> Option<C::Item>
    where
        C::Item: Send,
        F: Fn(&C::Item) -> K + Sync,
    {
        let smallest = self
            .map(|item| (key(&item), item))
            .min_by(|a, b| a.0.cmp(&b.0));
        smallest.map(item)
    }

    /// Returns the item with the largest key, the last of several. Computes each key once. See
    /// [`Iterator::max_by_key`].
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let words = ["steal", "purloin", "nab"];
    /// assert_eq!(words.par().max_by_key(|word| word.len()), Some(&"purloin"));
    /// ```
    #[inline]
    pub fn max_by_key<K: Ord + Send, F>(self, key: F) -> Option<C::Item>
    where
        C::Item: Send,
        F: Fn(&C::Item) -> K + Sync,
    {
        let largest = self
            .map(|item| (key(&item), item))
            .max_by(|a, b| a.0.cmp(&b.0));
        largest.map(item)
    }

    /// Returns whether `holds` is true for any item. Once it is, the loop stops within some microseconds. See
    /// [`Iterator::any`].
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// assert!((0..1000).into_par().any(|n| n * n == 49));
    /// ```
    #[inline]
    pub fn any<F: Fn(C::Item) -> bool + Sync>(self, holds: F) -> bool {
        let found = self.try_for_each(|item| match holds(item) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        found.is_break()
    }

    /// Returns whether `holds` is true for all items. Once it is not, the loop stops within some microseconds. See
    /// [`Iterator::all`].
    #[inline]
    pub fn all<F: Fn(C::Item) -> bool + Sync>(self, holds: F) -> bool {
        !self.any(|item| !holds(item))
    }

    /// Returns an item for which `holds` is true, the first that some worker finds. See also
    /// [`find_first`](Self::find_first).
    #[inline]
    pub fn find_any<F>(self, holds: F) -> Option<C::Item>
    where
        C::Item: Send,
        F: Fn(&C::Item) -> bool + Sync,
    {
        self.find_map_any(|item| holds(&item).then_some(item))
    }

    /// Returns the value in a `Some` that `f` returns, the first that some worker finds.
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let number = ["x", "7"].par().find_map_any(|text| text.parse::<u32>().ok());
    /// assert_eq!(number, Some(7));
    /// ```
    #[inline]
    pub fn find_map_any<T: Send, F>(self, f: F) -> Option<T>
    where
        F: Fn(C::Item) -> Option<T> + Sync,
    {
        let found = self.try_for_each(|item| match f(item) {
            Some(value) => ControlFlow::Break(value),
            None => ControlFlow::Continue(()),
        });
        match found {
            ControlFlow::Break(value) => Some(value),
            ControlFlow::Continue(()) => None,
        }
    }

    /// Collects the items, in their order, into a vector, a string, or another collection. See
    /// [`Iterator::collect`], and [`FromPar`] for the collections.
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let squares: Vec<u64> = (0..4_u64).into_par().map(|n| n * n).collect();
    /// assert_eq!(squares, [0, 1, 4, 9]);
    /// let numbers: Result<Vec<u32>, _> = ["1", "x"].par().map(|text| text.parse::<u32>()).collect();
    /// assert!(numbers.is_err());
    /// ```
    #[inline]
    pub fn collect<T: FromPar<C::Item>>(self) -> T {
        T::from_par(self)
    }

    /// Collects pairs into two collections. See [`Iterator::unzip`].
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let (even, half): (Vec<u32>, Vec<u32>) = (0..3_u32).into_par().map(|n| (2 * n, n / 2)).unzip();
    /// assert_eq!((even, half), (vec![0, 2, 4], vec![0, 0, 1]));
    /// ```
    #[inline]
    pub fn unzip<A: Send, B: Send, X, Y>(self) -> (X, Y)
    where
        C: Chain<Item = (A, B)>,
        X: Default + Extend<A>,
        Y: Default + Extend<B>,
    {
        self.collect::<Vec<_>>().into_iter().unzip()
    }

    /// Collects the items for which `holds` is true, and the others. See [`Iterator::partition`].
    #[inline]
    pub fn partition<T, F>(self, holds: F) -> (T, T)
    where
        C::Item: Send,
        T: Default + Extend<C::Item>,
        F: Fn(&C::Item) -> bool + Sync,
    {
        let sorted = self.map(|item| (holds(&item), item)).collect::<Vec<_>>();
        let (mut left, mut right) = (T::default(), T::default());
        for (holds, item) in sorted {
            let side = if holds { &mut left } else { &mut right };
            side.extend(once(item));
        }
        (left, right)
    }
}

/// Drops the key of an item first: see the page on panics in `loops`.
fn item<K, T>((key, item): (K, T)) -> T {
    drop(key);
    item
}

/// Ends that need positions.
impl<R: Runner, C: Exact> Par<R, C> {
    /// Returns the first item, in the order of the chain, for which `holds` is true. Once a worker has found
    /// one, no worker begins a later item. See [`Iterator::find`].
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// assert_eq!([3, 4, 6].par().find_first(|n| **n % 2 == 0), Some(&4));
    /// ```
    #[inline]
    pub fn find_first<F>(self, holds: F) -> Option<C::Item>
    where
        C::Item: Send,
        F: Fn(&C::Item) -> bool + Sync,
    {
        let found = self.first(|item| holds(&item).then_some(item));
        found.map(|(_, item)| item)
    }

    /// Returns the position of the first item for which `holds` is true. Once a worker has found one, no worker
    /// begins a later item. See [`Iterator::position`].
    #[inline]
    pub fn position<F: Fn(C::Item) -> bool + Sync>(self, holds: F) -> Option<usize> {
        let found = self.first(|item| holds(item).then_some(()));
        found.map(|(position, ())| position)
    }

    #[inline]
    fn first<T: Send>(self, pick: impl Fn(C::Item) -> Option<T> + Sync) -> Option<(usize, T)> {
        let pick = &pick;
        self.run(move |mut w, items| crate::loops::first(&mut w, items, pick))
    }
}
