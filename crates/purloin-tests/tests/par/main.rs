//! Tests of parallel iterators, of memory for each worker, and of loops over iterators of unknown length.

#[path = "../../../purloin/tests/common/mod.rs"]
mod common;

mod bridge_searches;
mod bridges;
mod cancel;
mod chains;
mod memory;
mod ported;
mod tokens;
