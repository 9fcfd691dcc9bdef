//! [`Par`], a parallel iterator: how it is made, and its methods for slices.

use super::chain::{Chain, IntoChain, Source};
use crate::loops::{
    Chunks, ChunksExact, ChunksExactMut, ChunksMut, IntoIterations, Iterations, Windows, chunks,
    chunks_exact, chunks_exact_mut, chunks_mut, windows,
};

/// A parallel iterator: a chain of adaptors that workers run over parts of a collection.
///
/// [`par`], [`par_mut`] and [`into_par`] make one from a collection. The methods have the names of [`Iterator`], or
/// those of rayon where the standard library has none. There is no grain size: a loop is split when another worker
/// asks for work.
///
/// ```
/// use purloin::prelude::*;
///
/// let words = ["steal", "pilfer", "purloin"];
/// let letters: usize = words.par().map(|word| word.len()).sum();
/// assert_eq!(letters, 18);
///
/// let squares: Vec<u32> = (0..10_u32).into_par().filter(|n| n % 3 == 0).map(|n| n * n).collect();
/// assert_eq!(squares, [0, 9, 36, 81]);
/// ```
///
/// Results keep the order of the items: [`collect`](Self::collect) and [`fold`](Self::fold) combine them in their
/// order, although several workers compute them. Only the bracketing depends on chance. (The items of a
/// [`bridge`](crate::bridge()) have no order.)
///
/// # Panics
///
/// An end panics if one of its closures panics, after all items that were begun have ended. It also panics if no
/// thread can be started for the global pool.
///
/// [`par`]: super::Parallel::par
/// [`par_mut`]: super::ParallelMut::par_mut
/// [`into_par`]: super::IntoParallel::into_par
#[must_use = "nothing runs before an end such as `for_each`, `sum` or `collect` is called"]
#[derive(Clone, Debug)]
pub struct Par<R, C> {
    pub(super) runner: R,
    pub(super) chain: C,
}

impl<R, I: Iterations> Par<R, Source<I>> {
    #[inline]
    pub(crate) fn over(runner: R, items: impl IntoIterations<Iterations = I>) -> Self {
        Par {
            runner,
            chain: Source::new(items.into_iterations()),
        }
    }

    /// Returns what this goes over, as an argument of another loop or a field of a tuple.
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let (mut sums, numbers) = ([0; 3], [1, 2, 3, 4, 5, 6]);
    /// let pairs = numbers.par().chunks(2).into_iterations();
    /// purloin::for_each((&mut sums, pairs, 10..), |(sum, pair, n)| *sum = pair[0] + pair[1] + n);
    /// assert_eq!(sums, [13, 18, 23]);
    /// ```
    #[inline]
    pub fn into_iterations(self) -> I {
        self.chain.into_inner()
    }
}

impl<R, C: Chain> Par<R, C> {
    /// Returns the same iterator over another chain.
    #[inline]
    pub(super) fn with<D>(self, chain: impl FnOnce(C) -> D) -> Par<R, D> {
        Par {
            runner: self.runner,
            chain: chain(self.chain),
        }
    }
}

/// Over a slice.
impl<'s, R, T: Sync> Par<R, Source<&'s [T]>> {
    /// Goes over pieces of `size` elements; the last one may have fewer. See [`slice::chunks`].
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let sums: Vec<i32> = [1, 2, 3, 4, 5].par().chunks(2).map(|pair| pair.iter().sum()).collect();
    /// assert_eq!(sums, [3, 7, 5]);
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if `size` is 0.
    pub fn chunks(self, size: usize) -> Par<R, Source<Chunks<'s, T>>> {
        self.with(|slice| Source::new(chunks(slice.into_inner(), size)))
    }

    /// Goes over pieces of exactly `size` elements, and leaves out those at the end. See
    /// [`slice::chunks_exact`].
    ///
    /// # Panics
    ///
    /// Panics if `size` is 0.
    pub fn chunks_exact(self, size: usize) -> Par<R, Source<ChunksExact<'s, T>>> {
        self.with(|slice| Source::new(chunks_exact(slice.into_inner(), size)))
    }

    /// Goes over all series of `size` consecutive elements. They overlap. See [`slice::windows`].
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// assert!([1, 2, 5, 7].par().windows(2).all(|pair| pair[0] < pair[1]));
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if `size` is 0.
    pub fn windows(self, size: usize) -> Par<R, Source<Windows<'s, T>>> {
        self.with(|slice| Source::new(windows(slice.into_inner(), size)))
    }
}

/// Over a mutable slice.
impl<'s, R, T: Send> Par<R, Source<&'s mut [T]>> {
    /// Goes over mutable pieces of `size` elements; the last one may have fewer. See
    /// [`slice::chunks_mut`].
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let mut numbers = [3, 2, 1, 5, 4];
    /// numbers.par_mut().chunks(3).for_each(|part| part.sort());
    /// assert_eq!(numbers, [1, 2, 3, 4, 5]);
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if `size` is 0.
    pub fn chunks(self, size: usize) -> Par<R, Source<ChunksMut<'s, T>>> {
        self.with(|slice| Source::new(chunks_mut(slice.into_inner(), size)))
    }

    /// Goes over mutable pieces of exactly `size` elements, and leaves out those at the end. See
    /// [`slice::chunks_exact_mut`].
    ///
    /// # Panics
    ///
    /// Panics if `size` is 0.
    pub fn chunks_exact(self, size: usize) -> Par<R, Source<ChunksExactMut<'s, T>>> {
        self.with(|slice| Source::new(chunks_exact_mut(slice.into_inner(), size)))
    }
}

impl<R, C: Chain> IntoChain for Par<R, C> {
    type Chain = C;

    fn into_chain(self) -> C {
        self.chain
    }
}
