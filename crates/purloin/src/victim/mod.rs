//! Victim selection: which workers a thief looks at, and in which order.
//!
//! A selection is a type: [`Random`], [`Sets`], or [`Sampling`] in the order of either. A pool is
//! built with a value of this type, and each worker gets a [`Walk`] from it, which returns one
//! victim after the other. Pools are not generic over the selection, so a program is not compiled once
//! for each selection.
//!
//! Sources: Wool, sections 2 and 5.2.

mod random;
mod sampling;
mod sets;
mod walk;

pub use random::Random;
pub use sampling::Sampling;
pub use sets::{SetRound, SetStep, Sets};
pub use walk::Walk;

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
    fn walk(&self, me: usize, workers: usize) -> Walk;
}

/// Maximum value of any option of a selection.
const MAX_OPTION: usize = MAX_WORKERS;

fn in_range(option: &'static str, value: usize) -> Result<(), BuildError> {
    match value {
        1..=MAX_OPTION => Ok(()),
        _ => Err(BuildError::Victims { option, value }),
    }
}
