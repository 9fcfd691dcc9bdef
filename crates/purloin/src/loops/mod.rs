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
//! # Panics
//!
//! When an iteration panics, its part of the loop sets a flag, and every other part ends when it
//! next looks at the flag. The results of all parts are dropped, because the panic continues at the
//! joins that split the loop.
//!
//! Source: Channel (splittable tasks; lazy binary, guided and adaptive splitting, in which a victim
//! splits for the thieves that have asked it).

mod chunks;
mod iterations;
mod pace;
mod splitting;

pub use chunks::{Chunks, ChunksMut, chunks, chunks_mut};
pub use iterations::{IntoIterations, Iterations};
pub use splitting::Splitting;

use std::sync::atomic::{AtomicBool, Ordering};

use self::pace::Pace;
use crate::worker::Worker;

/// The body of a loop, which all of its parts share.
struct Loop<M, C> {
    map: M,
    combine: C,
    /// Whether an iteration or a combination has panicked.
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

impl<M, C> Loop<M, C> {
    fn new(map: M, combine: C) -> Self {
        Loop {
            map,
            combine,
            has_panicked: AtomicBool::new(false),
        }
    }

    fn begin_part(&self) -> Part<'_> {
        Part(&self.has_panicked)
    }

    /// Returns whether a part has panicked, so that the loop's result will be dropped.
    fn is_over(&self) -> bool {
        self.has_panicked.load(Ordering::Relaxed)
    }

    fn combine<T>(&self, left: Option<T>, right: Option<T>) -> Option<T>
    where
        C: Fn(T, T) -> T,
    {
        match (left, right) {
            (Some(left), Some(right)) => Some((self.combine)(left, right)),
            (left, None) => left,
            (None, right) => right,
        }
    }
}

/// Implements [`Worker::map_reduce_with`].
pub(crate) fn map_reduce<W, I, M, C, T>(
    w: W::Token<'_>,
    iterations: I,
    map: M,
    combine: C,
) -> Option<T>
where
    W: Worker,
    I: Iterations,
    M: for<'t> Fn(W::Token<'t>, I::Item) -> T + Sync,
    C: Fn(T, T) -> T + Sync,
    T: Send,
{
    run::<W, I, M, C, T>(w, iterations, &Loop::new(map, combine), Pace::start())
}

fn run<W, I, M, C, T>(
    mut w: W::Token<'_>,
    mut rest: I,
    shared: &Loop<M, C>,
    mut pace: Pace,
) -> Option<T>
where
    W: Worker,
    I: Iterations,
    M: for<'t> Fn(W::Token<'t>, I::Item) -> T + Sync,
    C: Fn(T, T) -> T + Sync,
    T: Send,
{
    let part = shared.begin_part();
    let mut sum = None;
    loop {
        let len = rest.remaining();
        if len == 0 || shared.is_over() {
            break;
        }
        let given = if len > 1 { w.split_hint(len) } else { 0 };
        if given > 0 && pace.may_split(len) {
            let (mine, theirs) = rest.split_at(len - given.min(len - 1));
            let (left, right) = w.join(
                move |w| run::<W, I, M, C, T>(w, mine, shared, pace),
                // The speed of iterations far away may be another one.
                move |w| run::<W, I, M, C, T>(w, theirs, shared, Pace::start()),
            );
            if !shared.is_over() {
                sum = shared.combine(shared.combine(sum, left), right);
            }
            break;
        }
        let (block, strip) = pace.next(len);
        let done;
        (sum, rest, done) =
            w.lend(|w| run_block::<W, I, M, C, T>(w, sum, rest, block, strip, shared));
        pace.ran(done);
    }
    part.end();
    sum
}

/// Runs up to `block` iterations, strip by strip, until a thief asks or another part has panicked.
/// Adds the results to `sum`, and returns the sum, the rest, and the number of iterations.
///
/// Not inlined, so that the body has all registers for itself: inlined, the loop around it took
/// some, and the kernel `lud` lost 15 % to a pointer that it had to keep in memory.
#[inline(never)]
fn run_block<W, I, M, C, T>(
    mut w: W::Token<'_>,
    mut sum: Option<T>,
    mut rest: I,
    block: usize,
    strip: usize,
    shared: &Loop<M, C>,
) -> (Option<T>, I, usize)
where
    W: Worker,
    I: Iterations,
    M: for<'t> Fn(W::Token<'t>, I::Item) -> T + Sync,
    C: Fn(T, T) -> T + Sync,
    T: Send,
{
    let mut left = block;
    loop {
        let count = strip.min(left);
        let (strip, after) = rest.split_at(count);
        rest = after;
        left -= count;
        let results = strip
            .in_order()
            .map(|item| w.lend(|w| (shared.map)(w, item)));
        sum = shared.combine(sum, results.reduce(&shared.combine));
        if left == 0 || shared.is_over() || w.split_hint(2) > 0 {
            return (sum, rest, block - left);
        }
    }
}

/// Implements [`Worker::map_reduce_with`] for workers that do not know when a thief asks: halves
/// the iterations beforehand, until there are about `pieces` pieces.
///
/// ```
/// use purloin::{Serial, implement::in_pieces};
///
/// let sum = in_pieces(&mut Serial, 1..=100, 8, |_, n| n, |a, b| a + b);
/// assert_eq!(sum, Some(5050));
/// ```
pub fn in_pieces<W, I, M, C, T>(
    w: &mut W,
    iterations: I,
    pieces: usize,
    map: M,
    combine: C,
) -> Option<T>
where
    W: Worker,
    I: IntoIterations,
    M: for<'t> Fn(W::Token<'t>, I::Item) -> T + Sync,
    C: Fn(T, T) -> T + Sync,
    T: Send,
{
    let iterations = iterations.into_iterations();
    let piece = iterations.remaining().div_ceil(pieces.max(1)).max(1);
    w.lend(|w| halve::<W, _, _, _, _>(w, iterations, piece, &Loop::new(map, combine)))
}

fn halve<W, I, M, C, T>(
    mut w: W::Token<'_>,
    rest: I,
    piece: usize,
    shared: &Loop<M, C>,
) -> Option<T>
where
    W: Worker,
    I: Iterations,
    M: for<'t> Fn(W::Token<'t>, I::Item) -> T + Sync,
    C: Fn(T, T) -> T + Sync,
    T: Send,
{
    if shared.is_over() {
        return None;
    }
    let part = shared.begin_part();
    let len = rest.remaining();
    let sum = if len <= piece {
        run_block::<W, I, M, C, T>(w, None, rest, len, len, shared).0
    } else {
        let (front, back) = rest.split_at(len / 2);
        let (front, back) = w.join(
            move |w| halve::<W, _, _, _, _>(w, front, piece, shared),
            move |w| halve::<W, _, _, _, _>(w, back, piece, shared),
        );
        shared.combine(front, back)
    };
    part.end();
    sum
}
