//! The strands of a program: how they are measured.
//!
//! # How work and span are measured
//!
//! The program's serial elision is run by a [`Worker`] that reads the
//! processor's clock at every beginning and end of a task. What lies between
//! two readings is a *strand*. A strand may take less than a reading does, and
//! one interrupt is longer than the whole span of a fine-grained program; so
//! the run is repeated, and of each strand its shortest time counts. What a
//! reading costs is taken off, and all strands are scaled so that together they
//! take as long as the plain serial elision.
//!
//! Strands that are finer than the clock's steps cannot be told apart. Of them
//! all, the mean counts (`Correction` in `sink.rs`).
//!
//! Programs with too many strands to keep them all, and those whose strands are
//! not the same each time, are measured by one run without that filter;
//! [`Profile::is_filtered`] says so.
//!
//! A loop counts as a balanced tree of its iterations, in 1,024 pieces at most.
//!
//! Source: Wool, sections 5.1 to 5.3.

mod encoding;
mod mark;
mod recorder;
mod runs;
mod span;
mod times;

use purloin::Worker;

pub use self::encoding::Strand;
pub(crate) use self::encoding::{Scribe, Tape};
pub use self::mark::Mark;
pub(crate) use self::runs::{Serially, is_enough, median, run_strands};
pub(crate) use self::span::Evaluator;
pub(crate) use self::times::Receiver;

/// A program to be profiled: generic over its worker, and repeatable.
pub trait Program: Send {
    /// Does what is not to be timed, before each run; at first nothing.
    fn prepare(&mut self) {}

    /// Runs the program once. What it computes, it keeps.
    fn run<W: Worker>(&mut self, w: W);
}
