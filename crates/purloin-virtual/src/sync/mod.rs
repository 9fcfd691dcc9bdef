//! What a library takes instead of the standard library's atomics, locks, threads and clocks.
//!
//! On a fibre each operation is an event of the machine. On other threads atomics, locks and thread-local values do what
//! those of the standard library do, so that statics work everywhere; threads and sleeps exist only in a run.

mod atomic;
mod local;
mod lock;
pub mod thread;
mod time;

pub use atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, UnsafeCell, fence};
pub use local::{AccessError, LocalKey};
pub use lock::{
    Condvar, LockResult, Mutex, MutexGuard, TryLockError, TryLockResult, WaitTimeoutResult,
};
pub use time::{Instant, ticks};

use crate::engine::{self, Access};
use crate::report::Operation;

pub use crate::local_key as thread_local;

/// Tells the machine that this thread spins.
pub fn spin_loop() {
    if engine::at(engine::Engine::pause).is_none() {
        std::hint::spin_loop();
    }
}

/// Executes a full fence on every core that runs a thread. Returns false if the system refuses to.
#[must_use]
pub fn membarrier() -> bool {
    engine::at(|engine| {
        let is_done = !engine.refuses_membarrier();
        if is_done {
            engine.membarrier();
        }
        is_done
    })
    .unwrap_or(false)
}

/// Returns whether the system has [`membarrier`].
pub fn has_membarrier() -> bool {
    engine::with(|engine| !engine.refuses_membarrier()).unwrap_or(false)
}

/// Counts what `f` touches as an operation of this kind.
pub fn counted_as<R>(kind: Operation, f: impl FnOnce() -> R) -> R {
    let before = engine::with(|engine| engine.begin_operation(kind));
    let result = f();
    if let Some(before) = before {
        engine::with(|engine| engine.end_operation(before));
    }
    result
}

/// Spends this much virtual time, for code whose work is not counted.
pub fn spend(time: std::time::Duration) {
    engine::at(|engine| engine.spend(time.as_nanos() as u64 * 1000));
}

/// An access to plain memory that threads pass to each other.
#[inline]
fn touch<T>(value: *const T, access: Access) {
    if engine::is_inside() {
        let (first, size) = (value.addr(), size_of::<T>().max(1));
        let lines = first / 64..=(first + size - 1) / 64;
        engine::at(|engine| lines.for_each(|line| engine.access(line * 64, access)));
    }
}
