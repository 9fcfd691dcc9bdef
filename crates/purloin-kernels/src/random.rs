//! Numbers that look random, the same in each run.

/// Marsaglia's xorshift generator with 64 bits of state.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// A sequence of its own for each seed.
    pub(crate) fn new(seed: u64) -> Random {
        // A state of zero would stay so.
        Random(seed.wrapping_mul(0xd134_2543_de82_ef95) ^ 0x9e37_79b9_7f4a_7c15 | 1)
    }

    /// The upper half of the state, which is the better one.
    pub(crate) fn number(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as u32
    }

    /// From 0 to below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u64::from(self.number()) * n as u64) >> 32) as usize
    }

    /// From 0 to below 1.
    pub(crate) fn real(&mut self) -> f64 {
        f64::from(self.number()) / 2.0_f64.powi(32)
    }
}
