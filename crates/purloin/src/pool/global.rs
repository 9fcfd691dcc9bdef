//! The pool that is there without being made.

use std::io::{Write, stderr};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::builder::available_cores;
use super::{BuildError, Pool};

/// The pool of the process, which [`crate::join`] and [`crate::finish`] use
/// outside any pool. It is made at the first call, as by [`Pool::new`]; a forked process
/// makes its own.
///
/// # Errors
///
/// If it cannot be made. A later call tries again.
pub fn global() -> Result<&'static Pool, BuildError> {
    static GLOBAL: Kept = Kept::new();
    match GLOBAL.get() {
        Some(pool) => Ok(pool),
        None => Ok(GLOBAL.keep(Pool::new()?)),
    }
}

/// The global pool for callers that cannot return an error: if it cannot be
/// made as the environment says, then with as many workers as can be started,
/// after one line of warning.
///
/// # Panics
///
/// If not even one worker can be started.
pub(crate) fn global_or_default() -> &'static Pool {
    static DEFAULT: Kept = Kept::new();
    if let Some(pool) = DEFAULT.get() {
        return pool;
    }
    let error = match global() {
        Ok(pool) => return pool,
        Err(error) => error,
    };
    let mut workers = available_cores();
    loop {
        match Pool::builder().workers(workers).build() {
            Ok(pool) => {
                // Nobody may read it.
                let _ = writeln!(
                    stderr(),
                    "purloin: {error}; going on with {workers} workers"
                );
                return DEFAULT.keep(pool);
            }
            Err(_) if workers > 1 => workers /= 2,
            Err(last) => panic!("{last}"),
        }
    }
}

/// A pool that is kept for ever: one in each process.
struct Kept(AtomicPtr<Pool>);

impl Kept {
    const fn new() -> Kept {
        Kept(AtomicPtr::new(null_mut()))
    }

    /// The pool, if there is one and this process was not forked since.
    fn get(&self) -> Option<&'static Pool> {
        // Acquire: with the pool comes what it consists of.
        // SAFETY: null, or leaked by `keep`.
        let pool = unsafe { self.0.load(Ordering::Acquire).as_ref() }?;
        pool.shared.is_home().then_some(pool)
    }

    /// Keeps `pool`, unless another thread has kept one since [`Self::get`].
    fn keep(&self, pool: Pool) -> &'static Pool {
        let new = Box::into_raw(Box::new(pool));
        let mut seen = self.0.load(Ordering::Acquire);
        loop {
            if let Some(kept) = self.get() {
                // SAFETY: it was leaked above, and nobody else knows of it.
                drop(unsafe { Box::from_raw(new) });
                return kept;
            }
            // AcqRel: as for `get`, on either side.
            let (release, acquire) = (Ordering::AcqRel, Ordering::Acquire);
            match self.0.compare_exchange(seen, new, release, acquire) {
                // SAFETY: it was leaked above, and stays.
                Ok(_) => return unsafe { &*new },
                Err(now) => seen = now,
            }
        }
    }
}
