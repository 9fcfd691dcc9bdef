//! Panics on their way from one thread to another.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A panic on its way from a thief to the parent.
pub(crate) type Panic = Box<dyn Any + Send>;

/// How many panics of destructors, each of the payload of the one before, are dropped.
const MOST_DISCARDED: usize = 16;

/// Drops what the caller will not hear of: a panic, or a result. Its destructor may
/// panic, and the destructor of that panic again; the last of many is forgotten. Nothing
/// unwinds from here.
pub(crate) fn discard<T>(unheard: T) {
    let mut panic = catch_unwind(AssertUnwindSafe(|| drop(unheard))).err();
    for _ in 0..MOST_DISCARDED {
        let Some(payload) = panic else { return };
        panic = catch_unwind(AssertUnwindSafe(|| drop(payload))).err();
    }
    std::mem::forget(panic);
}
