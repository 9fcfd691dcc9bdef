//! Sorting for code that has no token.

use std::cmp::Ordering;

use super::{Here, Runner};
use crate::worker::Worker;

/// Sorts slices on [the worker of this thread, or on the global pool](Here). Programs that are generic over their worker
/// call the methods of [`Worker`] instead, which have more about each sort.
///
/// # Panics
///
/// Each method panics as that of [`Worker`] does, or if no thread can be started for the global pool.
pub trait ParallelSort<T: Send> {
    /// Sorts the slice. Equal elements keep their order. See [`Worker::sort`].
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let mut words = ["steal", "pilfer", "purloin"];
    /// words.par_sort();
    /// assert_eq!(words, ["pilfer", "purloin", "steal"]);
    /// ```
    fn par_sort(&mut self)
    where
        T: Ord,
    {
        self.par_sort_by(T::cmp);
    }

    /// Sorts the slice in the order that `compare` defines. Equal elements keep their order. See
    /// [`Worker::sort_by`].
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let mut numbers = [2.5, -1.0, 7.25];
    /// numbers.par_sort_by(|a, b| f64::total_cmp(b, a));
    /// assert_eq!(numbers, [7.25, 2.5, -1.0]);
    /// ```
    fn par_sort_by<C: Fn(&T, &T) -> Ordering + Sync>(&mut self, compare: C);

    /// Sorts the slice by a key of each element. Elements with equal keys keep their order. See
    /// [`Worker::sort_by_key`].
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let mut words = ["purloin", "steal", "pilfer"];
    /// words.par_sort_by_key(|word| word.len());
    /// assert_eq!(words, ["steal", "pilfer", "purloin"]);
    /// ```
    fn par_sort_by_key<K: Ord, F: Fn(&T) -> K + Sync>(&mut self, key: F) {
        self.par_sort_by(|a, b| key(a).cmp(&key(b)));
    }

    /// Sorts the slice by a key of each element, and computes each key once. Elements with equal keys keep their
    /// order. See [`Worker::sort_by_cached_key`].
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let mut words = ["Steal", "pilfer", "Purloin"];
    /// words.par_sort_by_cached_key(|word| word.to_lowercase());
    /// assert_eq!(words, ["pilfer", "Purloin", "Steal"]);
    /// ```
    fn par_sort_by_cached_key<K: Ord + Send, F: Fn(&T) -> K + Sync>(&mut self, key: F);

    /// Sorts the slice in place. Equal elements may change their order. See [`Worker::sort_unstable`].
    ///
    /// ```
    /// use purloin::prelude::*;
    ///
    /// let mut numbers = [3, 1, 4, 1, 5];
    /// numbers.par_sort_unstable();
    /// assert_eq!(numbers, [1, 1, 3, 4, 5]);
    /// ```
    fn par_sort_unstable(&mut self)
    where
        T: Ord,
    {
        self.par_sort_unstable_by(T::cmp);
    }

    /// Sorts the slice in place, in the order that `compare` defines. Equal elements may change their order. See
    /// [`Worker::sort_unstable_by`].
    fn par_sort_unstable_by<C: Fn(&T, &T) -> Ordering + Sync>(&mut self, compare: C);

    /// Sorts the slice in place by a key of each element. Elements with equal keys may change their order. See
    /// [`Worker::sort_unstable_by_key`].
    fn par_sort_unstable_by_key<K: Ord, F: Fn(&T) -> K + Sync>(&mut self, key: F) {
        self.par_sort_unstable_by(|a, b| key(a).cmp(&key(b)));
    }
}

impl<T: Send> ParallelSort<T> for [T] {
    fn par_sort_by<C: Fn(&T, &T) -> Ordering + Sync>(&mut self, compare: C) {
        let compare = &compare;
        Here.on_worker(move |mut w| w.sort_by(self, compare));
    }

    fn par_sort_by_cached_key<K: Ord + Send, F: Fn(&T) -> K + Sync>(&mut self, key: F) {
        let key = &key;
        Here.on_worker(move |mut w| w.sort_by_cached_key(self, key));
    }

    fn par_sort_unstable_by<C: Fn(&T, &T) -> Ordering + Sync>(&mut self, compare: C) {
        let compare = &compare;
        Here.on_worker(move |mut w| w.sort_unstable_by(self, compare));
    }
}
