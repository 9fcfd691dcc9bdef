//! A blocked worker: it leapfrogs with the thief that holds its task, then it sleeps.
//!
//! If the program asks for it and no spare worker is left, a blocked worker runs any task or job
//! before it sleeps ([`WorkerThread::run_anything`]). Like [mail](super::mail), that work is on top
//! of the task that waits, and leapfrogging thieves do not take its tasks.

use std::time::{Duration, Instant};

use super::{Shared, WorkerThread};
use crate::runtime::{Stolen, from_any};
use crate::scheduler::{Scheduler, TaskPool};
use crate::sleep::{
    Backoff, RECHECK_INTERVAL, Sleep, Slept, SpinTime, TinyTasks, recheck_interval,
};
use crate::stats::{Activity, Count};

/// The processor of a blocked worker, while another worker uses it. Dropping this ends the handoff.
pub(crate) struct HandedOff<'p> {
    sleep: &'p Sleep,
    /// The blocked worker, if another worker may use its thread index.
    worker: Option<usize>,
    /// Whether the blocked worker uses its thread index while it looks for something to run.
    uses_index: bool,
    since: Instant,
}

/// Time after which a blocked worker runs anything, if no spare worker has taken its processor. Until
/// then another worker may resume.
const LONG_ENOUGH: Duration = Duration::from_millis(20);

impl HandedOff<'_> {
    /// Returns whether the blocked worker may look for something to run: no other worker uses its
    /// thread index. From then on the worker uses it, until [`rest`](Self::rest).
    pub(crate) fn may_run(&mut self) -> bool {
        self.uses_index = match self.worker {
            Some(worker) => self.uses_index || self.sleep.try_reclaim_thread_index(worker),
            None => true,
        };
        self.uses_index
    }

    /// Lets other workers use the thread index again, before the blocked worker sleeps. The caller must
    /// then [look for others](Shared::look_for_others).
    pub(crate) fn rest(&mut self) {
        if std::mem::take(&mut self.uses_index)
            && let Some(worker) = self.worker
        {
            self.sleep.free_thread_index(worker);
        }
    }
}

/// Returns whether a blocked worker may look for something to run. If it may, it uses its thread index
/// until [`rest`].
pub(crate) fn may_run(handed_off: &mut Option<HandedOff<'_>>) -> bool {
    handed_off.as_mut().is_none_or(HandedOff::may_run)
}

/// Implements [`HandedOff::rest`], if the worker has handed off its processor.
pub(crate) fn rest(handed_off: &mut Option<HandedOff<'_>>) {
    if let Some(handed_off) = handed_off {
        handed_off.rest();
    }
}

impl Drop for HandedOff<'_> {
    fn drop(&mut self) {
        self.sleep.end_handoff(self.worker);
    }
}

impl<S: Scheduler> WorkerThread<S> {
    /// Returns whether this blocked worker may run any task or job now, because no spare worker is
    /// left to do so. See
    /// [`Builder::run_anything_while_blocked`](crate::Builder::run_anything_while_blocked).
    ///
    /// Not while any worker runs a future: an unrelated task may wait for that future, and the future
    /// for what this worker runs. Joins and finishes wait only for tasks that began later than they
    /// did, and so does everything below them on a stack. So without futures, no two of them wait for
    /// each other. A call from a worker of another pool counts as a future, because a task of that
    /// pool waits for it.
    pub(crate) fn may_run_anything(&self, handed_off: Option<&HandedOff<'_>>) -> bool {
        let pool = self.pool();
        let is_left_alone = || {
            let is_long_ago =
                |handed_off: &HandedOff<'_>| handed_off.since.elapsed() >= LONG_ENOUGH;
            handed_off.is_some_and(is_long_ago) && pool.sleep.lacks_workers()
        };
        S::HANDS_OFF
            && pool.runs_anything
            && (!pool.has_spares() || is_left_alone())
            && self.local.may_run_another()
            && !pool
                .started()
                .iter()
                .any(|worker| worker.local.runs_future())
    }

    /// Runs a job from outside or a task of another worker, if there is one, on top of what this
    /// worker waits for. First ends the handoff. Called if the worker
    /// [may](Self::may_run_anything).
    pub(crate) fn run_anything(
        &self,
        backoff: &mut Backoff,
        handed_off: &mut Option<HandedOff<'_>>,
    ) -> bool {
        if !may_run(handed_off) {
            return false;
        }
        let local = &self.local;
        if let Some(job) = self.pool().take_injected() {
            drop(handed_off.take());
            local.suspend(|| self.run_on_top(|| job.run(self)));
            return true;
        }
        let Some(stolen) = from_any(self, backoff) else {
            return false;
        };
        drop(handed_off.take());
        local.suspend(|| self.run_on_top(|| self.run_stolen(stolen)));
        true
    }

    /// Runs `f`, which a worker of another pool waits for, if `is_awaited_elsewhere`.
    pub(crate) fn run_for_others<R>(&self, is_awaited_elsewhere: bool, f: impl FnOnce() -> R) -> R {
        if !is_awaited_elsewhere {
            return f();
        }
        self.local.begin_future();
        let result = f();
        self.local.end_future();
        result
    }
}

