//! A stolen task: its thief runs it, and its owner waits for it.
//!
//! For the thief that looks for a task, see [`super::steal`].
//!
//! # Leapfrogging
//!
//! A blocked worker leapfrogs: it takes tasks from the thief only. When a worker starts a stolen
//! task, everything on its own stack is stolen: it was idle, or it is blocked on its top task and
//! thieves take the oldest first. So every task that it offers while it runs the stolen task
//! descends from that task. A thief may finish, and start another task, while the blocked worker
//! reaches into its stack. Therefore the claimant confirms its claim only if the awaited task is
//! still not done while the claimant holds the slot. A task cannot end before its descendants, so
//! the claimed task is then a descendant. If instead it was pushed after the end of the awaited
//! task, the claimant sees that end.
//!
//! In a join, all older tasks of the waiting worker are stolen, too. But a worker that waits for a
//! [`future`](mod@super::future) may have tasks of its own that no thief has taken. In that case it does not
//! leapfrog: it leaves its tasks to idle workers, and sleeps. A worker that runs the closure of a future
//! may also have tasks that no thief has taken. In that case no worker leapfrogs with it.
//!
//! Source: Wool, section 3 (leapfrogging, after Wagner and Calder).

use std::cell::Cell;
use std::ptr::null;

use super::slot::{Header, Slot};
use super::state::StateWord;
use crate::call::Lineage;
use crate::pool::worker::wait::{self, Awaited, Wait};
use crate::pool::{Me, Remote, WorkerActivity};
use crate::scheduler::{Point, Protocol, Scheduler, TaskPool};
use crate::sleep::{Slept, recheck_interval};
use crate::stats::{Activity, Count};
use crate::sync::{Instant, Ordering};
use crate::tracing::buffer::Record;
use crate::tunables;

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
    if let Some(trace) = thief.timer().trace() {
        trace.push(Record::Steal {
            victim: stolen.victim as u32,
            depth: stolen.depth as u32,
        });
    }
    S::Protocol::answer(thief, Point::StolenBegin);
    let victim = &thief.pool().worker_threads[stolen.victim];
    // SAFETY: the caller of `Stolen::new` has taken the task. It runs once, because this function
    // consumes `stolen`. Its frame begins here. Its owner keeps the slot until the task is done. The call from which it
    // descends, if there is one, waits for the task, which the thief holds until `end`.
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
    if let Some(trace) = thief.timer().trace() {
        trace.push(Record::TaskEnd);
    }
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
    /// Blocks until the stolen task with this outcome is done. Meanwhile this worker leapfrogs, if
    /// the thief offers only descendants of that task (`may_leapfrog`).
    pub(super) fn await_stolen(self, outcome: &StateWord, may_leapfrog: &dyn Fn() -> bool) {
        if !self.is_current() {
            // The thief does not exist in a forked process.
            self.pool().check_process();
        }
        let Some(holder) = outcome.get(Ordering::Acquire).thief() else {
            return;
        };
        let awaited = StolenTask {
            me: self,
            holder: &self.pool().worker_threads[holder],
            outcome,
            may_leapfrog,
            leapfrogs: Cell::new(false),
            is_woken_for_tasks: Cell::new(false),
        };
        match S::LEAVES_TINY_TASKS {
            true => self.await_perhaps_tiny(&awaited),
            false => wait::until(self, &awaited),
        }
        if awaited.is_woken_for_tasks.get() {
            S::Protocol::pass_on(awaited.holder);
        }
        S::Protocol::answer(self, Point::LeapfrogEnd);
    }

    /// Waits for a stolen task, and begins to leapfrog later if the last awaited tasks were tiny.
    fn await_perhaps_tiny(self, awaited: &StolenTask<'_, S>) {
        let begin = Instant::now();
        let row = &self.core().tiny_awaited;
        let outer = self.timer().switch_to(Activity::SearchingInJoin);
        row.get().delay_leapfrog(|| awaited.outcome.is_done());
        self.timer().switch_to(outer);
        wait::until(self, awaited);
        row.set(
            row.get()
                .after(begin.elapsed(), tunables::TINY_AWAITED.get()),
        );
    }
}

