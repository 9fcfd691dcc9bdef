//! Whom a thief asks: [`Victims`].

/// The ranks of a job as one of them sees them: same node first.
///
/// It asks as many of its own node as there are, in random order, before it asks one
/// elsewhere.
///
/// Source: AsynchWS, section II, after Min, Iancu and Yelick, *Hierarchical work stealing
/// on manycore clusters* (2011).
pub struct Victims {
    near: Vec<usize>,
    far: Vec<usize>,
    /// How many of the own node are asked before the next elsewhere.
    near_left: usize,
    random: u64,
}

impl Victims {
    /// For `rank`, whose node has the ranks `neighbours`.
    pub fn new(rank: usize, ranks: usize, neighbours: &[usize]) -> Victims {
        let is_near = |other: &usize| neighbours.contains(other);
        let (near, far): (Vec<_>, Vec<_>) =
            (0..ranks).filter(|other| *other != rank).partition(is_near);
        Victims {
            near_left: near.len(),
            near,
            far,
            random: 0x9e37_79b9_7f4a_7c15 ^ (rank as u64 + 1).wrapping_mul(0xd134_2543_de82_ef95),
        }
    }

    /// The next to ask, and whether it is elsewhere. There must be another rank.
    pub fn next(&mut self) -> (usize, bool) {
        if self.far.is_empty() || (self.near_left > 0 && !self.near.is_empty()) {
            self.near_left = self.near_left.saturating_sub(1);
            let place = self.below(self.near.len());
            (self.near[place], false)
        } else {
            self.near_left = self.near.len();
            let place = self.below(self.far.len());
            (self.far[place], true)
        }
    }

    /// A random number below `n` (Marsaglia's xorshift).
    fn below(&mut self, n: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        ((u128::from(self.random) * n as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_node_is_asked_first() {
        let mut victims = Victims::new(5, 12, &[4, 5, 6, 7]);
        for _ in 0..100 {
            for _ in 0..3 {
                let (victim, is_far) = victims.next();
                assert!(matches!(victim, 4 | 6 | 7) && !is_far);
            }
            let (victim, is_far) = victims.next();
            assert!(!(4..8).contains(&victim) && victim < 12 && is_far);
        }
    }

    #[test]
    fn all_others_are_asked_and_nobody_else() {
        for (ranks, neighbours) in [(2, vec![0, 1]), (5, vec![2]), (7, (0..7).collect())] {
            let rank = neighbours[0];
            let mut victims = Victims::new(rank, ranks, &neighbours);
            let mut asked = vec![0; ranks];
            for _ in 0..100 * ranks {
                asked[victims.next().0] += 1;
            }
            assert_eq!(asked[rank], 0);
            assert_eq!(asked.iter().filter(|&&times| times > 0).count(), ranks - 1);
        }
    }
}
