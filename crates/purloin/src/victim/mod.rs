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
mod selection;
mod set_round;
mod sets;
mod walk;

pub use random::Random;
pub use sampling::Sampling;
pub use selection::{Selection, VictimSelection};
pub use set_round::{SetRound, SetStep};
pub use sets::Sets;
pub use walk::Walk;
