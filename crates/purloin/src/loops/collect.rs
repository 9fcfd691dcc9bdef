//! Collecting the results of a loop into vectors, in the order of the iterations.

use std::mem::{ManuallyDrop, MaybeUninit, needs_drop};
use std::ops::{ControlFlow, Range};

use super::fold;
use super::memory::{BLOCK, Blocks, reserve};
use super::{Converted, ExactIterations, Iterations, Pair};
use crate::worker::Worker;

/// A pointer into a vector that outlives it: to spare capacity for the results of a loop, or to results that are copied.
struct Places<T>(*mut MaybeUninit<T>);

impl<T> Clone for Places<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Places<T> {}

// SAFETY: each place is written by one iteration, and then moved with the run that has written it, or copied to a place
// of one owner. So sharing the places sends values of `T` between threads, and nothing else.
unsafe impl<T: Send> Sync for Places<T> {}
// SAFETY: sending the pointer does what sharing it does.
unsafe impl<T: Send> Send for Places<T> {}

impl<T> Places<T> {
    /// Returns the places of a vector, which needs room for all iterations. The vector must outlive
    /// every use of them.
    fn of(vec: &mut Vec<T>) -> Places<T> {
        Places(vec.spare_capacity_mut().as_mut_ptr())
    }
}

/// The numbers of the places. Unlike a range, they end at their end even if a worker of another
/// crate asks for more than [`remaining`](Iterations::remaining), so each is a place, and comes once.
struct Indices(Range<usize>);

impl Indices {
    /// Returns where the first `len` numbers end.
    #[inline]
    fn end_of(&self, len: usize) -> usize {
        self.0.start + len.min(self.0.len())
    }
}

impl Iterations for Indices {
    type Item = usize;
    type Strip<'s> = Range<usize>;

    const IS_EXACT: bool = true;

    #[inline]
    fn remaining(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn split_at(self, index: usize) -> (Self, Self) {
        let middle = self.end_of(index);
        (Indices(self.0.start..middle), Indices(middle..self.0.end))
    }

    #[inline]
    fn strip(&mut self, len: usize) -> Range<usize> {
        let (start, end) = (self.0.start, self.end_of(len));
        self.0.start = end;
        start..end
    }
}

impl ExactIterations for Indices {}

/// The results of consecutive iterations, which lie in their places. Dropping the run drops them.
///
/// A loop that skips iterations would leave places without a result. So each result counts from
/// where its run begins: from the number of its place minus the number of results before it. If all
/// results agree on that, they lie one after the other. For results that need no drop, nothing
/// branches on it until the run ends, because then the compiler can vectorise the loop.
struct Run<T> {
    /// A copy. The compiler would load it anew for each result if it were a reference.
    places: Places<T>,
    /// The first place according to the results: the minimum and the maximum.
    first: (usize, usize),
    len: usize,
}

impl<T> Run<T> {
    fn empty(places: Places<T>) -> Self {
        Run {
            places,
            first: (usize::MAX, 0),
            len: 0,
        }
    }

    /// Adds the result of an iteration at the end.
    ///
    /// # Safety
    ///
    /// There is a place at `index`, and no other call has this index.
    #[inline(always)]
    unsafe fn push(&mut self, index: usize, value: T) {
        let first = index.wrapping_sub(self.len);
        if const { needs_drop::<T>() } {
            // Before the value is in its place: a run with gaps cannot drop its results.
            check_len(self.len == 0 || first == self.first.0);
        }
        // SAFETY: the caller guarantees that the place exists, and that nothing else writes it.
        unsafe { (*self.places.0.add(index)).write(value) };
        self.first = (self.first.0.min(first), self.first.1.max(first));
        self.len += 1;
    }

    /// Returns whether the run has written the places from the first one on without a gap.
    fn is_whole(&self) -> bool {
        self.len == 0 || self.first.0 == self.first.1
    }

    /// Adds the results of the iterations that follow.
    fn append(mut self, right: Run<T>) -> Run<T> {
        if self.len == 0 {
            return right;
        }
        if right.len > 0 {
            let follows = self.first.0.wrapping_add(self.len) == right.first.0;
            check_len(self.is_whole() && right.is_whole() && follows);
            self.len += ManuallyDrop::new(right).len;
        }
        self
    }

