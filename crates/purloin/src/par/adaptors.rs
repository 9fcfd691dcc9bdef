//! The adaptors of parallel iterators.

use std::ops::Range;

use super::Par;
use super::adapted::{
    Adapted, Adaptor, Cloned, Filter, FilterMap, FlatMap, Inspect, Map, WhileSome,
};
use super::chain::{Chain, Exact, IntoChain, Reversible, Source};
use super::combined::{Concat, Skip, StepBy, Take, Zip};
use crate::loops::IntoIterations;
use crate::worker::SyncBody;

/// Adaptors.
impl<R, C: Chain> Par<R, C> {
    #[inline]
    fn adapt<A: Adaptor<C::Item>>(self, adaptor: A) -> Par<R, Adapted<C, A>> {
        self.with(|chain| Adapted { chain, adaptor })
    }

    /// Calls `f` on each item, and goes on with the results. See [`Iterator::map`].
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let lengths: Vec<usize> = ["a", "bc"].par().map(|word| word.len()).collect();
    /// assert_eq!(lengths, [1, 2]);
    /// ```
    #[inline]
    pub fn map<T, F: Fn(C::Item) -> T + SyncBody>(self, f: F) -> Par<R, Adapted<C, Map<F>>> {
        self.adapt(Map(f))
    }

    /// Leaves out items for which `holds` is false. See [`Iterator::filter`].
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// assert_eq!((0..10).into_par().filter(|n| n % 2 == 0).sum::<i32>(), 20);
    /// ```
    #[inline]
    pub fn filter<F: Fn(&C::Item) -> bool + SyncBody>(
        self,
        holds: F,
    ) -> Par<R, Adapted<C, Filter<F>>> {
        self.adapt(Filter(holds))
    }

    /// Calls `f` on each item, and goes on with the values in `Some`. See [`Iterator::filter_map`].
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let numbers: Vec<u32> = ["7", "x", "11"].par().filter_map(|text| text.parse().ok()).collect();
    /// assert_eq!(numbers, [7, 11]);
    /// ```
    #[inline]
    pub fn filter_map<T, F: Fn(C::Item) -> Option<T> + SyncBody>(
        self,
        f: F,
    ) -> Par<R, Adapted<C, FilterMap<F>>> {
        self.adapt(FilterMap(f))
    }

    /// Calls `f` on each item, and goes on with the items of the iterators that it returns. One worker runs
    /// each of these iterators, and no other worker helps it. See [`Iterator::flat_map`].
    ///
    /// The loop looks for thieves, and whether it is over, only between these iterators. So none of them may be endless,
    /// even if the loop is cancelled or ends early.
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let all: Vec<u32> = (0..4_u32).into_par().flat_map_iter(|n| 0..n).collect();
    /// assert_eq!(all, [0, 0, 1, 0, 1, 2]);
    /// ```
    #[inline]
    pub fn flat_map_iter<T: IntoIterator, F: Fn(C::Item) -> T + SyncBody>(
        self,
        f: F,
    ) -> Par<R, Adapted<C, FlatMap<F>>> {
        self.adapt(FlatMap(f))
    }

    /// Calls `f` on a reference to each item. See [`Iterator::inspect`].
    #[inline]
    pub fn inspect<F: Fn(&C::Item) + SyncBody>(self, f: F) -> Par<R, Adapted<C, Inspect<F>>> {
        self.adapt(Inspect(f))
    }

    /// Clones each item. See [`Iterator::cloned`].
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let words = [String::from("a"), String::from("b")];
    /// assert_eq!(words.par().cloned().collect::<Vec<_>>(), words);
    /// ```
    #[inline]
    pub fn cloned<'t, T: Clone + 't>(self) -> Par<R, Adapted<C, Cloned>>
    where
        C: Chain<Item = &'t T>,
    {
        self.adapt(Cloned)
    }

    /// Copies each item. See [`Iterator::copied`].
    #[inline]
    pub fn copied<'t, T: Copy + 't>(self) -> Par<R, Adapted<C, Cloned>>
    where
        C: Chain<Item = &'t T>,
    {
        self.adapt(Cloned)
    }

    /// Goes on with the values in `Some`, until a worker meets a `None`. Other workers go on until they notice, so
    /// some values before the `None` may be missing, and some after it may be there.
    #[inline]
    pub fn while_some<T>(self) -> Par<R, WhileSome<C>>
    where
        C: Chain<Item = Option<T>>,
    {
        self.with(WhileSome)
    }

