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
//! chains lack the adaptors and ends that count: `enumerate`, `zip`, `skip`, `take`, `step_by`, `position`.

mod adapted;
mod adaptors;
mod chain;
mod collect;
mod combined;
mod ends;
mod init;
mod progress;
mod sort;
mod until;
mod with_token;

use crate::loops::{
    Bridged, Chunks, ChunksExact, ChunksExactMut, ChunksMut, IntoIterations, Iterations, Windows,
    bridge, chunks, chunks_exact, chunks_exact_mut, chunks_mut, windows,
};
use crate::worker::Worker;

pub use self::adapted::{
    Adapted, Adaptor, Cloned, Filter, FilterMap, FlatMap, Inspect, Map, OneToOne, Symmetric,
    WhileSome,
};
pub use self::chain::{Chain, Exact, IntoChain, Reversible, Source};
pub use self::collect::FromPar;
pub use self::combined::{Concat, Skip, StepBy, Take, Zip};
pub use self::init::MapInit;
pub use self::progress::WithProgress;
pub use self::sort::ParallelSort;
pub use self::until::Until;
pub use self::with_token::{MapWithToken, Run};

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
/// order, although several workers compute them. Only the bracketing depends on chance. (The items of a
/// [`bridge`](crate::bridge()) have no order.)
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
    /// The token of the worker that runs a part of the loop.
    type Token<'t>: for<'u> Worker<Token<'u> = Self::Token<'u>>;

    /// Calls `run` on the worker that begins the loop.
    #[doc(hidden)]
    fn on_worker<T: Send>(self, run: impl for<'t> FnOnce(Self::Token<'t>) -> T + Send) -> T;
}

/// The worker of the calling thread, if its pool has the default scheduler, or else the global pool.
#[derive(Clone, Copy, Debug, Default)]
pub struct Here;

impl<W: Worker> Runner for &mut W {
    type Token<'t> = W::Token<'t>;

    #[inline]
    fn on_worker<T: Send>(self, run: impl for<'t> FnOnce(W::Token<'t>) -> T + Send) -> T {
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

/// Makes a parallel iterator from an iterator whose number of items nobody knows: a channel, the lines of a reader.
pub trait ParBridge: IntoIterator<Item: Send, IntoIter: Send> + Sized {
    /// Returns a parallel iterator over the items. The workers share the iterator: one of them takes the next item, and
    /// runs the rest of the chain for it, while another one takes the item after that. So the items have no order, and
    /// collected results have none. A part of the loop has one item at a time, and an item that takes long does not hold
    /// up those behind it.
    ///
    /// The iterator may block: it may be a channel whose sender is a task of the same pool. One worker waits for the
    /// iterator, while a [spare worker](crate::Builder::spare_workers) uses its processor, and most others look for other
    /// work. The loop ends when the iterator has ended. An end that needs no more items, such as
    /// [`any`](Par::any), still waits until the iterator returns its next item.
    ///
    /// Each item costs some 100 ns, or some microseconds while other tasks or calls wait for a worker, so the rest of the chain
    /// should take longer. If the items are there already, collect
    /// a `Vec` first, and call [`into_par`](IntoParallel::into_par).
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let (send, receive) = std::sync::mpsc::channel();
    /// let sum = purloin::finish(|s| {
    ///     s.spawn(move |_| (0..100_u64).for_each(|n| send.send(n).unwrap()));
    ///     receive.into_iter().par_bridge().map(|n| n * n).sum::<u64>()
    /// });
    /// assert_eq!(sum, 328_350);
    /// ```
    ///
    /// # Panics
    ///
    /// An end also panics if the iterator panics.
    fn par_bridge(self) -> Par<Here, Source<Bridged<Self::IntoIter>>>;
}

impl<I: IntoIterator<Item: Send, IntoIter: Send>> ParBridge for I {
    fn par_bridge(self) -> Par<Here, Source<Bridged<I::IntoIter>>> {
        Par::over(Here, bridge(self))
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

impl<R, I: Iterations> Par<R, Source<I>> {
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
