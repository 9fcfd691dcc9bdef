//! Random numbers that are the same on every machine: [`Random`].

use purloin_kernels::random::{SplitMix, unit};

/// The simulator's random number generator, xoshiro256++.
///
/// Every number follows from the seed alone. Integers come from integer operations. The only
/// function of a real number is the logarithm; it comes from a library written in basic
/// operations, which IEEE 754 rounds the same way on every machine. (The platform's own logarithm
/// differs between machines.)
///
/// Published figures depend on its numbers, so it must not be replaced by another generator.
///
/// Source: Blackman and Vigna, *Scrambled linear pseudorandom number generators* (2021).
#[derive(Clone, Debug)]
pub struct Random([u64; 4]);

impl Random {
    /// Creates the generator for `seed`.
    pub fn new(seed: u64) -> Random {
        // The authors recommend SplitMix64 to fill the state.
        Random([1, 2, 3, 4].map(|number| SplitMix::nth(seed, number)))
    }

    /// Returns the next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.0;
        let result = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let t = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= t;
        *d = d.rotate_left(45);
        result
    }

    /// Returns a number from 0 to `n` - 1. `n` must not be 0.
    pub fn below(&mut self, n: u32) -> u32 {
        // The bias is less than n / 2⁶⁴, which no simulation can notice.
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u32
    }

    /// Returns a number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        unit(self.bits())
    }

    /// Returns an exponentially distributed number whose mean is 1.
    pub fn exponential(&mut self) -> f64 {
        exponential(self.unit())
    }
}

/// Returns the `number`-th of a sequence of numbers in [0, 1), counted from 1. Each seed has its
/// own sequence, so that a workload can draw numbers in any order.
pub(crate) fn nth_unit(seed: u64, number: u64) -> f64 {
    // The inverted seed keeps these numbers apart from the numbers that seed a generator.
    unit(SplitMix::nth(!seed, number))
}

/// Converts a number in [0, 1) to an exponentially distributed one whose mean is 1.
pub(crate) fn exponential(unit: f64) -> f64 {
    -libm::log(1.0 - unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_on_every_machine() {
        let mut random = Random::new(7);
        let bits = [(); 3].map(|()| random.bits());
        let expected = [
            1_021_219_803_524_665_661,
            3_174_977_118_032_272_916,
            13_236_943_193_235_544_178,
        ];
        assert_eq!(bits, expected);
        let times = [(); 3].map(|()| (random.exponential() * 1e6) as u64);
        assert_eq!(times, [557_235, 3_314_823, 626_804]);
    }

    #[test]
    fn the_generator_gives_the_published_numbers() {
        let mut random = Random([1, 2, 3, 4]);
        let bits = [(); 4].map(|()| random.bits());
        let expected = [41943041, 58720359, 3588806011781223, 3591011842654386];
        assert_eq!(bits, expected);
    }

    #[test]
    fn exponential_numbers_have_their_mean() {
        let mut random = Random::new(1);
        let sum: f64 = (0..100_000).map(|_| random.exponential()).sum();
        assert!((sum / 1e5 - 1.0).abs() < 0.01);
    }

    #[test]
    fn numbers_below_a_bound_are_equally_likely() {
        let mut random = Random::new(1);
        let mut counts = [0; 7];
        (0..70_000).for_each(|_| counts[random.below(7) as usize] += 1);
        assert!(
            counts.iter().all(|count| (9_500..10_500).contains(count)),
            "{counts:?}"
        );
    }
}
