//! The order in which a worker visits its victims.

/// A random permutation of the other workers, walked in circles from a random start.
///
/// Each worker has its own, because thieves that walk in the same order meet again and again. It
/// is precomputed, because a random number for each attempt would cost as much as the attempt
/// (Wool, section 5.2).
pub(super) struct Permutation {
    victims: Box<[u16]>,
    start: usize,
    /// Number of victims visited in this round.
    visited: usize,
    random: Xorshift,
}

impl Permutation {
    pub(super) fn new(me: usize, workers: usize) -> Self {
        let mut random = Xorshift::new(me);
        let mut victims: Box<[u16]> = (0..workers)
            .filter(|&worker| worker != me)
            // The number fits: there are at most `Builder::MAX_WORKERS` workers.
            .map(|worker| worker as u16)
            .collect();
        for place in (1..victims.len()).rev() {
            victims.swap(place, random.below(place + 1));
        }
        Permutation {
            victims,
            start: 0,
            visited: 0,
            random,
        }
    }

    /// Returns the number of victims in a full circle.
    pub(super) fn victims(&self) -> usize {
        self.victims.len()
    }

    /// Moves the start to a new random place, and starts a round there.
    pub(super) fn restart(&mut self) {
        self.start = self.random.below(self.victims.len().max(1));
        self.visited = 0;
    }

    /// Starts a round at the place where the last round started.
    pub(super) fn rewind(&mut self) {
        self.visited = 0;
    }

    /// Returns the next victim. After a full circle, rewinds and returns `None`.
    pub(super) fn next(&mut self) -> Option<usize> {
        if self.visited == self.victims.len() {
            self.visited = 0;
            return None;
        }
        let place = (self.start + self.visited) % self.victims.len();
        self.visited += 1;
        Some(self.victims[place] as usize)
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
    use super::Permutation;

    #[test]
    fn a_round_visits_every_other_worker_once() {
        let mut permutation = Permutation::new(3, 7);
        for _ in 0..100 {
            permutation.restart();
            let mut seen: Vec<_> = std::iter::from_fn(|| permutation.next()).collect();
            seen.sort_unstable();
            assert_eq!(seen, [0, 1, 2, 4, 5, 6]);
        }
        let mut alone = Permutation::new(0, 1);
        alone.restart();
        assert_eq!(alone.next(), None);
    }

    #[test]
    fn every_victim_is_first_about_equally_often() {
        let mut permutation = Permutation::new(0, 5);
        let mut first = [0; 5];
        for _ in 0..10_000 {
            permutation.restart();
            first[permutation.next().unwrap()] += 1;
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
            let mut permutation = Permutation::new(me, 30);
            let all: Vec<_> = std::iter::from_fn(move || permutation.next()).collect();
            all
        };
        let without = |all: Vec<usize>| -> Vec<_> { all.into_iter().filter(|&n| n > 1).collect() };
        assert_ne!(without(order(0)), without(order(1)));
    }
}
