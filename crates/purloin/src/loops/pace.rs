//! How many iterations to run between two looks for thieves.

use crate::stats::clock::ticks;

/// How long a block should take: in nanoseconds, or ticks of a time-stamp
/// counter, of which there are two to five in a nanosecond.
const BLOCK: u64 = 30_000;

/// Blocks grow by this factor at most: the first iterations may be cheap ones.
const GROWTH: u64 = 8;

/// The length of the blocks of a loop, which its own speed determines.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    block: u64,
    start: u64,
}

impl Pace {
    /// That of a loop whose iterations may take any time.
    pub(super) fn new() -> Pace {
        Pace { block: 1, start: 0 }
    }

    /// Begins with the first block of a part of the loop.
    #[inline(always)]
    pub(super) fn begin(&mut self) {
        self.start = ticks();
    }

    /// The length of the next block, with so many iterations left.
    #[inline(always)]
    pub(super) fn block(&self, left: usize) -> usize {
        left.min(self.block as usize)
    }

    /// Ends it, and begins the next: one look at the clock is enough.
    #[inline(always)]
    pub(super) fn done(&mut self, count: usize) {
        let now = ticks();
        self.adapt(count as u64, now.wrapping_sub(self.start));
        self.start = now;
    }

    fn adapt(&mut self, count: u64, ticks: u64) {
        let next = match ticks.saturating_mul(GROWTH) <= BLOCK {
            true => count.saturating_mul(GROWTH),
            false => (count.saturating_mul(BLOCK) / ticks).min(count.saturating_mul(GROWTH)),
        };
        self.block = next.max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settle(ticks_each: u64) -> u64 {
        let mut pace = Pace::new();
        for _ in 0..20 {
            pace.adapt(pace.block, pace.block * ticks_each);
        }
        pace.block
    }

    #[test]
    fn blocks_take_as_long_as_they_should() {
        assert_eq!(settle(1), BLOCK);
        assert_eq!(settle(10), BLOCK / 10);
        assert_eq!(settle(BLOCK), 1);
        assert_eq!(settle(1000 * BLOCK), 1);
    }

    #[test]
    fn blocks_of_nothing_grow_without_overflow() {
        let mut pace = Pace::new();
        for _ in 0..100 {
            pace.adapt(pace.block, 0);
        }
        assert_eq!(pace.block, u64::MAX);
    }

    #[test]
    fn a_loop_that_turns_slow_is_looked_at_more_often() {
        let mut pace = Pace::new();
        pace.block = 1 << 20;
        pace.adapt(pace.block, (1 << 20) * BLOCK);
        assert_eq!(pace.block, 1);
    }
}
