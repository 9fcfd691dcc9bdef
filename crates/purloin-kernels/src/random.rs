//! Pseudorandom numbers that are the same in every run and on every machine.
//!
//! [`Xorshift`] fills the inputs of the kernels in this crate; their published answers depend
//! on its numbers. Use [`SplitMix`] for everything else: it has more bits, it can jump to any
//! number of its sequence, and seeds that differ by one give unrelated sequences.

/// Marsaglia's xorshift generator with 64 bits of state.
///
/// Source: Marsaglia, *Xorshift RNGs* (Journal of Statistical Software, 2003).
#[derive(Clone, Debug)]
pub struct Xorshift(u64);

impl Xorshift {
    /// Creates the generator for `seed`.
    pub fn new(seed: u64) -> Xorshift {
        // The lowest bit is set because xorshift never leaves the state 0.
        Xorshift(seed.wrapping_mul(0xd134_2543_de82_ef95) ^ 0x9e37_79b9_7f4a_7c15 | 1)
    }

    /// Returns the next 32 random bits: the upper half of the state, whose bits are better than the
    /// bits of the lower half.
    pub fn bits(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as u32
    }

    /// Returns a number from 0 to `n` - 1.
    pub fn below(&mut self, n: usize) -> usize {
        ((u64::from(self.bits()) * n as u64) >> 32) as usize
    }

    /// Returns a number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        f64::from(self.bits()) / 2.0_f64.powi(32)
    }
}

/// The increment of [`SplitMix`]: 2⁶⁴ divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The generator SplitMix64: a hash function over a counter.
///
/// Source: Steele, Lea and Flood, *Fast splittable pseudorandom number generators* (OOPSLA
/// 2014).
#[derive(Clone, Debug)]
pub struct SplitMix(u64);

impl SplitMix {
    /// Creates the generator for `seed`, as published.
    ///
    /// Seeds that differ by a small multiple of the increment give overlapping sequences. Use
    /// [`SplitMix::hashed`] if the caller chooses many seeds.
    pub const fn new(seed: u64) -> SplitMix {
        SplitMix(seed)
    }

    /// Creates a generator whose state is a hash of `seed`, so that the sequences of different
    /// seeds do not overlap in practice. For example, each block of a matrix can use its number
    /// as its seed.
    pub const fn hashed(seed: u64) -> SplitMix {
        SplitMix(SplitMix::nth(seed, 1))
    }

    /// Returns the `n`-th number, counted from 1, of the generator that [`SplitMix::new`] creates
    /// for `seed`.
    #[inline]
    pub const fn nth(seed: u64, n: u64) -> u64 {
        let mut z = seed.wrapping_add(n.wrapping_mul(GOLDEN));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns the next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let bits = SplitMix::nth(self.0, 1);
        self.0 = self.0.wrapping_add(GOLDEN);
        bits
    }

    /// Returns a number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        unit(self.bits())
    }
}

/// Converts 64 random bits to a number in [0, 1). Uses the upper 53 bits, as many as a double
/// has.
#[inline]
pub fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// Hashes a number with a single multiplication.
///
/// It is cheap enough for a loop body of about a nanosecond, and too weak for anything else.
#[inline]
pub(crate) fn cheap_hash(number: u64) -> u64 {
    let mixed = (number ^ (number >> 15)).wrapping_mul(GOLDEN);
    mixed ^ (mixed >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix_gives_the_published_numbers() {
        let mut random = SplitMix::new(1_234_567);
        let bits = [(); 3].map(|()| random.bits());
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!(bits, expected);
        assert_eq!([1, 2, 3].map(|n| SplitMix::nth(1_234_567, n)), expected);
    }

    #[test]
    fn hashed_seeds_give_sequences_that_do_not_overlap() {
        let numbers = |seed| {
            let mut random = SplitMix::hashed(seed);
            [(); 1000].map(|()| random.bits())
        };
        assert_eq!(numbers(1), numbers(1));
        let seed_of_next_number = 1_u64.wrapping_add(GOLDEN);
        for other in [2, seed_of_next_number] {
            let other = numbers(other);
            assert!(numbers(1).iter().all(|number| !other.contains(number)));
        }
    }

    #[test]
    fn xorshift_gives_the_same_numbers_in_every_version() {
        let mut random = Xorshift::new(0);
        assert_eq!(
            [(); 3].map(|()| random.bits()),
            [3_692_787_630, 1_693_511_353, 2_064_109_201]
        );
    }

    #[test]
    fn unit_numbers_are_spread_evenly() {
        let (mut xorshift, mut splitmix) = (Xorshift::new(1), SplitMix::new(1));
        let mut generators: [&mut dyn FnMut() -> f64; 2] =
            [&mut || xorshift.unit(), &mut || splitmix.unit()];
        for generator in &mut generators {
            let numbers: Vec<f64> = (0..10_000).map(|_| generator()).collect();
            assert!(numbers.iter().all(|number| (0.0..1.0).contains(number)));
            let mean = numbers.iter().sum::<f64>() / 1e4;
            assert!((mean - 0.5).abs() < 0.02, "{mean}");
        }
    }
}
