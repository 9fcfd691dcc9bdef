//! Replacements for the standard library's atomics, locks, threads and clocks.
//!
//! On a fibre each operation is an event of the machine. On other threads atomics, locks and thread-local values do what
//! those of the standard library do, so that statics work everywhere; threads and sleeps exist only in a run.

mod atomic;
mod local;
mod lock;
pub mod thread;
mod time;

pub use atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, UnsafeCell, fence};
pub(crate) use local::Values;
pub use local::{AccessError, LocalKey};
pub use lock::{
    Condvar, LockResult, Mutex, MutexGuard, Once, OnceLock, TryLockError, TryLockResult,
    WaitTimeoutResult,
};
pub use time::{Instant, ticks};

use crate::engine::{self, Access, Doing};
use crate::report::{Operation, Tally};

pub use crate::local_key as thread_local;

/// Tells the machine that this thread spins.
#[inline(never)]
pub fn spin_loop() {
    if engine::at(engine::Engine::pause).is_none() {
        std::hint::spin_loop();
    }
}

/// Executes a full fence on every core that runs a thread. Returns false if the system refuses to.
#[inline(never)]
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
#[inline(never)]
pub fn has_membarrier() -> bool {
    engine::with(|engine| !engine.refuses_membarrier()).unwrap_or(false)
}

/// Counts what `f` touches as an operation of the kind that `kind` returns.
pub fn counted_as<R>(kind: impl FnOnce(&R) -> Operation, f: impl FnOnce() -> R) -> R {
    let interrupted = begin();
    let result = f();
    end(kind(&result), interrupted);
    result
}

#[inline(never)]
fn begin() -> Option<Doing> {
    engine::with(engine::Engine::begin_operation)
}

#[inline(never)]
fn end(kind: Operation, interrupted: Option<Doing>) {
    interrupted
        .and_then(|interrupted| engine::with(|engine| engine.end_operation(kind, interrupted)));
}

/// Sets whether this thread runs the program's own code from now on, and not the library's. Returns whether it did so far.
#[inline(never)]
pub fn runs_program(is_program: bool) -> bool {
    engine::with(|engine| engine.runs_program(is_program)).unwrap_or(is_program)
}

/// Calls `f`, which is code of the library.
pub fn as_library<R>(f: impl FnOnce() -> R) -> R {
    let outer = runs_program(false);
    let result = f();
    runs_program(outer);
    result
}

/// Returns the counts of the run so far, or `None` outside of a run.
pub fn tally() -> Option<Tally> {
    engine::with(|engine| engine.tally())
}

/// Spends this much virtual time, for code whose work is not counted.
#[inline(never)]
pub fn spend(time: std::time::Duration) {
    engine::at(|engine| engine.spend(time.as_nanos() as u64 * 1000));
}

/// An access to plain memory that threads pass to each other.
#[inline(never)]
fn touch(address: usize, size: usize, access: Access) {
    engine::at(|engine| {
        let lines = address / 64..=(address + size.max(1) - 1) / 64;
        lines.for_each(|line| engine.access(line * 64, access));
    });
}
