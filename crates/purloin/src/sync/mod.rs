//! The one door to atomics, cells and locks.
//!
//! Everything that synchronises goes through here, so that a build with
//! `--cfg loom` puts [loom]'s model-checked types in the place of the real
//! ones and explores every interleaving of a protocol.
//!
//! [loom]: https://docs.rs/loom

pub(crate) mod asymmetric;

#[cfg(not(loom))]
mod real {
    pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, fence};
    pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};

    pub(crate) fn spin_loop() {
        std::hint::spin_loop();
    }

    pub(crate) fn yield_now() {
        std::thread::yield_now();
    }

    /// [`std::cell::UnsafeCell`] with loom's interface.
    #[repr(transparent)]
    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        #[inline(always)]
        pub(crate) fn new(value: T) -> Self {
            UnsafeCell(std::cell::UnsafeCell::new(value))
        }

        #[inline(always)]
        pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        #[inline(always)]
        pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}

#[cfg(not(loom))]
pub(crate) use real::*;

#[cfg(loom)]
mod model {
    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, fence};
    pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};
    pub(crate) use loom::thread::yield_now;

    pub(crate) fn spin_loop() {
        loom::thread::yield_now();
    }
}

#[cfg(loom)]
pub(crate) use model::*;

pub(crate) use std::sync::atomic::Ordering;

/// Locks a mutex whether or not a holder panicked.
///
/// No closure of a user ever runs under one of our locks, so what it guards is
/// consistent even then.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    match mutex.lock() {
        Ok(guard) => guard,
        Err(poisoned) => poisoned.into_inner(),
    }
}
