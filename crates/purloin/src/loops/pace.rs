//! Pace: how many iterations a worker runs before it looks for thieves, and before it reads the
//! clock.

use crate::stats::clock::ticks;
use crate::tunables;

/// Strips and parts begin at multiples of this number of iterations, counted from the beginning of
/// the loop, unless they are very short. If arrays are aligned to cache lines, the strips are, too.
/// Otherwise each fourth vector that a vectorised loop loads or stores lies in two lines.
const ALIGNMENT: u64 = 16;

/// The numbers of iterations in a block and in a strip, adapted to the speed of the loop.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    /// Length of the blocks.
    block: u64,
    /// Length of the strips.
    strip: u64,
    /// Number of iterations of this block that have run.
    done: u64,
    /// When this block began; 0 in a first block that reads no clock.
    start: u64,
    /// Number of iterations of this part that have run. The part begins at a multiple of
    /// [`ALIGNMENT`], unless it is short.
    position: u64,
}

/// The lengths of the strips in a block.
#[derive(Clone, Copy)]
pub(crate) struct Strips {
    most: usize,
    /// Minimum length of a strip, except that the last one takes the rest. Equal to `most` in any
    /// block but the last.
    least: usize,
}

impl Strips {
    /// Returns the length of the next strip, with `left` iterations of the block left: about a
    /// quarter of them, a multiple of [`ALIGNMENT`], within the bounds.
    #[inline(always)]
    pub(crate) fn next(self, left: usize) -> usize {
        let quarter = (left / 4 + 1).next_multiple_of(ALIGNMENT as usize);
        quarter.clamp(self.least, self.most).min(left)
    }
}

impl Pace {
    /// Starts the first block of a loop or part of unknown speed. Its strips are single iterations, after each of which
    /// the worker looks for thieves. So it need not be short, and a part that ends within it reads no clock.
    pub(crate) fn start() -> Pace {
        Pace {
            block: ALIGNMENT,
            strip: 1,
            done: 0,
            start: 0,
            position: 0,
        }
    }

    /// Returns whether a loop of this length ends within its first block.
    #[inline]
    pub(crate) fn is_short(len: usize) -> bool {
        len as u64 <= ALIGNMENT
    }

    /// Shortens a number of iterations, so that they end at a multiple of [`ALIGNMENT`].
    fn align(&self, len: u64) -> u64 {
        match len < 2 * ALIGNMENT {
            true => len,
            false => len - self.position.wrapping_add(len) % ALIGNMENT,
        }
    }

    /// Returns the length of the next block or its rest, and the lengths of its strips, with `left`
    /// iterations left. The last block takes up to four strips more, because a short last block would
    /// have no strips to shorten.
    #[inline(always)]
    pub(crate) fn next(&mut self, left: usize) -> (usize, Strips) {
        let rest = self.block - self.done;
        let most = self.strip as usize;
        match left as u64 <= rest.saturating_add(4 * self.strip) {
            true => {
                let least = most.min(tunables::LAST_STRIP.get() as usize);
                (left, Strips { most, least })
            }
            false => {
                if self.start == 0 {
                    self.start = ticks();
                }
                (self.align(rest) as usize, Strips { most, least: most })
            }
        }
    }

    /// Returns how many of `len` iterations to keep if about `given` become another part. There are
    /// at least two.
    pub(crate) fn keep(&self, len: usize, given: usize) -> usize {
        self.align((len - given.min(len - 1)) as u64) as usize
    }

    /// Ends `count` iterations. If this also ends the block, starts the next block. Both take one
    /// reading of the clock.
    #[inline(always)]
    pub(crate) fn ran(&mut self, count: usize) {
        self.position = self.position.wrapping_add(count as u64);
        self.done += count as u64;
        if self.is_whole(self.done) {
            self.next_block(ticks());
        }
    }

    /// Returns whether this many iterations are a block, apart from the alignment.
    fn is_whole(&self, count: u64) -> bool {
        count.saturating_add(ALIGNMENT) > self.block
    }

    /// Returns whether to split off a part for a thief, with `left` iterations left: at the
    /// beginning of a block; if the rest is worth a steal; or if this block has become slow, which
    /// then ends.
    #[cold]
    pub(crate) fn may_split(&mut self, left: usize) -> bool {
        if self.done == 0 || self.start == 0 {
            return true;
        }
        let now = ticks();
        if now.wrapping_sub(self.start) >= tunables::BLOCK_TICKS.get() {
            self.next_block(now);
            return true;
        }
        left as u64 >= self.block / 4
    }

