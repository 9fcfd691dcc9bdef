//! The parker: puts a worker's thread to sleep, and wakes it. A worker that waits for something outside its pool sleeps
//! without it (`Outside` in `pool/worker/wait.rs`).

use std::time::Duration;

use crate::sync::{AtomicUsize, Condvar, Mutex, lock};
use crate::tracing;

/// The parker of one worker.
pub(super) struct Parker {
    /// The number of the pool.
    pool: u64,
    /// The number of the worker.
    worker: usize,
    state: Mutex<State>,
    wake: Condvar,
    /// Number of blocked workers that sleep until this worker publishes.
    pub(super) awaited: AtomicUsize,
    /// Whether this spare worker is bound to a thread index.
    pub(super) has_thread_index: AtomicUsize,
    /// Number of messages that wait for this worker.
    pub(super) messages: AtomicUsize,
}

struct State {
    /// Whether the worker was unparked since its last sleep.
    is_woken: bool,
    /// Whether the worker sleeps, so that waking it takes a system call.
    is_asleep: bool,
}

impl Parker {
    pub(super) fn new(pool: u64, worker: usize) -> Parker {
        Parker {
            pool,
            worker,
            state: Mutex::new(State {
                is_woken: false,
                is_asleep: false,
            }),
            wake: Condvar::new(),
            awaited: AtomicUsize::new(0),
            has_thread_index: AtomicUsize::new(0),
            messages: AtomicUsize::new(0),
        }
    }

    /// Sleeps until the worker is unparked. Returns at once if it was unparked since its last
    /// sleep.
    pub(super) fn park(&self) {
        tracing::asleep(|| self.wait());
    }

    fn wait(&self) {
        let mut state = lock(&self.state);
        while !state.is_woken {
            state.is_asleep = true;
            state = match self.wake.wait(state) {
                Ok(state) => state,
                Err(poisoned) => poisoned.into_inner(),
            };
        }
        (state.is_woken, state.is_asleep) = (false, false);
    }

    /// Sleeps until the worker is unparked, for at most `time`. Returns false after a timeout.
    pub(super) fn park_for(&self, time: Duration) -> bool {
        tracing::asleep(|| self.wait_for(time))
    }

    #[cfg(not(loom))]
    fn wait_for(&self, time: Duration) -> bool {
        let mut state = lock(&self.state);
        state.is_asleep = true;
        let wait = |state: &mut State| !state.is_woken;
        let (mut state, _) = match self.wake.wait_timeout_while(state, time, wait) {
            Ok(result) => result,
            Err(poisoned) => poisoned.into_inner(),
        };
        state.is_asleep = false;
        std::mem::replace(&mut state.is_woken, false)
    }

    #[cfg(loom)]
    fn wait_for(&self, _: Duration) -> bool {
        crate::sync::yield_now();
        false
    }

    /// Wakes the worker, or lets its next sleep end at once.
    pub(super) fn unpark(&self) {
        let mut state = lock(&self.state);
        let must_notify = state.is_asleep && !state.is_woken;
        state.is_woken = true;
        // Under the lock: the worker records its awakening later.
        let time = tracing::time_of_wake();
        drop(state);
        if must_notify {
            self.wake.notify_one();
            tracing::wakes(self.pool, self.worker, time);
        }
    }
}
