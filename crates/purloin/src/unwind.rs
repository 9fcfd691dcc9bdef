//! Panics on their way from one thread to another, and those that must not be.

use std::any::Any;
use std::io::{Write, stderr};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The payload of a panic on its way from a thief to the owner of the task.
pub(crate) type Panic = Box<dyn Any + Send>;

/// Maximum number of panics of destructors, each of the payload of the one before, that
/// [`discard`] drops.
const MAX_DISCARDED: usize = 16;

/// Drops a panic, or a result, of which the program does not hear. Its destructor may panic, and
/// the destructor of that panic again; the last of many is forgotten. Never unwinds.
pub(crate) fn discard<T>(unheard: T) {
    let mut panic = catch_unwind(AssertUnwindSafe(|| drop(unheard))).err();
    for _ in 0..MAX_DISCARDED {
        let Some(payload) = panic else { return };
        panic = catch_unwind(AssertUnwindSafe(|| drop(payload))).err();
    }
    std::mem::forget(panic);
}

/// Ends the process, because of a mistake in this crate after which memory is not safe.
#[cold]
pub(crate) fn abort(mistake: &str) -> ! {
    let _ = writeln!(stderr(), "purloin: internal error: {mistake}");
    std::process::abort();
}
