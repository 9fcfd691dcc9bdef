//! Runs a loop whose iterations have an order, and splits it when a thief asks. For workers that do not know when a thief
//! asks, [`in_pieces`] splits it beforehand; [`in_order`] never splits it. [The page on loops](super) explains strips,
//! blocks and panics.

use std::ops::ControlFlow;

use super::{IntoIterations, Iterations, Pace, Strips};
use crate::stats::clock::ticks;
use crate::sync::plain::{AtomicBool, Ordering};
use crate::tunables;
use crate::worker::Worker;

/// The state that the parts of a loop share.
pub(crate) struct Loop<N, F, C> {
    init: N,
    step: F,
    combine: C,
    /// Whether a part has panicked.
    has_panicked: AtomicBool,
}

/// A running part of a loop. If a panic drops it before its [end](Self::end), it sets the loop's
/// flag.
pub(crate) struct Part<'l>(&'l AtomicBool);

impl Part<'_> {
    pub(crate) fn end(self) {
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
    pub(crate) fn new(init: N, step: F, combine: C) -> Self {
        Loop {
            init,
            step,
            combine,
            has_panicked: AtomicBool::new(false),
        }
    }

    pub(crate) fn begin_part(&self) -> Part<'_> {
        Part(&self.has_panicked)
    }

    /// Returns the value with which a part begins.
    pub(crate) fn init<A>(&self) -> A
    where
        N: Fn() -> A,
    {
        let part = self.begin_part();
        let value = (self.init)();
        part.end();
        value
    }

    /// Returns whether a part has panicked, so that the loop's result will be dropped.
    pub(crate) fn is_over(&self) -> bool {
        self.has_panicked.load(Ordering::Relaxed)
    }

    /// Combines the results of two parts, unless the loop's result will be dropped.
    pub(crate) fn combine<A>(&self, left: A, right: A) -> A
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
///
/// Runs the iterations of a short loop itself, and looks for thieves before each of them that is not the last one. It is
/// inlined, so that the body of such a loop becomes part of the code around the loop, as that of a plain `for`
/// does. A loop within the body of another loop then costs no more than a tree of joins. [`run_block`] has the body,
/// too. So the code of small bodies appears twice in a program; the compiler does not inline large ones.
#[inline(always)]
pub(crate) fn run_loop<W, I, A, N, F, C>(
    mut w: W::Token<'_>,
    mut rest: I,
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
    let mut sum = (shared.init)();
    loop {
        // A counter beside the iterations would be more code.
        let len = rest.remaining();
        if len == 0 {
            // See the page on panics.
            drop(rest);
            return sum;
        }
        if !Pace::is_short(len) || (len > 1 && w.split_hint(len) > 0) {
            return run::<W, I, A, N, F, C>(w, sum, rest, &shared, Pace::start());
        }
        match rest.fold_strip(1, sum, |sum, item| w.lend(|w| (shared.step)(w, sum, item))) {
            ControlFlow::Continue(so_far) => sum = so_far,
            ControlFlow::Break(result) => {
                // See the page on panics.
                drop(rest);
                return result;
            }
        }
    }
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
        let (block, strips) = pace.next(len);
        let ran = w.lend(|w| run_block::<W, I, A, N, F, C>(w, sum, rest, block, strips, shared));
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
pub(crate) fn run_block<W, I, A, N, F, C>(
    mut w: W::Token<'_>,
    mut sum: A,
    mut rest: I,
    block: usize,
    strips: Strips,
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
        let count = strips.next(left);
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
            let (block, strips) = pace.next(len);
            len = strips.next(block);
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
