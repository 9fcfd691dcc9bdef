//! Whether threads record.

use crate::sync::plain::{AtomicUsize, Mutex, Ordering, lock};

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

/// Number of traced pools that have not ended, and of threads whose spans are watched. The lock is held while the number
/// and the state change together.
static USERS: Mutex<usize> = Mutex::new(0);

/// Lets threads record from now on, for a traced pool or for the watcher of a thread's spans.
pub(super) fn begin() {
    let mut users = lock(&USERS);
    *users += 1;
    // Relaxed: a thread that does not see it yet records nothing.
    STATE.store(ON, Ordering::Relaxed);
}

/// Stops recording if this was the last user.
pub(super) fn end() {
    let mut users = lock(&USERS);
    *users -= 1;
    if *users == 0 {
        STATE.store(OFF, Ordering::Relaxed);
    }
}

/// Stops all recording, in a process that was forked. It has none of the threads, and another thread may have held a
/// lock.
pub(super) fn forked() {
    STATE.store(OFF, Ordering::Relaxed);
}
