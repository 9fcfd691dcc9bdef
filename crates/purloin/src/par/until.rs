//! Loops that a [`Cancel`] ends.

use std::ops::ControlFlow;

use super::Par;
use super::chain::{Chain, sealed};
use crate::cancel::{Cancel, Cancelled};
use crate::loops::Iterations;

/// The items of a chain as results, until a token is cancelled, from [`Par::until`].
#[derive(Clone, Debug)]
pub struct Until<C> {
    chain: C,
    cancel: Cancel,
}

impl<C> sealed::Sealed for Until<C> {}

impl<C: Chain> Chain for Until<C> {
    type Item = Result<C::Item, Cancelled>;
    type Source = C::Source;
    type Closures = (C::Closures, Cancel);
    type Iterations<'c>
        = UntilIterations<'c, C::Iterations<'c>>
    where
        Self: 'c;

    fn take_apart(self) -> (Self::Source, Self::Closures) {
        let (source, closures) = self.chain.take_apart();
        (source, (closures, self.cancel))
    }

    #[inline]
    fn iterations<'c>(source: Self::Source, closures: &'c Self::Closures) -> Self::Iterations<'c>
    where
        Self: 'c,
    {
        let (closures, cancel) = closures;
        UntilIterations {
            iterations: C::iterations(source, closures),
            cancel,
            has_told: false,
        }
    }
}

/// Iterations that end with an error once the token is cancelled.
///
/// [`remaining`](Iterations::remaining), which the loop calls once for each block, and a short loop for each item, looks
/// whether the token is cancelled, and also at the clock. A strip only looks whether anybody has seen that.
pub struct UntilIterations<'c, I> {
    iterations: I,
    cancel: &'c Cancel,
    /// Whether this part of the loop has returned its error.
    has_told: bool,
}

impl<I: Iterations> UntilIterations<'_, I> {
    /// Returns the number of iterations, from that without this adaptor.
    fn count(&self, remaining: impl FnOnce(&I) -> usize) -> usize {
        // The error is an iteration.
        let error = usize::from(!self.has_told);
        if error == 0 || !I::IS_ORDERED && self.cancel.is_known() {
            // The answer of an iterator would be an item.
            return error;
        }
        match remaining(&self.iterations) {
            0 => 0,
            _ if self.cancel.is_cancelled() => error,
            remaining => remaining,
        }
    }

    /// Returns how many of `len` iterations run, and whether an error follows.
    fn plan(&mut self, len: usize) -> (usize, bool) {
        match len > 0 && self.cancel.is_known() {
            false => (len, false),
            true => (0, !std::mem::replace(&mut self.has_told, true)),
        }
    }
}

impl<I: Iterations> Iterations for UntilIterations<'_, I> {
    type Item = Result<I::Item, Cancelled>;
    type Strip<'s>
        = UntilStrip<I::Strip<'s>>
    where
        Self: 's;

    const IS_ORDERED: bool = I::IS_ORDERED;

    #[inline]
    fn may_end_early(&self) -> bool {
        true
    }

    fn remaining(&self) -> usize {
        self.count(I::remaining)
    }

    fn own(&self) -> usize {
        self.count(I::own)
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let cancel = self.cancel;
        let (front, back) = self.iterations.split_at(index);
        let part = |iterations, has_told| UntilIterations {
            iterations,
            cancel,
            has_told,
        };
        (part(front, self.has_told), part(back, false))
    }

    fn is_open(&self) -> bool {
        !self.cancel.is_known() && self.iterations.is_open()
    }

    #[inline]
    fn strip(&mut self, len: usize) -> Self::Strip<'_> {
        let (len, has_error) = self.plan(len);
        UntilStrip {
            items: self.iterations.strip(len),
            has_error,
        }
    }

    #[inline]
    fn fold_strip<A>(
        &mut self,
        len: usize,
        sum: A,
        mut step: impl FnMut(A, Self::Item) -> ControlFlow<A, A>,
    ) -> ControlFlow<A, A> {
        match self.plan(len) {
            (len, false) => self
                .iterations
                .fold_strip(len, sum, |sum, item| step(sum, Ok(item))),
            (_, true) => step(sum, Err(Cancelled)),
        }
    }
}

/// Some items, or the error.
pub struct UntilStrip<S> {
    items: S,
    has_error: bool,
}

impl<S: Iterator> Iterator for UntilStrip<S> {
    type Item = Result<S::Item, Cancelled>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match std::mem::take(&mut self.has_error) {
            true => Some(Err(Cancelled)),
            false => self.items.next().map(Ok),
        }
    }
}

/// Cancellation.
impl<R, C: Chain> Par<R, C> {
    /// Goes on with `Ok(item)` for each item, until the token is cancelled. Then each part of the loop that has items left
    /// ends with an `Err`, as a rule within some microseconds: after the bodies that it has begun together, as many as
    /// have taken 100 ns before, or at most 128. After a [`flat_map_iter`](Self::flat_map_iter), these are inner
    /// iterators instead of bodies.
    ///
    /// A loop over a [`bridge`](crate::bridge()) may have taken an item for each worker, which it drops, and waits for the
    /// next item if a worker does.
    ///
    /// So the end of the chain returns the error, if it combines results: [`collect`](Self::collect), [`sum`](Self::sum),
    /// [`try_for_each`](Self::try_for_each), [`try_fold`](Self::try_fold), [`try_reduce`](Self::try_reduce). If it
    /// returns `Ok`, the loop has gone over all items: also if there are none and the token is cancelled.
    ///
    /// ```
    /// use purloin::{Cancel, Cancelled, prelude::*};
    ///
    /// let cancel = Cancel::new();
    /// let squares = |cancel: &Cancel| -> Result<Vec<u64>, Cancelled> {
    ///     (0..4).into_par().map(|n| n * n).until(cancel).collect()
    /// };
    /// assert_eq!(squares(&cancel), Ok(vec![0, 1, 4, 9]));
    ///
    /// let result = (0..1_000_000).into_par().until(&cancel).try_for_each(|n| {
    ///     if n? == 7 {
    ///         cancel.cancel();
    ///     }
    ///     Ok(())
    /// });
    /// assert_eq!(result, Err(Cancelled));
    /// assert_eq!(squares(&cancel), Err(Cancelled));
    /// ```
    #[inline]
    pub fn until(self, cancel: &Cancel) -> Par<R, Until<C>> {
        self.with(|chain| Until {
            chain,
            cancel: cancel.clone(),
        })
    }
}
