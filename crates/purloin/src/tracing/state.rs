//! Whether threads record.

use crate::sync::plain::{AtomicUsize, Ordering};

/// Whether threads record.
pub(super) static STATE: AtomicUsize = AtomicUsize::new(UNKNOWN);

/// No pool is traced yet, and no thread has read the environment.
pub(super) const UNKNOWN: usize = 0;
/// No pool is traced yet.
pub(super) const OFF: usize = 1;
/// A pool is traced, or was, or the environment says that all are.
pub(super) const ON: usize = 2;

/// Returns, as a hint, whether threads record.
#[inline(always)]
pub(super) fn is_on() -> bool {
    STATE.load(Ordering::Relaxed) == ON
}

/// Lets threads record from now on.
pub(super) fn turn_on() {
    // Relaxed: a thread that does not see it yet records nothing.
    STATE.store(ON, Ordering::Relaxed);
}
