//! Victim selection: at which workers a thief looks, and in which order.
//!
//! A selection is a type: [`Random`], [`Sets`], or [`Sampling`] in the order of
//! either. A pool is given a value of it, and each worker gets a [`Walk`] from
//! that, through which it goes about its victims. It is called once for each
//! victim that a thief looks at, which costs more than a virtual call; so pools
//! need not be generic over it, and programs are not compiled four times.
//!
//! Sources: Wool, sections 2 and 5.2.

mod permutation;
mod random;
mod sampling;
mod sets;

pub use random::Random;
pub use sampling::Sampling;
pub use sets::Sets;

use crate::pool::BuildError;

/// A way for thieves to choose their victims, for
/// [`Builder::victims`](crate::Builder::victims). Not to be implemented outside
/// Purloin.
pub trait VictimSelection: Selection {}

impl<V: Selection> VictimSelection for V {}

/// What a pool asks of a selection.
pub trait Selection: Send + Sync + 'static {
    /// Whether the options are in range.
    fn check(&self) -> Result<(), BuildError>;

    /// The way of worker `me` among as many.
    fn walk(&self, me: usize, workers: usize) -> Box<dyn Walk>;
}

/// One worker's way through its victims.
///
/// A search is a number of rounds. A round is a number of victims, and a search
/// may end in the middle of one.
pub trait Walk: Send {
    /// Begins a search.
    fn start(&mut self);

    /// The next victim, or none at the end of a round. Then the next call
    /// begins another.
    fn next(&mut self) -> Option<usize>;

    /// Notes that the last victim was a thief itself.
    fn met_thief(&mut self);

    /// How many victims to compare, at most, before the first steal of a search.
    fn samples(&self) -> usize;
}

/// The most that any option of a selection may be.
const MOST: usize = crate::pool::Builder::MAX_WORKERS;

fn in_range(option: &'static str, value: usize) -> Result<(), BuildError> {
    match value {
        1..=MOST => Ok(()),
        _ => Err(BuildError::Victims { option, value }),
    }
}
