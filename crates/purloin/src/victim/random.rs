//! Random victim selection.

use super::permutation::Permutation;
use super::{Selection, Walk};
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

    fn walk(&self, me: usize, workers: usize) -> Box<dyn Walk> {
        Box::new(Permutation::new(me, workers))
    }
}

impl Walk for Permutation {
    fn start(&mut self) {
        self.restart();
    }

    fn next(&mut self) -> Option<usize> {
        Permutation::next(self)
    }

    fn met_thief(&mut self) {}

    fn samples(&self) -> usize {
        1
    }
}
