//! Collections from parallel iterators.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::rc::Rc;
use std::sync::{Arc, PoisonError};

use super::chain::Chain;
use super::{Par, Run, Runner};
use crate::loops::{self, runs};
use crate::sync::plain::{AtomicBool, Mutex, Ordering, lock};
use crate::worker::SyncBody;

/// Ends that keep items.
impl<R: Runner, C: Chain> Par<R, C> {
    /// Collects the items, in their order, into a vector, a string, or another collection. See
    /// [`Iterator::collect`], and [`FromPar`] for the collections.
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let squares: Vec<u64> = (0..4).into_par().map(|n| n * n).collect();
    /// assert_eq!(squares, [0, 1, 4, 9]);
    /// let numbers: Result<Vec<u32>, _> = ["1", "x"].par().map(|text| text.parse::<u32>()).collect();
    /// assert!(numbers.is_err());
    /// ```
    #[inline]
    pub fn collect<T: FromPar<C::Item>>(self) -> T {
        T::from_par(self)
    }
}

/// Ends that keep items, also those of a closure with a token.
impl<R: Runner, C: Run<R>> Par<R, C> {
    /// Appends the items, in their order, to a vector. The vector keeps its memory if there is room.
    ///
    /// If a closure panics, the vector keeps the items that it had before.
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let mut numbers = vec![7];
    /// (0..3).into_par().map(|n| n * n).collect_into(&mut numbers);
    /// assert_eq!(numbers, [7, 0, 1, 4]);
    /// ```
    #[inline]
    pub fn collect_into(self, vec: &mut Vec<C::Item>)
    where
        C::Item: Send,
    {
        self.run(move |mut w, items, map| {
            loops::append(&mut w, items, vec, |w, item| C::item(map, w, item));
        });
    }

    /// Collects pairs into two collections. See [`Iterator::unzip`].
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let (even, half): (Vec<u32>, Vec<u32>) = (0..3).into_par().map(|n| (2 * n, n / 2)).unzip();
    /// assert_eq!((even, half), (vec![0, 2, 4], vec![0, 0, 1]));
    /// ```
    #[inline]
    pub fn unzip<A: Send, B: Send, X, Y>(self) -> (X, Y)
    where
        C: Run<R, Item = (A, B)>,
        X: FromIterator<A>,
        Y: FromIterator<B>,
    {
        let (left, right) = self
            .run(|mut w, items, map| loops::unzip(&mut w, items, |w, item| C::item(map, w, item)));
        // The standard library makes a vector of a vector without a copy.
        (left.into_iter().collect(), right.into_iter().collect())
    }

    /// Collects the items for which `holds` is true, and the others. See [`Iterator::partition`].
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let (odd, even): (Vec<u32>, Vec<u32>) = (0..5).into_par().partition(|n| n % 2 == 1);
    /// assert_eq!((odd, even), (vec![1, 3], vec![0, 2, 4]));
    /// ```
    #[inline]
    pub fn partition<T, F>(self, holds: F) -> (T, T)
    where
        C::Item: Send,
        T: FromIterator<C::Item>,
        F: Fn(&C::Item) -> bool + SyncBody,
    {
        let holds = &holds;
        let (left, right) = self.run(move |mut w, items, map| {
            loops::partition(&mut w, items, |w, item| C::item(map, w, item), holds)
        });
        (left.into_iter().collect(), right.into_iter().collect())
    }
}

/// A collection that [`Par::collect`] can make.
///
/// | collection | how |
/// |---|---|
/// | [`Vec`] of an exact chain | workers write the items where they belong |
/// | [`Vec`] of another chain | each run of items has vectors of its own, and all workers copy these into one at the end |
/// | [`String`] | as a vector of an inexact chain, from characters, `&str` or strings |
/// | [`Option`] and [`Result`] of a collection | until an item fails: `None`, or one of the errors, not always the first |
/// | other lists, slices behind pointers, sets, maps | from a vector, on one worker |
/// | `()` | from items `()` |
#[diagnostic::on_unimplemented(
    message = "items `{T}` of a parallel iterator cannot be collected into `{Self}`",
    note = "collect a `Vec`, and make the collection from its iterator"
)]
pub trait FromPar<T>: Sized {
    /// Collects the items of a parallel iterator.
    fn from_par<R: Runner, C: Chain<Item = T>>(items: Par<R, C>) -> Self;
}

