//! Data that is divided between threads, so that they do not wait for each other's cache lines.

use std::cell::Cell;

use crossbeam_utils::CachePadded;

use crate::sync::plain::{AtomicUsize, OnceLock, Ordering};
use crate::sync::thread::available_parallelism;

/// A value for each of some threads. If there are many threads, or have been, several of them have the same value.
pub(crate) struct Shards<T>(Box<[CachePadded<T>]>);

impl<T: Default> Default for Shards<T> {
    fn default() -> Self {
        // Looked up once: the system reads files for it.
        static COUNT: OnceLock<usize> = OnceLock::new();
        let count = *COUNT.get_or_init(|| 4 * available_parallelism().map_or(1, usize::from));
        Shards((0..count).map(|_| CachePadded::default()).collect())
    }
}

impl<T> Shards<T> {
    /// Returns the value of the calling thread.
    pub(crate) fn own(&self) -> &T {
        self.get(self.own_place())
    }

    pub(crate) fn get(&self, place: usize) -> &T {
        &self.0[place]
    }

    /// Returns the place of the value of the calling thread.
    pub(crate) fn own_place(&self) -> usize {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        crate::sync::thread_local! {
            static NUMBER: Cell<usize> = const { Cell::new(usize::MAX) };
        }
        let number = NUMBER.try_with(|number| {
            if number.get() == usize::MAX {
                // Relaxed: it only matters that most threads have different numbers.
                number.set(THREADS.fetch_add(1, Ordering::Relaxed));
            }
            number.get()
        });
        // A destructor of a thread-local value may run after this one.
        let number = number.unwrap_or(0);
        number % self.0.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|shard| &**shard)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().map(|shard| &mut **shard)
    }
}
