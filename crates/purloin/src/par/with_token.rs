//! Bodies that are parallel themselves, in programs that are generic over their worker.

use std::marker::PhantomData;

use super::chain::{Chain, sealed};
use super::{Par, Runner};
use crate::worker::SyncBody;

/// A value that an end can run: a [`Chain`], or a chain whose [last closure](Par::map_with_token) gets a token.
///
/// This trait is sealed: only Purloin implements it.
pub trait Run<R: Runner>: Sized + sealed::Sealed {
    /// The items that the end gets.
    type Item;

    /// The chain that becomes the iterations of a loop.
    #[doc(hidden)]
    type Chain: Chain;

    /// A closure that the end calls on each of their items first, or nothing.
    #[doc(hidden)]
    type Body: Sync;

    /// Takes the value apart.
    #[doc(hidden)]
    fn into_parts(self) -> (Self::Chain, Self::Body);

    /// Turns an item of the chain into an item for the end.
    #[doc(hidden)]
    fn item(body: &Self::Body, w: R::Token<'_>, item: <Self::Chain as Chain>::Item) -> Self::Item;
}

impl<R: Runner, C: Chain> Run<R> for C {
    type Item = C::Item;
    type Chain = C;
    type Body = ();

    #[inline]
    fn into_parts(self) -> (C, ()) {
        (self, ())
    }

    #[inline(always)]
    fn item((): &(), _: R::Token<'_>, item: C::Item) -> C::Item {
        item
    }
}

/// A chain whose last closure gets a token, from [`Par::map_with_token`].
#[derive(Clone, Debug)]
pub struct MapWithToken<C, F, T> {
    chain: C,
    map: F,
    items: PhantomData<fn() -> T>,
}

impl<C, F, T> sealed::Sealed for MapWithToken<C, F, T> {}

impl<R, C, F, T> Run<R> for MapWithToken<C, F, T>
where
    R: Runner,
    C: Chain,
    F: for<'t> Fn(R::Token<'t>, C::Item) -> T + Sync,
{
    type Item = T;
    type Chain = C;
    type Body = F;

    #[inline]
    fn into_parts(self) -> (C, F) {
        (self.chain, self.map)
    }

    #[inline(always)]
    fn item(map: &F, w: R::Token<'_>, item: C::Item) -> T {
        map(w, item)
    }
}

/// For bodies that are parallel themselves.
impl<R: Runner, C: Chain> Par<R, C> {
    /// Calls `f` on each item, with a token of the worker that runs it, and goes on with the results. No adaptor can
    /// follow, only an end. [`collect`](Self::collect) has the form [`collect_vec`](Self::collect_vec) here.
    ///
    /// A program that is generic over its worker needs the token for the parallelism inside `f`. In other programs,
    /// call [`map`](Self::map), and inside of it [`par`](crate::prelude::Parallel::par) or
    /// [`join`](crate::join()).
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// fn sum_of_squares<W: Worker>(w: &mut W, rows: &[Vec<u64>]) -> u64 {
    ///     w.par(rows).map_with_token(|mut w, row| w.par(row).map(|n| n * n).sum::<u64>()).sum()
    /// }
    ///
    /// assert_eq!(sum_of_squares(&mut purloin::Serial, &[vec![1, 2], vec![3]]), 14);
    /// ```
    #[inline]
    pub fn map_with_token<T, F>(self, f: F) -> Par<R, MapWithToken<C, F, T>>
    where
        F: for<'t> Fn(R::Token<'t>, C::Item) -> T + SyncBody,
    {
        self.with(|chain| MapWithToken {
            chain,
            map: f,
            items: PhantomData,
        })
    }

    /// Calls `body` on each item, with a token of the worker that runs it. See
    /// [`map_with_token`](Self::map_with_token), and [`for_each`](Self::for_each) about scopes that are cancelled.
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// fn sort_rows<W: Worker>(w: &mut W, rows: &mut [Vec<u64>]) {
    ///     w.par(rows).for_each_with_token(|mut w, row| w.sort_unstable(row));
    /// }
    ///
    /// let mut rows = [vec![2, 1], vec![5, 4, 3]];
    /// sort_rows(&mut purloin::Serial, &mut rows);
    /// assert_eq!(rows, [vec![1, 2], vec![3, 4, 5]]);
    /// ```
    #[inline]
    pub fn for_each_with_token<F>(self, body: F)
    where
        F: for<'t> Fn(R::Token<'t>, C::Item) + SyncBody,
    {
        self.map_with_token(body).for_each(|()| ());
    }
}

impl<R: Runner, C: Chain, F, T: Send> Par<R, MapWithToken<C, F, T>>
where
    F: for<'t> Fn(R::Token<'t>, C::Item) -> T + Sync,
{
    /// Collects the results, in the order of their items, into a vector. For other collections, collect the items of the
    /// vector's iterator.
    #[inline]
    pub fn collect_vec(self) -> Vec<T> {
        let mut vec = Vec::new();
        self.collect_into(&mut vec);
        vec
    }
}
