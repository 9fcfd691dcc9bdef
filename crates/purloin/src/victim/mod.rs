//! Victim selection: which workers a thief looks at, and in which order.
//!
//! A selection is a type: [`Random`], [`Sets`], or [`Sampling`] in the order of either. A pool is
//! built with a value of this type, and each worker gets a [`Walk`] from it, which returns one
//! victim after the other.
//!
//! A walk is a trait object, so pools are not generic over the selection, and a program is not
//! compiled once for each selection. The virtual call is cheap next to the attempt to steal that
//! follows it.
//!
//! Sources: Wool, sections 2 and 5.2.

mod permutation;
mod random;
mod sampling;
mod sets;

pub use random::Random;
pub use sampling::Sampling;
pub use sets::{SetRound, SetStep, Sets};

use crate::error::{BuildError, MAX_WORKERS};

/// A way for thieves to choose their victims, for [`Builder::victims`](crate::Builder::victims).
///
/// This trait is sealed: only Purloin implements it.
pub trait VictimSelection: Selection {}

impl<V: Selection> VictimSelection for V {}

/// The part of [`VictimSelection`] that pools use.
pub trait Selection: Send + Sync + 'static {
    /// Returns an error if an option is out of range.
    fn check(&self) -> Result<(), BuildError>;

    /// Returns the walk of worker `me` in a pool of `workers` workers.
    fn walk(&self, me: usize, workers: usize) -> Box<dyn Walk>;
}

/// One worker's walk through its victims.
///
/// A search consists of rounds, and a round consists of victims. A search may end in the middle of
/// a round.
pub trait Walk: Send {
    /// Starts a search.
    fn start(&mut self);

    /// Returns the next victim, or `None` at the end of a round. The call after that starts the
    /// next round.
    fn next(&mut self) -> Option<usize>;

    /// Records that the last victim is itself a thief: it has no work.
    fn met_thief(&mut self);

    /// Returns the maximum number of victims to compare before the first steal of a search.
    fn samples(&self) -> usize;
}

/// Maximum value of any option of a selection.
const MAX_OPTION: usize = MAX_WORKERS;

fn in_range(option: &'static str, value: usize) -> Result<(), BuildError> {
    match value {
        1..=MAX_OPTION => Ok(()),
        _ => Err(BuildError::Victims { option, value }),
    }
}
