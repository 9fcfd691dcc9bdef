//! Locks.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, whether or not a holder has panicked. What the locks guard is consistent even then.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
