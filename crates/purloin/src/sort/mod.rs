//! Sorting.
//!
//! A stable sort merges ([`stable`]), an unstable one partitions ([`unstable`]). Both divide a
//! slice into pieces by joins, and leave the pieces to the standard library's sorts, which are fast
//! and know many patterns. A program on one worker has one piece: its sort is the standard
//! library's.
//!
//! # Comparisons that misbehave
//!
//! A comparison may panic, it may contradict itself, and it may write into elements through cells.
//! In each case every element must still be in the slice once, with what was written last. So no
//! position depends on what a comparison has returned before, and all code that moves elements
//! beside a comparison has a guard that completes the slice if it panics.
//!
//! # Elements that are not `Sync`
//!
//! Elements need only be [`Send`], so no two workers may look at one element at the same time. Each
//! closure of a join therefore owns its part of the slice, and a pivot belongs to one of them.

mod stable;
mod unstable;

pub(crate) use stable::sort_by;
pub(crate) use unstable::sort_unstable_by;

use std::cmp::Ordering;
use std::mem::{self, MaybeUninit};
use std::ops::ControlFlow;
use std::ptr;

use crate::loops::{Converted, Pair, append_exact, chunks_mut, reversed};
use crate::worker::Worker;

/// Minimum number of elements in a piece. The standard library sorts as many integers in some 10 µs,
/// which is worth a steal. Fewer under Miri, which is slow.
const MIN_PIECE: usize = if cfg!(miri) { 16 } else { 512 };

/// Sorts a slice of more than a piece if it is sorted already, or in the opposite order: a single
/// run. Returns whether it is.
fn is_run<W, T, C>(w: &mut W, slice: &mut [T], compare: &C) -> bool
where
    W: Worker,
    T: Send,
    C: Fn(&T, &T) -> Ordering + Sync,
{
    if is_in_order(w, slice, &|a, b| compare(a, b).is_le()) {
        return true;
    }
    // Strictly, so that equal elements keep their order.
    let is_descending = is_in_order(w, slice, &|a, b| compare(a, b).is_gt());
    if is_descending {
        let (left, right) = slice.split_at_mut(slice.len() / 2);
        // Not `for_each`: a sort ends even if its scope is cancelled.
        w.run_loop(
            Converted(Pair::new(left, reversed(right))),
            || (),
            |_, (), (a, b)| {
                mem::swap(a, b);
                ControlFlow::Continue(())
            },
            |(), ()| (),
        );
    }
    is_descending
}

/// Returns whether each element and its successor are in order.
fn is_in_order<W, T, F>(w: &mut W, slice: &mut [T], are_in_order: &F) -> bool
where
    W: Worker,
    T: Send,
    F: Fn(&T, &T) -> bool + Sync,
{
    let is_sorted = |part: &mut [T]| part.is_sorted_by(are_in_order);
    // Most slices are not in order, and most of these show it soon.
    is_sorted(&mut slice[..MIN_PIECE])
        && w.par(chunks_mut(slice, MIN_PIECE)).all(is_sorted)
        && (MIN_PIECE..slice.len())
            .step_by(MIN_PIECE)
            .all(|first| are_in_order(&slice[first - 1], &slice[first]))
}

/// Implements [`Worker::sort_by_cached_key`].
pub(crate) fn sort_by_cached_key<W, T, K, F>(w: &mut W, slice: &mut [T], key: F)
where
    W: Worker,
    T: Send,
    K: Ord + Send,
    F: Fn(&T) -> K + Sync,
{
    let len = slice.len();
    let with_key = |_: W::Token<'_>, index: usize, element: &mut T| (key(element), index);
    let mut keys = Vec::new();
    append_exact(w, &mut *slice, &mut keys, with_key);
    // Indices differ, so this is stable.
    sort_unstable_by(w, &mut keys, &|a: &(K, usize), b: &(K, usize)| a.cmp(b));
    let elements = Elements(slice.as_mut_ptr());
    let mut sorted = Vec::new();
    append_exact(w, &mut keys[..], &mut sorted, |_, _, &mut (_, index)| {
        let Elements(first) = { elements };
        // SAFETY: the indices are positions in the slice, and differ. The copy is a `MaybeUninit`, so
        // until the last statement only the slice owns the element.
        unsafe { first.add(index).cast::<MaybeUninit<T>>().read() }
    });
    // A worker of another crate might leave out elements. It cannot add any.
    assert_eq!(sorted.len(), len, "`run_loop` has left out iterations");
    // SAFETY: `sorted` has a copy of each element of the slice, once, and drops none of them.
    unsafe { ptr::copy_nonoverlapping(sorted.as_ptr().cast(), slice.as_mut_ptr(), len) };
}

/// The elements of a slice, of which each worker reads different ones.
struct Elements<T>(*mut T);

impl<T> Clone for Elements<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Elements<T> {}

// SAFETY: sharing the pointer lets each worker take copies of elements that no other worker takes.
// So it sends values of `T` between threads, and nothing else.
unsafe impl<T: Send> Sync for Elements<T> {}
