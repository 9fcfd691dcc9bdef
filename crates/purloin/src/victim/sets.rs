//! Set-based victim selection.

use super::selection::{Selection, in_range};
use super::walk::Walk;
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

    fn walk(&self, me: usize, workers: usize) -> Walk {
        Walk::new(me, workers).in_sets(self.least, self.multiplicity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::victim::SetRound;

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
