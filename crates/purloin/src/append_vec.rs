//! A list that grows in place, while other threads read it.
//!
//! A pool keeps its workers and their parkers in such lists. Each list has room for all workers from the start,
//! but a spare worker is made only when its thread starts. Until then its place in the list is untouched memory:
//! most pools never need a spare worker, and programs that make a pool for each call would pay for all of them
//! each time.
//!
//! Elements are made in the order of their indices, under a lock, and live as long as the list. The existing
//! elements are a slice that only grows, so readers need no lock.

use std::mem::ManuallyDrop;
use std::ops::Deref;

use crate::sync::{AtomicUsize, Mutex, Ordering, lock};

/// A list with a fixed capacity. Its elements never move.
pub(crate) struct AppendVec<T> {
    first: *mut T,
    capacity: usize,
    /// Number of elements that exist. Written under `growing`.
    len: AtomicUsize,
    growing: Mutex<()>,
}

// SAFETY: an `AppendVec` owns its elements as a `Vec` would.
unsafe impl<T: Send> Send for AppendVec<T> {}
// SAFETY: other threads get shared references to elements. An element is written to its place before
// `len` counts it, under the lock, and no reference to that place exists before. Any thread may write
// it, so `T` is `Send`.
unsafe impl<T: Send + Sync> Sync for AppendVec<T> {}

impl<T> AppendVec<T> {
    /// Returns an empty list with room for this many elements.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        let mut elements = ManuallyDrop::new(Vec::with_capacity(capacity));
        AppendVec {
            first: elements.as_mut_ptr(),
            capacity: elements.capacity(),
            len: AtomicUsize::new(0),
            growing: Mutex::new(()),
        }
    }

    /// Returns the address that an element has once it exists.
    pub(crate) fn place(&self, index: usize) -> *const T {
        self.first.wrapping_add(index)
    }

    /// Makes the elements up to and including the one at `index` that do not exist yet.
    ///
    /// # Errors
    ///
    /// Returns the error of `make`. A later call tries the same element again.
    pub(crate) fn grow<E>(
        &self,
        index: usize,
        make: impl Fn(usize) -> Result<T, E>,
    ) -> Result<(), E> {
        assert!(index < self.capacity, "there is room for the element");
        let _growing = lock(&self.growing);
        for next in self.len()..=index {
            let new = make(next)?;
            // SAFETY: the place lies in the allocation, because `next` is below the capacity. No
            // element was written to it before, and nothing refers to it: `len` does not count it, and
            // only this call, which holds the lock, makes elements.
            unsafe { self.first.add(next).write(new) };
            // Release: a thread that sees the number sees the element.
            self.len.store(next + 1, Ordering::Release);
        }
        Ok(())
    }
}

impl<T> Deref for AppendVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // Acquire: see `grow`.
        let len = self.len.load(Ordering::Acquire);
        // SAFETY: `grow` has written the first `len` elements, and nothing moves or drops them before
        // `self` is dropped.
        unsafe { std::slice::from_raw_parts(self.first, len) }
    }
}

impl<T> Drop for AppendVec<T> {
    fn drop(&mut self) {
        // SAFETY: pointer and capacity are those of the `Vec` in `with_capacity`, and `grow` has
        // written the first `len` elements.
        drop(unsafe { Vec::from_raw_parts(self.first, self.len(), self.capacity) });
    }
}
