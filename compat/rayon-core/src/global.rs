//! The global pool, and the current pool.

use std::sync::{Arc, Mutex, OnceLock};

use purloin::Pool;

use crate::builder::{ErrorKind, ThreadPoolBuildError, ThreadPoolBuilder, ThreadSpawn};
use crate::registry::{Registry, ThreadPool, current};
use crate::sync::lock;

static GLOBAL: OnceLock<ThreadPool> = OnceLock::new();

/// Held while the global pool is built.
static BUILDING: Mutex<()> = Mutex::new(());

/// Returns the global pool, and builds it first if there is none.
pub(crate) fn global() -> &'static ThreadPool {
    GLOBAL.get().unwrap_or_else(|| {
        // If another thread was faster, its pool is there.
        let built = set_global(|| ThreadPoolBuilder::new().build());
        match GLOBAL.get() {
            Some(pool) => pool,
            None => panic!("the global thread pool cannot be built: {:?}", built.err()),
        }
    })
}

/// Returns Purloin's pool within the global pool.
pub(crate) fn global_pool() -> &'static Pool {
    &global().pool
}

/// Makes the pool that `build` returns the global one. Returns `None` if there is one already.
pub(crate) fn set_global<E>(
    build: impl FnOnce() -> Result<ThreadPool, E>,
) -> Result<Option<()>, E> {
    let _guard = lock(&BUILDING);
    if GLOBAL.get().is_some() {
        return Ok(None);
    }
    let pool = build()?;
    Ok(GLOBAL.set(pool).ok())
}

/// Calls `f` with the current pool: that of this thread, or else the global one.
pub(crate) fn with_current<R>(f: impl FnOnce(&Pool, &Arc<Registry>) -> R) -> R {
    purloin::with_token(|token| match (current(), token) {
        (Some(worker), Some(token)) => f(token.pool(), &worker.registry),
        // Also a destructor of a thread that was a worker, because it has built a pool that uses it.
        _ => {
            let pool = global();
            f(&pool.pool, &pool.registry)
        }
    })
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Builds the global pool, which the functions of this crate use on threads outside all pools. If no
    /// code calls this, the first of these functions builds the pool, with all options at their defaults.
    ///
    /// ```no_run
    /// let builder = rayon_core::ThreadPoolBuilder::new().spawn_handler(|thread| {
    ///     std::thread::spawn(|| thread.run());
    ///     Ok(())
    /// });
    /// builder.build_global()?;
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error as [`build`](Self::build) does, and if there is a global pool already.
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        let set = set_global(|| self.build())?;
        set.ok_or(ErrorKind::GlobalPoolAlreadyInitialized.into())
    }
}