impl<T: Send> FromPar<T> for Vec<T> {
    #[inline]
    fn from_par<R: Runner, C: Chain<Item = T>>(items: Par<R, C>) -> Self {
        let mut vec = Vec::new();
        items.collect_into(&mut vec);
        vec
    }
}

impl<T: Send> FromPar<T> for Box<[T]> {
    fn from_par<R: Runner, C: Chain<Item = T>>(items: Par<R, C>) -> Self {
        Vec::from_par(items).into()
    }
}

impl<T: Send> FromPar<T> for Arc<[T]> {
    fn from_par<R: Runner, C: Chain<Item = T>>(items: Par<R, C>) -> Self {
        Vec::from_par(items).into()
    }
}

impl<T: Send> FromPar<T> for Rc<[T]> {
    fn from_par<R: Runner, C: Chain<Item = T>>(items: Par<R, C>) -> Self {
        Vec::from_par(items).into()
    }
}

/// Implements `FromPar` by way of a vector.
macro_rules! from_vec {
    ($([$($generics:tt)*] $Item:ty => $Collection:ty;)*) => {
        $(
            impl<$($generics)*> FromPar<$Item> for $Collection {
                fn from_par<R: Runner, C: Chain<Item = $Item>>(items: Par<R, C>) -> Self {
                    Vec::from_par(items).into_iter().collect()
                }
            }
        )*
    };
}

from_vec! {
    [T: Send] T => VecDeque<T>;
    [T: Send] T => LinkedList<T>;
    [T: Ord + Send] T => BinaryHeap<T>;
    [T: Ord + Send] T => BTreeSet<T>;
    [K: Ord + Send, V: Send] (K, V) => BTreeMap<K, V>;
    [T: Hash + Eq + Send, S: BuildHasher + Default] T => HashSet<T, S>;
    [K: Hash + Eq + Send, V: Send, S: BuildHasher + Default] (K, V) => HashMap<K, V, S>;
}

impl FromPar<()> for () {
    fn from_par<R: Runner, C: Chain<Item = ()>>(items: Par<R, C>) -> Self {
        // Not `for_each`, which stops if the scope around it is cancelled.
        items.fold(|| (), |(), ()| (), |(), ()| ());
    }
}

/// Implements `FromPar` for strings.
macro_rules! strings {
    ($([$($generics:tt)*] $Item:ty, $push:expr;)*) => {
        $(
            impl<$($generics)*> FromPar<$Item> for String {
                fn from_par<R: Runner, C: Chain<Item = $Item>>(items: Par<R, C>) -> Self {
                    let push: fn(&mut String, $Item) = $push;
                    let runs: Vec<String> =
                        items.run(|mut w, items, ()| runs(&mut w, items, |_, text, item| push(text, item)));
                    match <[String; 1]>::try_from(runs) {
                        Ok([text]) => text,
                        Err(runs) => runs.concat(),
                    }
                }
            }
        )*
    };
}

strings! {
    [] char, String::push;
    ['t] &'t char, |text, item| text.push(*item);
    ['t] &'t str, String::push_str;
    [] String, |text, item| text.push_str(&item);
    ['t] &'t String, |text, item| text.push_str(item);
}

impl<T, V: FromPar<T>> FromPar<Option<T>> for Option<V> {
    fn from_par<R: Runner, C: Chain<Item = Option<T>>>(items: Par<R, C>) -> Self {
        let found_none = AtomicBool::new(false);
        let values = items.inspect(|item| {
            if item.is_none() {
                // Relaxed: the end of the loop orders it before the look below.
                found_none.store(true, Ordering::Relaxed);
            }
        });
        let collected = V::from_par(values.while_some());
        (!found_none.load(Ordering::Relaxed)).then_some(collected)
    }
}

impl<T, E: Send, V: FromPar<T>> FromPar<Result<T, E>> for Result<V, E> {
    fn from_par<R: Runner, C: Chain<Item = Result<T, E>>>(items: Par<R, C>) -> Self {
        let failure = Mutex::new(None);
        let values = items.map(|item| match item {
            Ok(value) => Some(value),
            Err(error) => {
                // Others are dropped without the lock, because their destructors may be the program's.
                let other = lock(&failure).replace(error);
                drop(other);
                None
            }
        });
        let collected = V::from_par(values.while_some());
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => {
                drop(collected);
                Err(error)
            }
            None => Ok(collected),
        }
    }
}
