//! The strands of a program: how profiles and recordings measure them.
//!
//! A special [`Worker`] runs the program's serial elision, and reads the processor's clock at each
//! beginning and end of a task. The stretch between two readings is a *strand*, and the event at
//! its end is its [`Mark`]. A strand may be shorter than a reading of the clock, and one interrupt
//! is longer than the whole span of a fine-grained program. So the run is repeated, and the
//! shortest time of each strand counts. The cost of a reading is subtracted, and all strands are
//! scaled so that together they take as long as the serial elision without a clock.
//!
//! A clock cannot distinguish strands that are shorter than its steps. These strands get their
//! mean, see [`times`].
//!
//! A program with too many strands to keep, or with different strands in each run, is measured by
//! one run without that filter.
//!
//! A loop counts as a balanced tree of its iterations, in at most about 1,024 pieces.
//!
//! The files, in reading order:
//!
//! 1. [`mark`]: strands and marks.
//! 2. [`recorder`]: the worker that reads the clock; [`splits`]: how it divides loops and sorts.
//! 3. [`times`]: the times of a strand in several runs, and their correction.
//! 4. [`runs`]: how often a program is run, with a clock and without.
//! 5. [`span`]: work and span from strands; [`path`] and [`places`]: where the span is.
//! 6. [`encoding`]: a compact encoding of strands.
//!
//! Source: Wool, sections 5.1 to 5.3.

mod encoding;
mod mark;
mod path;
mod places;
mod recorder;
mod runs;
mod span;
mod splits;
mod times;

use purloin::Worker;

pub(crate) use self::encoding::{EncodedStrands, Encoder};
pub use self::mark::{Mark, Strand};
pub(crate) use self::places::Place;
pub(crate) use self::runs::{SerialRuns, is_enough, median, run_strands};
pub(crate) use self::span::Evaluator;
pub(crate) use self::times::Receiver;

/// A program to be measured: generic over its worker, and repeatable.
pub trait Program: Send {
    /// Prepares a run, untimed. The default does nothing.
    fn prepare(&mut self) {}

    /// Runs the program once. The program keeps its results itself.
    fn run<W: Worker>(&mut self, w: W);
}
