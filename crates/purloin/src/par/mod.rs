//! Parallel iterators: loops as chains of adaptors, without a grain size to choose.
//!
//! A [`Par`] is a place to run, a source of [iterations](crate::Iterations) and a **chain** of adaptors
//! ([`chain`], [`adaptors`]). Nothing runs before an **end** ([`ends`], [`collect`]) is called. The end takes
//! the chain apart into the source, which is split between workers, and the closures of the adaptors, which all
//! workers share. Then it puts both together again as iterations, and runs a loop over them
//! ([`crate::loops`]). So a chain of adaptors costs what one body with the same code costs: within a strip, the compiler sees a chain of the
//! standard library's adaptors over a slice or a range.
//!
//! # Positions
//!
//! Most sources are **exact**: they know how many items they have, and the loop can begin at any of them. A
//! `map` stays exact. After a `filter`, or over the words of a text, items have no known positions. Such
//! chains lack the adaptors and ends that count: `enumerate`, `zip`, `skip`, `position`, `find_first`.

mod adapted;
mod adaptors;
mod chain;
mod collect;
mod combined;
mod ends;

use crate::loops::{
    Chunks, ChunksExact, ChunksExactMut, ChunksMut, IntoIterations, Iterations, Windows, chunks,
    chunks_exact, chunks_exact_mut, chunks_mut, windows,
};
use crate::worker::Worker;

pub use self::adapted::{
    Adapted, Adaptor, Cloned, Filter, FilterMap, FlatMap, Inspect, Map, OneToOne, Symmetric,
    WhileSome,
};
pub use self::chain::{Chain, Exact, IntoChain, Reversible, Source};
pub use self::collect::FromPar;
pub use self::combined::{Concat, Skip, StepBy, Take, Zip};

/// A parallel iterator: a chain of adaptors that workers run over parts of a collection.
///
/// [`par`](Parallel::par), [`par_mut`](ParallelMut::par_mut) and [`into_par`](IntoParallel::into_par) make one
/// from a collection. The methods have the names of [`Iterator`], or those of rayon where the standard library
/// has none. There is no grain size: a loop is split when another worker asks for work.
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
/// order, although several workers compute them. Only the bracketing depends on chance.
///
/// # Panics
///
/// An end panics if one of its closures panics, after all items that were begun have ended. It also panics if no
/// thread can be started for the global pool.
#[must_use = "nothing runs before an end such as `for_each`, `sum` or `collect` is called"]
#[derive(Clone, Debug)]
pub struct Par<R, C> {
    runner: R,
    chain: C,
}

/// Where a parallel iterator runs: on the worker of the calling thread ([`Here`]), or on a given worker.
///
/// This trait is sealed: only Purloin implements it.
pub trait Runner: Sized + sealed::Sealed {
    /// The worker that runs the loop.
    #[doc(hidden)]
    type Worker<'w>: Worker;

    /// Calls `run` with the worker.
    #[doc(hidden)]
    fn on_worker<T: Send>(self, run: impl for<'w> FnOnce(Self::Worker<'w>) -> T + Send) -> T;
}

/// The worker of the calling thread, if its pool has the default scheduler, or else the global pool.
#[derive(Clone, Copy, Debug, Default)]
pub struct Here;

impl<W: Worker> Runner for &mut W {
    type Worker<'w> = W::Token<'w>;

    #[inline]
    fn on_worker<T: Send>(self, run: impl for<'w> FnOnce(W::Token<'w>) -> T + Send) -> T {
        self.lend(run)
    }
}

mod sealed {
    pub trait Sealed {}

    impl Sealed for super::Here {}
    impl<W: crate::Worker> Sealed for &mut W {}
}

/// Makes a parallel iterator from a reference to a collection.
///
/// ```
/// use purloin::prelude::*;
///
/// assert_eq!([1, 2, 3].par().max(), Some(&3));
/// ```
pub trait Parallel<'s> {
    /// The iterations over the collection.
    type Iterations: Iterations;

    /// Returns a parallel iterator over references to the items; over the items themselves, if this is a range or
    /// the lines, words or characters of a text. It runs on [the worker of this thread, or on the global
    /// pool](Here).
    fn par(&'s self) -> Par<Here, Source<Self::Iterations>>;
}

impl<'s, T: ?Sized + 's> Parallel<'s> for T
where
    &'s T: IntoIterations,
{
    type Iterations = <&'s T as IntoIterations>::Iterations;

    #[inline]
    fn par(&'s self) -> Par<Here, Source<Self::Iterations>> {
        self.into_par()
    }
}

/// Makes a parallel iterator from a mutable reference to a collection.
///
/// ```
/// use purloin::prelude::*;
///
/// let mut numbers = [1, 2, 3];
/// numbers.par_mut().for_each(|number| *number *= 2);
/// assert_eq!(numbers, [2, 4, 6]);
/// ```
pub trait ParallelMut<'s> {
    /// The iterations over the collection.
    type Iterations: Iterations;

    /// Returns a parallel iterator over mutable references to the items.
    fn par_mut(&'s mut self) -> Par<Here, Source<Self::Iterations>>;
}

impl<'s, T: ?Sized + 's> ParallelMut<'s> for T
where
    &'s mut T: IntoIterations,
{
    type Iterations = <&'s mut T as IntoIterations>::Iterations;

    #[inline]
    fn par_mut(&'s mut self) -> Par<Here, Source<Self::Iterations>> {
        self.into_par()
    }
}

/// Makes a parallel iterator from a collection, a range or anything else that a loop can run over.
///
/// ```
/// use purloin::prelude::*;
///
/// let owned = vec![String::from("a"), String::from("b")];
/// let all: String = owned.into_par().collect();
/// assert_eq!(all, "ab");
/// ```
pub trait IntoParallel: IntoIterations + Sized {
    /// Returns a parallel iterator over the items.
    fn into_par(self) -> Par<Here, Source<Self::Iterations>>;
}

impl<I: IntoIterations> IntoParallel for I {
    #[inline]
    fn into_par(self) -> Par<Here, Source<I::Iterations>> {
        Par::over(Here, self)
    }
}

impl<R, I: Iterations> Par<R, Source<I>> {
    #[inline]
    pub(crate) fn over(runner: R, items: impl IntoIterations<Iterations = I>) -> Self {
        Par {
            runner,
            chain: Source::new(items.into_iterations()),
        }
    }
}

impl<R, C: Chain> Par<R, C> {
    /// Returns the same iterator over another chain.
    #[inline]
    fn with<D>(self, chain: impl FnOnce(C) -> D) -> Par<R, D> {
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
