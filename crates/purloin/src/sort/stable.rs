//! Stable sorting: a parallel merge sort.
//!
//! The slice is halved by joins, down to the pieces. A merge reads its two halves from one of two
//! places, the slice or a buffer of the same size, and writes the result into the other. A large
//! merge is itself divided by joins: the middle of the longer half, and its position in the other
//! half, found by binary search, divide both halves and the result.
//!
//! If the halves already follow each other, nothing moves.
//!
//! # Panics
//!
//! A merge copies elements, and shows only the originals to the comparison. If the comparison
//! panics, the originals are therefore the elements, whatever it has written into them through
//! cells. A [`Part`] knows where they are, and leaves them in the slice when it is dropped.
//!
//! Sources: the program cilksort of Cilk-5 (the parallel merge); Peters, *glidesort* (the merge from
//! both ends).

use std::cmp::Ordering;
use std::mem::MaybeUninit;
use std::{mem, ptr, slice};

use super::{MIN_PIECE, is_run};
use crate::worker::Worker;

/// Maximum number of elements that are merged serially: some microseconds.
const MERGE_PIECE: usize = 8 * MIN_PIECE;

/// Minimum number of elements that are merged from both ends.
const MIN_BOTH_ENDS: usize = 16;

/// Elements that may be mere copies of others, so nothing drops them.
type Copies<T> = [MaybeUninit<T>];

/// Where the elements of a [`Part`] are.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Slice,
    Buffer,
}

/// A part of the slice, and the same part of the buffer. Both are equally long. Dropping the part
/// leaves its elements in the slice.
struct Part<'a, T> {
    slice: &'a mut Copies<T>,
    buffer: &'a mut Copies<T>,
    /// All places here are initialised, and together own the elements. The others are mere copies.
    place: Place,
}

impl<T> Part<'_, T> {
    /// Divides a part whose elements are in the slice.
    fn split_at_mut(&mut self, middle: usize) -> (Part<'_, T>, Part<'_, T>) {
        let place = self.place;
        let (slice, slice_after) = self.slice.split_at_mut(middle);
        let (buffer, buffer_after) = self.buffer.split_at_mut(middle);
        let after = Part {
            slice: slice_after,
            buffer: buffer_after,
            place,
        };
        let before = Part {
            slice,
            buffer,
            place,
        };
        (before, after)
    }

    /// Moves the elements into the slice.
    fn move_to_slice(&mut self) {
        if self.place == Place::Buffer {
            copy(self.buffer, self.slice);
            self.place = Place::Slice;
        }
    }
}

impl<T> Drop for Part<'_, T> {
    fn drop(&mut self) {
        self.move_to_slice();
    }
}

/// Implements [`Worker::sort_by`].
pub(crate) fn sort_by<W, T, C>(w: &mut W, slice: &mut [T], compare: &C)
where
    W: Worker,
    T: Send,
    C: Fn(&T, &T) -> Ordering + Sync,
{
    let len = slice.len();
    // If all merges take place, there is an even number of them on top of each other, and the last
    // one writes into the slice.
    let mut pieces = 1;
    while pieces < w.sort_pieces() && len / pieces > MIN_PIECE {
        pieces *= 4;
    }
    if pieces == 1 || size_of::<T>() == 0 {
        return slice.sort_by(|a, b| compare(a, b));
    }
    if is_run(w, slice, compare) {
        return;
    }
    let mut buffer = Vec::<T>::with_capacity(len);
    let piece = len.div_ceil(pieces);
    let mut part = Part {
        // SAFETY: the two types have the same layout, and the part leaves all elements in the slice.
        slice: unsafe { slice::from_raw_parts_mut(slice.as_mut_ptr().cast(), len) },
        buffer: &mut buffer.spare_capacity_mut()[..len],
        place: Place::Slice,
    };
    w.lend(|w| sort::<W, T, C>(w, &mut part, piece, compare));
}

/// Sorts the elements of a part. They are in the slice at first.
fn sort<W, T, C>(mut w: W::Token<'_>, part: &mut Part<'_, T>, piece: usize, compare: &C)
where
    W: Worker,
    T: Send,
    C: Fn(&T, &T) -> Ordering + Sync,
{
    let len = part.slice.len();
    if len <= piece {
        // SAFETY: the elements are here, so all of them are initialised.
        let elements = unsafe { slice::from_raw_parts_mut(part.slice.as_mut_ptr().cast(), len) };
        return elements.sort_by(|a, b| compare(a, b));
    }
    let middle = len / 2;
    let (mut left, mut right) = part.split_at_mut(middle);
    w.join(
        |w| sort::<W, T, C>(w, &mut left, piece, compare),
        |w| sort::<W, T, C>(w, &mut right, piece, compare),
    );
    if left.place != right.place {
        left.move_to_slice();
        right.move_to_slice();
    }
    let place = left.place;
    mem::forget((left, right));
    part.place = place;

    let (from, to, other) = match place {
        Place::Slice => (&mut part.slice, &mut part.buffer, Place::Buffer),
        Place::Buffer => (&mut part.buffer, &mut part.slice, Place::Slice),
    };
    let (left, right) = from.split_at_mut(middle);
    // SAFETY: the elements are here, so all of them are initialised. Neither half is empty. The two
    // halves are as long as the other place.
    unsafe {
        if !follows(left, right, compare) {
            merge::<W, T, C>(w, left, right, to, compare);
            part.place = other;
        }
    }
}

