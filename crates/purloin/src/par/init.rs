//! Adaptors whose closure has memory.

use std::ops::ControlFlow;

use super::Par;
use super::Runner;
use super::chain::{Chain, Exact, Reversible, sealed};
use super::with_token::Run;
use crate::loops::Iterations;
use crate::worker::SyncBody;

/// Calls a closure with a value that lasts for many items, from [`Par::map_init`].
#[derive(Clone, Debug)]
pub struct MapInit<C, N, F> {
    chain: C,
    closures: (N, F),
}

impl<C, N, F> sealed::Sealed for MapInit<C, N, F> {}

impl<C, N, F, S, T> Chain for MapInit<C, N, F>
where
    C: Chain,
    N: Fn() -> S + Sync,
    F: Fn(&mut S, C::Item) -> T + Sync,
    S: Send,
{
    type Item = T;
    type Source = C::Source;
    type Closures = (C::Closures, (N, F));
    type Iterations<'c>
        = InitIterations<'c, C::Iterations<'c>, N, F, S>
    where
        Self: 'c;

    #[inline]
    fn take_apart(self) -> (Self::Source, Self::Closures) {
        let (source, closures) = self.chain.take_apart();
        (source, (closures, self.closures))
    }

    #[inline]
    fn iterations<'c>(source: Self::Source, closures: &'c Self::Closures) -> Self::Iterations<'c>
    where
        Self: 'c,
    {
        let (closures, own) = closures;
        InitIterations {
            iterations: C::iterations(source, closures),
            value: None,
            closures: own,
        }
    }
}

impl<C, N, F, S, T> Exact for MapInit<C, N, F>
where
    C: Exact,
    N: Fn() -> S + Sync,
    F: Fn(&mut S, C::Item) -> T + Sync,
    S: Send,
{
    fn items(&self) -> usize {
        self.chain.items()
    }
}

impl<C, N, F, S, T> Reversible for MapInit<C, N, F>
where
    C: Reversible,
    N: Fn() -> S + Sync,
    F: Fn(&mut S, C::Item) -> T + Sync,
    S: Send,
{
    type Reversed = MapInit<C::Reversed, N, F>;

    fn reversed(self) -> Self::Reversed {
        MapInit {
            chain: self.chain.reversed(),
            closures: self.closures,
        }
    }
}

/// Iterations with a value that is made when the first of them runs.
pub struct InitIterations<'c, I, N, F, S> {
    iterations: I,
    value: Option<S>,
    closures: &'c (N, F),
}

impl<I, N, F, S, T> Iterations for InitIterations<'_, I, N, F, S>
where
    I: Iterations,
    N: Fn() -> S + Sync,
    F: Fn(&mut S, I::Item) -> T + Sync,
    S: Send,
{
    type Item = T;
    type Strip<'s>
        = InitStrip<'s, I::Strip<'s>, S, N, F>
    where
        Self: 's;

    const IS_EXACT: bool = I::IS_EXACT;
    const IS_ORDERED: bool = I::IS_ORDERED;

    #[inline]
    fn remaining(&self) -> usize {
        self.iterations.remaining()
    }

    #[inline]
    fn may_end_early(&self) -> bool {
        self.iterations.may_end_early()
    }

    /// The front keeps the value.
    fn split_at(self, index: usize) -> (Self, Self) {
        let (front, back) = self.iterations.split_at(index);
        let closures = self.closures;
        let part = |iterations, value| InitIterations {
            iterations,
            value,
            closures,
        };
        (part(front, self.value), part(back, None))
    }

    #[inline]
    fn own(&self) -> usize {
        self.iterations.own()
    }

    fn is_open(&self) -> bool {
        self.iterations.is_open()
    }

    #[inline]
    fn strip(&mut self, len: usize) -> Self::Strip<'_> {
        InitStrip {
            items: self.iterations.strip(len),
            value: &mut self.value,
            closures: self.closures,
        }
    }

    #[inline]
    fn fold_strip<A>(
        &mut self,
        len: usize,
        sum: A,
        mut step: impl FnMut(A, T) -> ControlFlow<A, A>,
    ) -> ControlFlow<A, A> {
        if len == 0 {
            return ControlFlow::Continue(sum);
        }
        let (init, f) = self.closures;
        let value = self.value.get_or_insert_with(init);
        self.iterations
            .fold_strip(len, sum, |sum, item| step(sum, f(value, item)))
    }
}

/// Some of the iterations, and the value of their part of the loop.
pub struct InitStrip<'s, S, V, N, F> {
    items: S,
    value: &'s mut Option<V>,
    closures: &'s (N, F),
}

impl<S, V, N, T, F> Iterator for InitStrip<'_, S, V, N, F>
where
    S: Iterator,
    N: Fn() -> V,
    F: Fn(&mut V, S::Item) -> T,
{
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let item = self.items.next()?;
        let (init, f) = self.closures;
        Some(f(self.value.get_or_insert_with(init), item))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

/// Adaptors and ends whose closure has memory.
impl<R, C: Chain> Par<R, C> {
    /// Calls `f` on each item, with a value from `init` that one part of the loop keeps from item to item, and goes on
    /// with the results. A buffer or a generator of random numbers is such a value.
    ///
    /// There are about as many parts as steals; a loop over a slow [`bridge`](crate::bridge()) has about as many parts as
    /// items. If a value is expensive to make, or needed afterwards, take it from a
    /// [`PerWorker`](crate::PerWorker), as in its example: later parts use the values of those that have ended.
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let lens: Vec<usize> = (0..100)
    ///     .into_par()
    ///     .map_init(String::new, |text, n| {
    ///         text.clear();
    ///         std::fmt::Write::write_fmt(text, format_args!("{n}")).unwrap();
    ///         text.len()
    ///     })
    ///     .collect();
    /// assert_eq!(lens.iter().sum::<usize>(), 190);
    /// ```
    #[inline]
    pub fn map_init<S, T, N, F>(self, init: N, f: F) -> Par<R, MapInit<C, N, F>>
    where
        S: Send,
        N: Fn() -> S + SyncBody,
        F: Fn(&mut S, C::Item) -> T + SyncBody,
    {
        self.with(|chain| MapInit {
            chain,
            closures: (init, f),
        })
    }

    /// Calls `body` on each item, with a value from `init` that one part of the loop keeps from item to item. See
    /// [`map_init`](Self::map_init).
    #[inline]
    pub fn for_each_init<S, N, F>(self, init: N, body: F)
    where
        R: Runner,
        S: Send,
        N: Fn() -> S + SyncBody,
        F: Fn(&mut S, C::Item) + SyncBody,
        MapInit<C, N, F>: Run<R, Item = ()>,
    {
        self.map_init(init, body).for_each(|()| ());
    }
}
