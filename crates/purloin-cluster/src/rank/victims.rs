//! The choice of victims: [`Victims`].

use crate::Random;

/// Selects victims, ranks on the thief's own node first.
///
/// The thief tries each other rank of its own node once, in random order, before it tries one random
/// rank on another node.
///
/// Source: AsynchWS, section II, after Min, Iancu and Yelick, *Hierarchical work stealing
/// on manycore clusters* (2011).
pub struct Victims {
    /// The other ranks of the node. The first `local_left` of them were not tried in this round.
    local: Vec<usize>,
    remote: Vec<usize>,
    local_left: usize,
    random: Random,
}

impl Victims {
    /// Creates the selection for `rank`, whose node has the ranks `node_ranks`.
    pub fn new(rank: usize, ranks: usize, node_ranks: &[usize]) -> Victims {
        let is_local = |other: &usize| node_ranks.contains(other);
        let (local, remote): (Vec<_>, Vec<_>) = (0..ranks)
            .filter(|other| *other != rank)
            .partition(is_local);
        Victims {
            local_left: local.len(),
            local,
            remote,
            random: Random::new(rank as u64),
        }
    }

    /// Returns the next victim, and whether it is on another node. The job must have more than
    /// one rank.
    pub fn next(&mut self) -> (usize, bool) {
        if self.local_left == 0 {
            self.local_left = self.local.len();
            if !self.remote.is_empty() {
                let place = self.random.below(self.remote.len());
                return (self.remote[place], true);
            }
        }
        let place = self.random.below(self.local_left);
        self.local_left -= 1;
        self.local.swap(place, self.local_left);
        (self.local[self.local_left], false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_on_the_own_node_come_first() {
        let mut victims = Victims::new(5, 12, &[4, 5, 6, 7]);
        for _ in 0..100 {
            let mut tried = [(); 3].map(|()| {
                let (victim, is_remote) = victims.next();
                assert!(!is_remote);
                victim
            });
            tried.sort();
            assert_eq!(tried, [4, 6, 7]);
            let (victim, is_remote) = victims.next();
            assert!(!(4..8).contains(&victim) && victim < 12 && is_remote);
        }
    }

    #[test]
    fn every_other_rank_becomes_a_victim_and_the_thief_never_does() {
        for (ranks, node_ranks) in [(2, vec![0, 1]), (5, vec![2]), (7, (0..7).collect())] {
            let rank = node_ranks[0];
            let mut victims = Victims::new(rank, ranks, &node_ranks);
            let mut attempts = vec![0; ranks];
            for _ in 0..100 * ranks {
                attempts[victims.next().0] += 1;
            }
            assert_eq!(attempts[rank], 0);
            let tried = attempts.iter().filter(|&&attempts| attempts > 0);
            assert_eq!(tried.count(), ranks - 1);
        }
    }
}
