//! The tasks that a rank offers, described by one word: [`Batch`], [`Offer`] and [`claimed`].

use std::ops::Range;

/// The largest number of tasks that a thief takes at a time.
///
/// AsynchWS bounds the shared tasks of a rank by 24 (section IV.B), so a thief there takes up to 12.
/// `docs/decisions/cluster-batches.md` says why both numbers are twice as large here.
pub const MAX_STEAL: usize = 24;

/// The largest number of tasks that a rank offers at a time. The first thief takes half of
/// them.
pub const MAX_OFFERED: usize = 2 * MAX_STEAL;

const FIRST_BITS: u32 = 32;
const LEN_BITS: u32 = 8;
const ONE_TASK: u64 = 1 << FIRST_BITS;

/// The value that a thief adds to the batch word for one claim.
pub const CLAIM: u64 = 1 << (FIRST_BITS + LEN_BITS);

/// A value of the batch word: a range of slots, and the number of claims on it.
///
/// The first claim takes half of the batch, the second half of the rest, and so on. So the
/// number of claims determines which slots are unclaimed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Batch(pub u64);

impl Batch {
    /// Creates a batch of `len` slots that begin with `first`, without claims.
    pub fn new(first: usize, len: usize) -> Batch {
        debug_assert!(len <= MAX_OFFERED && first < ONE_TASK as usize);
        Batch(first as u64 | (len as u64) << FIRST_BITS)
    }

    fn first(self) -> usize {
        (self.0 & (ONE_TASK - 1)) as usize
    }

    fn len(self) -> usize {
        (self.0 >> FIRST_BITS & ((1 << LEN_BITS) - 1)) as usize
    }

    fn claims(self) -> u64 {
        self.0 / CLAIM
    }

    /// Returns the first unclaimed slot, and the number of unclaimed slots.
    pub fn unclaimed(self) -> (usize, usize) {
        let mut left = self.len();
        for _ in 0..self.claims() {
            if left == 0 {
                break;
            }
            left -= left.div_ceil(2);
        }
        (self.first() + self.len() - left, left)
    }

    /// Returns the slots that the next claim takes: the first, and their number.
    pub fn next_claim(self) -> (usize, usize) {
        let (first, left) = self.unclaimed();
        (first, left.div_ceil(2))
    }
}

/// Access of an owner to its batch word, which thieves also change.
pub trait Word {
    /// Reads the word.
    fn load(&self) -> u64;

    /// Adds to the word, and returns the old word.
    ///
    /// No rank changes the word in any other way, because MPI guarantees atomicity only among
    /// operations of the same kind.
    fn fetch_add(&self, value: u64) -> u64;
}

/// Returns the slots that a thief gets if it added [`CLAIM`] to the word `before`: the first,
/// and their number. Returns `None` if nothing was left.
pub fn claimed(before: u64) -> Option<(usize, usize)> {
    let (first, count) = Batch(before).next_claim();
    (count > 0).then_some((first, count))
}

/// The owner's view of its batch word.
#[derive(Debug)]
pub struct Offer<W> {
    word: W,
    /// The word when the owner last read it, and the number of unclaimed tasks then.
    seen: u64,
    unclaimed: usize,
}

impl<W: Word> Offer<W> {
    /// Creates the view of a word that is zero.
    pub fn new(word: W) -> Offer<W> {
        Offer {
            word,
            seen: 0,
            unclaimed: 0,
        }
    }

    /// Returns the number of tasks that are offered and unclaimed. Thieves may claim some of
    /// them at any moment.
    #[inline]
    pub fn unclaimed(&mut self) -> usize {
        let word = self.word.load();
        if word != self.seen {
            self.update(word);
        }
        self.unclaimed
    }

    /// Returns the slots that are offered and unclaimed.
    pub fn unclaimed_slots(&mut self) -> Range<usize> {
        self.unclaimed();
        let (first, count) = Batch(self.seen).unclaimed();
        first..first + count
    }

    #[cold]
    fn update(&mut self, word: u64) {
        self.seen = word;
        self.unclaimed = Batch(word).unclaimed().1;
    }

    /// Offers `count` slots that begin with `first`. Nothing may be left of the last batch.
    ///
    /// Returns the number of skipped slots at the beginning of the batch, which no thief will
    /// ever copy: see "Stray claims" on [the module's page](super).
    pub fn publish(&mut self, first: usize, count: usize) -> usize {
        let unclaimed = self.unclaimed();
        debug_assert_eq!(unclaimed, 0);
        let base = self.seen;
        let batch = Batch::new(first, count);
        let before = self.word.fetch_add(batch.0.wrapping_sub(base));
        // Claims since `base` have found an empty batch, but they count in the new batch.
        let stray_claims = before.wrapping_sub(base);
        debug_assert_eq!(stray_claims % CLAIM, 0);
        self.update(batch.0.wrapping_add(stray_claims));
        Batch(self.seen).unclaimed().0 - first
    }

    /// Ends the offer. Returns the first unclaimed slot of the batch, and the number of
    /// unclaimed slots.
    pub fn withdraw(&mut self) -> (usize, usize) {
        let len = Batch(self.word.load()).len() as u64 * ONE_TASK;
        let before = self.word.fetch_add(len.wrapping_neg());
        self.update(before - len);
        Batch(before).unclaimed()
    }

    /// Returns whether a slot is in the batch, claimed or not.
    pub fn contains(&self, slot: usize) -> bool {
        let batch = Batch(self.seen);
        (batch.first()..batch.first() + batch.len()).contains(&slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_claim_takes_half_of_the_rest() {
        for len in 0..=MAX_OFFERED {
            let mut batch = Batch::new(100, len);
            let mut next = 100;
            while let Some((first, count)) = claimed(batch.0) {
                assert_eq!(first, next);
                assert_eq!(count, (100 + len - first).div_ceil(2));
                next += count;
                batch.0 += CLAIM;
                assert_eq!(batch.unclaimed(), (next, 100 + len - next));
            }
            assert_eq!(next, 100 + len);
            batch.0 += 1000 * CLAIM;
            assert_eq!(claimed(batch.0), None);
        }
    }
}
