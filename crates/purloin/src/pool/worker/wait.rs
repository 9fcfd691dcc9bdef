//! The wait of a blocked worker.
//!
//! A worker blocks for one of three reasons ([`Awaited`]): another worker has the task that it joins or gets, tasks in
//! the queue of its finish have not ended, or it waits for something outside its pool. All three wait
//! in one loop, [`until`]. In each round, a worker whose wait is not over
//!
//! 1. answers thieves, and runs its [mail](super::mail);
//! 2. runs one thing that its wait may run: a descendant of the awaited task, a task of the queue, a
//!    call that descends from the awaited call;
//! 3. runs any task or job, if the program asks for it and no spare worker is left
//!    ([`Builder::run_anything_while_blocked`](crate::Builder::run_anything_while_blocked));
//! 4. spins, if what it may run can come within nanoseconds, or if it may run anything;
//! 5. asks for a wake-up, hands off its processor, looks for others, and sleeps.
//!
//! The wait for a stolen task is in `runtime/stolen.rs`, and the wait for a queue in `runtime/finish_queue.rs`.
//!
//! Before it runs anything, it ends the handoff, and so has its processor again.
//!
//! Like mail, a task or job of the third step is on top of the task that waits, and leapfrogging thieves
//! do not take its tasks.

use std::cell::RefCell;
use std::time::Duration;

use super::{Me, Remote, main_loop};
use crate::call::Call;
use crate::pool::{Shared, WorkerActivity};
use crate::runtime::stolen;
use crate::scheduler::{Point, Protocol, Scheduler};
use crate::sleep::{Backoff, Sleep, Slept, SpinTime, Visits};
use crate::stats::{Activity, Count};
use crate::sync::Instant;
use crate::sync::plain::Ordering;
use crate::this_thread::ParkToken;
use crate::{tracing, tunables};

/// What a blocked worker waits for.
pub(crate) trait Awaited<S: Scheduler> {
    /// Whether the worker spins before it hands off its processor.
    const SPINS: bool;

    /// Returns what the worker waits for, for people.
    fn what(&self) -> WorkerActivity;

    /// Returns whether the wait is over.
    fn is_over(&self) -> bool;

    /// Returns the worker that runs the stolen task, if this is a wait for one.
    fn holder(&self) -> Option<&Remote<S>> {
        None
    }

    /// Looks once for something that this wait may run, and runs it. Returns whether it has run
    /// anything.
    fn run_one(&self, wait: &mut Wait<'_, S>) -> bool;

    /// Asks for a wake-up when the wait is over. Returns false if it is over, or if the caller must look
    /// again.
    fn ask_for_wake_up(&self) -> bool {
        true
    }

    /// Returns whether the sleeping worker itself will wake up for the tasks of `other`. Then no
    /// other worker is woken for them.
    fn wakes_up_for(&self, other: &Remote<S>) -> bool {
        let _ = other;
        false
    }

    /// Sleeps until the wait may be over, or may have something to run.
    fn sleep(&self, wait: &mut Wait<'_, S>) -> Slept;
}

/// Blocks `me` until the wait is over.
pub(crate) fn until<S: Scheduler, A: Awaited<S>>(me: Me<'_, S>, awaited: &A) {
    let outer = me.timer().switch_to(Activity::SearchingInJoin);
    // Relaxed: for people. Only this thread writes it.
    let outer_wait = me.waits_for.load(Ordering::Relaxed);
    me.waits_for
        .store(awaited.what().encode(), Ordering::Relaxed);
    let mut wait = Wait {
        me,
        backoff: Backoff::new(SpinTime::usual()),
        handed_off: None,
        visits: Visits::Announced,
    };
    while !awaited.is_over() {
        S::Protocol::answer(me, Point::Blocked(awaited.holder()));
        if me.has_mail() {
            wait.run(|| _ = me.run_mail_while_blocked());
            continue;
        }
        if awaited.run_one(&mut wait) {
            continue;
        }
        let runs_anything = wait.may_run_anything();
        if runs_anything && wait.run_anything() {
            continue;
        }
        if (A::SPINS || runs_anything) && wait.backoff.pause() {
            continue;
        }
        if !awaited.ask_for_wake_up() {
            continue;
        }
        me.count(Count::Sleeps);
        wait.hand_off();
        let visits = std::mem::replace(&mut wait.visits, Visits::Everyone);
        me.pool()
            .look_for_others(visits, |other| awaited.wakes_up_for(other));
        let slept = awaited.sleep(&mut wait);
        wait.backoff.restart(slept);
    }
    drop(wait);
    me.waits_for.store(outer_wait, Ordering::Relaxed);
    me.timer().switch_to(outer);
}

/// A blocked worker, and how far its wait has come.
pub(crate) struct Wait<'p, S: Scheduler> {
    pub(crate) me: Me<'p, S>,
    /// Grows while the worker finds nothing to run.
    pub(crate) backoff: Backoff,
    handed_off: Option<HandedOff<'p>>,
    /// Whom the worker visits when it next looks for tasks on behalf of the receiver of its processor.
    visits: Visits,
}

impl<S: Scheduler> Wait<'_, S> {
    /// Runs `work`, as a worker that has its processor.
    pub(crate) fn run(&mut self, work: impl FnOnce()) {
        self.handed_off = None;
        let outer = self.me.timer().switch_to_application();
        work();
        self.me.timer().switch_to(outer);
        self.backoff = Backoff::new(SpinTime::usual());
    }

