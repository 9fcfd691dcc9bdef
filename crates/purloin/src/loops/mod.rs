//! Loops as splittable tasks: no grain size, no chunks.
//!
//! A loop is its body and the iterations that are left. A worker runs them a
//! **block** at a time, and between two blocks looks whether a thief asks for
//! work. Only then does it **split** what is left: the front stays, the rest
//! becomes a task, by a join like any other, whose thief goes about it in the
//! same way. So a loop that nobody else has time for is a plain loop, with a
//! look at one word now and then, and one that everybody waits for is divided
//! as often as anyone asks.
//!
//! Older tasks go first. A worker that has something to offer besides the
//! loop offers that, see [`Worker::split_hint`].
//!
//! # Blocks
//!
//! Within a block the compiler sees nothing but the body, and may unroll and
//! vectorise it. A block is as long as [`pace::Pace`] finds that it may be,
//! some microseconds: a thief waits for half a block, on average, and what
//! lies between two of them, some twenty nanoseconds, counts for nothing.
//!
//! # Order
//!
//! Of what is split the front comes first, and its result is combined from the
//! left. So results are combined in the order of the iterations, and a
//! combination need only be associative; where the brackets are is chance.
//!
//! # Panics
//!
//! A part of a loop whose iteration panics says so to the others, and each of them
//! ends at its next look. What they have summed up by then is dropped, because the
//! panic reaches the join that has split them off.
//!
//! Source: Channel (splittable tasks; lazy binary, guided and adaptive
//! splitting, in which a victim splits for those that have asked it).

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

/// What is done in each iteration, and with the results.
struct Loop<M, C> {
    map: M,
    combine: C,
    /// Whether an iteration or a combination has panicked.
    has_panicked: AtomicBool,
}

/// Says that a part of a loop has panicked, unless it is [ended](Self::end).
struct Part<'l>(&'l AtomicBool);

impl Part<'_> {
    fn end(self) {
        std::mem::forget(self);
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        // Relaxed: whoever misses it sees it at its next look.
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

    fn begin(&self) -> Part<'_> {
        Part(&self.has_panicked)
    }

    /// Whether the loop's result will be dropped.
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

/// Does what [`Worker::map_reduce_with`] says.
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
    run::<W, I, M, C, T>(w, iterations, &Loop::new(map, combine), Pace::new())
}

fn run<W, I, M, C, T>(
    mut w: W::Token<'_>,
    mut rest: I,
    job: &Loop<M, C>,
    mut pace: Pace,
) -> Option<T>
where
    W: Worker,
    I: Iterations,
    M: for<'t> Fn(W::Token<'t>, I::Item) -> T + Sync,
    C: Fn(T, T) -> T + Sync,
    T: Send,
{
    let part = job.begin();
    let mut sum = None;
    pace.begin();
    loop {
        let len = rest.remaining();
        if len == 0 || job.is_over() {
            break;
        }
        let given = if len > 1 { w.split_hint(len) } else { 0 };
        if given > 0 {
            let (mine, theirs) = rest.split_at(len - given.min(len - 1));
            let (left, right) = w.join(
                move |w| run::<W, I, M, C, T>(w, mine, job, pace),
                move |w| run::<W, I, M, C, T>(w, theirs, job, pace),
            );
            if !job.is_over() {
                sum = job.combine(job.combine(sum, left), right);
            }
            break;
        }
        let count = pace.block(len);
        let (block, after) = rest.split_at(count);
        rest = after;
        let results = block.in_order().map(|item| w.lend(|w| (job.map)(w, item)));
        sum = job.combine(sum, results.reduce(&job.combine));
        pace.done(count);
    }
    part.end();
    sum
}

/// Maps and combines as [`Worker::map_reduce_with`] does, with the iterations
/// halved beforehand until there are about so many pieces: for workers that are
/// not told when a thief asks.
///
/// ```
/// use purloin::{Serial, in_pieces};
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

fn halve<W, I, M, C, T>(mut w: W::Token<'_>, rest: I, piece: usize, job: &Loop<M, C>) -> Option<T>
where
    W: Worker,
    I: Iterations,
    M: for<'t> Fn(W::Token<'t>, I::Item) -> T + Sync,
    C: Fn(T, T) -> T + Sync,
    T: Send,
{
    if job.is_over() {
        return None;
    }
    let part = job.begin();
    let len = rest.remaining();
    let sum = if len <= piece {
        let results = rest.in_order().map(|item| w.lend(|w| (job.map)(w, item)));
        results.reduce(&job.combine)
    } else {
        let (front, back) = rest.split_at(len / 2);
        let (front, back) = w.join(
            move |w| halve::<W, _, _, _, _>(w, front, piece, job),
            move |w| halve::<W, _, _, _, _>(w, back, piece, job),
        );
        job.combine(front, back)
    };
    part.end();
    sum
}
