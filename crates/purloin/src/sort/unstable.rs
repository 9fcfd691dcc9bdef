//! Unstable sorting: a parallel quicksort, in place.
//!
//! A slice is partitioned around a pivot, the median of a sample, and a join sorts the two sides.
//! The standard library sorts sides of a piece or less.
//!
//! If a pivot is equal to the pivot before it, all elements up to this side's lower bound are equal
//! to it, and the partition takes them away at once. If all elements of the sample are equal, a
//! glance at the others may show that nothing is to be done. So a slice with few distinct elements
//! needs few partitions. If the pivots are bad again and again, the standard library sorts the side, whose
//! worst case is as good.
//!
//! Sources: Tony Hoare, *Quicksort*; Stefan Edelkamp and Armin Weiß, *BlockQuicksort* (the partition
//! in blocks); Orson Peters, *Pattern-defeating quicksort* (equal elements).

use std::cmp::Ordering;
use std::mem;

use super::{MIN_PIECE, is_run};
use crate::worker::Worker;

/// Maximum number of elements that the standard library sorts serially.
const PIECE: usize = 8 * MIN_PIECE;

/// Implements [`Worker::sort_unstable_by`].
pub(crate) fn sort_unstable_by<W, T, C>(w: &mut W, slice: &mut [T], compare: &C)
where
    W: Worker,
    T: Send,
    C: Fn(&T, &T) -> Ordering + Sync,
{
    if w.sort_pieces() == 1 || slice.len() <= MIN_PIECE || size_of::<T>() == 0 {
        return slice.sort_unstable_by(|a, b| compare(a, b));
    }
    if is_run(w, slice, compare) {
        return;
    }
    let piece = PIECE.min(slice.len() / 4);
    let bad_pivots = slice.len().ilog2();
    w.lend(|w| sort::<W, T, C>(w, slice, None, piece, bad_pivots, compare));
}

/// Sorts `slice`. No element is less than `lower`, if there is one.
fn sort<W, T, C>(
    mut w: W::Token<'_>,
    mut slice: &mut [T],
    lower: Option<&mut T>,
    piece: usize,
    mut bad_pivots: u32,
    compare: &C,
) where
    W: Worker,
    T: Send,
    C: Fn(&T, &T) -> Ordering + Sync,
{
    while slice.len() > piece && bad_pivots > 0 {
        let is_uniform = move_median_to_front(slice, compare);
        if is_uniform && slice.is_sorted_by(|a, b| compare(a, b).is_le()) {
            return;
        }
        let (pivot, rest) = slice.split_first_mut().expect("it is longer than a piece");
        if let Some(lower) = &lower
            && compare(lower, pivot).is_ge()
        {
            let equals = partition(rest, |element| compare(pivot, element).is_ge());
            slice = &mut slice[1 + equals..];
            continue;
        }
        let smaller = partition(rest, |element| compare(element, pivot).is_lt());
        slice.swap(0, smaller);
        let (left, right) = slice.split_at_mut(smaller);
        let (pivot, right) = right.split_first_mut().expect("the pivot is there");
        if left.len().min(right.len()) < (left.len() + right.len()) / 8 {
            bad_pivots -= 1;
        }
        w.join(
            move |w| sort::<W, T, C>(w, left, lower, piece, bad_pivots, compare),
            move |w| sort::<W, T, C>(w, right, Some(pivot), piece, bad_pivots, compare),
        );
        return;
    }
    slice.sort_unstable_by(|a, b| compare(a, b));
}

/// Moves the median of a sample to the front. Returns whether all elements of the sample are equal.
fn move_median_to_front<T>(slice: &mut [T], compare: &impl Fn(&T, &T) -> Ordering) -> bool {
    let count = (slice.len() / MIN_PIECE).clamp(5, 255);
    let distance = slice.len() / count;
    for index in 1..count {
        slice.swap(index, index * distance);
    }
    slice[..count].sort_unstable_by(|a, b| compare(a, b));
    let is_uniform = compare(&slice[0], &slice[count - 1]).is_ge();
    slice.swap(0, count / 2);
    is_uniform
}

/// Number of elements in a block of [`partition`]. An offset fits in a byte.
const BLOCK: usize = MIN_PIECE / 4;

/// Moves the elements that `is_left` to the front, and returns their number.
///
/// Works with a block at each end: first finds the elements that belong to the other end, then
/// swaps as many pairs as there are. Neither step has a branch that depends on a comparison, and
/// each element is read and written at most once. While elements move, nothing is compared.
fn partition<T>(slice: &mut [T], is_left: impl Fn(&T) -> bool) -> usize {
    // What is before `left` is at its place, and so is what is at or after `right`.
    let (mut left, mut right) = (0, slice.len());
    let (mut in_left, mut in_right) = (Misplaced::default(), Misplaced::default());
    while right - left >= 2 * BLOCK {
        if in_left.is_empty() {
            let block = slice[left..left + BLOCK].iter();
            in_left.find(block.map(|element| !is_left(element)));
        }
        if in_right.is_empty() {
            let block = slice[right - BLOCK..right].iter().rev();
            in_right.find(block.map(&is_left));
        }
        let count = in_left.len().min(in_right.len());
        let (front, back) = slice[left..right].split_at_mut(BLOCK);
        let last = back.len() - 1;
        for (from_left, from_right) in in_left.take(count).iter().zip(in_right.take(count)) {
            let (from_left, from_right) = (usize::from(*from_left), usize::from(*from_right));
            mem::swap(&mut front[from_left], &mut back[last - from_right]);
        }
        if in_left.is_empty() {
            left += BLOCK;
        }
        if in_right.is_empty() {
            right -= BLOCK;
        }
    }
    let mut first_right = left;
    for index in left..right {
        let goes_left = is_left(&slice[index]);
        slice.swap(first_right, index);
        first_right += usize::from(goes_left);
    }
    first_right
}

/// The elements of a block that belong to the other end, by their distance from the end of the
/// slice at which the block lies.
struct Misplaced {
    distances: [u8; BLOCK],
    begin: usize,
    end: usize,
}

impl Default for Misplaced {
    fn default() -> Self {
        Misplaced {
            distances: [0; BLOCK],
            begin: 0,
            end: 0,
        }
    }
}

impl Misplaced {
    /// Finds the misplaced elements of a new block.
    #[inline]
    fn find(&mut self, are_misplaced: impl Iterator<Item = bool>) {
        let mut end = 0;
        for (distance, is_misplaced) in (0..BLOCK as u8).zip(are_misplaced) {
            self.distances[end % BLOCK] = distance;
            end += usize::from(is_misplaced);
        }
        (self.begin, self.end) = (0, end);
    }

    fn len(&self) -> usize {
        self.end - self.begin
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes `count` elements, and returns their distances.
    fn take(&mut self, count: usize) -> &[u8] {
        let taken = &self.distances[self.begin..self.begin + count];
        self.begin += count;
        taken
    }
}
