//! Chains whose items are those of iterators.

use std::ops::ControlFlow;

use super::chain::{Chain, sealed};
use crate::loops::Iterations;

/// Goes on with the items of the iterators that a closure returns, from
/// [`Par::flat_map_iter`](super::Par::flat_map_iter).
#[derive(Clone, Debug)]
pub struct FlatMap<C, F> {
    pub(super) chain: C,
    pub(super) f: F,
}

impl<C, F> sealed::Sealed for FlatMap<C, F> {}

impl<C, F, T> Chain for FlatMap<C, F>
where
    C: Chain,
    F: Fn(C::Item) -> T + Sync,
    T: IntoIterator<IntoIter: Send>,
{
    type Item = T::Item;
    type Source = C::Source;
    type Closures = (C::Closures, F);
    type Iterations<'c>
        = FlatIterations<'c, C::Iterations<'c>, F, T::IntoIter>
    where
        Self: 'c;

    fn take_apart(self) -> (Self::Source, Self::Closures) {
        let (source, closures) = self.chain.take_apart();
        (source, (closures, self.f))
    }

    #[inline]
    fn iterations<'c>(source: Self::Source, closures: &'c Self::Closures) -> Self::Iterations<'c>
    where
        Self: 'c,
    {
        let (closures, f) = closures;
        FlatIterations {
            iterations: C::iterations(source, closures),
            begun: None,
            f,
        }
    }
}

/// The items of iterators, one iterator after the other.
///
/// A strip may end within an iterator, because the iterator may be long. Whether the loop is over, and whether a thief
/// asks, the loop sees only between strips.
pub struct FlatIterations<'c, I, F, T> {
    iterations: I,
    /// The rest of an iterator. It has a further item, as far as it says.
    begun: Option<T>,
    f: &'c F,
}

/// Returns how many items an iterator may have, at least 1, or `None` if it says that it has none.
fn may_have<T: Iterator>(items: &T) -> Option<usize> {
    match items.size_hint() {
        (_, Some(0)) => None,
        (_, Some(most)) => Some(most),
        (_, None) => Some(usize::MAX),
    }
}

impl<I, F, T> Iterations for FlatIterations<'_, I, F, T::IntoIter>
where
    I: Iterations,
    F: Fn(I::Item) -> T + Sync,
    T: IntoIterator<IntoIter: Send>,
{
    type Item = T::Item;
    type Strip<'s>
        = FlatStrip<'s, I, F, T::IntoIter>
    where
        Self: 's;

    const IS_ORDERED: bool = I::IS_ORDERED;

    #[inline]
    fn remaining(&self) -> usize {
        match self.begun.as_ref().and_then(may_have) {
            None => self.iterations.remaining(),
            // The answer would be an item.
            Some(_) if !I::IS_ORDERED => usize::MAX,
            Some(items) => items.saturating_add(self.iterations.remaining()),
        }
    }

    #[inline]
    fn may_end_early(&self) -> bool {
        self.iterations.may_end_early()
    }

    /// The front keeps the iterator that has begun, and as large a part of the others as of all.
    fn split_at(self, index: usize) -> (Self, Self) {
        let others = match (&self.begun, I::IS_ORDERED) {
            (None, _) => index,
            (Some(_), false) => 1,
            (Some(_), true) => {
                let (others, all) = (self.iterations.remaining(), self.remaining().max(1));
                (others as u128 * index as u128 / all as u128) as usize
            }
        };
        let (front, back) = self.iterations.split_at(others);
        let part = |iterations, begun| FlatIterations {
            iterations,
            begun,
            f: self.f,
        };
        (part(front, self.begun), part(back, None))
    }

    fn again(&self) -> Option<Self> {
        Some(FlatIterations {
            iterations: self.iterations.again()?,
            begun: None,
            f: self.f,
        })
    }

    fn strip(&mut self, len: usize) -> Self::Strip<'_> {
        let iterators = match (&self.begun, I::IS_ORDERED) {
            (Some(_), false) => len,
            _ => len.min(self.iterations.remaining()),
        };
        FlatStrip {
            rest: self.begun.take(),
            items: len,
            iterators,
            iterations: &mut self.iterations,
            begun: &mut self.begun,
            f: self.f,
        }
    }

    #[inline]
    fn fold_strip<A>(
        &mut self,
        len: usize,
        mut sum: A,
        mut step: impl FnMut(A, Self::Item) -> ControlFlow<A, A>,
    ) -> ControlFlow<A, A> {
        let mut strip = self.strip(len);
        while let Some(mut items) = strip.next_items() {
            let most = may_have(&items).unwrap_or(0);
            if most <= strip.items {
                strip.items -= most;
                sum = items.try_fold(sum, &mut step)?;
                continue;
            }
            let mut left = strip.items;
            let folded = items.try_fold(sum, |sum, item| {
                left -= 1;
                match step(sum, item) {
                    ControlFlow::Continue(sum) if left == 0 => ControlFlow::Break((sum, true)),
                    ControlFlow::Continue(sum) => ControlFlow::Continue(sum),
                    ControlFlow::Break(sum) => ControlFlow::Break((sum, false)),
                }
            });
            strip.items = left;
            sum = match folded {
                ControlFlow::Continue(sum) => sum,
                ControlFlow::Break((sum, false)) => return ControlFlow::Break(sum),
                ControlFlow::Break((sum, true)) => {
                    strip.rest = Some(items);
                    return ControlFlow::Continue(sum);
                }
            };
        }
        ControlFlow::Continue(sum)
    }
}

/// Some items of iterators.
pub struct FlatStrip<'s, I, F, T> {
    /// The rest of the current iterator. It goes back to the part of the loop at the end of the strip.
    rest: Option<T>,
    /// The number of items to return at most, and of iterators to begin.
    items: usize,
    iterators: usize,
    iterations: &'s mut I,
    begun: &'s mut Option<T>,
    f: &'s F,
}

impl<I, F, T> FlatStrip<'_, I, F, T::IntoIter>
where
    I: Iterations,
    F: Fn(I::Item) -> T,
    T: IntoIterator,
{
    /// Returns the iterator of the next items, unless the strip is over.
    #[inline]
    fn next_items(&mut self) -> Option<T::IntoIter> {
        if self.items == 0 {
            return None;
        }
        if let Some(rest) = self.rest.take() {
            return Some(rest);
        }
        self.iterators = self.iterators.checked_sub(1)?;
        let item = self.iterations.strip(1).next()?;
        Some((self.f)(item).into_iter())
    }
}

impl<I, F, T> Iterator for FlatStrip<'_, I, F, T::IntoIter>
where
    I: Iterations,
    F: Fn(I::Item) -> T,
    T: IntoIterator,
{
    type Item = T::Item;

    #[inline]
    fn next(&mut self) -> Option<T::Item> {
        loop {
            let mut items = self.next_items()?;
            if let Some(item) = items.next() {
                self.items -= 1;
                self.rest = Some(items);
                return Some(item);
            }
        }
    }
}

impl<I, F, T> Drop for FlatStrip<'_, I, F, T> {
    #[inline]
    fn drop(&mut self) {
        *self.begun = self.rest.take();
    }
}