    /// Returns whether the worker may look for something to run: no other worker uses its thread
    /// index. From then on the worker uses it, until it sleeps.
    pub(crate) fn may_run(&mut self) -> bool {
        let handed_off = self.handed_off.as_mut();
        handed_off.is_none_or(HandedOff::may_run)
    }

    /// Returns whether the worker's processor is idle, because no worker is left to take it.
    pub(crate) fn is_processor_idle(&self) -> bool {
        let pool = self.me.pool();
        !S::HANDS_OFF || pool.spares == 0 || self.handed_off.is_some() && pool.sleep.lacks_workers()
    }

    /// Hands off the processor, if it is not handed off, and the thread index.
    fn hand_off(&mut self) {
        let worker = self.me.index();
        match &mut self.handed_off {
            Some(handed_off) => handed_off.rest(),
            None => {
                self.handed_off = self.me.pool().hand_off_processor(Some(worker));
                if self.handed_off.is_some() {
                    self.me.count(Count::Handoffs);
                }
            }
        }
    }

    /// Returns whether the worker may run any task or job now, because no spare worker is left to do
    /// so. See
    /// [`Builder::run_anything_while_blocked`](crate::Builder::run_anything_while_blocked).
    ///
    /// Not while any worker runs a future: an unrelated task may wait for that future, and the future
    /// for what this worker runs. Joins and finishes wait only for tasks that began later than they
    /// did, and so does everything below them on a stack. So without futures, no two of them wait for
    /// each other. A call from a worker of another pool counts as a future, because a task of that
    /// pool waits for it.
    pub(crate) fn may_run_anything(&self) -> bool {
        let pool = self.me.pool();
        let is_left_alone = || {
            let handed_off = self.handed_off.as_ref();
            handed_off
                .is_some_and(|handed_off| handed_off.since.elapsed() >= tunables::LEFT_ALONE.get())
                && pool.sleep.lacks_workers()
        };
        S::HANDS_OFF
            && pool.options.runs_anything
            && (pool.spares == 0 || is_left_alone())
            && self.me.may_run_another()
            && !pool.started().iter().any(|worker| worker.runs_future())
    }

    /// Runs a job from outside or a task of another worker, if there is one, on top of what the worker
    /// waits for. Called if the worker [may](Self::may_run_anything).
    fn run_anything(&mut self) -> bool {
        if !self.may_run() {
            return false;
        }
        let me = self.me;
        if let Some(job) = me.pool().inbox.pop() {
            self.run(|| me.suspend(|| me.run_on_top(|| job.run(me))));
            return true;
        }
        let Some(stolen) = main_loop::look_once(me, &mut self.backoff) else {
            return false;
        };
        self.run(|| me.suspend(|| me.run_on_top(|| stolen::run(me, stolen))));
        true
    }

    /// Returns the longest sleep of a worker that may run anything, if this worker may.
    pub(crate) fn limit_of_anything(&self) -> Option<Duration> {
        self.may_run_anything()
            .then(|| tunables::RECHECK_INTERVAL.get())
    }
}

