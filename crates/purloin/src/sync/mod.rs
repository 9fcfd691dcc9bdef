//! Atomics, cells, locks, threads and clocks. The rest of the crate takes them only from here, so that a
//! build can replace them all.
//!
//! A build with `--cfg purloin_virtual` takes all of them from the crate `purloin-virtual`, which runs threads on virtual
//! cores, in virtual time.
//!
//! A build with `--cfg loom` replaces atomics, cells, locks, threads and thread-local values by the
//! model-checked types of [loom], which explores every interleaving of a protocol. There the clock says
//! that every interval is long. What no model checks comes from [`plain`]: the standard library's types in
//! every build.
//!
//! [loom]: https://docs.rs/loom

pub(crate) mod asymmetric;

#[cfg(not(any(loom, purloin_virtual)))]
mod real {
    pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, fence};
    pub use std::sync::{Condvar, Mutex, MutexGuard};
    pub(crate) use std::thread_local;
    pub(crate) use std::time::Instant;

    pub use super::plain::lock;

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

#[cfg(not(any(loom, purloin_virtual)))]
pub use real::*;

#[cfg(purloin_virtual)]
mod virtual_cores {
    pub use purloin_virtual::sync::{
        AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Condvar, Mutex, MutexGuard, UnsafeCell,
        fence, spin_loop,
    };
    pub(crate) use purloin_virtual::sync::{Instant, thread_local};

    pub use super::plain::lock;
    pub use super::thread::yield_now;
}

#[cfg(purloin_virtual)]
pub use virtual_cores::*;

/// Threads, of the system or of the machine: to start one, to wait, to name the current one.
#[cfg(not(loom))]
pub(crate) mod thread {
    #[cfg(purloin_virtual)]
    use purloin_virtual::sync::thread as implementation;
    #[cfg(not(purloin_virtual))]
    use std::thread as implementation;

    pub use implementation::{
        Builder, JoinHandle, Result, Thread, available_parallelism, current, panicking, park,
        park_timeout, sleep, yield_now,
    };

    /// Returns whether a thread has ended.
    pub fn is_finished(thread: &JoinHandle<()>) -> bool {
        thread.is_finished()
    }

    /// Ends the current or next [`park_timeout`] of a thread.
    pub fn unpark(thread: &JoinHandle<()>) {
        thread.thread().unpark();
    }
}

#[cfg(loom)]
mod model {
    use std::time::Duration;

    pub use loom::cell::UnsafeCell;
    pub use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, fence};
    pub use loom::sync::{Condvar, Mutex, MutexGuard};
    pub use loom::thread::yield_now;

    /// A value for each thread of a model. Loom's macro takes no constant block.
    macro_rules! model_local {
        ($(#[$about:meta])* static $NAME:ident: $Type:ty = const $value:block $(;)?) => {
            loom::thread_local! { $(#[$about])* static $NAME: $Type = $value }
        };
    }
    pub(crate) use model_local as thread_local;

    /// Returns a builder that explores a model with at most this many preemptions, and with no more than
    /// `LOOM_MAX_PREEMPTIONS` if that is set.
    pub fn model_builder(preemptions: usize) -> loom::model::Builder {
        let mut builder = loom::model::Builder::new();
        let limit = builder.preemption_bound.unwrap_or(preemptions);
        builder.preemption_bound = Some(preemptions.min(limit));
        builder
    }

    /// Lets another thread of the model run.
    pub fn spin_loop() {
        yield_now();
    }

    /// Locks a mutex of a model, see [`super::plain::lock`].
    pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A point in time. In a model every interval is long, so whoever looks at the clock stops spinning.
    #[derive(Clone, Copy)]
    pub(crate) struct Instant;

    impl Instant {
        pub(crate) fn now() -> Instant {
            Instant
        }

        pub(crate) fn elapsed(self) -> Duration {
            Duration::from_secs(3600)
        }
    }

    /// Threads of a model. A sleep with a time limit ends when another thread has run.
    pub(crate) mod thread {
        use std::sync::Arc;
        use std::time::Duration;

        pub use loom::thread::{Builder, JoinHandle, panicking, yield_now};
        pub use std::thread::{Result, available_parallelism};

        use super::{Condvar, Mutex, lock};

        /// A thread of a model, for [`park`]. (Loom's own type would also end other waits of the thread.)
        #[derive(Clone)]
        pub struct Thread(Arc<Token>);

        struct Token {
            is_available: Mutex<bool>,
            changed: Condvar,
        }

        loom::thread_local! {
            static CURRENT: Thread = Thread(Arc::new(Token {
                is_available: Mutex::new(false),
                changed: Condvar::new(),
            }));
        }

        impl Thread {
            pub fn unpark(&self) {
                *lock(&self.0.is_available) = true;
                self.0.changed.notify_one();
            }

            pub fn id(&self) -> usize {
                Arc::as_ptr(&self.0).addr()
            }
        }

        pub fn current() -> Thread {
            CURRENT.with(Thread::clone)
        }

        pub fn park() {
            let Thread(token) = current();
            let mut is_available = lock(&token.is_available);
            while !std::mem::take(&mut *is_available) {
                is_available = token
                    .changed
                    .wait(is_available)
                    .expect("no thread panics here");
            }
        }

        pub fn park_timeout(_: Duration) {
            yield_now();
        }

        pub fn sleep(_: Duration) {
            yield_now();
        }

        /// Returns whether a thread has ended: a model waits for it in any case.
        pub fn is_finished(_: &JoinHandle<()>) -> bool {
            true
        }

        /// Ends a thread's [`park_timeout`], which needs no help in a model.
        pub fn unpark(_: &JoinHandle<()>) {}
    }
}

#[cfg(loom)]
pub use model::*;

pub use std::sync::atomic::Ordering;

#[cfg(purloin_virtual)]
pub use purloin_virtual::sync::as_library;
#[cfg(purloin_virtual)]
pub(crate) use purloin_virtual::{
    Operation,
    sync::{counted_as, runs_program},
};

/// A kind of operation whose cost a run on virtual cores counts.
#[cfg(not(purloin_virtual))]
pub(crate) enum Operation {
    Other,
    Search,
    Steal,
    Sleep,
    Wake,
}

/// Calls `f`. On virtual cores, counts the cache lines that it touches as an operation of this kind.
#[cfg(not(purloin_virtual))]
#[inline(always)]
pub(crate) fn counted_as<R>(_: impl FnOnce(&R) -> Operation, f: impl FnOnce() -> R) -> R {
    f()
}

/// Says whether this thread runs the program's own code from now on. On virtual cores, that takes as long as it does on the
/// machine at hand.
#[cfg(not(purloin_virtual))]
#[inline(always)]
pub(crate) fn runs_program(is_program: bool) -> bool {
    is_program
}

/// Calls `f`. On virtual cores it counts as code of the library, although it interrupts the program's own.
#[cfg(not(purloin_virtual))]
#[inline(always)]
pub fn as_library<R>(f: impl FnOnce() -> R) -> R {
    f()
}

/// The standard library's atomics and locks: for statics, and for what no model checks.
pub(crate) mod plain {
    #[cfg(purloin_virtual)]
    pub use purloin_virtual::sync::{
        AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Mutex, MutexGuard, Once, OnceLock, fence,
    };
    pub use std::sync::atomic::Ordering;
    #[cfg(not(purloin_virtual))]
    pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, fence};
    #[cfg(not(purloin_virtual))]
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