    /// Returns the number of results, which now belong to the vector of the places. They begin at
    /// the first place.
    fn into_len(self) -> usize {
        check_len(self.len == 0 || self.first == (0, 0));
        ManuallyDrop::new(self).len
    }
}

impl<T> Drop for Run<T> {
    // By value: if the address of the run went anywhere, the loop would keep the run in memory.
    #[inline(always)]
    fn drop(&mut self) {
        if const { needs_drop::<T>() } && self.len > 0 {
            // SAFETY: `push` has written these places, one after the other because their results
            // need a drop, and they belong to this run.
            unsafe { drop_results(self.places.0.cast::<T>().add(self.first.0), self.len) };
        }
    }
}

/// Drops `len` results from `first` on.
///
/// # Safety
///
/// The results are there, and nothing uses them again.
#[cold]
unsafe fn drop_results<T>(first: *mut T, len: usize) {
    // SAFETY: see above.
    unsafe { std::ptr::slice_from_raw_parts_mut(first, len).drop_in_place() };
}

/// Panics if iterations are fewer than their length says.
fn check_len(is_right: bool) {
    assert!(is_right, "the length of these iterations is wrong");
}

/// Appends the results of `map` to a vector, in the order of the iterations.
#[inline]
pub(crate) fn append<W, I, M, T>(w: &mut W, iterations: I, vec: &mut Vec<T>, map: M)
where
    W: Worker,
    I: Iterations,
    M: for<'t> Fn(W::Token<'t>, I::Item) -> T + Sync,
    T: Send,
{
    match I::IS_EXACT {
        true => append_exact(w, iterations, vec, |w, _, item| map(w, item)),
        false => {
            let add = |w: W::Token<'_>, run: &mut Blocks<T>, item| run.push(map(w, item));
            let runs = runs(w, iterations, add);
            append_all(w, vec, runs);
        }
    }
}

/// Appends the results of `map` to a vector, over exact iterations: workers write the results where they belong. `map`
/// also gets the position of its result. The positions differ and are less than the number of iterations,
/// whatever the worker does.
pub(crate) fn append_exact<W, I, M, T>(w: &mut W, iterations: I, vec: &mut Vec<T>, map: M)
where
    W: Worker,
    I: Iterations,
    M: for<'t> Fn(W::Token<'t>, usize, I::Item) -> T + Sync,
    T: Send,
{
    let len = iterations.remaining();
    reserve(vec, len);
    let places = Places::of(vec);
    let run = w.run_loop(
        Converted(Pair::new(Indices(0..len), iterations)),
        || Run::empty(places),
        |w, mut run, (index, item)| {
            let value = map(w, index, item);
            // SAFETY: the indices end at the length, for which the vector has room, and each of them
            // belongs to one iteration.
            unsafe { run.push(index, value) };
            ControlFlow::Continue(run)
        },
        Run::append,
    );
    let len = vec.len() + run.into_len();
    // SAFETY: the first places behind the values of the vector have values, and no run owns them any more.
    unsafe { vec.set_len(len) };
}

/// Collects the pairs that `map` returns into two vectors.
pub(crate) fn unzip<W, I, M, T, U>(w: &mut W, iterations: I, map: M) -> (Vec<T>, Vec<U>)
where
    W: Worker,
    I: Iterations,
    M: for<'t> Fn(W::Token<'t>, I::Item) -> (T, U) + Sync,
    T: Send,
    U: Send,
{
    let (mut left, mut right) = (Vec::new(), Vec::new());
    if !I::IS_EXACT {
        let add = |w: W::Token<'_>, run: &mut (Blocks<T>, Blocks<U>), item| {
            let (value, second) = map(w, item);
            run.0.push(value);
            run.1.push(second);
        };
        let runs = runs(w, iterations, add);
        return concat(w, runs);
    }
    let len = iterations.remaining();
    reserve(&mut left, len);
    reserve(&mut right, len);
    let (places, others) = (Places::of(&mut left), Places::of(&mut right));
    let (run, other) = w.run_loop(
        Converted(Pair::new(Indices(0..len), iterations)),
        || (Run::empty(places), Run::empty(others)),
        |w, (mut run, mut other), (index, item)| {
            let (value, second) = map(w, item);
            // SAFETY: the indices end at the length, for which the vectors have room, and each of
            // them belongs to one iteration.
            unsafe {
                run.push(index, value);
                other.push(index, second);
            }
            ControlFlow::Continue((run, other))
        },
        |a, b| (a.0.append(b.0), a.1.append(b.1)),
    );
    let (len, other_len) = (run.into_len(), other.into_len());
    // SAFETY: the first places of each vector have values, and no run owns them any more.
    unsafe {
        left.set_len(len);
        right.set_len(other_len);
    }
    (left, right)
}

/// Collects the results of `map` for which `holds` is true, and the others.
pub(crate) fn partition<W, I, M, H, T>(
    w: &mut W,
    iterations: I,
    map: M,
    holds: H,
) -> (Vec<T>, Vec<T>)
where
    W: Worker,
    I: Iterations,
    M: for<'t> Fn(W::Token<'t>, I::Item) -> T + Sync,
    H: Fn(&T) -> bool + Sync,
    T: Send,
{
    let add = |w: W::Token<'_>, run: &mut (Blocks<_>, Blocks<_>), item| {
        let item = map(w, item);
        match holds(&item) {
            true => run.0.push(item),
            false => run.1.push(item),
        }
    };
    let runs = runs(w, iterations, add);
    concat(w, runs)
}