/// Something outside the pool that a worker waits for. The worker's thread is
/// [unparked](std::thread::Thread::unpark) at the end.
pub(crate) struct Outside<'f> {
    /// The call that the worker waits for, or null.
    call: *const Call,
    is_done: &'f dyn Fn() -> bool,
    token: RefCell<ParkToken>,
}

impl<'f> Outside<'f> {
    pub(crate) fn new(call: *const Call, is_done: &'f dyn Fn() -> bool) -> Self {
        Outside {
            call,
            is_done,
            token: RefCell::default(),
        }
    }
}

impl<S: Scheduler> Awaited<S> for Outside<'_> {
    /// Another pool takes microseconds to answer.
    const SPINS: bool = false;

    fn what(&self) -> WorkerActivity {
        WorkerActivity::WaitsForOther
    }

    fn is_over(&self) -> bool {
        (self.is_done)()
    }

    /// Runs a call that descends from the awaited call, if no other worker is left to do so.
    fn run_one(&self, wait: &mut Wait<'_, S>) -> bool {
        // Only the hand-off tells whether another worker is left to take the processor.
        if wait.handed_off.is_none() {
            wait.hand_off();
        }
        if !(wait.is_processor_idle() && wait.may_run()) {
            return false;
        }
        let me = wait.me;
        let Some(job) = me.pool().inbox.pop_descendant_of(self.call) else {
            return false;
        };
        wait.run(|| job.run(me));
        true
    }

    fn sleep(&self, wait: &mut Wait<'_, S>) -> Slept {
        S::Protocol::answer(wait.me, Point::Sleep);
        // Other workers of this pool may block later in joins, where they run no calls from outside. So
        // this worker checks again from time to time whether it must serve.
        let naps = wait.is_processor_idle() || !S::Protocol::SERVES_ASLEEP;
        let time = if naps {
            tunables::RECHECK_INTERVAL
        } else {
            tunables::OUTSIDE_RECHECK
        };
        self.token.borrow_mut().park(Some(time.get()));
        Slept::Woken
    }
}

/// The processor of a blocked worker, while another worker uses it. Dropping this ends the handoff.
pub(crate) struct HandedOff<'p> {
    sleep: &'p Sleep,
    /// The blocked worker, if another worker may use its thread index.
    worker: Option<usize>,
    /// Whether the blocked worker uses its thread index while it looks for something to run.
    uses_index: bool,
    since: Instant,
}

impl HandedOff<'_> {
    /// Returns whether the blocked worker may look for something to run: no other worker uses its
    /// thread index. From then on the worker uses it, until [`rest`](Self::rest).
    fn may_run(&mut self) -> bool {
        self.uses_index = match self.worker {
            Some(worker) => self.uses_index || self.sleep.try_reclaim_thread_index(worker),
            None => true,
        };
        self.uses_index
    }

    /// Lets other workers use the thread index again, before the blocked worker sleeps. The caller must
    /// then [look for others](Shared::look_for_others).
    fn rest(&mut self) {
        if std::mem::take(&mut self.uses_index)
            && let Some(worker) = self.worker
        {
            self.sleep.free_thread_index(worker);
        }
    }
}

impl Drop for HandedOff<'_> {
    fn drop(&mut self) {
        self.sleep.end_handoff(self.worker);
        tracing::ended_handoff();
    }
}

impl<S: Scheduler> Me<'_, S> {
    /// Runs `f`, which a worker of another pool waits for, if `is_awaited_elsewhere`.
    pub(crate) fn run_for_others<R>(self, is_awaited_elsewhere: bool, f: impl FnOnce() -> R) -> R {
        if !is_awaited_elsewhere {
            return f();
        }
        self.begin_future();
        let result = f();
        self.end_future();
        result
    }
}

impl<S: Scheduler> Shared<S> {
    /// Hands off the processor of a thread that is going to sleep. `worker` is the worker that runs
    /// there, if another worker may use its thread index meanwhile.
    pub(crate) fn hand_off_processor(&self, worker: Option<usize>) -> Option<HandedOff<'_>> {
        S::HANDS_OFF.then(|| {
            let sleep = &self.sleep;
            if !sleep.hand_off(worker) && self.spares > 0 {
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
    pub(crate) fn look_for_others(&self, visits: Visits, is_ours: impl Fn(&Remote<S>) -> bool) {
        if S::HANDS_OFF {
            super::main_loop::pass_on(self, visits, is_ours);
        }
    }
}
