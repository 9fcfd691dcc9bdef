//! What happens at the end of the process.

use std::ffi::c_int;

/// Lets the C library call a function when the process ends by returning from `main` or by [`std::process::exit`].
/// Returns false if it refuses. The function must not unwind.
pub(crate) fn at_exit(function: extern "C" fn()) -> bool {
    unsafe extern "C" {
        fn atexit(function: extern "C" fn()) -> c_int;
    }

    // SAFETY: every C library has this function, and an `extern "C" fn` does not unwind.
    unsafe { atexit(function) == 0 }
}
