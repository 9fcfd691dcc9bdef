//! The common parts of `record`, `predict` and `sim`: machines, recordings and their check, outputs,
//! pictures, and running many simulations.

pub mod arguments;
pub mod bars;
pub mod check;
pub mod machine;
pub mod outputs;
pub mod picture;
pub mod recording;
pub mod runs;
pub mod svg;
