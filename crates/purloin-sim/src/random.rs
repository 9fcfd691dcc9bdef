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
        Random([1, 2, 3, 4].map(|number| bits_of(seed, number)))
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

    /// A number from 0 to 1, but not 1.
    pub fn part(&mut self) -> f64 {
        part(self.bits())
    }

    /// A number whose mean is 1, exponentially distributed.
    pub fn exponential(&mut self) -> f64 {
        exponential(self.part())
    }
}

/// 64 random bits: the number-th of this seed, counted from 1.
///
/// Source: Steele, Lea and Flood, *Fast splittable pseudorandom number generators* (OOPSLA
/// 2014): SplitMix64.
fn bits_of(seed: u64, number: u64) -> u64 {
    let mut z = seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number from 0 to 1, but not 1.
fn part(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// The number-th of this seed of numbers from 0 to 1, but not 1.
pub(crate) fn part_of(seed: u64, number: u64) -> f64 {
    // Others than those from which a generator with this seed starts.
    part(bits_of(!seed, number))
}

/// The exponentially distributed number whose mean is 1 that belongs to a number from 0 to 1.
pub(crate) fn exponential(part: f64) -> f64 {
    -libm::log(1.0 - part)
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
