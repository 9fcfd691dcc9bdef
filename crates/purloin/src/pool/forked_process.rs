//! Forked processes.
//!
//! A fork copies the memory of the process, but only the thread that calls it. The child has a copy of
//! every pool, and none of their threads. So in the child
//!
//! - no thread is a worker: if a task forks, the child forgets the worker that ran the task. Calls
//!   without a token use the child's own global pool, and calls of the parent's pools panic;
//! - the registry of pools is not locked: the thread that forks holds its lock meanwhile.
//!
//! A token of the task is still there. What it pushes and pops runs on the child's thread alone, and
//! where it would need another worker it panics.

#[cfg(all(unix, not(miri)))]
pub(super) use unix::prepare_for_forks;

/// Prepares this process for forks, once.
#[cfg(not(all(unix, not(miri))))]
pub(super) fn prepare_for_forks() {}

#[cfg(all(unix, not(miri)))]
mod unix {
    use crate::sync::plain::{MutexGuard, Once};
    use std::cell::UnsafeCell;

    use crate::pool::monitor;
    use crate::pool::shared::{Pools, lock_pools};
    use crate::sync::asymmetric;
    use crate::{this_thread, tracing};

    /// Prepares this process for forks, once.
    pub(in crate::pool) fn prepare_for_forks() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            // SAFETY: the three functions have the required type, and none of them unwinds. If the
            // system refuses, forks are as they would be without them.
            unsafe { libc::pthread_atfork(Some(before), Some(after), Some(in_child)) };
        });
    }

    /// The lock of the registry, while a thread forks.
    struct Held(UnsafeCell<Option<MutexGuard<'static, Pools>>>);

    // SAFETY: only the thread that holds the lock uses the cell.
    unsafe impl Sync for Held {}

    static HELD: Held = Held(UnsafeCell::new(None));

    /// Called before a fork, by the thread that forks.
    unsafe extern "C" fn before() {
        let guard = lock_pools();
        // SAFETY: this thread holds the lock.
        unsafe { *HELD.0.get() = Some(guard) };
    }

    /// Called after a fork, by the thread that has forked.
    unsafe extern "C" fn after() {
        // SAFETY: this thread has held the lock since `before`, in the child as a copy.
        drop(unsafe { (*HELD.0.get()).take() });
    }

    unsafe extern "C" fn in_child() {
        // SAFETY: this thread called `before`, as a copy.
        unsafe { after() };
        this_thread::forget();
        asymmetric::forked();
        tracing::forked();
        monitor::close_in_child();
    }
}
