//! Chains with adaptors that look at one item at a time.

use std::iter;
use std::ops::ControlFlow;

use super::chain::{Chain, Exact, Reversible, sealed};
use crate::cancel::{CancelFlag, CancelState};
use crate::loops::{Iterations, UntilCancelled, fold_items};

/// An adaptor that looks at one item at a time.
///
/// This trait is sealed: only Purloin implements it.
pub trait Adaptor<T>: Sync + sealed::Sealed {
    /// The items that the adaptor returns.
    type Item;

    /// Whether it returns one item for each item.
    const IS_EXACT: bool;

    /// The adaptor over some of the items.
    type Strip<'c, S: Iterator<Item = T>>: Iterator<Item = Self::Item>
    where
        Self: 'c;

    /// Returns the adaptor over some of the items.
    fn strip<'c, S: Iterator<Item = T>>(&'c self, items: S) -> Self::Strip<'c, S>;

    /// Removes the first `len` iterations, and folds what the adaptor makes of them until a step breaks.
    #[inline]
    fn fold_strip<I: Iterations<Item = T>, A>(
        &self,
        iterations: &mut I,
        len: usize,
        sum: A,
        step: impl FnMut(A, Self::Item) -> ControlFlow<A, A>,
    ) -> ControlFlow<A, A> {
        fold_items(self.strip(iterations.strip(len)), sum, step)
    }
}

/// An adaptor that returns one item for each item.
#[diagnostic::on_unimplemented(
    message = "the items after this adaptor have no positions",
    label = "this chain does not know how many items it has",
    note = "call the adaptors that count, such as `enumerate`, `zip`, `skip` and `take`, before `filter`, \
            `filter_map`, `flat_map_iter`, `while_some` and `until`"
)]
pub trait OneToOne<T>: Adaptor<T> {}

/// An adaptor that returns the same items over a reversed chain, in the reverse order.
#[diagnostic::on_unimplemented(
    message = "a chain with this adaptor cannot run backwards",
    note = "call `rev` before this adaptor"
)]
pub trait Symmetric<T>: Adaptor<T> {}

/// Defines the adaptors that call a closure. An adaptor is named as that of the standard library which it becomes
/// within a strip.
macro_rules! with_closure {
    ($($(#[$doc:meta])* $Name:ident [$($generics:tt)*], $closure:path, $Item:ty, $adapt:ident, $Strip:ty, $is_exact:literal, |$f:ident, $item:ident| $result:expr;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub struct $Name<F>(pub(super) F);

            impl<F> sealed::Sealed for $Name<F> {}

            impl<T, $($generics)*> Adaptor<T> for $Name<F>
            where
                F: $closure + Sync,
            {
                type Item = $Item;
                const IS_EXACT: bool = $is_exact;
                type Strip<'c, S: Iterator<Item = T>>
                    = $Strip
                where
                    F: 'c;

                #[inline]
                fn strip<'c, S: Iterator<Item = T>>(&'c self, items: S) -> Self::Strip<'c, S> {
                    items.$adapt(&self.0)
                }

                #[inline]
                fn fold_strip<I: Iterations<Item = T>, Sum>(
                    &self,
                    iterations: &mut I,
                    len: usize,
                    sum: Sum,
                    mut step: impl FnMut(Sum, $Item) -> ControlFlow<Sum, Sum>,
                ) -> ControlFlow<Sum, Sum> {
                    let $f = &self.0;
                    iterations.fold_strip(len, sum, |sum, $item| match $result {
                        Some(result) => step(sum, result),
                        None => ControlFlow::Continue(sum),
                    })
                }
            }
        )*
    };
}

with_closure! {
    /// Calls a closure on each item, from [`Par::map`](super::Par::map).
    Map [U, F], Fn(T) -> U, U, map, iter::Map<S, &'c F>, true, |f, item| Some(f(item));
    /// Leaves out items, from [`Par::filter`](super::Par::filter).
    Filter [F], Fn(&T) -> bool, T, filter, iter::Filter<S, &'c F>, false, |f, item| f(&item).then_some(item);
    /// Calls a closure on each item, and leaves out some results, from [`Par::filter_map`](super::Par::filter_map).
    FilterMap [U, F], Fn(T) -> Option<U>, U, filter_map, iter::FilterMap<S, &'c F>, false, |f, item| f(item);
    /// Calls a closure on a reference to each item, from [`Par::inspect`](super::Par::inspect).
    Inspect [F], Fn(&T), T, inspect, iter::Inspect<S, &'c F>, true, |f, item| {
        f(&item);
        Some(item)
    };
}

