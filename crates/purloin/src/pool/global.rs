//! The global pool, which exists without being built.

use std::io::{Write, stderr};
use std::ptr::null_mut;

use super::builder::available_cores;
use super::{Builder, Pool};
use crate::error::BuildError;
use crate::sync::plain::{AtomicPtr, Ordering};
use crate::this_thread::check_not_measured;

static GLOBAL: PoolCell = PoolCell::new();

/// The pool of a program whose global pool cannot be built as the environment asks.
static DEFAULT: PoolCell = PoolCell::new();

/// Returns the global pool of the process. [`crate::join`] and the other free functions use it on
/// threads that are not workers. The first call builds it, as [`Pool::new`] does, unless
/// [`configure_global`] has. Its workers inherit the affinity of the thread that makes this call. A
/// forked process builds its own.
///
/// The process ends without waiting for the pool's jobs, and the pool's exit handler does not run.
///
/// # Errors
///
/// Returns an error if the pool cannot be built. A later call tries again.
pub fn global() -> Result<&'static Pool, BuildError> {
    match GLOBAL.get() {
        Some(pool) => Ok(pool),
        None => Ok(GLOBAL.get_or_set(Pool::new()?).0),
    }
}

/// Builds the [global pool](global) with these options. Call it before the first use of the pool,
/// at the beginning of `main` for example.
///
/// ```
/// let pool = purloin::configure_global(purloin::Pool::builder().workers(2))?;
/// assert_eq!(pool.workers(), 2);
/// assert!(purloin::configure_global(purloin::Pool::builder()).is_err());
/// # Ok::<(), purloin::BuildError>(())
/// ```
///
/// # Errors
///
/// Returns an error if the global pool exists already, or if the pool cannot be built.
pub fn configure_global(builder: Builder) -> Result<&'static Pool, BuildError> {
    if GLOBAL.get().is_some() || DEFAULT.get().is_some() {
        return Err(BuildError::GlobalPoolExists);
    }
    match GLOBAL.get_or_set(builder.build()?) {
        (pool, true) => Ok(pool),
        (_, false) => Err(BuildError::GlobalPoolExists),
    }
}

/// Returns the global pool, for callers that cannot return an error. If the pool cannot be built as
/// the environment asks, this prints one line of warning, and builds the pool with as many workers
/// as can be started.
///
/// # Panics
///
/// Panics if not even one worker can be started, and if the calling program is being measured.
pub(crate) fn global_or_default() -> &'static Pool {
    check_not_measured();
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
                // Standard error may be closed. The program goes on without the warning.
                let _ = writeln!(
                    stderr(),
                    "purloin: {error}; going on with {workers} workers"
                );
                return DEFAULT.get_or_set(pool).0;
            }
            Err(_) if workers > 1 => workers /= 2,
            Err(last) => panic!("{last}"),
        }
    }
}

/// A pool that lives until the process ends. A forked process has a pool of its own.
struct PoolCell(AtomicPtr<Pool>);

impl PoolCell {
    const fn new() -> PoolCell {
        PoolCell(AtomicPtr::new(null_mut()))
    }

    /// Returns the pool, if there is one and this process has its threads.
    fn get(&self) -> Option<&'static Pool> {
        // Acquire: pairs with the release in `get_or_set`, so the pool is initialised.
        // SAFETY: the pointer is null, or `get_or_set` has leaked the pool.
        let pool = unsafe { self.0.load(Ordering::Acquire).as_ref() }?;
        pool.shared.is_in_own_process().then_some(pool)
    }

    /// Keeps and returns `pool`, and true, unless another thread has set a pool since [`Self::get`].
    /// In that case it drops `pool`, and returns the pool that was set, and false.
    fn get_or_set(&self, pool: Pool) -> (&'static Pool, bool) {
        let new = Box::into_raw(Box::new(pool));
        let mut seen = self.0.load(Ordering::Acquire);
        loop {
            if let Some(kept) = self.get() {
                // SAFETY: `new` comes from `Box::into_raw` above, and this function has not shared
                // it.
                drop(unsafe { Box::from_raw(new) });
                return (kept, false);
            }
            // AcqRel: publishes this pool, or acquires another thread's pool.
            let (release, acquire) = (Ordering::AcqRel, Ordering::Acquire);
            match self.0.compare_exchange(seen, new, release, acquire) {
                // SAFETY: `new` comes from `Box::into_raw` above, and is never freed once it is
                // set.
                Ok(_) => return (unsafe { &*new }, true),
                Err(now) => seen = now,
            }
        }
    }
}
