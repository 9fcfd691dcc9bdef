//! Loops that count their items for a [`Progress`].

use std::cell::Cell;
use std::ops::ControlFlow;

use super::Par;
use super::chain::{Chain, Exact, Reversible, sealed};
use crate::loops::Iterations;
use crate::progress::Progress;

/// A chain that counts its items, from [`Par::progress`].
#[derive(Clone, Debug)]
pub struct WithProgress<C> {
    chain: C,
    progress: Progress,
}

impl<C> sealed::Sealed for WithProgress<C> {}

impl<C: Chain> Chain for WithProgress<C> {
    type Item = C::Item;
    type Source = C::Source;
    type Closures = (C::Closures, Progress);
    type Iterations<'c>
        = CountedIterations<'c, C::Iterations<'c>>
    where
        Self: 'c;

    fn take_apart(self) -> (Self::Source, Self::Closures) {
        let (source, closures) = self.chain.take_apart();
        (source, (closures, self.progress))
    }

    #[inline]
    fn iterations<'c>(source: Self::Source, closures: &'c Self::Closures) -> Self::Iterations<'c>
    where
        Self: 'c,
    {
        let (closures, progress) = closures;
        CountedIterations {
            iterations: C::iterations(source, closures),
            count: Count::new(progress),
        }
    }
}

impl<C: Exact> Exact for WithProgress<C> {
    fn items(&self) -> usize {
        self.chain.items()
    }
}

impl<C: Reversible> Reversible for WithProgress<C> {
    type Reversed = WithProgress<C::Reversed>;

    fn reversed(self) -> Self::Reversed {
        WithProgress {
            chain: self.chain.reversed(),
            progress: self.progress,
        }
    }
}

/// The number of items that a part of the loop has gone over, and has not added to the progress.
struct Count<'c> {
    items: Cell<u64>,
    progress: &'c Progress,
}

impl<'c> Count<'c> {
    fn new(progress: &'c Progress) -> Self {
        let items = Cell::new(0);
        Count { items, progress }
    }

    fn add(&self, items: u64) {
        self.items.set(self.items.get() + items);
    }

    fn flush(&self) {
        match self.items.take() {
            0 => (),
            items => self.progress.add(items),
        }
    }
}

impl Drop for Count<'_> {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Iterations that are counted.
pub struct CountedIterations<'c, I> {
    iterations: I,
    count: Count<'c>,
}

impl<I: Iterations> Iterations for CountedIterations<'_, I> {
    type Item = I::Item;
    type Strip<'s>
        = CountedStrip<'s, I::Strip<'s>>
    where
        Self: 's;

    const IS_EXACT: bool = I::IS_EXACT;
    const IS_ORDERED: bool = I::IS_ORDERED;

    /// A loop calls this once for each block, and a short loop for each item.
    #[inline]
    fn remaining(&self) -> usize {
        self.count.flush();
        self.iterations.remaining()
    }

    #[inline]
    fn may_end_early(&self) -> bool {
        // A plain loop reports, too.
        true
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let progress = self.count.progress;
        let (front, back) = self.iterations.split_at(index);
        let part = |iterations, count| CountedIterations { iterations, count };
        (part(front, self.count), part(back, Count::new(progress)))
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
        CountedStrip {
            items: self.iterations.strip(len),
            count: &self.count.items,
        }
    }

    #[inline]
    fn fold_strip<A>(
        &mut self,
        len: usize,
        sum: A,
        mut step: impl FnMut(A, I::Item) -> ControlFlow<A, A>,
    ) -> ControlFlow<A, A> {
        // In a register, and as a function of the length where all items run.
        let mut items = 0;
        let result = self.iterations.fold_strip(len, sum, |sum, item| {
            items += 1;
            step(sum, item)
        });
        self.count.add(items);
        result
    }
}

/// Items that are counted.
pub struct CountedStrip<'s, S> {
    items: S,
    count: &'s Cell<u64>,
}

impl<S: Iterator> Iterator for CountedStrip<'_, S> {
    type Item = S::Item;

    #[inline]
    fn next(&mut self) -> Option<S::Item> {
        let item = self.items.next()?;
        self.count.set(self.count.get() + 1);
        Some(item)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

/// Progress.
impl<R, C: Chain> Par<R, C> {
    /// Counts the items that the loop goes over. Each worker adds its count to `progress` every few microseconds, or when
    /// the bodies that it has begun together have ended, at most 128.
    ///
    /// ```
    /// use purloin::{Progress, prelude::*};
    ///
    /// let progress = Progress::new();
    /// let even = (0..100).into_par().progress(&progress).filter(|n| n % 2 == 0).count();
    /// assert_eq!((even, progress.done()), (50, 100));
    /// ```
    #[inline]
    pub fn progress(self, progress: &Progress) -> Par<R, WithProgress<C>> {
        self.with(|chain| WithProgress {
            chain,
            progress: progress.clone(),
        })
    }
}
