//! Whether threads record.

use crate::sync::plain::{AtomicUsize, Ordering};

/// Whether threads record.
pub(super) static STATE: AtomicUsize = AtomicUsize::new(UNKNOWN);

/// No pool has been traced yet, and no thread has read the environment.
pub(super) const UNKNOWN: usize = 0;
/// No pool is traced.
pub(super) const OFF: usize = 1;
/// A pool is traced, or the environment says that all are.
pub(super) const ON: usize = 2;

/// Returns, as a hint, whether threads record.
#[inline(always)]
pub(super) fn is_on() -> bool {
    STATE.load(Ordering::Relaxed) == ON
}

/// Number of traced pools that have not ended.
static POOLS: AtomicUsize = AtomicUsize::new(0);

/// Lets threads record from now on, for a traced pool.
pub(super) fn begin_pool() {
    // Relaxed: a thread that does not see it yet records nothing.
    POOLS.fetch_add(1, Ordering::Relaxed);
    STATE.store(ON, Ordering::Relaxed);
}

/// Ends what [`begin_pool`] has begun.
pub(super) fn end_pool() {
    if POOLS.fetch_sub(1, Ordering::Relaxed) == 1 {
        let _ = STATE.compare_exchange(ON, OFF, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Stops all recording, in a process that was forked. It has none of the threads, and another thread may have held a
/// lock.
pub(crate) fn forked() {
    STATE.store(OFF, Ordering::Relaxed);
}
