//! How far a loop is: [`Progress`].

use std::fmt;
use std::sync::Arc;

use crate::shards::Shards;
use crate::sync::plain::{AtomicU64, Ordering};

/// How many items loops have gone over: a loop with [`progress`](crate::iter::Par::progress) counts, and any thread may
/// look.
///
/// Workers count for themselves, and add what they have counted every few microseconds. So a body of a nanosecond can be
/// counted.
///
/// ```
/// use purloin::{Progress, prelude::*};
///
/// let progress = Progress::new();
/// let sum: u64 = (0..1000).into_par().progress(&progress).map(|n| n * n).sum();
/// assert_eq!((sum, progress.done()), (332_833_500, 1000));
/// ```
///
/// The cookbook, a page of the documentation, shows a bar while a loop runs.
#[derive(Clone, Default)]
pub struct Progress(Arc<Shards<AtomicU64>>);

impl Progress {
    /// Returns a counter of no items.
    pub fn new() -> Self {
        Progress::default()
    }

    /// Returns the number of items so far.
    pub fn done(&self) -> u64 {
        // Relaxed: the number says nothing about what the bodies have done.
        self.0
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
            .sum()
    }

    pub(crate) fn add(&self, items: u64) {
        self.0.own().fetch_add(items, Ordering::Relaxed);
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Progress").field(&self.done()).finish()
    }
}