impl<S: Scheduler> Shared<S> {
    /// Hands off the processor of `me`, which is going to sleep.
    pub(crate) fn hand_off(&self, me: &WorkerThread<S>) -> Option<HandedOff<'_>> {
        let handed_off = self.hand_off_processor(Some(me.index()));
        if handed_off.is_some() {
            me.count(Count::Handoffs);
        }
        handed_off
    }

    /// Hands off the processor of a thread that is going to sleep. `worker` is the worker that runs
    /// there, if another worker may use its thread index meanwhile.
    pub(crate) fn hand_off_processor(&self, worker: Option<usize>) -> Option<HandedOff<'_>> {
        S::HANDS_OFF.then(|| {
            let sleep = &self.sleep;
            if !sleep.hand_off(worker) && self.has_spares() {
                self.watch();
            }
            let since = Instant::now();
            HandedOff {
                sleep,
                worker,
                uses_index: false,
                since,
            }
        })
    }

    /// Wakes a sleeper if there is anything to run, because the calling thread is going to sleep.
    /// Tasks of workers that `is_ours` picks do not count: the calling thread runs those itself.
    pub(crate) fn look_for_others(&self, is_ours: impl Fn(&WorkerThread<S>) -> bool) {
        if S::HANDS_OFF {
            let others = self.started().iter().filter(|worker| !is_ours(worker));
            super::idle::pass_on(self, others);
        }
    }

    /// Blocks `me` until `is_done`, that is, until the task that `holder` has stolen has ended.
    /// Meanwhile `me` leapfrogs: it runs the tasks that `leapfrog` takes from the holder.
    ///
    /// `me` leapfrogs only while `may_leapfrog`. If `me` has older tasks that no thief has taken,
    /// it would offer them together with the tasks of the leapfrogged one. Another blocked worker
    /// that awaits the leapfrogged task might then take one of the older tasks, which do not
    /// descend from it.
    ///
    /// `wake_me` asks for a wake-up at the end, and returns false if the end is past.
    pub(crate) fn await_done(
        &self,
        me: &WorkerThread<S>,
        holder: &WorkerThread<S>,
        is_done: impl Fn() -> bool,
        may_leapfrog: impl Fn() -> bool,
        leapfrog: impl Fn(&mut Backoff) -> Option<Stolen<S>>,
        wake_me: impl Fn() -> bool,
    ) {
        let outer = me.timer().switch_to(Activity::SearchingInJoin);
        let tiny_tasks = S::LEAVES_TINY_TASKS.then(|| (Instant::now(), me.tiny_awaited()));
        if let Some((_, row)) = tiny_tasks {
            row.get().delay_leapfrog(&is_done);
        }
        let mut backoff = Backoff::new(SpinTime::DEFAULT);
        let mut handed_off = None;
        // Whether this worker must pass on a wake-up for the holder's tasks.
        let mut woken_for_tasks = false;
        while !is_done() {
            if me.has_mail() {
                drop(handed_off.take());
                me.run_mail_while_blocked();
                backoff = Backoff::new(SpinTime::DEFAULT);
                continue;
            }
            let leapfrogs = may_leapfrog() && may_run(&mut handed_off);
            if leapfrogs {
                let begin = me.timer().now();
                if let Some(stolen) = leapfrog(&mut backoff) {
                    me.timer().stolen(begin);
                    me.count(Count::Steals);
                    drop(handed_off.take());
                    S::TaskPool::pass_on(holder);
                    woken_for_tasks = false;
                    me.timer().switch_to(Activity::ApplicationInJoin);
                    me.run_stolen(stolen);
                    me.timer().switch_to(Activity::SearchingInJoin);
                    backoff = Backoff::new(SpinTime::DEFAULT);
                    continue;
                }
            }
            if me.may_run_anything(handed_off.as_ref())
                && me.run_anything(&mut backoff, &mut handed_off)
            {
                backoff = Backoff::new(SpinTime::DEFAULT);
                continue;
            }
            if backoff.pause() {
                continue;
            }
            me.count(Count::Sleeps);
            // A worker that may not leapfrog has nothing to spin for.
            let mut slept = match leapfrogs {
                true => Slept::Woken,
                false => Slept::TimedOut,
            };
            if wake_me() {
                // This worker's processor has nothing to do until the holder publishes a task or
                // ends. Another worker may take any task; but if this worker may leapfrog, the
                // holder's tasks are left to it.
                handed_off = handed_off.or_else(|| self.hand_off(me));
                rest(&mut handed_off);
                self.look_for_others(|other| {
                    leapfrogs && (other.index() == holder.index() || other.index() == me.index())
                });
                let nap = match leapfrogs {
                    _ if me.may_run_anything(handed_off.as_ref()) => Some(RECHECK_INTERVAL),
                    true => backoff.nap_time(),
                    false => recheck_interval(),
                };
                match !leapfrogs || nap.is_some() {
                    true => {
                        if !leapfrogs {
                            S::TaskPool::offer_all(me);
                        }
                        S::TaskPool::stop_leapfrogging(me);
                        self.sleep.park(me.index(), nap);
                    }
                    false => {
                        slept = self.sleep.sleep_blocked(
                            me.index(),
                            holder.index(),
                            backoff.sleep_limit(true),
                            || {
                                is_done()
                                    || me.has_mail()
                                    || S::TaskPool::should_stay_awake(me, holder)
                            },
                        );
                        woken_for_tasks |= slept == Slept::WokenForTasks;
                    }
                }
            }
            backoff.restart(slept);
        }
        drop(handed_off);
        if woken_for_tasks {
            S::TaskPool::pass_on(holder);
        }
        if let Some((begin, row)) = tiny_tasks {
            row.set(row.get().after(begin.elapsed(), TinyTasks::AWAITED));
        }
        me.timer().switch_to(outer);
    }
}
