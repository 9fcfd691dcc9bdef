//! Chains whose items are those of iterators.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::iter::Flatten;
use std::ops::ControlFlow;

use super::chain::{Chain, sealed};
use crate::loops::{Iterations, fold_items};

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
            begun: Begun::new(VecDeque::new()),
            f,
        }
    }
}

/// An iterator with at most this many items is short.
const SHORT: usize = 128;

/// The items of iterators, one iterator after the other.
///
/// Whether the loop is over, and whether a thief asks, the loop sees only between strips. So a strip ends within an
/// iterator that is not short, and the rest is for the next strip. Of the outer items that the strip has taken already,
/// the iterators wait, too.
pub struct FlatIterations<'c, I, F, T> {
    iterations: I,
    begun: Begun<T>,
    f: &'c F,
}

impl<I: Iterations, F, T> FlatIterations<'_, I, F, T> {
    /// Returns how many outer items a strip of this length takes at most. Iterators that have ended meanwhile may have
    /// been counted in the length.
    #[inline]
    fn outer(&self, len: usize) -> usize {
        match I::IS_EXACT {
            true => len.min(self.iterations.remaining()),
            false => len,
        }
    }
}

/// The iterators that wait, and have items as far as they say.
pub struct Begun<T> {
    iterators: RefCell<VecDeque<T>>,
    /// The number of items of iterators that are not short, which a strip may still return.
    left: Cell<usize>,
}

impl<T> Begun<T> {
    fn new(iterators: VecDeque<T>) -> Self {
        Begun {
            iterators: RefCell::new(iterators),
            left: Cell::new(0),
        }
    }
}

/// Returns how many items an iterator may have.
fn most<T: Iterator>(items: &T) -> usize {
    items.size_hint().1.unwrap_or(usize::MAX)
}

impl<I, F, T> Iterations for FlatIterations<'_, I, F, T::IntoIter>
where
    I: Iterations,
    F: Fn(I::Item) -> T + Sync,
    T: IntoIterator<IntoIter: Send>,
{
    type Item = T::Item;
    type Strip<'s>
        = Flatten<Iterators<'s, I::Strip<'s>, F, T::IntoIter>>
    where
        Self: 's;

    const IS_ORDERED: bool = I::IS_ORDERED;

    fn remaining(&self) -> usize {
        let begun = self.begun.iterators.borrow();
        match begun.is_empty() {
            true => self.iterations.remaining(),
            // The answer would be an item.
            false if !I::IS_ORDERED => usize::MAX,
            // An iterator need not know that it has no items.
            false => begun
                .iter()
                .fold(self.iterations.remaining(), |sum, items| {
                    sum.saturating_add(most(items).max(1))
                }),
        }
    }

    #[inline]
    fn may_end_early(&self) -> bool {
        self.iterations.may_end_early()
    }

    /// As large a part of the iterators as of the items. The front keeps the first one that waits.
    fn split_at(self, index: usize) -> (Self, Self) {
        let all = self.remaining();
        let mut begun = self.begun.iterators.into_inner();
        let (of_begun, others) = match (begun.len(), I::IS_ORDERED) {
            (0, _) => (0, index),
            (len, false) => (len.div_ceil(2), 1),
            (len, true) => {
                let iterators = len.saturating_add(self.iterations.remaining());
                let front = (iterators as u128 * index as u128 / all as u128) as usize;
                let of_begun = front.clamp(1, len);
                (of_begun, front.saturating_sub(of_begun))
            }
        };
        let back_of_begun = begun.split_off(of_begun);
        let (front, back) = self.iterations.split_at(others);
        let part = |iterations, begun| FlatIterations {
            iterations,
            begun: Begun::new(begun),
            f: self.f,
        };
        (part(front, begun), part(back, back_of_begun))
    }

    fn again(&self) -> Option<Self> {
        Some(FlatIterations {
            iterations: self.iterations.again()?,
            begun: Begun::new(VecDeque::new()),
            f: self.f,
        })
    }

    #[inline]
    fn strip(&mut self, len: usize) -> Self::Strip<'_> {
        self.begun.left.set(len);
        let begun = self.begun.iterators.get_mut().len();
        let outer = if begun > 0 { 0 } else { self.outer(len) };
        let iterators = Iterators {
            items: self.iterations.strip(outer),
            begun: &self.begun,
            takes_begun: begun > 0,
            f: self.f,
        };
        iterators.flatten()
    }

    /// The iterators run one after the other, which the compiler sees through better than through
    /// [`strip`](Self::strip).
    #[inline]
    fn fold_strip<A>(
        &mut self,
        len: usize,
        mut sum: A,
        mut step: impl FnMut(A, Self::Item) -> ControlFlow<A, A>,
    ) -> ControlFlow<A, A> {
        if !self.begun.iterators.get_mut().is_empty() {
            return fold_items(self.strip(len), sum, step);
        }
        let outer = self.outer(len);
        let (begun, f) = (&self.begun, self.f);
        let mut outer = self.iterations.strip(outer);
        while let Some(item) = outer.next() {
            let mut items = f(item).into_iter();
            if most(&items) <= SHORT {
                sum = items.try_fold(sum, &mut step)?;
                continue;
            }
            let mut long = Items::Long(Some(items), len, begun);
            sum = long.try_fold(sum, &mut step)?;
            if !begun.iterators.borrow().is_empty() {
                begun
                    .iterators
                    .borrow_mut()
                    .extend(outer.map(|item| f(item).into_iter()));
                break;
            }
        }
        ControlFlow::Continue(sum)
    }
}

