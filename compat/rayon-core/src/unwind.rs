//! Panics.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

/// Runs `f`, and returns its result or its panic.
pub(crate) fn halt_unwinding<R>(f: impl FnOnce() -> R) -> thread::Result<R> {
    catch_unwind(AssertUnwindSafe(f))
}
