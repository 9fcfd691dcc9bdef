//! Set-based victim selection.

use super::{Selection, Walk, in_range};
use crate::error::BuildError;

/// Victim sets: a thief keeps looking at the same few victims while there are many thieves, and at
/// more victims when there are fewer thieves. The cache lines of these victims stay in its caches.
///
/// A set ends when it has `least` victims and `multiplicity` of them are thieves. With t thieves
/// among p workers, the average size of a set is max(W, m·p/t), and no thief has to count t. The
/// set starts at a random place in the thief's own permutation of the workers. After 1,000 victims
/// without a task the thief moves to another place, because thieves with only each other in their
/// sets would starve.
///
/// ```
/// use purloin::{Pool, Sets};
///
/// let sets = Sets::default().least(6).multiplicity(2);
/// let pool = Pool::builder().workers(2).victims(sets).build()?;
/// # Ok::<(), purloin::BuildError>(())
/// ```
///
/// Source: Wool, section 2.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sets {
    pub(super) least: usize,
    pub(super) multiplicity: usize,
}

impl Default for Sets {
    /// Returns the values of the paper: W = 12 and m = 4.
    fn default() -> Self {
        Sets {
            least: 12,
            multiplicity: 4,
        }
    }
}

impl Sets {
    /// Sets the minimum number of victims in a set (the paper's W), from 1 to
    /// [`Builder::MAX_WORKERS`](crate::Builder::MAX_WORKERS).
    pub fn least(mut self, victims: usize) -> Self {
        self.least = victims;
        self
    }

    /// Sets the number of thieves that should look at each victim (the paper's m), from 1 to
    /// [`Builder::MAX_WORKERS`](crate::Builder::MAX_WORKERS).
    pub fn multiplicity(mut self, thieves: usize) -> Self {
        self.multiplicity = thieves;
        self
    }
}

impl Selection for Sets {
    fn check(&self) -> Result<(), BuildError> {
        in_range("least", self.least)?;
        in_range("multiplicity", self.multiplicity)
    }

    fn walk(&self, me: usize, workers: usize) -> Walk {
        Walk::new(me, workers).in_sets(*self)
    }
}

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

    /// Returns the victims of one round, if every `every`-th worker is a thief.
    fn round(walk: &mut Walk, every: usize) -> Vec<usize> {
        std::iter::from_fn(|| {
            let next = walk.next();
            if next.is_some_and(|victim| victim % every == 0) {
                walk.met_thief();
            }
            next
        })
        .collect()
    }

    #[test]
    fn a_set_shrinks_when_there_are_more_thieves() {
        let mut walk = Sets::default().walk(0, 1000);
        walk.start();
        assert_eq!(round(&mut walk, 1).len(), 12, "all are thieves");
        let half = round(&mut walk, 2).len();
        assert!((12..40).contains(&half), "{half}");
        let tenth = round(&mut walk, 10).len();
        assert!((14..200).contains(&tenth), "{tenth}");
        walk.start();
        assert_eq!(round(&mut walk, 2000).len(), 999, "the last thief");
    }

    #[test]
    fn a_thief_keeps_its_set_until_a_thousand_victims_had_no_task() {
        let mut walk = Sets::default().walk(0, 500);
        walk.start();
        let first = round(&mut walk, 1);
        let mut rounds = 1_u32;
        while round(&mut walk, 1) == first {
            rounds += 1;
        }
        let first = first.len() as u32;
        assert_eq!(rounds, SetRound::MAX_FAILURES / first);
    }

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

    #[test]
    #[cfg_attr(miri, ignore = "it takes minutes")]
    fn every_thief_finds_the_only_worker_with_a_task() {
        // Of 300 workers 299 are thieves, each with a set of 12. Within 40,000 rounds each thief
        // has visited the worker with the task.
        for thief in 1..300 {
            let mut walk = Sets::default().walk(thief, 300);
            walk.start();
            let found = (0..40_000).any(|_| round(&mut walk, 1).contains(&0));
            assert!(found, "worker {thief}");
        }
    }
}