/// Returns several items for each item, from [`Par::flat_map_iter`](super::Par::flat_map_iter).
#[derive(Clone, Copy, Debug)]
pub struct FlatMap<F>(pub(super) F);

impl<F> sealed::Sealed for FlatMap<F> {}

impl<T, U: IntoIterator, F: Fn(T) -> U + Sync> Adaptor<T> for FlatMap<F> {
    type Item = U::Item;
    const IS_EXACT: bool = false;
    type Strip<'c, S: Iterator<Item = T>>
        = iter::FlatMap<S, U, &'c F>
    where
        F: 'c;

    #[inline]
    fn strip<'c, S: Iterator<Item = T>>(&'c self, items: S) -> Self::Strip<'c, S> {
        items.flat_map(&self.0)
    }

    #[inline]
    fn fold_strip<I: Iterations<Item = T>, A>(
        &self,
        iterations: &mut I,
        len: usize,
        sum: A,
        mut step: impl FnMut(A, U::Item) -> ControlFlow<A, A>,
    ) -> ControlFlow<A, A> {
        iterations.fold_strip(len, sum, |sum, item| {
            fold_items((self.0)(item).into_iter(), sum, &mut step)
        })
    }
}

impl<T, U, F: Fn(T) -> U + Sync> OneToOne<T> for Map<F> {}
impl<T, F: Fn(&T) + Sync> OneToOne<T> for Inspect<F> {}

impl<T, U, F: Fn(T) -> U + Sync> Symmetric<T> for Map<F> {}
impl<T, F: Fn(&T) -> bool + Sync> Symmetric<T> for Filter<F> {}
impl<T, U, F: Fn(T) -> Option<U> + Sync> Symmetric<T> for FilterMap<F> {}
impl<T, F: Fn(&T) + Sync> Symmetric<T> for Inspect<F> {}

/// Clones or copies each item, from [`Par::cloned`](super::Par::cloned) and [`Par::copied`](super::Par::copied).
#[derive(Clone, Copy, Debug)]
pub struct Cloned;

impl sealed::Sealed for Cloned {}

impl<'t, T: Clone + 't> Adaptor<&'t T> for Cloned {
    type Item = T;
    const IS_EXACT: bool = true;
    type Strip<'c, S: Iterator<Item = &'t T>>
        = iter::Cloned<S>
    where
        Self: 'c;

    #[inline]
    fn strip<'c, S: Iterator<Item = &'t T>>(&'c self, items: S) -> iter::Cloned<S> {
        items.cloned()
    }

    #[inline]
    fn fold_strip<I: Iterations<Item = &'t T>, A>(
        &self,
        iterations: &mut I,
        len: usize,
        sum: A,
        mut step: impl FnMut(A, T) -> ControlFlow<A, A>,
    ) -> ControlFlow<A, A> {
        iterations.fold_strip(len, sum, |sum, item| step(sum, item.clone()))
    }
}

impl<'t, T: Clone + 't> OneToOne<&'t T> for Cloned {}
impl<'t, T: Clone + 't> Symmetric<&'t T> for Cloned {}

/// A chain with one more adaptor.
#[derive(Clone, Debug)]
pub struct Adapted<C, A> {
    pub(super) chain: C,
    pub(super) adaptor: A,
}

impl<C, A> sealed::Sealed for Adapted<C, A> {}

impl<C: Chain, A: Adaptor<C::Item>> Chain for Adapted<C, A> {
    type Item = A::Item;
    type Source = C::Source;
    type Closures = (C::Closures, A);
    type Iterations<'c>
        = AdaptedIterations<'c, C::Iterations<'c>, A>
    where
        Self: 'c;

    #[inline]
    fn take_apart(self) -> (Self::Source, Self::Closures) {
        let (source, closures) = self.chain.take_apart();
        (source, (closures, self.adaptor))
    }

    #[inline]
    fn iterations<'c>(source: Self::Source, closures: &'c Self::Closures) -> Self::Iterations<'c>
    where
        Self: 'c,
    {
        let (closures, adaptor) = closures;
        AdaptedIterations {
            iterations: C::iterations(source, closures),
            adaptor,
        }
    }
}

