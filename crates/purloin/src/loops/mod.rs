//! Loops as splittable tasks, without a grain size to choose.
//!
//! A loop is a body and the iterations that are left. A worker runs them in **strips**, and checks
//! between two strips whether a thief asks for work. If so, it **splits** the loop by a join: it
//! keeps the front, and the back becomes a task, whose thief runs it in the same way. Without
//! thieves, a loop is a plain loop that reads two words now and then. With thieves, it is split as
//! often as they ask.
//!
//! Older tasks go first: a worker that has other tasks to offer offers those, and does not split
//! ([`Worker::split_hint`]).
//!
//! # Strips and blocks
//!
//! Within a strip the compiler sees only the body, and may unroll and vectorise it. [`Pace`] chooses
//! strips of about a hundred nanoseconds, or of 128 iterations if that is longer. The overhead of a
//! strip is two or three nanoseconds. Several strips are a **block** of some microseconds. At the
//! end of each block the worker reads the clock, which takes longer, and adapts both lengths to the
//! speed of the loop.
//!
//! The lengths come from past iterations, and the next ones may take a million times as long:
//! masked, sorted and triangular data look like that. So the number of iterations in a strip is
//! bounded, however fast the loop was, and a block ends as soon as a thief asks and it turns out to
//! be slow. The part that a thief gets begins with strips of one iteration.
//!
//! # Order
//!
//! The front of a split loop is the first closure of the join, so its result is the left operand.
//! Results are therefore combined in the order of the iterations, and a combination need only be
//! associative. The bracketing depends on chance.
//!
//! The parts of a loop over a [`bridge()`] share an iterator, and have no order ([`shared`]).
//!
//! # Panics
//!
//! When an iteration panics, its part of the loop sets a flag, and every other part ends when it
//! next looks at the flag. The results of all parts are dropped, because the panic continues at the
//! joins that split the loop.
//!
//! The destructor of an item that no iteration takes may panic, too: the rest of a longer field of a
//! tuple, for example. All other items and all results are still dropped. But if a function drops a
//! value while its own result is already in the place that its caller has for it, and the destructor
//! panics, then nothing drops the result. So code that has both a result and items **drops the items
//! first**, explicitly, while the result is still in a variable.
//!
//! Source: Channel (splittable tasks; lazy binary, guided and adaptive splitting, in which a victim
//! splits for the thieves that have asked it).

/// Calls a function with a size. If the size is 2, 3 or 4, the call is a copy in which the compiler
/// knows it. It can then unroll and vectorise a loop over pairs, triples or quadruples, in which the
/// indices are checked otherwise.
macro_rules! with_size {
    ($size:expr, $call:expr) => {
        match $size {
            2 => ($call)(2),
            3 => ($call)(3),
            4 => ($call)(4),
            size => ($call)(size),
        }
    };
}

mod adaptors;
mod attempt;
mod bridge;
mod cancel;
mod chunks;
mod collect;
mod first;
mod folds;
mod iterations;
#[cfg(all(loom, test))]
mod models;
mod owned;
mod pace;
mod ranges;
mod shared;
mod splitting;
mod text;

pub use adaptors::{Reversed, ReversibleIterations, Stepped, Windows};
pub(crate) use adaptors::{reversed, windows};
pub use attempt::Try;
pub use bridge::{Bridged, bridge};
pub use owned::{Owned, Taken};

pub use cancel::Internal;
pub(crate) use cancel::UntilCancelled;
pub use chunks::{Chunks, ChunksExact, ChunksExactMut, ChunksMut};
pub(crate) use chunks::{chunks, chunks_exact, chunks_exact_mut, chunks_mut};
pub(crate) use collect::{append, append_exact, partition, runs, unzip};
pub(crate) use first::first;
pub(crate) use folds::{fold, for_each, map_reduce, try_fold, try_map_reduce};
pub(crate) use iterations::Converted;
pub use iterations::{ExactIterations, Flat, IntoIterations, Iterations, Pair, Tuple};
pub use ranges::Integer;
pub(crate) use shared::run_shared;
pub use splitting::Splitting;
pub use text::{CharsOf, LinesOf, WordsOf, chars, lines, words};

use std::ops::ControlFlow;

use self::pace::Pace;
use crate::stats::clock::ticks;
use crate::sync::plain::{AtomicBool, Ordering};
use crate::tunables;
use crate::worker::Worker;

/// What all parts of a loop share.
struct Loop<N, F, C> {
    init: N,
    step: F,
    combine: C,
    /// Whether a part has panicked.
    has_panicked: AtomicBool,
}

/// A running part of a loop. If a panic drops it before its [end](Self::end), it sets the loop's
/// flag.
struct Part<'l>(&'l AtomicBool);

