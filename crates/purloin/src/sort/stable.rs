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
//! A merge copies elements, and leaves the originals where they are. While a merge writes into the
//! buffer, the slice therefore has all elements. While a merge writes into the slice, the buffer
//! has all elements of that part, and a guard copies them back if a comparison panics.
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

/// Where a sorted part of the slice is.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Slice,
    Buffer,
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
        return slice.sort_by(compare);
    }
    if is_run(w, slice, compare) {
        return;
    }
    let mut buffer = Vec::<T>::with_capacity(len);
    let buffer = &mut buffer.spare_capacity_mut()[..len];
    // SAFETY: the two types have the same layout, and `sort` keeps all elements in the slice.
    let slice = unsafe { slice::from_raw_parts_mut(slice.as_mut_ptr().cast(), len) };
    let piece = len.div_ceil(pieces);
    // SAFETY: all elements of the slice are initialised.
    let place = w.lend(|w| unsafe { sort::<W, T, C>(w, slice, buffer, piece, compare) });
    if place == Place::Buffer {
        copy(buffer, slice);
    }
}

/// Sorts the elements of `slice`, and returns where they are. The slice has all elements at the end
/// even if they are sorted in the buffer, and even if this function panics.
///
/// # Safety
///
/// All elements of `slice` are initialised. The buffer is as long as the slice.
unsafe fn sort<W, T, C>(
    mut w: W::Token<'_>,
    slice: &mut Copies<T>,
    buffer: &mut Copies<T>,
    piece: usize,
    compare: &C,
) -> Place
where
    W: Worker,
    T: Send,
    C: Fn(&T, &T) -> Ordering + Sync,
{
    if slice.len() <= piece {
        // SAFETY: the caller says that the elements are initialised.
        let elements = unsafe { slice::from_raw_parts_mut(slice.as_mut_ptr().cast(), slice.len()) };
        elements.sort_by(compare);
        return Place::Slice;
    }
    let middle = slice.len() / 2;
    let (left, right) = slice.split_at_mut(middle);
    let (left_buffer, right_buffer) = buffer.split_at_mut(middle);
    // SAFETY: these are the two halves of both.
    let places = w.join(
        |w| unsafe { sort::<W, T, C>(w, left, left_buffer, piece, compare) },
        |w| unsafe { sort::<W, T, C>(w, right, right_buffer, piece, compare) },
    );
    let place = match places {
        (left, right) if left == right => left,
        (Place::Buffer, _) => {
            copy(left_buffer, left);
            Place::Slice
        }
        (Place::Slice, _) => {
            copy(right_buffer, right);
            Place::Slice
        }
    };
    if place == Place::Slice {
        // SAFETY: both halves are in the slice, so they are initialised, and not empty.
        return unsafe {
            match follows(left, right, compare) {
                true => Place::Slice,
                false => {
                    merge::<W, T, C>(w, left, right, buffer, compare);
                    Place::Buffer
                }
            }
        };
    }
    // SAFETY: both halves are in the buffer, so they are initialised, and not empty.
    if unsafe { follows(left_buffer, right_buffer, compare) } {
        return Place::Buffer;
    }
    let restore = Restore {
        from: buffer.as_mut_ptr(),
        to: slice.as_mut_ptr(),
        len: slice.len(),
    };
    // SAFETY: the pointers and lengths are those of the buffer and the slice, which only these
    // references use until the guard is gone.
    unsafe {
        let from = slice::from_raw_parts_mut(restore.from, restore.len);
        let to = slice::from_raw_parts_mut(restore.to, restore.len);
        let (left, right) = from.split_at_mut(middle);
        merge::<W, T, C>(w, left, right, to, compare);
    }
    mem::forget(restore);
    Place::Slice
}

/// Copies the elements of a part of the buffer into the slice, if a comparison panics.
struct Restore<T> {
    from: *mut MaybeUninit<T>,
    to: *mut MaybeUninit<T>,
    len: usize,
}

impl<T> Drop for Restore<T> {
    fn drop(&mut self) {
        // SAFETY: the two pointers are a part of the buffer and the same part of the slice. The
        // merge has ended, and with it all other uses.
        unsafe { ptr::copy_nonoverlapping(self.from, self.to, self.len) };
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
