//! The order in which a worker visits its victims.

use super::set_round::{SetRound, SetStep};

/// One worker's walk through its victims.
///
/// A search consists of rounds, and a round consists of victims. A search may end in the middle of
/// a round.
///
/// The walk goes through a random permutation of the other workers, in circles from a random start. Each
/// worker has a permutation of its own, because thieves that walk in the same order meet again and again. The
/// permutation is precomputed, because a random number for each attempt would cost as much as the attempt
/// (Wool, section 5.2).
pub struct Walk {
    victims: Box<[u16]>,
    start: usize,
    /// Number of victims visited in this round.
    visited: usize,
    random: Xorshift,
    /// The victim sets. Without them a round is a full circle.
    sets: Option<WalkSets>,
    samples: usize,
    /// A hook for tests, called before each victim.
    #[cfg(test)]
    pub(super) before_victim: fn(),
}

/// The victim sets of a walk.
struct WalkSets {
    least: usize,
    multiplicity: usize,
    /// The progress through the current set.
    round: SetRound,
}

impl Walk {
    /// Returns a walk of worker `me` through a pool of `workers` workers, in full circles.
    pub(super) fn new(me: usize, workers: usize) -> Walk {
        let mut random = Xorshift::new(me);
        let mut victims: Box<[u16]> = (0..workers)
            .filter(|&worker| worker != me)
            // The number fits: there are at most `Builder::MAX_WORKERS` workers.
            .map(|worker| worker as u16)
            .collect();
        for place in (1..victims.len()).rev() {
            victims.swap(place, random.below(place + 1));
        }
        Walk {
            victims,
            start: 0,
            visited: 0,
            random,
            sets: None,
            samples: 1,
            #[cfg(test)]
            before_victim: || (),
        }
    }

    /// Ends a round once it has `least` victims, `multiplicity` of them thieves; or all victims.
    pub(super) fn in_sets(self, least: usize, multiplicity: usize) -> Walk {
        let sets = WalkSets {
            least,
            multiplicity,
            round: SetRound::default(),
        };
        Walk {
            sets: Some(sets),
            ..self
        }
    }

    pub(super) fn with_samples(self, samples: usize) -> Walk {
        Walk { samples, ..self }
    }

    /// Starts a search at a new random place.
    pub(crate) fn start(&mut self) {
        self.start = self.random.below(self.victims.len().max(1));
        self.visited = 0;
        if let Some(sets) = &mut self.sets {
            sets.round = SetRound::default();
        }
    }

    /// Returns the next victim, or `None` at the end of a round. The call after that starts the
    /// next round.
    pub(crate) fn next(&mut self) -> Option<usize> {
        #[cfg(test)]
        (self.before_victim)();
        let is_over = match &mut self.sets {
            None => self.visited == self.victims.len(),
            Some(WalkSets {
                least,
                multiplicity,
                round,
            }) => match round.step(*least, *multiplicity, self.victims.len()) {
                SetStep::Next => false,
                SetStep::Rewind => true,
                SetStep::Move => {
                    self.start();
                    true
                }
            },
        };
        if is_over {
            self.visited = 0;
            return None;
        }
        let place = (self.start + self.visited) % self.victims.len();
        self.visited += 1;
        Some(self.victims[place] as usize)
    }

    /// Returns whether each round visits all victims.
    pub(crate) fn is_full_circle(&self) -> bool {
        self.sets.is_none()
    }

    /// Records that the last victim is itself a thief: it has no work.
    pub(crate) fn met_thief(&mut self) {
        if let Some(sets) = &mut self.sets {
            sets.round.met_thief();
        }
    }

    /// Returns the maximum number of victims to compare before the first steal of a search.
    pub(crate) fn samples(&self) -> usize {
        self.samples
    }
}

/// Marsaglia's xorshift generator of random numbers.
struct Xorshift {
    /// Never zero.
    state: u64,
}

impl Xorshift {
    fn new(seed: usize) -> Self {
        // Any odd constant spreads neighbouring seeds.
        Xorshift {
            state: (seed as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15),
        }
    }

    fn below(&mut self, n: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        // The high half of the product maps the upper bits onto the range.
        (((self.state >> 32) * n as u64) >> 32) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::Walk;

    #[test]
    fn a_round_visits_every_other_worker_once() {
        let mut walk = Walk::new(3, 7);
        for _ in 0..100 {
            walk.start();
            let mut seen: Vec<_> = std::iter::from_fn(|| walk.next()).collect();
            seen.sort_unstable();
            assert_eq!(seen, [0, 1, 2, 4, 5, 6]);
        }
        let mut alone = Walk::new(0, 1);
        alone.start();
        assert_eq!(alone.next(), None);
    }

    #[test]
    fn every_victim_is_first_about_equally_often() {
        let mut walk = Walk::new(0, 5);
        let mut first = [0; 5];
        for _ in 0..10_000 {
            walk.start();
            first[walk.next().unwrap()] += 1;
        }
        assert_eq!(first[0], 0);
        assert!(
            first[1..].iter().all(|n| (2_300..2_700).contains(n)),
            "{first:?}"
        );
    }

    #[test]
    fn workers_walk_in_different_orders() {
        let order = |me| {
            let mut walk = Walk::new(me, 30);
            let all: Vec<_> = std::iter::from_fn(move || walk.next()).collect();
            all
        };
        let without = |all: Vec<usize>| -> Vec<_> { all.into_iter().filter(|&n| n > 1).collect() };
        assert_ne!(without(order(0)), without(order(1)));
    }
}