impl<C: Exact, A: OneToOne<C::Item>> Exact for Adapted<C, A> {
    fn items(&self) -> usize {
        self.chain.items()
    }
}

impl<C: Reversible, A: Symmetric<C::Item>> Reversible for Adapted<C, A> {
    type Reversed = Adapted<C::Reversed, A>;

    #[inline]
    fn reversed(self) -> Self::Reversed {
        Adapted {
            chain: self.chain.reversed(),
            adaptor: self.adaptor,
        }
    }
}

/// Iterations with an adaptor.
pub struct AdaptedIterations<'c, I, A> {
    iterations: I,
    adaptor: &'c A,
}

impl<I: Iterations, A: Adaptor<I::Item>> Iterations for AdaptedIterations<'_, I, A> {
    type Item = A::Item;
    type Strip<'s>
        = A::Strip<'s, I::Strip<'s>>
    where
        Self: 's;

    const IS_EXACT: bool = I::IS_EXACT && A::IS_EXACT;
    const IS_ORDERED: bool = I::IS_ORDERED;

    #[inline]
    fn remaining(&self) -> usize {
        self.iterations.remaining()
    }

    #[inline]
    fn may_end_early(&self) -> bool {
        self.iterations.may_end_early()
    }

    #[inline]
    fn split_at(self, index: usize) -> (Self, Self) {
        let adaptor = self.adaptor;
        let (front, back) = self.iterations.split_at(index);
        let with_adaptor = |iterations| AdaptedIterations {
            iterations,
            adaptor,
        };
        (with_adaptor(front), with_adaptor(back))
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
        self.adaptor.strip(self.iterations.strip(len))
    }

    #[inline]
    fn fold_strip<B>(
        &mut self,
        len: usize,
        sum: B,
        step: impl FnMut(B, Self::Item) -> ControlFlow<B, B>,
    ) -> ControlFlow<B, B> {
        self.adaptor
            .fold_strip(&mut self.iterations, len, sum, step)
    }
}

/// Goes on until an item is `None`, from [`Par::while_some`](super::Par::while_some).
#[derive(Debug, Default)]
pub struct UntilNone {
    is_over: CancelState,
}

/// An iterator that sets a flag at the first `None`, and ends there.
pub struct UntilNoneStrip<'c, S> {
    items: S,
    is_over: &'c CancelState,
}

impl<T, S: Iterator<Item = Option<T>>> Iterator for UntilNoneStrip<'_, S> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        // Another part of the loop that misses it sees it later.
        if self.is_over.is_set() {
            return None;
        }
        let next = self.items.next()?;
        if next.is_none() {
            self.is_over.set();
        }
        next
    }
}

impl sealed::Sealed for UntilNone {}

impl<T> Adaptor<Option<T>> for UntilNone {
    type Item = T;
    const IS_EXACT: bool = false;
    type Strip<'c, S: Iterator<Item = Option<T>>>
        = UntilNoneStrip<'c, S>
    where
        Self: 'c;

    #[inline]
    fn strip<'c, S: Iterator<Item = Option<T>>>(&'c self, items: S) -> UntilNoneStrip<'c, S> {
        let is_over = &self.is_over;
        UntilNoneStrip { items, is_over }
    }
}

/// The values of a chain of options, until one of them is `None`, from [`Par::while_some`](super::Par::while_some).
#[derive(Debug)]
pub struct WhileSome<C>(pub(super) C);

impl<C> sealed::Sealed for WhileSome<C> {}

impl<T, C: Chain<Item = Option<T>>> Chain for WhileSome<C> {
    type Item = T;
    type Source = C::Source;
    type Closures = (C::Closures, UntilNone);
    type Iterations<'c>
        = UntilCancelled<AdaptedIterations<'c, C::Iterations<'c>, UntilNone>>
    where
        Self: 'c;

    fn take_apart(self) -> (Self::Source, Self::Closures) {
        let (source, closures) = self.0.take_apart();
        (source, (closures, UntilNone::default()))
    }

    #[inline]
    fn iterations<'c>(source: Self::Source, closures: &'c Self::Closures) -> Self::Iterations<'c>
    where
        Self: 'c,
    {
        let (closures, adaptor) = closures;
        let iterations = AdaptedIterations {
            iterations: C::iterations(source, closures),
            adaptor,
        };
        UntilCancelled::new(iterations, CancelFlag::of(&adaptor.is_over))
    }
}