/// Merges two sorted parts into `to`.
///
/// # Safety
///
/// All elements of the two parts are initialised, and `to` is as long as both together.
unsafe fn merge<W, T, C>(
    mut w: W::Token<'_>,
    left: &mut Copies<T>,
    right: &mut Copies<T>,
    to: &mut Copies<T>,
    compare: &C,
) where
    W: Worker,
    T: Send,
    C: Fn(&T, &T) -> Ordering + Sync,
{
    // SAFETY: the caller says that the elements are initialised.
    let (left_elements, right_elements) = unsafe { (elements(left), elements(right)) };
    if to.len() <= MERGE_PIECE || left.is_empty() || right.is_empty() {
        // SAFETY: `to` has as many places as the parts have elements.
        return unsafe { merge_serially(left_elements, right_elements, to, compare) };
    }
    // Of equal elements, those of the left part come first.
    let (in_left, in_right) = match left_elements.len() >= right_elements.len() {
        true => {
            let middle = left_elements.len() / 2;
            let first = &left_elements[middle];
            let is_before = |element: &T| compare(element, first).is_lt();
            (middle, right_elements.partition_point(is_before))
        }
        false => {
            let middle = right_elements.len() / 2;
            let first = &right_elements[middle];
            let is_before = |element: &T| compare(first, element).is_ge();
            (left_elements.partition_point(is_before), middle)
        }
    };
    let (left, left_after) = left.split_at_mut(in_left);
    let (right, right_after) = right.split_at_mut(in_right);
    let (to, to_after) = to.split_at_mut(in_left + in_right);
    // SAFETY: the parts are divided, and each half of `to` is as long as its two parts.
    w.join(
        |w| unsafe { merge::<W, T, C>(w, left, right, to, compare) },
        |w| unsafe { merge::<W, T, C>(w, left_after, right_after, to_after, compare) },
    );
}

/// Merges two sorted parts into `to`: from both ends, because the processor then follows two chains
/// of comparisons at once, and without branches that depend on a comparison.
///
/// # Safety
///
/// `to` is as long as both parts together.
unsafe fn merge_serially<T, C>(left: &[T], right: &[T], to: &mut Copies<T>, compare: &C)
where
    C: Fn(&T, &T) -> Ordering,
{
    let (left, right) = (left.as_ptr_range(), right.as_ptr_range());
    let (mut left, mut left_end) = (left.start, left.end);
    let (mut right, mut right_end) = (right.start, right.end);
    let to = to.as_mut_ptr_range();
    let (mut to, mut to_end) = (to.start.cast::<T>(), to.end.cast::<T>());
    // SAFETY: `left` to `left_end` and `right` to `right_end` are the elements that are not yet
    // merged, and `to` to `to_end` has as many places. In each round, each end takes at most half
    // of the shorter part from either part, whatever the comparisons say. So no round reads beyond
    // its parts, and the ends do not cross.
    unsafe {
        loop {
            let shorter = left_end
                .offset_from_unsigned(left)
                .min(right_end.offset_from_unsigned(right));
            if shorter < MIN_BOTH_ENDS {
                break;
            }
            for _ in 0..shorter / 2 {
                let is_right = compare(&*right, &*left).is_lt();
                let smaller = if is_right { right } else { left };
                ptr::copy_nonoverlapping(smaller, to, 1);
                right = right.add(usize::from(is_right));
                left = left.add(usize::from(!is_right));
                to = to.add(1);

                let (left_last, right_last) = (left_end.sub(1), right_end.sub(1));
                let is_left = compare(&*right_last, &*left_last).is_lt();
                let larger = if is_left { left_last } else { right_last };
                to_end = to_end.sub(1);
                ptr::copy_nonoverlapping(larger, to_end, 1);
                left_end = left_end.sub(usize::from(is_left));
                right_end = right_end.sub(usize::from(!is_left));
            }
        }
        while left < left_end && right < right_end {
            let is_right = compare(&*right, &*left).is_lt();
            let smaller = if is_right { right } else { left };
            ptr::copy_nonoverlapping(smaller, to, 1);
            right = right.add(usize::from(is_right));
            left = left.add(usize::from(!is_right));
            to = to.add(1);
        }
        let rest = left_end.offset_from_unsigned(left);
        ptr::copy_nonoverlapping(left, to, rest);
        let to = to.add(rest);
        ptr::copy_nonoverlapping(right, to, right_end.offset_from_unsigned(right));
    }
}

/// Returns whether the elements of `right` follow those of `left`, so that there is nothing to
/// merge.
///
/// # Safety
///
/// All elements are initialised, and neither part is empty.
unsafe fn follows<T, C>(left: &Copies<T>, right: &Copies<T>, compare: &C) -> bool
where
    C: Fn(&T, &T) -> Ordering,
{
    let (last, first) = (&left[left.len() - 1], &right[0]);
    // SAFETY: the caller says that the elements are initialised.
    unsafe { compare(first.assume_init_ref(), last.assume_init_ref()) }.is_ge()
}

fn copy<T>(from: &Copies<T>, to: &mut Copies<T>) {
    assert_eq!(from.len(), to.len());
    // SAFETY: two slices of one length, one of them borrowed mutably, so they do not overlap.
    unsafe { ptr::copy_nonoverlapping(from.as_ptr(), to.as_mut_ptr(), from.len()) };
}

/// # Safety
///
/// All elements are initialised.
unsafe fn elements<T>(copies: &Copies<T>) -> &[T] {
    // SAFETY: the two types have the same layout, and the caller says that the elements are
    // initialised.
    unsafe { slice::from_raw_parts(copies.as_ptr().cast(), copies.len()) }
}
