//! The pool that is there without being made.

use std::sync::OnceLock;

use super::builder::available_cores;
use super::{Error, Pool};

/// The pool of the process, which [`crate::join`] and [`crate::finish`] use
/// outside any pool. It is made at the first call, as by [`Pool::new`].
///
/// # Errors
///
/// If it cannot be made. A later call tries again.
pub fn global() -> Result<&'static Pool, Error> {
    static GLOBAL: OnceLock<Pool> = OnceLock::new();
    if let Some(pool) = GLOBAL.get() {
        return Ok(pool);
    }
    let pool = Pool::new()?;
    // Of two at the same time, one is dropped.
    Ok(GLOBAL.get_or_init(|| pool))
}

/// The global pool for callers that cannot return an error: if it cannot be
/// made as the environment says, then with as many workers as can be started,
/// after one line of warning.
///
/// # Panics
///
/// If not even one worker can be started.
pub(crate) fn global_or_default() -> &'static Pool {
    static DEFAULT: OnceLock<Pool> = OnceLock::new();
    if let Some(pool) = DEFAULT.get() {
        return pool;
    }
    match global() {
        Ok(pool) => pool,
        Err(error) => DEFAULT.get_or_init(|| {
            let mut workers = available_cores();
            loop {
                match Pool::builder().workers(workers).build() {
                    Ok(pool) => {
                        eprintln!("purloin: {error}; going on with {workers} workers");
                        return pool;
                    }
                    Err(_) if workers > 1 => workers /= 2,
                    Err(last) => panic!("{last}"),
                }
            }
        }),
    }
}