    /// Goes on with the items of `other`. See [`Iterator::chain`]. If one of the two is a [bridge](crate::bridge()),
    /// the items of both have no order.
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let all: Vec<i32> = (0..2).into_par().chain(7..9).collect();
    /// assert_eq!(all, [0, 1, 7, 8]);
    /// ```
    #[inline]
    pub fn chain<D>(self, other: D) -> Par<R, Concat<C, D::Chain>>
    where
        D: IntoChain<Chain: Chain<Item = C::Item>>,
    {
        self.with(|chain| Concat(chain, other.into_chain()))
    }

    /// Returns the items in the reverse order. See [`Iterator::rev`].
    ///
    /// # Panics
    ///
    /// Panics if a part of a chain, after `zip`, `skip`, `take` or `step_by` for example, is reversed and the chain
    /// has [`usize::MAX`] items or more.
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let all: Vec<(usize, char)> = ['a', 'b'].into_par().enumerate().rev().collect();
    /// assert_eq!(all, [(1, 'b'), (0, 'a')]);
    /// ```
    #[inline]
    pub fn rev<D>(self) -> Par<R, D>
    where
        // Not `Par<R, C::Reversed>`: then the compiler would say that there is no `rev`, and not why.
        C: Reversible<Reversed = D>,
    {
        self.with(C::reversed)
    }
}

/// Adaptors that count items.
impl<R, C: Chain> Par<R, C> {
    /// Adds the position to each item. See [`Iterator::enumerate`].
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let mut squares = [0; 4];
    /// squares.par_mut().enumerate().for_each(|(i, square)| *square = i * i);
    /// assert_eq!(squares, [0, 1, 4, 9]);
    /// ```
    #[inline]
    pub fn enumerate(self) -> Par<R, Zip<Source<Range<usize>>, C>>
    where
        C: Exact,
    {
        self.with(|chain| Zip(Source::new((0..).into_iterations()), chain))
    }

    /// Goes over this chain and `other` in step, until one of them ends. See [`Iterator::zip`].
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let (a, b) = ([1, 2, 3], [4, 5, 6]);
    /// assert_eq!(a.par().zip(&b).map(|(a, b)| a * b).sum::<i32>(), 32);
    /// ```
    #[inline]
    pub fn zip<D: IntoChain<Chain: Exact>>(self, other: D) -> Par<R, Zip<C, D::Chain>>
    where
        C: Exact,
    {
        self.with(|chain| Zip(chain, other.into_chain()))
    }

    /// Leaves out the first `count` items. See [`Iterator::skip`]. Unlike there, no closure before `skip` is called
    /// for them.
    #[inline]
    pub fn skip(self, count: usize) -> Par<R, Skip<C>>
    where
        C: Exact,
    {
        self.with(|chain| Skip(chain, count))
    }

    /// Returns the first `count` items. See [`Iterator::take`].
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let all: Vec<u64> = (0..100_u64).into_par().skip(2).take(3).collect();
    /// assert_eq!(all, [2, 3, 4]);
    /// ```
    #[inline]
    pub fn take(self, count: usize) -> Par<R, Take<C>>
    where
        C: Exact,
    {
        self.with(|chain| Take(chain, count))
    }

    /// Returns every `step`-th item, beginning with the first. See [`Iterator::step_by`]. As there, closures before
    /// `step_by` are called for all items.
    ///
    /// # Panics
    ///
    /// Panics if `step` is 0, and if there are [`usize::MAX`] items or more.
    #[inline]
    pub fn step_by(self, step: usize) -> Par<R, StepBy<C>>
    where
        C: Exact,
    {
        assert!(step > 0, "the step must be at least 1");
        assert!(
            self.chain.items() < usize::MAX,
            "`step_by` needs fewer than `usize::MAX` items"
        );
        self.with(|chain| StepBy(chain, step))
    }

    /// Returns the number of items, or [`usize::MAX`] if there are more.
    #[allow(
        clippy::len_without_is_empty,
        reason = "as rayon's, for a chain that runs once"
    )]
    pub fn len(&self) -> usize
    where
        C: Exact,
    {
        self.chain.items()
    }
}
