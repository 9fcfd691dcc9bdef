//! Chains that are made of two chains, or of a part of one.

use std::iter;

use super::chain::{Chain, Exact, Reversible, sealed};
use crate::loops::{Iterations, Pair, Stepped};

/// Implements chains that are made of two chains.
macro_rules! of_two {
    ($($(#[$doc:meta])* $Name:ident, [$($bounds:tt)*], $Item:ty, $Iterations:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug)]
            pub struct $Name<A, B>(pub(super) A, pub(super) B);

            impl<A, B> sealed::Sealed for $Name<A, B> {}

            impl<A, B> Chain for $Name<A, B>
            where
                $($bounds)*
            {
                type Item = $Item;
                type Source = (A::Source, B::Source);
                type Closures = (A::Closures, B::Closures);
                type Iterations<'c>
                    = $Iterations<A::Iterations<'c>, B::Iterations<'c>>
                where
                    Self: 'c;

                #[inline]
                fn take_apart(self) -> (Self::Source, Self::Closures) {
                    let (a, of_a) = self.0.take_apart();
                    let (b, of_b) = self.1.take_apart();
                    ((a, b), (of_a, of_b))
                }

                #[inline]
                fn iterations<'c>(
                    (a, b): Self::Source,
                    (of_a, of_b): &'c Self::Closures,
                ) -> Self::Iterations<'c>
                where
                    Self: 'c,
                {
                    $Iterations::new(A::iterations(a, of_a), B::iterations(b, of_b))
                }
            }
        )*
    };
}

of_two! {
    /// Two chains in step, from [`Par::zip`](super::Par::zip) and [`Par::enumerate`](super::Par::enumerate).
    Zip, [A: Exact, B: Exact], (A::Item, B::Item), Pair;
    /// One chain after the other, from [`Par::chain`](super::Par::chain).
    Concat, [A: Chain, B: Chain<Item = A::Item>], A::Item, ConcatIterations;
}

impl<A: Exact, B: Exact> Exact for Zip<A, B> {
    fn items(&self) -> usize {
        self.0.items().min(self.1.items())
    }
}

impl<A, B> Reversible for Zip<A, B>
where
    A: Exact + Reversible<Reversed: Exact>,
    B: Exact + Reversible<Reversed: Exact>,
{
    type Reversed = Zip<Skip<A::Reversed>, Skip<B::Reversed>>;

    fn reversed(self) -> Self::Reversed {
        let (of_a, of_b) = (count(&self.0), count(&self.1));
        let (beyond_a, beyond_b) = (of_a.saturating_sub(of_b), of_b.saturating_sub(of_a));
        let a = Skip(self.0.reversed(), beyond_a);
        Zip(a, Skip(self.1.reversed(), beyond_b))
    }
}

impl<A: Exact, B: Exact<Item = A::Item>> Exact for Concat<A, B> {
    fn items(&self) -> usize {
        self.0.items().saturating_add(self.1.items())
    }
}

impl<A: Reversible, B: Reversible<Item = A::Item>> Reversible for Concat<A, B> {
    type Reversed = Concat<B::Reversed, A::Reversed>;

    fn reversed(self) -> Self::Reversed {
        Concat(self.1.reversed(), self.0.reversed())
    }
}

/// Iterations after others.
pub struct ConcatIterations<A, B>(A, B);

impl<A, B> ConcatIterations<A, B> {
    fn new(a: A, b: B) -> Self {
        ConcatIterations(a, b)
    }
}

impl<A: Iterations, B: Iterations> ConcatIterations<A, B> {
    /// Returns how many of the next `len` iterations are of the first and of the second. There may be fewer than the
    /// caller has seen, after a `while_some` or in a cancelled scope.
    #[inline]
    fn parts(&self, len: usize) -> (usize, usize) {
        let of_first = len.min(self.0.own());
        (of_first, (len - of_first).min(self.1.own()))
    }
}

impl<A: Iterations, B: Iterations<Item = A::Item>> Iterations for ConcatIterations<A, B> {
    type Item = A::Item;
    type Strip<'s>
        = iter::Chain<A::Strip<'s>, B::Strip<'s>>
    where
        Self: 's;

    const IS_EXACT: bool = A::IS_EXACT && B::IS_EXACT;
    const IS_ORDERED: bool = A::IS_ORDERED && B::IS_ORDERED;

    /// A part runs what it has before it asks an iterator. It asks that of the second iterations only when that of the
    /// first has ended.
    #[inline]
    fn remaining(&self) -> usize {
        match self.own() {
            0 if !Self::IS_ORDERED => match self.0.remaining() {
                0 if self.0.is_open() => 0,
                0 => self.1.remaining(),
                len => len,
            },
            len => len,
        }
    }

