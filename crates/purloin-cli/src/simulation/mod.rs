//! Shared by the commands that simulate: machines, recordings, runs and outputs.

pub mod arguments;
pub mod picture;
pub mod runs;