/// The iterators of a strip.
pub struct Iterators<'s, S, F, T> {
    items: S,
    begun: &'s Begun<T>,
    /// Whether these are the iterators that wait. Otherwise those of new items.
    takes_begun: bool,
    f: &'s F,
}

impl<'s, S, F, T> Iterators<'s, S, F, T::IntoIter>
where
    S: Iterator,
    F: Fn(S::Item) -> T,
    T: IntoIterator,
{
    fn next_begun(&mut self) -> Option<Items<'s, T::IntoIter>> {
        match self.begun.left.get() {
            0 => None,
            left => {
                let items = self.begun.iterators.borrow_mut().pop_front()?;
                Some(Items::Long(Some(items), left, self.begun))
            }
        }
    }

    /// Lets the iterators of all items wait.
    #[cold]
    fn keep_all(&mut self) {
        for item in self.items.by_ref() {
            let items = (self.f)(item).into_iter();
            self.begun.iterators.borrow_mut().push_back(items);
        }
    }
}

impl<'s, S, F, T> Iterator for Iterators<'s, S, F, T::IntoIter>
where
    S: Iterator,
    F: Fn(S::Item) -> T,
    T: IntoIterator,
{
    type Item = Items<'s, T::IntoIter>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.takes_begun {
            return self.next_begun();
        }
        let left = self.begun.left.get();
        if left == 0 {
            self.keep_all();
            return None;
        }
        let items = (self.f)(self.items.next()?).into_iter();
        Some(match most(&items) <= SHORT {
            true => Items::Short(items),
            false => Items::Long(Some(items), left, self.begun),
        })
    }
}

/// The items of an iterator that belong to one strip.
pub enum Items<'s, T> {
    /// All items.
    Short(T),
    /// So many items. If there are more, the iterator waits.
    Long(Option<T>, usize, &'s Begun<T>),
}

impl<T: Iterator> Iterator for Items<'_, T> {
    type Item = T::Item;

    #[inline]
    fn next(&mut self) -> Option<T::Item> {
        match self {
            Items::Short(items) => items.next(),
            Items::Long(items, left, begun) => {
                if *left > 0
                    && let Some(item) = items.as_mut()?.next()
                {
                    *left -= 1;
                    return Some(item);
                }
                let rest = items.take();
                begun.left.set(*left);
                if *left == 0
                    && let Some(rest) = rest
                {
                    begun.iterators.borrow_mut().push_front(rest);
                }
                None
            }
        }
    }
}
