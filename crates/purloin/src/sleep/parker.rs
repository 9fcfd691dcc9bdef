//! Where a worker sleeps: a thread's parking place.

use std::time::Duration;

use crate::sync::{AtomicUsize, Condvar, Mutex, lock};

/// Where one worker sleeps.
pub(super) struct Parker {
    woken: Mutex<bool>,
    wake: Condvar,
    /// Blocked workers registered as sleepers until this one publishes.
    pub(super) awaited: AtomicUsize,
}

impl Parker {
    pub(super) fn new() -> Parker {
        Parker {
            woken: Mutex::new(false),
            wake: Condvar::new(),
            awaited: AtomicUsize::new(0),
        }
    }

    /// Sleeps until somebody comes, or has come since the last time.
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

    /// The same, for a time. False if nobody came.
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

    /// Wakes the worker, or has its next sleep end at once.
    pub(super) fn unpark(&self) {
        *lock(&self.woken) = true;
        self.wake.notify_one();
    }
}
