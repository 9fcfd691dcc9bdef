//! MPI as far as Purloin uses it: a job's ranks, windows, and transfers that are
//! under way.
//!
//! Only what MPI-3 has for passive targets: nobody takes part in what others do to his
//! memory. Where the network has no help from hardware (TCP), operations make progress
//! only while their target calls MPI, so that whoever computes for long has to
//! [poke](World::poke) it.

mod transfer;
mod window;
mod world;

pub use transfer::Transfer;
pub use window::Window;
pub use world::{SHARED, World};

use std::ffi::{c_char, c_int};

use mpi::ffi;

/// What MPI says about an error.
pub fn reason(code: c_int) -> String {
    let mut text = [0_u8; 1024];
    let mut len = 0;
    // SAFETY: the text is longer than MPI_MAX_ERROR_STRING of any MPI.
    let failed =
        unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast::<c_char>(), &mut len) };
    match failed {
        0 => String::from_utf8_lossy(&text[..len as usize]).into_owned(),
        _ => format!("MPI error {code}"),
    }
}
