//! Stealing: a thief that has a task, and its victim.
//!
//! For the thief that looks for a task, see [`super::public_tasks`]; for a blocked one, [`super::leapfrog`].

use std::ptr::null;

use super::frame::end_above;
use super::slot::{Header, Slot};
use crate::call::Lineage;
use crate::pool::{Me, Remote};
use crate::scheduler::{Point, Protocol, Scheduler, TaskPool};
use crate::sync::{Ordering, asymmetric};
use crate::unwind::abort;

/// The outcome of an owner's attempt to [reclaim](TaskPool::reclaim) its newest task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reclaimed {
    /// The owner has the task back, and runs it.
    Owned,
    /// A thief has the task, or has finished it.
    Stolen,
}

/// A task that a thief has taken and not yet run.
pub struct Stolen<S: Scheduler> {
    slot: *const Slot<S>,
    victim: usize,
    depth: usize,
}

impl<S: Scheduler> Stolen<S> {
    /// Returns the task in `slot` of `victim`.
    ///
    /// # Safety
    ///
    /// The caller has taken the task, and has marked it stolen in the slot's
    /// [outcome](Header::outcome).
    pub unsafe fn new(slot: *const Slot<S>, victim: &Remote<S>) -> Self {
        Stolen {
            slot,
            victim: victim.index(),
            depth: victim.depth_of(slot),
        }
    }
}

// A thief that has a task.

/// Runs a stolen task on the thread of its thief.
pub(crate) fn run<S: Scheduler>(thief: Me<'_, S>, stolen: Stolen<S>) {
    let core = thief.core();
    let outer = thief.depth.load(Ordering::Relaxed);
    let base = thief.stack().top();
    // The first task that the stolen task pushes is one level deeper.
    let depth = stolen
        .depth
        .wrapping_add(1)
        .wrapping_sub(thief.stack().position(base));
    thief.depth.store(depth, Ordering::Relaxed);
    core.is_first_spawn.set(true);
    S::Protocol::answer(thief, Point::StolenBegin);
    let victim = &thief.pool().worker_threads[stolen.victim];
    // SAFETY: the caller of `Stolen::new` has taken the task. It runs once, because this function
    // consumes `stolen`. Its frame begins here. Its owner keeps the slot until the task is done.
    unsafe {
        let (scope, call) = victim.frames.around(stolen.slot.addr());
        let in_lineage = thief.enter_lineage(Lineage::of(call));
        thief.in_task(null(), scope, |frame| {
            (*stolen.slot).run(thief);
            thief.end_suspended(frame);
        });
        drop(in_lineage);
        if !core.keeps_ticket.take() {
            end(thief, stolen.slot, stolen.victim);
        }
    }
    thief.depth.store(outer, Ordering::Relaxed);
}

/// Marks a stolen task done.
///
/// # Safety
///
/// The thief has stolen the task from this slot of `victim`, and does not use the slot again.
pub(super) unsafe fn end<S: Scheduler>(thief: Me<'_, S>, slot: *const Slot<S>, victim: usize) {
    // SAFETY: the owner keeps the slot until the task is done.
    let outcome = unsafe { &*slot }.header().outcome();
    S::Protocol::answer(thief, Point::StolenEnd(outcome));
    if outcome.finish_stolen() {
        thief.pool().sleep.unpark(victim);
    }
}

// The owner.

/// Implements [`Scheduler::split_hint`].
pub fn split_hint<S: Scheduler>(owner: Me<'_, S>, rest: usize) -> usize {
    if rest < 2 || !owner.stack().make_room() {
        S::Protocol::answer(owner, Point::Join);
        return 0;
    }
    match S::Protocol::answer(owner, Point::Loop) {
        0 => 0,
        thieves => {
            let pool = owner.pool();
            pool.splitting.share(rest, pool.workers, thieves)
        }
    }
}

/// Implements [`Scheduler::reclaim_or_wait`].
///
/// # Safety
///
/// This is the owner's thread, and it has pushed `slot`.
pub unsafe fn reclaim_or_wait<S: Scheduler>(owner: Me<'_, S>, slot: *mut Slot<S>) -> bool {
    let tasks = &owner.tasks;
    if tasks.stack().spawn_top() > slot.wrapping_add(1) {
        owner.end_futures_above(slot);
        if tasks.pop(slot, false) {
            return true;
        }
    }
    let begin = owner.timer().now();
    let reclaimed = tasks.reclaim(slot);
    owner.timer().crossed(begin);
    match reclaimed {
        Reclaimed::Owned => {
            S::Protocol::answer(owner, Point::Join);
            true
        }
        Reclaimed::Stolen => {
            // SAFETY: the slot lies in the owner's stack, and stays live until `release`.
            owner.await_stolen(unsafe { &*slot }.header().outcome(), &|| true);
            false
        }
    }
}

impl<S: Scheduler> Me<'_, S> {
    /// Owner: pushes the spawn or future in `slot`, which is the top. Closes the slots up to it, and offers it if a
    /// thief has asked.
    #[inline(always)]
    pub(super) fn push_spawn(self, slot: *mut Slot<S>) {
        self.tasks.push(slot);
        self.stack().set_spawn_top(slot.wrapping_add(1));
        // Pairs with the heavy side in `public_tasks::finds_anything`.
        asymmetric::light();
        match self.core().is_first_spawn.get() {
            false => _ = S::Protocol::answer(self, Point::Spawn { is_first: false }),
            true => self.offer_first_spawn(),
        }
    }

    #[cold]
    #[inline(never)]
    fn offer_first_spawn(self) {
        self.core().is_first_spawn.set(false);
        S::Protocol::answer(self, Point::Spawn { is_first: true });
    }

    /// Owner: ends the futures that the first closure of the join in `slot` has left behind. The
    /// pop of that slot has moved the top below their tickets.
    #[cold]
    fn end_futures_above(self, slot: *mut Slot<S>) {
        let (stack, bottom) = (self.stack(), slot.wrapping_add(1));
        let spawn_top = self.core().tickets.spawn_top_below(bottom);
        let Some(spawn_top) = spawn_top else {
            // A panic would unwind the join's frame, which a thief may still use.
            abort("the first closure of a join has left a task on the stack that is not a future");
        };
        // Release: like the push of those tickets.
        stack.set_top(stack.spawn_top(), Ordering::Release);
        end_above(self, bottom, spawn_top);
    }
}
