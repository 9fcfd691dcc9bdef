//! Jobs from outside the pool, for the models of both protocols.

use purloin::scheduler::sync::{AtomicUsize, Mutex, Ordering, lock};

pub(in crate::channel) struct Jobs {
    count: Mutex<usize>,
    /// A copy of `count` that can be read without the lock.
    hint: AtomicUsize,
}

impl Jobs {
    /// Returns no jobs.
    pub(in crate::channel) fn new() -> Self {
        Jobs {
            count: Mutex::new(0),
            hint: AtomicUsize::new(0),
        }
    }

    pub(in crate::channel) fn add(&self) {
        let mut count = lock(&self.count);
        *count += 1;
        self.hint.store(*count, Ordering::Relaxed);
    }

    /// Takes a job. Returns whether there was one.
    pub(in crate::channel) fn take(&self) -> bool {
        let mut count = lock(&self.count);
        let is_there = *count > 0;
        *count = count.saturating_sub(1);
        self.hint.store(*count, Ordering::Release);
        is_there
    }

    /// Returns whether there are none. The caller acquires what the worker that took the last job
    /// did before.
    pub(in crate::channel) fn are_over(&self) -> bool {
        self.hint.load(Ordering::Acquire) == 0
    }
}