    #[inline]
    fn own(&self) -> usize {
        self.0.own().saturating_add(self.1.own())
    }

    #[inline]
    fn may_end_early(&self) -> bool {
        self.0.may_end_early() || self.1.may_end_early()
    }

    fn is_open(&self) -> bool {
        self.0.is_open() || self.1.is_open()
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let (of_first, of_second) = self.parts(index);
        let (first, rest) = self.0.split_at(of_first);
        let (second, others) = self.1.split_at(of_second);
        (
            ConcatIterations(first, second),
            ConcatIterations(rest, others),
        )
    }

    #[inline]
    fn strip(&mut self, len: usize) -> Self::Strip<'_> {
        let (of_first, of_second) = self.parts(len);
        self.0.strip(of_first).chain(self.1.strip(of_second))
    }
}

/// A chain without its first items, from [`Par::skip`](super::Par::skip).
#[derive(Clone, Debug)]
pub struct Skip<C>(pub(super) C, pub(super) usize);

/// The first items of a chain, from [`Par::take`](super::Par::take).
#[derive(Clone, Debug)]
pub struct Take<C>(pub(super) C, pub(super) usize);

/// Every n-th item of a chain, from [`Par::step_by`](super::Par::step_by).
#[derive(Clone, Debug)]
pub struct StepBy<C>(pub(super) C, pub(super) usize);

/// Returns the number of items of a chain that is to run backwards.
///
/// # Panics
///
/// Panics if there are [`usize::MAX`] items or more, because nobody knows how many.
fn count<C: Exact>(chain: &C) -> usize {
    let items = chain.items();
    assert!(
        items < usize::MAX,
        "a part of a chain can run backwards only if the chain has fewer than `usize::MAX` items"
    );
    items
}

/// Implements chains that are made of an exact chain and a number.
macro_rules! with_number {
    ($($Type:ident, $Iterations:ty, |$iterations:ident, $number:ident| $adapt:expr, |$len:ident| $adapted:expr;)*) => {
        $(
            impl<C> sealed::Sealed for $Type<C> {}

            impl<C: Exact> Chain for $Type<C> {
                type Item = C::Item;
                type Source = (C::Source, usize);
                type Closures = C::Closures;
                type Iterations<'c>
                    = $Iterations
                where
                    Self: 'c;

                #[inline]
                fn take_apart(self) -> (Self::Source, Self::Closures) {
                    let (source, closures) = self.0.take_apart();
                    ((source, self.1), closures)
                }

                #[inline]
                fn iterations<'c>(
                    (source, $number): Self::Source,
                    closures: &'c Self::Closures,
                ) -> Self::Iterations<'c>
                where
                    Self: 'c,
                {
                    let $iterations = C::iterations(source, closures);
                    $adapt
                }
            }

            impl<C: Exact> Exact for $Type<C> {
                fn items(&self) -> usize {
                    let ($len, $number) = (self.0.items(), self.1);
                    $adapted
                }
            }
        )*
    };
}

with_number! {
    Skip, C::Iterations<'c>,
        |iterations, number| {
            let number = number.min(iterations.remaining());
            let (skipped, rest) = iterations.split_at(number);
            // While the rest is in a variable: if a destructor panics, the rest is still dropped.
            drop(skipped);
            rest
        },
        |len| len.saturating_sub(number);
    Take, C::Iterations<'c>,
        |iterations, number| {
            let number = number.min(iterations.remaining());
            let (first, rest) = iterations.split_at(number);
            drop(rest);
            first
        },
        |len| len.min(number);
    StepBy, Stepped<C::Iterations<'c>>,
        |iterations, number| Stepped::new(iterations, number),
        |len| len.div_ceil(number);
}

impl<C: Exact + Reversible<Reversed: Exact>> Reversible for Skip<C> {
    type Reversed = Take<C::Reversed>;

    fn reversed(self) -> Self::Reversed {
        let len = count(&self.0).saturating_sub(self.1);
        Take(self.0.reversed(), len)
    }
}

impl<C: Exact + Reversible<Reversed: Exact>> Reversible for Take<C> {
    type Reversed = Skip<C::Reversed>;

    fn reversed(self) -> Self::Reversed {
        let left_out = count(&self.0).saturating_sub(self.1);
        Skip(self.0.reversed(), left_out)
    }
}

impl<C: Exact + Reversible<Reversed: Exact>> Reversible for StepBy<C> {
    type Reversed = StepBy<Skip<C::Reversed>>;

    fn reversed(self) -> Self::Reversed {
        let StepBy(chain, step) = self;
        // The items after the last one that the chain returns.
        let left_out = count(&chain).saturating_sub(1) % step;
        StepBy(Skip(chain.reversed(), left_out), step)
    }
}
