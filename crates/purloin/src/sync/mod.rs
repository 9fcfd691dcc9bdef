//! Atomics, cells and locks: the only place from which the crate takes them.
//!
//! A build with `--cfg loom` puts [loom]'s model-checked types in the place of the real ones, and
//! explores every interleaving of a protocol.
//!
//! [loom]: https://docs.rs/loom

pub(crate) mod asymmetric;

#[cfg(not(loom))]
mod real {
    pub use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, fence};
    pub use std::sync::{Condvar, Mutex, MutexGuard};

    /// Tells the processor that this thread spins.
    pub fn spin_loop() {
        std::hint::spin_loop();
    }

    /// Lets another thread have the processor.
    pub fn yield_now() {
        std::thread::yield_now();
    }

    /// [`std::cell::UnsafeCell`] with loom's interface.
    #[repr(transparent)]
    pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        /// Returns a cell with this value.
        #[inline(always)]
        pub fn new(value: T) -> Self {
            UnsafeCell(std::cell::UnsafeCell::new(value))
        }

        /// Calls `f` with a pointer to read from.
        #[inline(always)]
        pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        /// Calls `f` with a pointer to write to.
        #[inline(always)]
        pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}

#[cfg(not(loom))]
pub use real::*;

#[cfg(loom)]
mod model {
    pub use loom::cell::UnsafeCell;
    pub use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, fence};
    pub use loom::sync::{Condvar, Mutex, MutexGuard};
    pub use loom::thread::yield_now;

    /// Lets another thread of the model run.
    pub fn spin_loop() {
        loom::thread::yield_now();
    }
}

#[cfg(loom)]
pub use model::*;

pub use std::sync::atomic::Ordering;

/// Locks a mutex, whether or not a holder has panicked.
///
/// No closure of a program runs under one of the crate's locks, so the guarded data is
/// consistent even then.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    match mutex.lock() {
        Ok(guard) => guard,
        Err(poisoned) => poisoned.into_inner(),
    }
}