/// A task of a worker that a thief holds. The worker waits for it, and leapfrogs meanwhile: it runs
/// tasks that the thief has pushed.
///
/// A worker with older tasks that no thief has taken does not leapfrog. It would offer them together
/// with the tasks of the leapfrogged one. Another blocked worker that awaits the leapfrogged task
/// might then take one of the older tasks, which do not descend from it.
struct StolenTask<'p, S: Scheduler> {
    me: Me<'p, S>,
    holder: &'p Remote<S>,
    outcome: &'p StateWord,
    /// Returns whether the thief offers only descendants of the task.
    may_leapfrog: &'p dyn Fn() -> bool,
    /// Whether the worker could leapfrog when it last looked.
    leapfrogs: Cell<bool>,
    /// Whether the worker must pass on a wake-up for the holder's tasks.
    is_woken_for_tasks: Cell<bool>,
}

impl<S: Scheduler> Awaited<S> for StolenTask<'_, S> {
    /// The thief may push a task, or end, within nanoseconds.
    const SPINS: bool = true;

    fn what(&self) -> WorkerActivity {
        WorkerActivity::WaitsForTask(self.holder.index())
    }

    fn is_over(&self) -> bool {
        self.outcome.is_done()
    }

    fn holder(&self) -> Option<&Remote<S>> {
        Some(self.holder)
    }

    fn run_one(&self, wait: &mut Wait<'_, S>) -> bool {
        let me = self.me;
        let may_leapfrog = me.may_run_another() && (self.may_leapfrog)();
        self.leapfrogs.set(may_leapfrog && wait.may_run());
        if !self.leapfrogs.get() {
            return false;
        }
        let begin = me.timer().now();
        let stolen = S::Protocol::leapfrog(me, self.holder, self.outcome, &mut wait.backoff);
        let Some(stolen) = stolen else {
            return false;
        };
        me.timer().stolen(begin);
        me.count(Count::Leapfrogs);
        me.count(Count::Steals);
        wait.run(|| {
            S::Protocol::pass_on(self.holder);
            self.is_woken_for_tasks.set(false);
            run(me, stolen);
        });
        true
    }

    fn ask_for_wake_up(&self) -> bool {
        self.outcome.wait_for()
    }

    fn wakes_up_for(&self, other: &Remote<S>) -> bool {
        let ours = [self.holder.index(), self.me.index()];
        self.leapfrogs.get() && ours.contains(&other.index())
    }

    fn sleep(&self, wait: &mut Wait<'_, S>) -> Slept {
        let (me, leapfrogs) = (self.me, self.leapfrogs.get());
        let sleep = &me.pool().sleep;
        let nap = match leapfrogs {
            true => wait.limit_of_anything().or_else(|| wait.backoff.nap_time()),
            false => wait.limit_of_anything().or_else(recheck_interval),
        };
        if leapfrogs && nap.is_none() {
            let limit = wait.backoff.sleep_limit(|_| true);
            let slept = sleep.sleep_blocked(me.index(), self.holder.index(), limit, || {
                self.is_over() || me.has_mail() || S::Protocol::should_stay_awake(me, self.holder)
            });
            if slept == Slept::WokenForTasks {
                self.is_woken_for_tasks.set(true);
            }
            return slept;
        }
        if !leapfrogs {
            S::Protocol::answer(me, Point::Sleep);
        }
        S::Protocol::answer(me, Point::LeapfrogEnd);
        sleep.park(me.index(), nap);
        match leapfrogs {
            true => Slept::Woken,
            // A worker that may not leapfrog has nothing to spin for.
            false => Slept::TimedOut,
        }
    }
}
