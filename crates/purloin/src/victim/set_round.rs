//! A thief's progress through its victim set.

/// A thief's progress through its victim set.
///
/// The simulator of `purloin-sim` uses this type, too.
///
/// ```
/// use purloin::scheduler::{SetRound, SetStep};
///
/// let mut round = SetRound::default();
/// // A set of at least two victims, one of them a thief, among ten.
/// assert_eq!(round.step(2, 1, 10), SetStep::Next);
/// assert_eq!(round.step(2, 1, 10), SetStep::Next);
/// round.met_thief();
/// assert_eq!(round.step(2, 1, 10), SetStep::Rewind);
/// assert_eq!(round.step(2, 1, 10), SetStep::Next);
/// ```
///
/// Source: Wool, section 2.2.
#[derive(Clone, Copy, Debug, Default)]
pub struct SetRound {
    /// Number of victims visited in this round.
    visited: u32,
    /// Number of thieves among them.
    thieves: u32,
    /// Number of victims visited since the set was last moved.
    failures: u32,
}

/// A thief's next step in its victim set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetStep {
    /// It visits the next victim.
    Next,
    /// It has visited the whole set. It goes back to the first victim.
    Rewind,
    /// It has visited many victims in vain. It chooses another first victim.
    Move,
}

impl SetRound {
    /// Number of victims without a task after which a thief moves its set.
    pub const MAX_FAILURES: u32 = 1000;

    /// Returns how many victims the thief has visited in this round.
    pub fn visited(&self) -> u32 {
        self.visited
    }

    /// Takes a step in a set of at least `least` of `victims` victims, in which `multiplicity` are
    /// thieves.
    pub fn step(&mut self, least: usize, multiplicity: usize, victims: usize) -> SetStep {
        if self.failures >= Self::MAX_FAILURES {
            *self = SetRound::default();
            return SetStep::Move;
        }
        let (visited, thieves) = (self.visited as usize, self.thieves as usize);
        if visited >= victims || visited >= least && thieves >= multiplicity {
            (self.visited, self.thieves) = (0, 0);
            return SetStep::Rewind;
        }
        self.visited += 1;
        self.failures += 1;
        SetStep::Next
    }

    /// Records that the last victim is itself a thief.
    pub fn met_thief(&mut self) {
        self.thieves += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The decision table: the victims and thieves so far, and whether the round goes on.
    #[test]
    fn a_set_ends_with_enough_victims_and_thieves_or_after_a_full_circle() {
        for (visited, thieves, victims, step) in [
            (0, 0, 63, SetStep::Next),
            (11, 11, 63, SetStep::Next),
            (12, 3, 63, SetStep::Next),
            (12, 4, 63, SetStep::Rewind),
            (62, 3, 63, SetStep::Next),
            (63, 3, 63, SetStep::Rewind),
            (7, 0, 7, SetStep::Rewind),
            (0, 0, 0, SetStep::Rewind),
        ] {
            let mut round = SetRound {
                visited,
                thieves,
                failures: visited,
            };
            assert_eq!(round.step(12, 4, victims), step, "{visited}, {thieves}");
        }
    }
}
