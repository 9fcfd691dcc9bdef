//! The first item of a loop that meets a condition.
//!
//! Nobody knows the positions of the words of a text, but each **part** of a loop has a rank, and a part that comes
//! later in the order of the iterations has the higher one. A part has an interval of ranks. When it is split, the
//! front keeps the lower three quarters, because it is split most often, and the back gets the rest. The rank of a part is
//! the start of its interval.
//!
//! A part that has found an item ends, and announces its rank. Each part with a higher rank then ends, too. After
//! many splits one after the other an interval is a single number, and then the front and the back have the same
//! rank. So a part does not end early although it could, but no part ends that could still find the first
//! item.
//!
//! The items of an iterator that all parts share have no order. Their first item is the first that a part finds, and then
//! all parts end.

use std::ops::ControlFlow;

use super::{Converted, Iterations};
use crate::sync::plain::{AtomicU64, Ordering};
use crate::worker::Worker;

/// A part of a loop, with its ranks.
struct Ranked<'f, I> {
    iterations: I,
    low: u64,
    high: u64,
    /// The lowest rank of a part that has found an item. Relaxed: a part that misses it runs some iterations in vain.
    found: &'f AtomicU64,
}

impl<I: Iterations> Ranked<'_, I> {
    /// Returns whether the part cannot find the first item any more.
    #[inline]
    fn is_over(&self) -> bool {
        let found = self.found.load(Ordering::Relaxed);
        self.low > found || !I::IS_ORDERED && found < u64::MAX
    }
}

impl<I: Iterations> Iterations for Ranked<'_, I> {
    type Item = (u64, I::Item);
    type Strip<'s>
        = RankedStrip<I::Strip<'s>>
    where
        Self: 's;

    const IS_ORDERED: bool = I::IS_ORDERED;

    #[inline]
    fn may_end_early(&self) -> bool {
        true
    }

    #[inline]
    fn remaining(&self) -> usize {
        match self.is_over() {
            true => 0,
            false => self.iterations.remaining(),
        }
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let (front, back) = self.iterations.split_at(index);
        let (low, high, found) = (self.low, self.high, self.found);
        let middle = match I::IS_ORDERED {
            true => high - (high - low) / 4,
            // All parts have the lowest rank.
            false => low,
        };
        let part = |iterations, low, high| Ranked {
            iterations,
            low,
            high,
            found,
        };
        (part(front, low, middle), part(back, middle, high))
    }

    #[inline]
    fn own(&self) -> usize {
        match self.is_over() {
            true => 0,
            false => self.iterations.own(),
        }
    }

    fn is_open(&self) -> bool {
        !self.is_over() && self.iterations.is_open()
    }

    #[inline]
    fn fold_strip<A>(
        &mut self,
        len: usize,
        sum: A,
        mut step: impl FnMut(A, Self::Item) -> ControlFlow<A, A>,
    ) -> ControlFlow<A, A> {
        let rank = self.low;
        self.iterations
            .fold_strip(len, sum, |sum, item| step(sum, (rank, item)))
    }

    #[inline]
    fn strip(&mut self, len: usize) -> Self::Strip<'_> {
        RankedStrip {
            items: self.iterations.strip(len),
            rank: self.low,
        }
    }
}

/// Items with the rank of their part.
struct RankedStrip<S> {
    items: S,
    rank: u64,
}

impl<S: Iterator> Iterator for RankedStrip<S> {
    type Item = (u64, S::Item);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.items.next().map(|item| (self.rank, item))
    }
}

/// Returns the first value that `pick` returns, in the order of the iterations.
pub(crate) fn first<W, I, T>(
    w: &mut W,
    iterations: I,
    pick: impl for<'t> Fn(W::Token<'t>, I::Item) -> Option<T> + Sync,
) -> Option<T>
where
    W: Worker,
    I: Iterations,
    T: Send,
{
    let found = AtomicU64::new(u64::MAX);
    let iterations = Ranked {
        iterations,
        low: 0,
        high: u64::MAX,
        found: &found,
    };
    w.run_loop(
        Converted(iterations),
        || None,
        |w, none, (rank, item)| match pick(w, item) {
            Some(value) => {
                found.fetch_min(rank, Ordering::Relaxed);
                ControlFlow::Break(Some(value))
            }
            None => ControlFlow::Continue(none),
        },
        |left, right| match left {
            Some(_) => {
                // See the page on panics.
                drop(right);
                left
            }
            None => right,
        },
    )
}
