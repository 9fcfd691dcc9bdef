//! Set-based victim selection.

use super::permutation::Permutation;
use super::{Selection, Walk, in_range};
use crate::pool::BuildError;

/// Looks again and again at the same few victims as long as there are many
/// thieves, and at more of them the fewer thieves there are; so what it looks at
/// stays in its caches.
///
/// A set is as large as it takes to meet `multiplicity` thieves, and at least
/// `least`: that is max(W, m·p/t) with t thieves among p workers, without
/// counting them. It begins at a random place in a permutation of the thief's
/// own. After 1,000 victims without a task the search begins elsewhere: thieves
/// that only have one another in their sets would starve.
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
    /// W = 12 and m = 4, as in the paper.
    fn default() -> Self {
        Sets {
            least: 12,
            multiplicity: 4,
        }
    }
}

impl Sets {
    /// How many victims a set has at least (the paper's W), from 1 to
    /// [`Builder::MAX_WORKERS`](crate::Builder::MAX_WORKERS).
    pub fn least(mut self, victims: usize) -> Self {
        self.least = victims;
        self
    }

    /// How many thieves are to look at each victim (the paper's m), from 1 to
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

/// So many victims without a task, and the search begins elsewhere.
const ENOUGH: usize = 1000;

struct SetWalk {
    sets: Sets,
    permutation: Permutation,
    /// In this round.
    attempts: usize,
    thieves: usize,
    /// Since the start.
    failures: usize,
}

impl SetWalk {
    fn end_round(&mut self) {
        self.attempts = 0;
        self.thieves = 0;
        if self.failures >= ENOUGH {
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

    /// The victims of one round where every `every`-th worker is a thief.
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
    fn a_set_shrinks_as_thieves_become_many() {
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
    fn rounds_have_the_same_victims_until_they_have_failed_for_long() {
        let mut walk = Sets::default().walk(0, 500);
        walk.start();
        let first = round(&mut *walk, 1);
        let mut rounds = 1;
        while round(&mut *walk, 1) == first {
            rounds += 1;
        }
        assert_eq!(rounds, ENOUGH.div_ceil(first.len()));
    }

    #[test]
    #[cfg_attr(miri, ignore = "it takes minutes")]
    fn no_worker_is_left_alone_by_all() {
        // Of 300 workers all but one are thieves, each with a set of 12; in a
        // forty thousand rounds each of them has come to the one.
        for thief in 1..300 {
            let mut walk = Sets::default().walk(thief, 300);
            walk.start();
            let found = (0..40_000).any(|_| round(&mut *walk, 1).contains(&0));
            assert!(found, "worker {thief}");
        }
    }
}
