//! Random victim selection.

use super::selection::Selection;
use super::walk::Walk;
use crate::error::BuildError;

/// Random order, the default: each thief visits all victims in an order of its own, from a random
/// start.
///
/// Source: Wool, section 5.2 (RAND).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Random;

impl Selection for Random {
    fn check(&self) -> Result<(), BuildError> {
        Ok(())
    }

    fn walk(&self, me: usize, workers: usize) -> Walk {
        Walk::new(me, workers)
    }
}
