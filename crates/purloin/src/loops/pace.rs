//! Pace: how many iterations a worker runs before it checks for thieves again.

use crate::stats::clock::ticks;

/// Target duration of a block, in ticks of the clock. A tick is a nanosecond, or 0.2 to 0.5
/// nanoseconds where the clock is a time-stamp counter.
const BLOCK_TICKS: u64 = 30_000;

/// Maximum growth from one block to the next. It limits the damage if the first iterations are
/// cheaper than the rest.
const MAX_GROWTH: u64 = 8;

/// The number of iterations in a block, adapted to the speed of the loop.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    block: u64,
    start: u64,
}

impl Pace {
    /// Returns the pace of a loop of unknown speed: one iteration.
    pub(super) fn new() -> Pace {
        Pace { block: 1, start: 0 }
    }

    /// Starts the first block of a part of the loop.
    #[inline(always)]
    pub(super) fn start(&mut self) {
        self.start = ticks();
    }

    /// Returns the length of the next block, with `left` iterations left.
    #[inline(always)]
    pub(super) fn block_len(&self, left: usize) -> usize {
        left.min(self.block as usize)
    }

    /// Ends a block of `count` iterations, and starts the next. Both take one reading of the clock.
    #[inline(always)]
    pub(super) fn next_block(&mut self, count: usize) {
        let now = ticks();
        self.adapt(count as u64, now.wrapping_sub(self.start));
        self.start = now;
    }

    fn adapt(&mut self, count: u64, ticks: u64) {
        let next = match ticks.saturating_mul(MAX_GROWTH) <= BLOCK_TICKS {
            true => count.saturating_mul(MAX_GROWTH),
            false => {
                (count.saturating_mul(BLOCK_TICKS) / ticks).min(count.saturating_mul(MAX_GROWTH))
            }
        };
        self.block = next.max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the length of a block after 20 blocks of iterations that take this long.
    fn block_after_20(ticks_each: u64) -> u64 {
        let mut pace = Pace::new();
        for _ in 0..20 {
            pace.adapt(pace.block, pace.block * ticks_each);
        }
        pace.block
    }

    #[test]
    fn blocks_take_thirty_thousand_ticks() {
        assert_eq!(block_after_20(1), BLOCK_TICKS);
        assert_eq!(block_after_20(10), BLOCK_TICKS / 10);
        assert_eq!(block_after_20(BLOCK_TICKS), 1);
        assert_eq!(block_after_20(1000 * BLOCK_TICKS), 1);
    }

    #[test]
    fn blocks_of_empty_iterations_grow_without_overflow() {
        let mut pace = Pace::new();
        for _ in 0..100 {
            pace.adapt(pace.block, 0);
        }
        assert_eq!(pace.block, u64::MAX);
    }

    #[test]
    fn blocks_shrink_at_once_when_iterations_become_slow() {
        let mut pace = Pace::new();
        pace.block = 1 << 20;
        pace.adapt(pace.block, (1 << 20) * BLOCK_TICKS);
        assert_eq!(pace.block, 1);
    }
}
