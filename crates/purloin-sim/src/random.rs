//! Random numbers that are the same on every machine: [`Random`].

/// A generator of random numbers.
///
/// Everything that is drawn follows from the seed alone: integers by integer operations,
/// and the only function of a real number, the logarithm, by a library written in basic
/// operations, which IEEE 754 rounds alike everywhere. (The platform's own does not.)
///
/// Source: Blackman and Vigna, *Scrambled linear pseudorandom number generators* (2021):
/// xoshiro256++.
#[derive(Clone, Debug)]
pub struct Random([u64; 4]);

impl Random {
    /// The one with this seed.
    pub fn new(seed: u64) -> Random {
        // As its authors say: by another generator, SplitMix64.
        let mut state = seed;
        Random([(); 4].map(|()| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }))
    }

    /// 64 random bits.
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

    /// A number below `n`, which is not 0.
    pub fn below(&mut self, n: u32) -> u32 {
        // Its bias, of less than n / 2⁶⁴, is nothing.
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u32
    }

    /// A number whose mean is 1, exponentially distributed.
    pub fn exponential(&mut self) -> f64 {
        // Above 0, up to 1.
        let uniform = ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        -libm::log(uniform)
    }
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
        assert_eq!(times, [850_480, 37_017, 764_205]);
    }

    #[test]
    fn it_is_the_published_generator() {
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