    fn next_block(&mut self, now: u64) {
        self.adapt(self.done, now.wrapping_sub(self.start));
        self.start = now;
        self.done = 0;
    }

    fn adapt(&mut self, count: u64, ticks: u64) {
        // Most blocks change nothing, and do not wait for a division.
        if (tunables::BLOCK_TICKS.get() / 2..2 * tunables::BLOCK_TICKS.get()).contains(&ticks)
            && self.is_whole(count)
        {
            return;
        }
        let most = count.saturating_mul(tunables::MAX_GROWTH.get());
        let lasting = |target: u64| match ticks.saturating_mul(tunables::MAX_GROWTH.get()) <= target
        {
            true => most,
            false => (count.saturating_mul(target) / ticks).min(most),
        };
        self.block = lasting(tunables::BLOCK_TICKS.get()).max(1);
        let strip = lasting(tunables::STRIP_TICKS.get()).max(tunables::STRIP.get());
        self.strip = (strip - strip % ALIGNMENT).clamp(1, self.block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lengths of a block and a strip after 20 blocks in which this many iterations
    /// take this long.
    fn lengths_after_20(iterations: u64, ticks: u64) -> (u64, u64) {
        let mut pace = Pace::start();
        for _ in 0..20 {
            pace.adapt(pace.block, pace.block * ticks / iterations);
        }
        (pace.block, pace.strip)
    }

    #[test]
    fn blocks_take_about_thirty_thousand_ticks() {
        for ticks_each in [1, 10, 100, 1000, 10_000] {
            let (block, _) = lengths_after_20(1, ticks_each);
            let blocks = tunables::BLOCK_TICKS.get() / 2..2 * tunables::BLOCK_TICKS.get();
            assert!(blocks.contains(&(block * ticks_each)), "{block}");
        }
        assert_eq!(lengths_after_20(1, 2 * tunables::BLOCK_TICKS.get()), (1, 1));
        assert_eq!(
            lengths_after_20(1, 1000 * tunables::BLOCK_TICKS.get()),
            (1, 1)
        );
    }

    #[test]
    fn strips_are_short_unless_the_iterations_are_fast() {
        assert_eq!(lengths_after_20(1, 2).1, tunables::STRIP.get());
        assert_eq!(lengths_after_20(1, 100).1, tunables::STRIP.get());
        let (block, strip) = lengths_after_20(1, 500);
        assert_eq!(strip, block);
        let (_, strip) = lengths_after_20(8, 1);
        assert!(
            (4 * tunables::STRIP_TICKS.get()..16 * tunables::STRIP_TICKS.get()).contains(&strip),
            "{strip}"
        );
    }

    #[test]
    fn a_block_that_has_become_slow_ends_when_a_thief_asks() {
        let mut pace = Pace::start();
        (pace.block, pace.strip) = (1 << 20, tunables::STRIP.get());
        pace.ran(tunables::STRIP.get() as usize);
        pace.start = pace.start.wrapping_sub(2 * tunables::BLOCK_TICKS.get());
        assert!(pace.may_split(1));
        assert!(pace.block <= tunables::STRIP.get() / 2 && pace.done == 0);
    }

    #[test]
    fn the_last_strips_of_a_part_are_shorter() {
        let lengths = |pace: &mut Pace, left| {
            let (mut left, strips) = pace.next(left);
            let next = std::iter::from_fn(|| {
                let strip = strips.next(left);
                left -= strip;
                (strip > 0).then_some(strip)
            });
            next.collect::<Vec<_>>()
        };
        let mut pace = Pace::start();
        (pace.block, pace.strip) = (512, 128);
        assert_eq!(lengths(&mut pace, 2000), [128; 4]);
        assert_eq!(lengths(&mut pace, 520), [128, 112, 80, 64, 48, 32, 32, 24]);
        assert_eq!(lengths(&mut pace, 488), [128, 96, 80, 48, 48, 32, 32, 24]);
        pace.strip = 1;
        assert_eq!(lengths(&mut pace, 5), [1; 5]);
    }

    #[test]
    fn blocks_of_empty_iterations_grow_without_overflow() {
        let mut pace = Pace::start();
        for _ in 0..100 {
            pace.adapt(pace.block, 0);
        }
        assert_eq!(pace.block, u64::MAX);
    }

    #[test]
    fn blocks_shrink_at_once_when_iterations_become_slow() {
        let mut pace = Pace::start();
        pace.block = 1 << 20;
        pace.adapt(pace.block, (1 << 20) * tunables::BLOCK_TICKS.get());
        assert_eq!(pace.block, 1);
    }
}
