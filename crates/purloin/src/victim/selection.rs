//! The traits of a victim selection: [`VictimSelection`] for programs, [`Selection`] for pools.

use super::walk::Walk;
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

/// Checks the value of an option.
pub(super) fn in_range(option: &'static str, value: usize) -> Result<(), BuildError> {
    match value {
        1..=MAX_OPTION => Ok(()),
        _ => Err(BuildError::Victims { option, value }),
    }
}
