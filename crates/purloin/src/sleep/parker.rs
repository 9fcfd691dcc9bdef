//! The parker: puts a worker's thread to sleep, and wakes it.

use std::time::Duration;

use crate::sync::{AtomicUsize, Condvar, Mutex, lock};

/// The parker of one worker.
pub(super) struct Parker {
    woken: Mutex<bool>,
    wake: Condvar,
    /// Number of blocked workers that sleep until this worker publishes.
    pub(super) awaited: AtomicUsize,
    /// Whether this spare worker is bound to a thread index.
    pub(super) has_thread_index: AtomicUsize,
    /// Number of messages that wait for this worker.
    pub(super) messages: AtomicUsize,
}

impl Parker {
    pub(super) fn new() -> Parker {
        Parker {
            woken: Mutex::new(false),
            wake: Condvar::new(),
            awaited: AtomicUsize::new(0),
            has_thread_index: AtomicUsize::new(0),
            messages: AtomicUsize::new(0),
        }
    }

    /// Sleeps until the worker is unparked. Returns at once if it was unparked since its last
    /// sleep.
    pub(super) fn park(&self) {
        let mut woken = lock(&self.woken);
        while !*woken {
            woken = match self.wake.wait(woken) {
                Ok(woken) => woken,
                Err(poisoned) => poisoned.into_inner(),
            };
        }
        *woken = false;
    }

    /// Sleeps until the worker is unparked, for at most `time`. Returns false after a timeout.
    #[cfg(not(loom))]
    pub(super) fn park_for(&self, time: Duration) -> bool {
        let woken = lock(&self.woken);
        let (mut woken, _) = match self.wake.wait_timeout_while(woken, time, |woken| !*woken) {
            Ok(result) => result,
            Err(poisoned) => poisoned.into_inner(),
        };
        std::mem::replace(&mut woken, false)
    }

    #[cfg(loom)]
    pub(super) fn park_for(&self, _: Duration) -> bool {
        crate::sync::yield_now();
        false
    }

    /// Wakes the worker, or lets its next sleep end at once.
    pub(super) fn unpark(&self) {
        *lock(&self.woken) = true;
        self.wake.notify_one();
    }
}