impl Part<'_> {
    fn end(self) {
        std::mem::forget(self);
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        // Relaxed: a part that misses it sees it at its next look.
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<N, F, C> Loop<N, F, C> {
    fn new(init: N, step: F, combine: C) -> Self {
        Loop {
            init,
            step,
            combine,
            has_panicked: AtomicBool::new(false),
        }
    }

    fn begin_part(&self) -> Part<'_> {
        Part(&self.has_panicked)
    }

    /// Returns the value with which a part begins.
    fn init<A>(&self) -> A
    where
        N: Fn() -> A,
    {
        let part = self.begin_part();
        let value = (self.init)();
        part.end();
        value
    }

    /// Returns whether a part has panicked, so that the loop's result will be dropped.
    fn is_over(&self) -> bool {
        self.has_panicked.load(Ordering::Relaxed)
    }

    /// Combines the results of two parts, unless the loop's result will be dropped.
    fn combine<A>(&self, left: A, right: A) -> A
    where
        C: Fn(A, A) -> A,
    {
        match self.is_over() {
            true => {
                // See the page on panics.
                drop(right);
                left
            }
            false => (self.combine)(left, right),
        }
    }
}

/// Implements [`Worker::run_loop`].
pub(crate) fn run_loop<W, I, A, N, F, C>(
    w: W::Token<'_>,
    iterations: I,
    init: N,
    step: F,
    combine: C,
) -> A
where
    W: Worker,
    I: Iterations,
    N: Fn() -> A + Sync,
    F: for<'t> Fn(W::Token<'t>, A, I::Item) -> ControlFlow<A, A> + Sync,
    C: Fn(A, A) -> A + Sync,
    A: Send,
{
    let shared = Loop::new(init, step, combine);
    run::<W, I, A, N, F, C>(w, shared.init(), iterations, &shared, Pace::start())
}

/// Runs a part of a loop: adds the iterations `rest` to `sum`. A step that breaks ends the part.
fn run<W, I, A, N, F, C>(
    mut w: W::Token<'_>,
    mut sum: A,
    mut rest: I,
    shared: &Loop<N, F, C>,
    mut pace: Pace,
) -> A
where
    W: Worker,
    I: Iterations,
    N: Fn() -> A + Sync,
    F: for<'t> Fn(W::Token<'t>, A, I::Item) -> ControlFlow<A, A> + Sync,
    C: Fn(A, A) -> A + Sync,
    A: Send,
{
    let part = shared.begin_part();
    // The number of iterations that have run since the pace was told.
    let mut done = 0;
    let sum = loop {
        let mut len = rest.remaining();
        if len == 0 || shared.is_over() {
            // See the page on panics.
            drop(rest);
            break sum;
        }
        if done > 0 {
            pace.ran(std::mem::take(&mut done));
        }
        let given = if len > 1 { w.split_hint(len) } else { 0 };
        if given > 0 && pace.may_split(len) {
            let (mine, theirs) = rest.split_at(pace.keep(len, given));
            if theirs.remaining() > 0 {
                let theirs =
                    // Iterations far away may take a different time.
                    move |w: W::Token<'_>| run::<W, I, A, N, F, C>(w, shared.init(), theirs, shared, Pace::start());
                let mine =
                    move |w: W::Token<'_>| run::<W, I, A, N, F, C>(w, sum, mine, shared, pace);
                let (left, right) = w.join(mine, theirs);
                break shared.combine(left, right);
            }
            // A single iteration is left, or none: the number may be inexact.
            drop(theirs);
            rest = mine;
            len = rest.remaining();
            if len == 0 {
                continue;
            }
        }
        let (block, strip) = pace.next(len);
        let ran = w.lend(|w| run_block::<W, I, A, N, F, C>(w, sum, rest, block, strip, shared));
        match ran {
            ControlFlow::Continue(next) => (sum, rest, done) = next,
            ControlFlow::Break(result) => break result,
        }
    };
    part.end();
    sum
}

/// Runs up to `block` iterations, strip by strip, until a thief asks or another part has panicked.
/// Adds them to `sum`, and returns the sum, the rest, and the number of iterations; or the sum
/// alone, if a step breaks.
///
/// Not inlined, so that the body has all registers for itself: inlined, the loop around it took
/// some, and the kernel `lud` lost 15 % to a pointer that it had to keep in memory.
#[inline(never)]
fn run_block<W, I, A, N, F, C>(
    mut w: W::Token<'_>,
    mut sum: A,
    mut rest: I,
    block: usize,
    strip: usize,
    shared: &Loop<N, F, C>,
) -> ControlFlow<A, (A, I, usize)>
where
    W: Worker,
    I: Iterations,
    N: Fn() -> A + Sync,
    F: for<'t> Fn(W::Token<'t>, A, I::Item) -> ControlFlow<A, A> + Sync,
    C: Fn(A, A) -> A + Sync,
    A: Send,
{
    let mut left = block;
    // A loop that may end for another reason checks in time, even if its iterations have become slow.
    let begun = rest.may_end_early().then(ticks);
    loop {
        let count = strip.min(left);
        left -= count;
        let folded = rest.fold_strip(count, sum, |sum, item| {
            w.lend(|w| (shared.step)(w, sum, item))
        });
        match folded {
            ControlFlow::Continue(so_far) => sum = so_far,
            ControlFlow::Break(result) => {
                // See the page on panics.
                drop(rest);
                return ControlFlow::Break(result);
            }
        }
        let is_long = |begun| ticks().wrapping_sub(begun) > tunables::BLOCK_TICKS.get();
        if left == 0 || shared.is_over() || w.split_hint(2) > 0 || begun.is_some_and(is_long) {
            return ControlFlow::Continue((sum, rest, block - left));
        }
    }
}

