//! Chains of adaptors, and how they become the iterations of a loop.

use crate::loops::{
    ExactIterations, IntoIterations, Iterations, Reversed, ReversibleIterations, reversed,
};

/// A source of items and the adaptors that are applied to them.
///
/// This trait is sealed: only Purloin implements it.
pub trait Chain: Sized + sealed::Sealed {
    /// The items that the chain returns.
    type Item;

    /// The sources, which are split between workers.
    #[doc(hidden)]
    type Source: Send;

    /// The closures of the adaptors, which all workers share.
    #[doc(hidden)]
    type Closures: Sync;

    /// The items, as the iterations of a loop.
    #[doc(hidden)]
    type Iterations<'c>: Iterations<Item = Self::Item>
    where
        Self: 'c;

    /// Takes the chain apart.
    #[doc(hidden)]
    fn take_apart(self) -> (Self::Source, Self::Closures);

    /// Puts the parts together again.
    #[doc(hidden)]
    fn iterations<'c>(source: Self::Source, closures: &'c Self::Closures) -> Self::Iterations<'c>
    where
        Self: 'c;
}

/// A chain that knows how many items it has, so that the loop can begin at any of them.
#[diagnostic::on_unimplemented(
    message = "the items of `{Self}` have no positions",
    label = "this chain does not know how many items it has",
    note = "call the adaptors that count, such as `enumerate`, `zip`, `skip` and `take`, before `filter`, \
            `filter_map`, `flat_map_iter`, `while_some` and `until`; over lines, words, characters and the items of an \
            iterator, collect a `Vec` first"
)]
pub trait Exact: Chain {
    /// Returns the number of items.
    #[doc(hidden)]
    fn items(&self) -> usize;
}

/// A chain that can run backwards.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot run backwards",
    label = "a chain over ranges, slices, vectors and pieces of slices can run backwards",
    note = "collect a `Vec` first"
)]
pub trait Reversible: Chain {
    /// The chain that returns the last item first.
    #[doc(hidden)]
    type Reversed: Chain<Item = Self::Item>;

    /// Performs the conversion.
    #[doc(hidden)]
    fn reversed(self) -> Self::Reversed;
}

pub(super) mod sealed {
    pub trait Sealed {}
}

/// The start of a chain.
#[derive(Clone, Debug)]
pub struct Source<I>(I);

impl<I> Source<I> {
    pub(super) fn new(iterations: I) -> Self {
        Source(iterations)
    }

    pub(super) fn into_inner(self) -> I {
        self.0
    }
}

impl<I> sealed::Sealed for Source<I> {}

impl<I: Iterations> Chain for Source<I> {
    type Item = I::Item;
    type Source = I;
    type Closures = ();
    type Iterations<'c>
        = I
    where
        Self: 'c;

    #[inline]
    fn take_apart(self) -> (I, ()) {
        (self.0, ())
    }

    #[inline]
    fn iterations<'c>(source: I, (): &'c ()) -> I
    where
        Self: 'c,
    {
        source
    }
}

impl<I: ExactIterations> Exact for Source<I> {
    fn items(&self) -> usize {
        self.0.remaining()
    }
}

impl<I: ReversibleIterations> Reversible for Source<I> {
    type Reversed = Source<Reversed<I>>;

    #[inline]
    fn reversed(self) -> Self::Reversed {
        Source(reversed(self.0))
    }
}

/// An argument of [`Par::chain`] and [`Par::zip`]: another parallel iterator, or anything that a loop can run over.
///
/// [`Par::chain`]: super::Par::chain
/// [`Par::zip`]: super::Par::zip
pub trait IntoChain {
    /// The chain that this is converted into.
    type Chain: Chain;

    /// Performs the conversion.
    #[doc(hidden)]
    fn into_chain(self) -> Self::Chain;
}

impl<I: IntoIterations> IntoChain for I {
    type Chain = Source<I::Iterations>;

    fn into_chain(self) -> Self::Chain {
        Source::new(self.into_iterations())
    }
}
