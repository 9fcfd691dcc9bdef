//! Tests of when tasks begin, and of what becomes of their panics and of the values that nobody gets.
//!
//! They are a program of their own beside `runtime`, so that two processors build them in half the
//! time.

#[path = "../../../purloin/tests/common/mod.rs"]
mod common;

mod drops;
mod floods;
mod graphs;
mod unheard;
