//! The common parts of `record`, `predict` and `sim`: machines, recordings, outputs, pictures, and
//! running many simulations.

pub mod arguments;
pub mod bars;
pub mod machine;
pub mod outputs;
pub mod picture;
pub mod recording;
pub mod runs;
pub mod svg;