/// The values of consecutive runs of iterations. They are in a box, because a loop moves its accumulator at each
/// iteration.
struct Runs<R> {
    others: Vec<R>,
    last: R,
    /// Whether an iteration has pushed to the last value.
    is_used: bool,
}

impl<R> Runs<R> {
    fn into_vec(mut self) -> Vec<R> {
        if self.is_used {
            self.others.push(self.last);
        }
        self.others
    }

    fn append(left: Box<Self>, mut right: Box<Self>) -> Box<Self> {
        if !right.is_used && right.others.is_empty() {
            return left;
        }
        let mut others = left.into_vec();
        others.append(&mut right.others);
        right.others = others;
        right
    }
}

/// Lets each serial run of iterations push to a value of its own, and returns these values in their order.
pub(crate) fn runs<W, I, R, P>(w: &mut W, iterations: I, push: P) -> Vec<R>
where
    W: Worker,
    I: Iterations,
    R: Default + Send,
    P: for<'t> Fn(W::Token<'t>, &mut R, I::Item) + Sync,
{
    let runs = w.run_loop(
        Converted(iterations),
        || {
            Box::new(Runs {
                others: Vec::new(),
                last: R::default(),
                is_used: false,
            })
        },
        |w, mut runs, item| {
            push(w, &mut runs.last, item);
            runs.is_used = true;
            ControlFlow::Continue(runs)
        },
        Runs::append,
    );
    runs.into_vec()
}

fn concat<W, T, U>(w: &mut W, runs: Vec<(Blocks<T>, Blocks<U>)>) -> (Vec<T>, Vec<U>)
where
    W: Worker,
    T: Send,
    U: Send,
{
    let (left, right): (Vec<_>, Vec<_>) = runs.into_iter().unzip();
    let (mut all_left, mut all_right) = (Vec::new(), Vec::new());
    append_all(w, &mut all_left, left);
    append_all(w, &mut all_right, right);
    (all_left, all_right)
}

/// Number of bytes that are copied at once, about a large page. Small where there are debug assertions, as blocks are.
const PIECE: usize = if cfg!(debug_assertions) { 256 } else { 2 << 20 };

/// Moves the values of all runs to the end of a vector. A vector without memory takes over the first block if there is
/// no other block, or if all values together are smaller than [`BLOCK`].
fn append_all<W: Worker, T: Send>(w: &mut W, vec: &mut Vec<T>, runs: Vec<Blocks<T>>) {
    let mut blocks: Vec<Vec<T>> = runs.into_iter().flat_map(Blocks::into_vecs).collect();
    let lens = blocks.iter().map(Vec::len);
    // Values without a size may be more than `usize` can count.
    let mut more = lens.fold(0, usize::saturating_add);
    if blocks.len() <= 1 || size_of::<T>() == 0 || more * size_of::<T>() < BLOCK {
        let mut blocks = blocks.into_iter();
        if vec.capacity() == 0
            && let Some(first) = blocks.next()
        {
            more -= first.len();
            *vec = first;
        }
        reserve(vec, more);
        blocks.for_each(|mut block| vec.append(&mut block));
        return;
    }
    reserve(vec, more);
    // SAFETY: `reserve` has made room for all values, and `vec` is borrowed, so nothing else uses the places.
    unsafe { copy_all(w, &blocks, Places::of(vec)) };
    // SAFETY: the places have copies of all values, and the blocks do not drop theirs.
    unsafe {
        blocks.iter_mut().for_each(|block| block.set_len(0));
        vec.set_len(vec.len() + more);
    }
}

/// Copies the values of all blocks, bit by bit, to consecutive places. Panics if a worker leaves one out. The values still
/// belong to the blocks, so after a panic each of them is dropped once.
///
/// # Safety
///
/// There is a place for each value of the blocks from `to` on, outside of the blocks, and nothing else uses these places.
unsafe fn copy_all<W: Worker, T: Send>(w: &mut W, blocks: &[Vec<T>], mut to: Places<T>) {
    /// Consecutive values of one block.
    struct Piece<T> {
        from: Places<T>,
        to: Places<T>,
        len: usize,
    }

    let len = (PIECE / size_of::<T>()).max(1);
    let mut pieces = Vec::new();
    for piece in blocks.iter().flat_map(|block| block.chunks(len)) {
        let from = Places(piece.as_ptr().cast::<MaybeUninit<T>>().cast_mut());
        let len = piece.len();
        pieces.push(Piece { from, to, len });
        to = Places(to.0.wrapping_add(len));
    }
    let step = |_: W::Token<'_>, count, index: usize| {
        let piece: &Piece<T> = &pieces[index];
        // SAFETY: `from` lies in a block, which is borrowed. The caller guarantees the places. Each piece has places of its
        // own, and each index comes at most once.
        unsafe { piece.to.0.copy_from_nonoverlapping(piece.from.0, piece.len) };
        count + piece.len
    };
    let count = fold(w, Indices(0..pieces.len()), || 0, step, |a, b| a + b);
    check_len(count == pieces.iter().map(|piece| piece.len).sum());
}
