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

mod absent;
mod adapted;
mod adaptors;
mod chain;
mod collect;
mod combined;
mod ends;
mod init;
mod iterator;
mod progress;
mod runner;
mod sort;
mod until;
mod with_token;

use crate::loops::{Bridged, IntoIterations, Iterations, bridge};

pub use self::adapted::{
    Adapted, Adaptor, Cloned, Filter, FilterMap, FlatMap, Inspect, Map, OneToOne, Symmetric,
    WhileSome,
};
pub use self::chain::{Chain, Exact, IntoChain, Reversible, Source};
pub use self::collect::FromPar;
pub use self::combined::{Concat, Skip, StepBy, Take, Zip};
pub use self::init::MapInit;
pub use self::iterator::Par;
pub use self::progress::WithProgress;
pub use self::runner::{Here, Runner};
pub use self::sort::ParallelSort;
pub use self::until::Until;
pub use self::with_token::{MapWithToken, Run};

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
