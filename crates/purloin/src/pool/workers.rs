//! The workers of a pool, in one array.
//!
//! A pool has room for all of its workers from the start, but a spare worker is made only when its
//! thread starts. Until then its place in the array is untouched memory: most pools never need a spare
//! worker, and programs that make a pool for each call would pay for all of them each time.
//!
//! Workers are made in the order of their numbers, under a lock, and stay until the pool is gone. So the
//! workers that exist are a slice that only grows, and readers need no lock.

use std::io;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{WorkerThread, lock};
use crate::scheduler::Scheduler;

/// The workers of a pool that exist: the regular workers, then the spare workers whose threads have
/// been started.
pub(crate) struct Workers<S: Scheduler> {
    first: *mut WorkerThread<S>,
    capacity: usize,
    /// Number of workers that exist. Written under `growing`.
    len: AtomicUsize,
    growing: Mutex<()>,
}

// SAFETY: `Workers` owns workers as a `Vec` would, and workers are `Send`.
unsafe impl<S: Scheduler> Send for Workers<S> {}
// SAFETY: other threads get shared references to workers, which are `Sync`. A worker is written to its
// place before `len` counts it, under the lock, and no reference to that place exists before.
unsafe impl<S: Scheduler> Sync for Workers<S> {}

impl<S: Scheduler> Workers<S> {
    /// Returns room for this many workers.
    pub(super) fn with_capacity(capacity: usize) -> Self {
        let mut workers = ManuallyDrop::new(Vec::with_capacity(capacity));
        Workers {
            first: workers.as_mut_ptr(),
            capacity: workers.capacity(),
            len: AtomicUsize::new(0),
            growing: Mutex::new(()),
        }
    }

    /// Returns the address that a worker has once it exists.
    pub(super) fn place(&self, worker: usize) -> *const WorkerThread<S> {
        self.first.wrapping_add(worker)
    }

    /// Makes the workers up to and including this one that do not exist yet.
    ///
    /// # Errors
    ///
    /// Returns the error of `make`. A later call tries the same worker again.
    pub(super) fn grow(
        &self,
        worker: usize,
        make: impl Fn(usize) -> io::Result<WorkerThread<S>>,
    ) -> io::Result<()> {
        assert!(worker < self.capacity, "the pool has room for the worker");
        let _growing = lock(&self.growing);
        for next in self.len()..=worker {
            let new = make(next)?;
            // SAFETY: the place lies in the allocation, because `next` is below the capacity. No
            // worker was written to it before, and nothing refers to it: `len` does not count it, and
            // only this call, which holds the lock, makes workers.
            unsafe { self.first.add(next).write(new) };
            // Release: a thread that sees the number sees the worker.
            self.len.store(next + 1, Ordering::Release);
        }
        Ok(())
    }
}

impl<S: Scheduler> Deref for Workers<S> {
    type Target = [WorkerThread<S>];

    fn deref(&self) -> &[WorkerThread<S>] {
        // Acquire: see `grow`.
        let len = self.len.load(Ordering::Acquire);
        // SAFETY: `grow` has written the first `len` workers, and nothing moves or drops them before
        // `self` is dropped.
        unsafe { std::slice::from_raw_parts(self.first, len) }
    }
}

impl<S: Scheduler> Drop for Workers<S> {
    fn drop(&mut self) {
        // SAFETY: pointer and capacity are those of the `Vec` in `with_capacity`, and `grow` has
        // written the first `len` workers.
        drop(unsafe { Vec::from_raw_parts(self.first, *self.len.get_mut(), self.capacity) });
    }
}