/// Folds iterations as a plain loop, until a step breaks.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use purloin::implement::in_order;
///
/// let sum = in_order(1..=4, 0, |sum, n| ControlFlow::Continue(sum + n));
/// assert_eq!(sum, 10);
/// ```
#[inline]
pub fn in_order<I, A>(
    mut iterations: I,
    mut sum: A,
    mut step: impl FnMut(A, I::Item) -> ControlFlow<A, A>,
) -> A
where
    I: Iterations,
{
    let mut pace = iterations.may_end_early().then(Pace::start);
    // There may be more iterations than fit in a number.
    loop {
        let mut len = iterations.remaining();
        if len == 0 {
            break;
        }
        if let Some(pace) = &mut pace {
            let (block, strip) = pace.next(len);
            len = block.min(strip);
        }
        match iterations.fold_strip(len, sum, &mut step) {
            ControlFlow::Continue(so_far) => sum = so_far,
            ControlFlow::Break(result) => {
                sum = result;
                break;
            }
        }
        if let Some(pace) = &mut pace {
            pace.ran(len);
        }
    }
    // See the page on panics.
    drop(iterations);
    sum
}

/// Folds the items of an iterator until a step breaks, and drops the other items.
#[inline]
pub(crate) fn fold_items<T, A>(
    mut items: impl Iterator<Item = T>,
    sum: A,
    step: impl FnMut(A, T) -> ControlFlow<A, A>,
) -> ControlFlow<A, A> {
    let result = items.try_fold(sum, step);
    // See the page on panics.
    drop(items);
    result
}

/// Implements [`Worker::run_loop`] for workers that do not know when a thief asks: halves the
/// iterations beforehand, until there are about `pieces` pieces.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use purloin::{Serial, implement::in_pieces};
///
/// let add = |_, sum, n| ControlFlow::Continue(sum + n);
/// let sum = in_pieces(&mut Serial, 1..=100, 8, || 0, add, |a, b| a + b);
/// assert_eq!(sum, 5050);
/// ```
pub fn in_pieces<W, I, A, N, F, C>(
    w: &mut W,
    iterations: I,
    pieces: usize,
    init: N,
    step: F,
    combine: C,
) -> A
where
    W: Worker,
    I: IntoIterations,
    N: Fn() -> A + Sync,
    F: for<'t> Fn(W::Token<'t>, A, I::Item) -> ControlFlow<A, A> + Sync,
    C: Fn(A, A) -> A + Sync,
    A: Send,
{
    let iterations = iterations.into_iterations();
    let piece = iterations.remaining().div_ceil(pieces.max(1)).max(1);
    let shared = Loop::new(init, step, combine);
    w.lend(|w| halve::<W, _, _, _, _, _>(w, iterations, piece, &shared))
}

fn halve<W, I, A, N, F, C>(mut w: W::Token<'_>, rest: I, piece: usize, shared: &Loop<N, F, C>) -> A
where
    W: Worker,
    I: Iterations,
    N: Fn() -> A + Sync,
    F: for<'t> Fn(W::Token<'t>, A, I::Item) -> ControlFlow<A, A> + Sync,
    C: Fn(A, A) -> A + Sync,
    A: Send,
{
    let part = shared.begin_part();
    let len = rest.remaining();
    let sum = if len == 0 || shared.is_over() {
        // See the page on panics.
        drop(rest);
        shared.init()
    } else if len <= piece || len == usize::MAX {
        // `usize::MAX` stands for any larger number of iterations, too. Halving them would never end.
        in_order(rest, shared.init(), |sum, item| {
            w.lend(|w| (shared.step)(w, sum, item))
        })
    } else {
        let (front, back) = rest.split_at(len / 2);
        // A front that is the whole, because its number is inexact, is a single piece.
        let piece = if back.own() == 0 { len } else { piece };
        let (front, back) = w.join(
            move |w| halve::<W, _, _, _, _, _>(w, front, piece, shared),
            move |w| halve::<W, _, _, _, _, _>(w, back, piece, shared),
        );
        shared.combine(front, back)
    };
    part.end();
    sum
}
