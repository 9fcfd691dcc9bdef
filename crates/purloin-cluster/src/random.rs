//! Pseudo-random numbers: [`Random`].

/// A small pseudo-random number generator, the same in each run and on each rank.
///
/// It is not for cryptography. Sequences of neighbouring seeds are unrelated, so a program can
/// fill each block of a [`GlobalArray`](crate::GlobalArray) with a generator whose seed is the
/// number of the block.
///
/// ```
/// use purloin_cluster::Random;
///
/// let mut random = Random::new(17);
/// assert!(random.below(6) < 6);
/// assert!((0.0..1.0).contains(&random.real()));
/// ```
///
/// Source: Steele, Lea and Flood, *Fast splittable pseudorandom number generators* (2014):
/// `SplitMix`.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates the generator for a seed.
    pub fn new(seed: u64) -> Random {
        let mut random = Random(seed);
        // All seeds step through the same cycle of states. Hashing the seed starts each
        // sequence at an unrelated place of that cycle.
        random.0 = random.bits();
        random
    }

    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    /// Returns a number from 0 to below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// Returns a number from 0.0 to below 1.0.
    pub fn real(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / 2.0_f64.powi(53)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thousand(seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..1000).map(|_| random.real()).collect()
    }

    #[test]
    fn a_seed_always_has_the_same_sequence_and_its_neighbour_an_unrelated_one() {
        assert_eq!(thousand(1), thousand(1));
        let neighbour = thousand(2);
        assert!(thousand(1).iter().all(|number| !neighbour.contains(number)));
    }

    #[test]
    fn reals_are_uniform_from_zero_to_one() {
        for seed in 0..10 {
            let numbers = thousand(seed);
            assert!(numbers.iter().all(|number| (0.0..1.0).contains(number)));
            let deviations = numbers.iter().map(|number| number - 0.5);
            assert!(deviations.clone().sum::<f64>().abs() < 50.0);
            let squares = deviations.map(|deviation| deviation * deviation);
            assert!((squares.sum::<f64>() / 1000.0 - 1.0 / 12.0).abs() < 0.01);
        }
    }

    #[test]
    fn numbers_below_a_bound_include_all_of_them() {
        let mut random = Random::new(0);
        let mut found = [false; 7];
        for _ in 0..1000 {
            found[random.below(7)] = true;
        }
        assert_eq!(found, [true; 7]);
        assert_eq!(random.below(1), 0);
    }
}
