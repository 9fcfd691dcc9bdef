//! The part of MPI that Purloin uses: the ranks of a job, windows, and transfers.
//!
//! Purloin uses MPI-3's one-sided operations with passive targets: a rank takes no part in
//! operations of other ranks on its memory. On networks without hardware support, such as TCP,
//! an operation makes progress only while its target calls MPI. So a rank that computes for
//! long must [drive MPI's progress](World::progress) from time to time.

mod transfer;
mod window;
mod world;

pub use transfer::Transfer;
pub use window::Window;
pub use world::{NODE_MEMORY, World};

use std::ffi::{c_char, c_int};

use mpi::ffi;

/// Returns MPI's description of an error code.
pub fn reason(code: c_int) -> String {
    let mut text = [0_u8; 1024];
    let mut len = 0;
    // SAFETY: the buffer is longer than MPI_MAX_ERROR_STRING of any known MPI (at most 512
    // bytes), and MPI writes no more than that.
    let failed =
        unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast::<c_char>(), &mut len) };
    match failed {
        0 => String::from_utf8_lossy(&text[..len as usize]).into_owned(),
        _ => format!("MPI error {code}"),
    }
}
