//! Loops whose parts share their iterations: those over a [`bridge`](crate::bridge()).
//!
//! A part of another loop becomes shorter by each split. Here, any number of parts take items from one iterator, and a
//! part ends when another one keeps the iterator for some time. So each part is a task of one finish, and does not wait
//! for the part from which it was split. But its worker waits for the parts that it has spawned: over a slow iterator,
//! two workers may leapfrog with each other once for each item. A finish limits that, and further parts go to its queue
//! (`runtime/finish.rs`).
//!
//! # No body holds up the items behind it
//!
//! A part is **free** unless it runs bodies: a part that asks for items, or one that no worker has begun. A thief takes
//! the latter and goes on with the items. There is a free part until the loop is over:
//!
//! - A part that is going to run bodies, and is the last free one, first spawns another one.
//! - A part that finds the iterator taken ends only if another part is free. The part that has the iterator is: it asks
//!   for one item at a time, and runs nothing meanwhile. If there is no free part any more, the part asks again.
//!
//! A `chain` may also have iterations that are not shared. These are split for thieves that ask, and a part asks an
//! iterator only when it has run its [own](Iterations::own) iterations.
//!
//! A spawned part lies on its worker's task stack. When the worker asks the iterator, it must tell that part from
//! other tasks there, because the iterator may wait for those ([`must_hand_off`](crate::this_thread::must_hand_off)).

use std::ops::ControlFlow;
use std::panic::resume_unwind;

use super::{Token, finish};
use crate::loops::{Iterations, Loop, Pace, run_block};
use crate::pool::{Me, SpareParts};
use crate::scheduler::Scheduler;
use crate::scope::Scope;
use crate::sync::{AtomicUsize, Mutex, Ordering, lock};
use crate::unwind::{catch, discard};
use crate::worker::Worker;

/// The state of a loop that its parts share.
struct Parts<A, N, F, C> {
    shared: Loop<N, F, C>,
    /// The number of free parts. Relaxed: it orders no other memory, and each read-modify-write sees the one before it.
    free: AtomicUsize,
    /// The sum of parts that have ended.
    sum: Mutex<Option<A>>,
}

/// Runs a loop whose iterations are not [ordered](Iterations::IS_ORDERED), like [`run_loop`](crate::loops::run_loop).
pub(crate) fn run_shared<S, I, A, N, F, C>(
    thread: Me<'_, S>,
    iterations: I,
    init: N,
    step: F,
    combine: C,
) -> A
where
    S: Scheduler,
    I: Iterations,
    N: Fn() -> A + Sync,
    F: for<'t> Fn(Token<'t, S>, A, I::Item) -> ControlFlow<A, A> + Sync,
    C: Fn(A, A) -> A + Sync,
    A: Send,
{
    let parts = Parts {
        shared: Loop::new(init, step, combine),
        free: AtomicUsize::new(1),
        sum: Mutex::new(None),
    };
    // The bodies belong to the scope around the loop.
    let around = Some(thread.scope());
    let ran = catch(|| finish(thread, around, |scope| parts.run(thread, scope, iterations)));
    let sum = lock(&parts.sum).take();
    if let Err(panic) = ran {
        // Its destructor may panic, too.
        discard(sum);
        resume_unwind(panic);
    }
    sum.unwrap_or_else(|| parts.shared.init())
}

impl<A, N, F, C> Parts<A, N, F, C> {
    /// Runs a part of the loop, and adds its result to the sum.
    fn run<'scope, S, I>(
        &'scope self,
        thread: Me<'_, S>,
        scope: &'scope Scope<'scope, '_, S>,
        mut rest: I,
    ) where
        S: Scheduler,
        I: Iterations + 'scope,
        N: Fn() -> A + Sync,
        F: for<'t> Fn(Token<'t, S>, A, I::Item) -> ControlFlow<A, A> + Sync,
        C: Fn(A, A) -> A + Sync,
        A: Send,
    {
        let part = self.shared.begin_part();
        let mut spares = SpareParts::default();
        let mut pace = Pace::start();
        let mut sum = None;
        loop {
            let mut len = thread.beside_spare_parts(spares, || rest.remaining());
            if self.shared.is_over() {
                drop(rest);
                break;
            }
            if len == 0 {
                let is_last = self.leave_free();
                if is_last && rest.is_open() {
                    self.free.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                drop(rest);
                break;
            }
            let is_last = self.leave_free();
            let given = match len > 1 {
                true => Token::at_top(thread).split_hint(len),
                false => 0,
            };
            if given > 0 && pace.may_split(len) {
                let (mine, theirs) = rest.split_at(pace.keep(len, given));
                rest = mine;
                len = rest.own();
                self.free.fetch_add(1, Ordering::Relaxed);
                spares = SpareParts::default();
                scope.spawn(move |w| self.run(w.thread(), scope, theirs));
            } else if is_last && rest.is_open() {
                // All items that are there stay here: an iterator could wait for them.
                let (mine, theirs) = rest.split_at(len);
                rest = mine;
                self.free.fetch_add(1, Ordering::Relaxed);
                thread.spawn_spare_part(&mut spares, || {
                    scope.spawn(move |w| self.run(w.thread(), scope, theirs));
                });
            }
            let before = sum.take().unwrap_or_else(|| self.shared.init());
            let (block, strips) = pace.next(len);
            let w = Token::at_top(thread);
            let ran = run_block::<Token<'_, S>, I, A, N, F, C>(
                w,
                before,
                rest,
                block,
                strips,
                &self.shared,
            );
            match ran {
                ControlFlow::Continue((so_far, left, count)) => {
                    pace.ran(count);
                    (sum, rest) = (Some(so_far), left);
                    self.free.fetch_add(1, Ordering::Relaxed);
                }
                ControlFlow::Break(result) => {
                    sum = Some(result);
                    break;
                }
            }
        }
        if let Some(sum) = sum {
            self.add(sum);
        }
        part.end();
    }

    /// Records that a part is no longer free. Returns whether it was the last free part.
    fn leave_free(&self) -> bool {
        let free = self.free.fetch_sub(1, Ordering::Relaxed);
        debug_assert_ne!(free, 0, "the part counted as free");
        free == 1
    }

    fn add(&self, mut sum: A)
    where
        C: Fn(A, A) -> A,
    {
        loop {
            let mut total = lock(&self.sum);
            let Some(other) = total.take() else {
                *total = Some(sum);
                return;
            };
            drop(total);
            sum = self.shared.combine(other, sum);
        }
    }
}
