//! Measuring and simulating: what the command `purloin` and the reports on the papers share.
//!
//! - [`schedulers`]: the schedulers and peers under which kernels run.
//! - [`bench`](mod@bench): times of kernels, interleaved, with every answer verified.
//! - [`profile`]: profiles of kernels.
//! - [`simulation`]: machines, recordings, and pictures.
//! - [`checked_kernel`]: a kernel that checks each of its answers.
//! - [`arguments`]: parsers for arguments.

pub mod arguments;
pub mod bench;
pub mod checked_kernel;
pub mod profile;
pub mod schedulers;
pub mod simulation;
