//! Set-based victim selection.

use super::permutation::Permutation;
use super::{Selection, Walk, in_range};
use crate::pool::BuildError;

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
    least: usize,
    multiplicity: usize,
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

    fn walk(&self, me: usize, workers: usize) -> Box<dyn Walk> {
        Box::new(SetWalk {
            sets: *self,
            permutation: Permutation::new(me, workers),
            attempts: 0,
            thieves: 0,
            failures: 0,
        })
    }
}

/// Number of victims without a task after which a thief moves its set.
const MAX_FAILURES: usize = 1000;

struct SetWalk {
    sets: Sets,
    permutation: Permutation,
    /// Number of victims visited in this round.
    attempts: usize,
    /// Number of thieves among the victims visited in this round.
    thieves: usize,
    /// Number of victims visited since the set was last moved.
    failures: usize,
}

impl SetWalk {
    fn end_round(&mut self) {
        self.attempts = 0;
        self.thieves = 0;
        if self.failures >= MAX_FAILURES {
            self.start();
        }
    }
}

impl Walk for SetWalk {
    fn start(&mut self) {
        self.permutation.restart();
        self.attempts = 0;
        self.thieves = 0;
        self.failures = 0;
    }

    fn next(&mut self) -> Option<usize> {
        if self.attempts >= self.sets.least && self.thieves >= self.sets.multiplicity {
            self.permutation.rewind();
            self.end_round();
            return None;
        }
        let next = self.permutation.next();
        match next {
            Some(_) => {
                self.attempts += 1;
                self.failures += 1;
            }
            None => self.end_round(),
        }
        next
    }

    fn met_thief(&mut self) {
        self.thieves += 1;
    }

    fn samples(&self) -> usize {
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the victims of one round, if every `every`-th worker is a thief.
    fn round(walk: &mut dyn Walk, every: usize) -> Vec<usize> {
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
        assert_eq!(round(&mut *walk, 1).len(), 12, "all are thieves");
        let half = round(&mut *walk, 2).len();
        assert!((12..40).contains(&half), "{half}");
        let tenth = round(&mut *walk, 10).len();
        assert!((14..200).contains(&tenth), "{tenth}");
        assert_eq!(round(&mut *walk, 2000).len(), 999, "the last thief");
    }

    #[test]
    fn a_thief_keeps_its_set_until_a_thousand_victims_had_no_task() {
        let mut walk = Sets::default().walk(0, 500);
        walk.start();
        let first = round(&mut *walk, 1);
        let mut rounds = 1;
        while round(&mut *walk, 1) == first {
            rounds += 1;
        }
        assert_eq!(rounds, MAX_FAILURES.div_ceil(first.len()));
    }

    #[test]
    #[cfg_attr(miri, ignore = "it takes minutes")]
    fn every_thief_finds_the_only_worker_with_a_task() {
        // Of 300 workers 299 are thieves, each with a set of 12. Within 40,000 rounds each thief
        // has visited the worker with the task.
        for thief in 1..300 {
            let mut walk = Sets::default().walk(thief, 300);
            walk.start();
            let found = (0..40_000).any(|_| round(&mut *walk, 1).contains(&0));
            assert!(found, "worker {thief}");
        }
    }
}
