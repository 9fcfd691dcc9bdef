//! What a rank offers, in one word: [`Share`], [`Offer`] and [`claimed`].

/// The most tasks that are stolen at a time.
///
/// Source: AsynchWS, section IV.B.
pub const MOST: usize = 24;

/// The most tasks that a rank offers at a time: who comes first has half of them.
pub const MOST_OFFERED: usize = 2 * MOST;

const FIRST_BITS: u32 = 32;
const COUNT_BITS: u32 = 8;
const COUNT: u64 = 1 << FIRST_BITS;

/// One claim more.
pub const CLAIM: u64 = 1 << (FIRST_BITS + COUNT_BITS);

/// The word: a batch of neighbouring slots, and how many thieves have come for it.
///
/// The first thief has half of the batch, the second half of the rest, and so on; so the
/// number of claims tells what is left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share(pub u64);

impl Share {
    /// So many tasks from this slot on, and no claim.
    pub fn new(first: usize, count: usize) -> Share {
        debug_assert!(count <= MOST_OFFERED && first < COUNT as usize);
        Share(first as u64 | (count as u64) << FIRST_BITS)
    }

    fn first(self) -> usize {
        (self.0 & (COUNT - 1)) as usize
    }

    fn count(self) -> usize {
        (self.0 >> FIRST_BITS & ((1 << COUNT_BITS) - 1)) as usize
    }

    fn claims(self) -> u64 {
        self.0 / CLAIM
    }

    /// The first slot that nobody has claimed, and how many there are from there on.
    pub fn rest(self) -> (usize, usize) {
        let mut left = self.count();
        for _ in 0..self.claims() {
            if left == 0 {
                break;
            }
            left -= left.div_ceil(2);
        }
        (self.first() + self.count() - left, left)
    }

    /// The slots of who claims next: the first, and how many.
    pub fn next(self) -> (usize, usize) {
        let (first, left) = self.rest();
        (first, left.div_ceil(2))
    }
}

/// A word that all ranks reach.
pub trait Word {
    /// A look at it, by its owner.
    fn load(&self) -> u64;

    /// Adds to it, and returns what it was.
    ///
    /// Nothing else is ever done to the word. MPI promises atomicity only among
    /// operations of the same kind.
    fn fetch_add(&self, value: u64) -> u64;
}

/// What a thief gets who has added [`CLAIM`] and found `before`, if anything.
pub fn claimed(before: u64) -> Option<(usize, usize)> {
    let (first, count) = Share(before).next();
    (count > 0).then_some((first, count))
}

/// The owner's view of its word.
#[derive(Debug)]
pub struct Offer<W> {
    word: W,
    /// The word when it was last looked at, and what was left then.
    seen: u64,
    left: usize,
}

impl<W: Word> Offer<W> {
    /// Of a word that is zero.
    pub fn new(word: W) -> Offer<W> {
        Offer {
            word,
            seen: 0,
            left: 0,
        }
    }

    /// How many tasks are offered and not claimed. Less if a thief comes right now.
    #[inline]
    pub fn left(&mut self) -> usize {
        let word = self.word.load();
        if word != self.seen {
            self.see(word);
        }
        self.left
    }

    #[cold]
    fn see(&mut self, word: u64) {
        self.seen = word;
        self.left = Share(word).rest().1;
    }

    /// Offers these slots, where nothing is left of the last offer.
    ///
    /// Returns the slots, from the first on, that no thief will ever get: see
    /// [the page](super), "Claims between two batches".
    pub fn publish(&mut self, first: usize, count: usize) -> usize {
        let left = self.left();
        debug_assert_eq!(left, 0);
        let base = self.seen;
        let share = Share::new(first, count);
        let before = self.word.fetch_add(share.0.wrapping_sub(base));
        // Whoever has claimed since `base` has got nothing. His claim counts in the
        // new batch all the same.
        let stray = before.wrapping_sub(base);
        debug_assert_eq!(stray % CLAIM, 0);
        self.see(share.0.wrapping_add(stray));
        Share(self.seen).rest().0 - first
    }

    /// Offers nothing any more. Returns the first slot of the batch that nobody has
    /// claimed, and how many there are.
    pub fn withdraw(&mut self) -> (usize, usize) {
        let count = Share(self.word.load()).count() as u64 * COUNT;
        let before = self.word.fetch_add(count.wrapping_neg());
        self.see(before - count);
        Share(before).rest()
    }

    /// Whether a slot is in the batch.
    pub fn covers(&self, slot: usize) -> bool {
        let share = Share(self.seen);
        (share.first()..share.first() + share.count()).contains(&slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_halve_what_is_left() {
        for count in 0..=MOST_OFFERED {
            let mut share = Share::new(100, count);
            let mut next = 100;
            while let Some((first, len)) = claimed(share.0) {
                assert_eq!(first, next);
                assert_eq!(len, (100 + count - first).div_ceil(2));
                next += len;
                share.0 += CLAIM;
                assert_eq!(share.rest(), (next, 100 + count - next));
            }
            assert_eq!(next, 100 + count);
            share.0 += 1000 * CLAIM;
            assert_eq!(claimed(share.0), None);
        }
    }
}
