//! The ends of chains: what runs them, and combines the results.

use std::cmp::Ordering;
use std::iter::{Product, Sum, empty, once};
use std::ops::ControlFlow;

use super::chain::{Chain, Exact};
use super::{Par, Run, Runner};
use crate::loops::{self, IntoIterations, Pair, Try};
use crate::worker::SyncBody;

impl<R: Runner, C: Run<R>> Par<R, C> {
    /// Calls `run` with a worker, the iterations of the chain, and what it does with their items.
    #[inline]
    pub(super) fn run<T: Send>(
        self,
        run: impl for<'t, 'c> FnOnce(
            R::Token<'t>,
            <C::Chain as Chain>::Iterations<'c>,
            &'c C::Body,
        ) -> T
        + Send,
    ) -> T {
        let (chain, body) = self.chain.into_parts();
        let (source, closures) = chain.take_apart();
        let result = {
            let (closures, body) = (&closures, &body);
            self.runner
                .on_worker(move |w| run(w, C::Chain::iterations(source, closures), body))
        };
        // While the result is in a variable: if a destructor panics, the result is still dropped.
        drop((closures, body));
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
    pub fn for_each<F: Fn(C::Item) + SyncBody>(self, body: F) {
        let body = &body;
        self.run(move |mut w, items, map| {
            loops::for_each(&mut w, items, |w, item| body(C::item(map, w, item)));
        });
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
        F: Fn(C::Item) -> T + SyncBody,
        T: Try<Output = ()> + Send,
    {
        self.try_fold(|| (), |(), item| body(item), |(), ()| T::from_output(()))
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
        N: Fn() -> A + SyncBody,
        F: Fn(A, C::Item) -> A + SyncBody,
        K: Fn(A, A) -> A + SyncBody,
    {
        let (init, step, combine) = (&init, &step, &combine);
        self.run(move |mut w, items, map| {
            let step = |w: R::Token<'_>, sum, item| step(sum, C::item(map, w, item));
            loops::fold(&mut w, items, init, step, combine)
        })
    }

    /// Folds the items until a step or a combination fails. See [`fold`](Self::fold) and
    /// [`try_for_each`](Self::try_for_each).
    #[inline]
    pub fn try_fold<A, N, F, K, T>(self, init: N, step: F, combine: K) -> T
    where
        A: Send,
        N: Fn() -> A + SyncBody,
        F: Fn(A, C::Item) -> T + SyncBody,
        K: Fn(A, A) -> T + SyncBody,
        T: Try<Output = A> + Send,
    {
        let (init, step, combine) = (&init, &step, &combine);
        self.run(move |mut w, items, map| {
            let step = |w: R::Token<'_>, sum, item| step(sum, C::item(map, w, item));
            loops::try_fold(&mut w, items, init, step, combine)
        })
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
        K: Fn(C::Item, C::Item) -> C::Item + SyncBody,
    {
        self.reduce_mapped(|item| item, combine)
    }

    /// Combines what `map` returns for the items.
    #[inline]
    fn reduce_mapped<T: Send, M, K>(self, map: M, combine: K) -> Option<T>
    where
        M: Fn(C::Item) -> T + Sync,
        K: Fn(T, T) -> T + Sync,
    {
        let (map, combine) = (&map, &combine);
        self.run(move |mut w, items, body| {
            let map = |w: R::Token<'_>, item| map(C::item(body, w, item));
            loops::map_reduce(&mut w, items, map, combine)
        })
    }

    /// Combines the values of the items, until an item or a combination fails. Returns a failure, or success, or
    /// `None` if there are no items. See [`reduce`](Self::reduce) and [`try_for_each`](Self::try_for_each).
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let sum = |numbers: &[u8]| numbers.par().map(|&n| Some(n)).try_reduce(u8::checked_add);
    /// assert_eq!(sum(&[1, 2]), Some(Some(3)));
    /// assert_eq!(sum(&[200, 100]), Some(None));
    /// assert_eq!(sum(&[]), None);
    /// ```
    #[inline]
    pub fn try_reduce<T, K>(self, combine: K) -> Option<C::Item>
    where
        T: Send,
        C::Item: Try<Output = T> + Send,
        K: Fn(T, T) -> C::Item + SyncBody,
    {
        let combine = &combine;
        self.run(move |mut w, items, body| {
            let map = |w: R::Token<'_>, item| C::item(body, w, item);
            loops::try_map_reduce(&mut w, items, map, combine)
        })
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
        F: Fn(&C::Item, &C::Item) -> Ordering + SyncBody,
    {
        self.reduce(|a, b| smaller(a, b, &compare))
    }

    /// Returns the item that is largest by `compare`, the last of several. See [`Iterator::max_by`].
    #[inline]
    pub fn max_by<F>(self, compare: F) -> Option<C::Item>
    where
        C::Item: Send,
        F: Fn(&C::Item, &C::Item) -> Ordering + SyncBody,
    {
        self.reduce(|a, b| larger(a, b, &compare))
    }

    /// Returns the item with the smallest key, the first of several. Computes each key once. See
    /// [`Iterator::min_by_key`].
    #[inline]
    pub fn min_by_key<K: Ord + Send, F>(self, key: F) -> Option<C::Item>
    where
        C::Item: Send,
        F: Fn(&C::Item) -> K + SyncBody,
    {
        let by_key = |a: &(K, _), b: &(K, _)| a.0.cmp(&b.0);
        let smallest = self.reduce_mapped(|item| (key(&item), item), |a, b| smaller(a, b, &by_key));
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
        F: Fn(&C::Item) -> K + SyncBody,
    {
        let by_key = |a: &(K, _), b: &(K, _)| a.0.cmp(&b.0);
        let largest = self.reduce_mapped(|item| (key(&item), item), |a, b| larger(a, b, &by_key));
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
    pub fn any<F: Fn(C::Item) -> bool + SyncBody>(self, holds: F) -> bool {
        let found = self.try_for_each(|item| match holds(item) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        found.is_break()
    }

    /// Returns whether `holds` is true for all items. Once it is not, the loop stops within some microseconds. See
    /// [`Iterator::all`].
    #[inline]
    pub fn all<F: Fn(C::Item) -> bool + SyncBody>(self, holds: F) -> bool {
        !self.any(|item| !holds(item))
    }

    /// Returns an item for which `holds` is true, the first that some worker finds. See also
    /// [`find_first`](Self::find_first).
    #[inline]
    pub fn find_any<F>(self, holds: F) -> Option<C::Item>
    where
        C::Item: Send,
        F: Fn(&C::Item) -> bool + SyncBody,
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
        F: Fn(C::Item) -> Option<T> + SyncBody,
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
}

/// Returns the smaller item, the first of two equal ones.
fn smaller<T>(a: T, b: T, compare: &impl Fn(&T, &T) -> Ordering) -> T {
    match compare(&a, &b) {
        Ordering::Greater => {
            // Before the result: see the page on panics in `loops`.
            drop(a);
            b
        }
        _ => {
            drop(b);
            a
        }
    }
}

/// Returns the larger item, the last of two equal ones.
fn larger<T>(a: T, b: T, compare: &impl Fn(&T, &T) -> Ordering) -> T {
    match compare(&a, &b) {
        Ordering::Greater => {
            drop(b);
            a
        }
        _ => {
            drop(a);
            b
        }
    }
}

/// Drops the key of an item first: see the page on panics in `loops`.
fn item<K, T>((key, item): (K, T)) -> T {
    drop(key);
    item
}

/// Ends that look for the first item.
impl<R: Runner, C: Run<R>> Par<R, C> {
    /// Returns the first item, in the order of the chain, for which `holds` is true. Once a worker has found
    /// one, the parts of the loop behind it end within some microseconds. See [`Iterator::find`].
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
        F: Fn(&C::Item) -> bool + SyncBody,
    {
        self.find_map_first(|item| holds(&item).then_some(item))
    }

    /// Returns the value in the first `Some`, in the order of the chain, that `f` returns. See
    /// [`find_first`](Self::find_first) and [`Iterator::find_map`].
    #[inline]
    pub fn find_map_first<T: Send, F>(self, f: F) -> Option<T>
    where
        F: Fn(C::Item) -> Option<T> + SyncBody,
    {
        let f = &f;
        self.run(move |mut w, items, map| {
            loops::first(&mut w, items, |w, item| f(C::item(map, w, item)))
        })
    }

    /// Returns the position of the first item for which `holds` is true. See [`find_first`](Self::find_first) and
    /// [`Iterator::position`].
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// assert_eq!([3, 4, 6].par().position(|n| n % 2 == 0), Some(1));
    /// ```
    #[inline]
    pub fn position<F>(self, holds: F) -> Option<usize>
    where
        C::Chain: Exact,
        F: Fn(C::Item) -> bool + SyncBody,
    {
        let holds = &holds;
        self.run(move |mut w, items, map| {
            let numbered = Pair::new((0..).into_iterations(), items);
            loops::first(&mut w, numbered, |w, (position, item)| {
                holds(C::item(map, w, item)).then_some(position)
            })
        })
    }
}
