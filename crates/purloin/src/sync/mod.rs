//! Atomics, cells, locks, threads and clocks. The rest of the crate takes them only from here, so that a
//! build can replace them all.
//!
//! A build with `--cfg loom` replaces atomics, cells and locks by the model-checked types of [loom],
//! which explores every interleaving of a protocol. What no model looks at comes from [`plain`]: the
//! standard library's types in every build.
//!
//! [loom]: https://docs.rs/loom

pub(crate) mod asymmetric;

#[cfg(not(loom))]
mod real {
    pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, fence};
    pub use std::sync::{Condvar, Mutex, MutexGuard};

    /// Tells the processor that this thread spins.
    pub fn spin_loop() {
        std::hint::spin_loop();
    }

    /// Yields the processor to another thread.
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
    pub use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, fence};
    pub use loom::sync::{Condvar, Mutex, MutexGuard};
    pub use loom::thread::yield_now;

    /// Lets another thread of the model run.
    pub fn spin_loop() {
        loom::thread::yield_now();
    }
}

#[cfg(loom)]
pub use model::*;

#[cfg(not(loom))]
pub use plain::lock;

/// Locks a mutex of a model, see [`plain::lock`].
#[cfg(loom)]
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

pub use std::sync::atomic::Ordering;
pub(crate) use std::thread_local;
pub(crate) use std::time::Instant;

/// The standard library's atomics and locks: for statics, and where no model looks.
pub(crate) mod plain {
    pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence};
    pub use std::sync::{Mutex, MutexGuard, Once, OnceLock};

    /// Locks a mutex, whether or not a holder has panicked.
    ///
    /// The crate runs none of the program's closures while it holds a lock, so the guarded data is
    /// consistent even after a panic.
    pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Threads of the system: to start one, to wait, to name the current one.
pub(crate) mod thread {
    pub use std::thread::{
        Builder, JoinHandle, Result, Thread, available_parallelism, current, panicking, park,
        park_timeout, sleep, yield_now,
    };
}
