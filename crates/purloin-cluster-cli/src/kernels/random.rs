//! Numbers that look random, the same in each run and on each rank.

/// Steele's, Lea's and Flood's generator `SplitMix`: neighbouring seeds have nothing in
/// common, so that each block of a matrix can have its number for a seed.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// A sequence of its own for each seed.
    pub fn new(seed: u64) -> Random {
        let mut random = Random(seed);
        // Else the sequence of a seed would be a part of those of others.
        random.0 = random.bits();
        random
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    /// A number from -½ to below ½.
    pub fn real(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / 2.0_f64.powi(53) - 0.5
    }

    /// Replaces all of these by such numbers.
    pub fn fill(mut self, numbers: &mut [f64]) {
        numbers.fill_with(|| self.real());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(seed: u64) -> Vec<f64> {
        let mut numbers = vec![0.0; 1000];
        Random::new(seed).fill(&mut numbers);
        numbers
    }

    #[test]
    fn a_seed_has_one_sequence_and_its_neighbour_another() {
        assert_eq!(some(1), some(1));
        assert!(some(1).iter().all(|number| !some(2).contains(number)));
    }

    #[test]
    fn numbers_are_spread_around_zero() {
        for seed in 0..10 {
            let numbers = some(seed);
            assert!(numbers.iter().all(|number| (-0.5..0.5).contains(number)));
            assert!(numbers.iter().sum::<f64>().abs() < 50.0);
            let squares = numbers.iter().map(|number| number * number).sum::<f64>();
            assert!((squares / 1000.0 - 1.0 / 12.0).abs() < 0.01);
        }
    }
}
