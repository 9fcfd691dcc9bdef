//! The task barrier on a worker: the caller of [`Pool::wait`](crate::Pool::wait) takes part.
//!
//! If the scheduler detects quiescence by itself, a worker of the pool may wait, too. It is then the
//! **master**. First it takes back the tasks of its own body, the newest first, and runs them, until it
//! comes to one that a thief runs. Then it is idle: it asks for tasks and runs any task, job or call. The
//! scheduler counts it among the idle workers, so the wait does not wait for itself. When that thief has
//! ended its task, the master goes on taking back its own.
//!
//! Before an idle master runs its own task or goes on with its body, it calls
//! [`TaskPool::before_outside_work`], as an idle worker does before it takes a job. So no later wait
//! counts it as idle.
//!
//! # Who may wait
//!
//! A body may wait if it is the closure of a call that a thread other than a worker has made, or the
//! body of a finish in a body that may wait.
//!
//! - A job, a task or the closure of a future may not: it would wait for itself.
//! - A call from a worker may not. That worker may belong to this pool, directly or by way of other
//!   pools, and then the wait would wait for it.
//! - The worker must have been idle when it began the call. Otherwise the worker would count as idle
//!   while a task further down its stack has not ended.
//!
//! A waiting master counts as idle. So it may begin another call, and that may wait, too. One moment of
//! quiescence may end both waits. The lower body goes on when the upper call has returned.
//!
//! # Tasks that were sent
//!
//! Any other idle worker has no tasks on its stack. A waiting master may have tasks of its body that were
//! sent and that no thief has claimed. If the thief has dropped the address, only the master knows of the
//! task, and all workers count as idle. So when the wait seems to be over, the master looks at its own
//! tasks once more. If any is left, it ends them, and waits again.
//!
//! Whenever the master has run a task of its own, it gives its wait a new number. Otherwise a moment of
//! quiescence before that task could end the wait, although the task has spawned a job.
//!
//! All tasks below the wait were sent, and a leapfrog request gets only tasks that were not. So a
//! blocked thief never gets a task of the body, which has nothing to do with what it awaits.
//!
//! Source: Channel, "Task Barrier": `TASKING_BARRIER`, in which the master thread runs tasks.

use std::cell::Cell;

use super::WorkerThread;
use super::idle::{Work, find_until};
use super::lineage::Call;
use crate::runtime::{Body, end_body, newest_stolen, take_back_newest};
use crate::scheduler::{Scheduler, StateWord, TaskPool};
use crate::stats::Activity;

/// Which body may wait on this worker. Only its own thread uses it.
#[derive(Default)]
pub(super) struct Master {
    /// Whether the worker is about to begin a call from outside, and is idle.
    begins_call: Cell<bool>,
    /// The call whose body may wait, if there is one.
    call: Cell<Option<*const Call>>,
    /// The address of the top of the task stack at the beginning of that call.
    base: Cell<usize>,
}

impl Master {
    /// Notes that the worker, which is idle, begins a call from outside next.
    pub(super) fn begin_call(&self) {
        self.begins_call.set(true);
    }
}

impl<S: Scheduler> WorkerThread<S> {
    /// Runs the body of `call`, a call from outside. Decides whether the body may wait.
    pub(super) fn as_master_of<R>(&self, call: &Call, body: impl FnOnce() -> R) -> R {
        let own = self.master();
        let is_idle = own.begins_call.take();
        if !S::DETECTS_QUIESCENCE {
            return body();
        }
        let may_wait = is_idle && !call.has_caller();
        let call = may_wait.then_some(std::ptr::from_ref(call));
        let base = self.task_pool().stack().top().addr();
        let outer = (own.call.replace(call), own.base.replace(base));
        // It does not panic: the call keeps its panic.
        let result = body();
        own.call.set(outer.0);
        own.base.set(outer.1);
        result
    }

    /// Implements [`Pool::wait`](crate::Pool::wait) on a worker of the pool.
    ///
    /// # Panics
    ///
    /// Panics if a job has panicked, and if the caller may not wait.
    pub(super) fn wait_as_master(&self) {
        // A worker could wait for its processor, and nothing would wake it when the wait is over.
        const { assert!(!S::DETECTS_QUIESCENCE || !S::HANDS_OFF) };
        let body = self.body_that_may_wait();
        let body = body.unwrap_or_else(|| cannot_wait::<S>());
        let quiescence = &self.pool().quiescence;
        let ask = || self.pool().sleep.unpark(0);
        // Tasks and jobs that run on top of this wait may not wait themselves.
        let call = self.master().call.take();
        take_back_newest(self, body);
        let mut wait = quiescence.begin_wait(Some(self.index()), ask);
        loop {
            let newest = newest_stolen(self, body);
            if quiescence.has_ended(wait) {
                if newest.is_none() {
                    break;
                }
                // All workers were idle with a task left.
                end_body(self, body);
                wait = quiescence.renew_wait(ask);
            } else if newest.is_none_or(StateWord::wait_for) {
                let is_over =
                    || quiescence.has_ended(wait) || newest.is_some_and(StateWord::is_done);
                self.run_one_until(&is_over);
            }
            if take_back_newest(self, body) {
                wait = quiescence.renew_wait(ask);
            }
        }
        self.master().call.set(call);
        quiescence.end_wait(Some(self.index()));
    }

    /// Returns the tasks of the code that calls this, if it is a body that may wait.
    fn body_that_may_wait(&self) -> Option<Body<S>> {
        let own = self.master();
        match own.call.get() == Some(self.call()) {
            true => self.local.body_at(own.base.get()),
            false => None,
        }
    }

    /// Is idle until there is something to run, and runs that, or until `is_over`.
    fn run_one_until(&self, is_over: &dyn Fn() -> bool) {
        let outer = self.timer().switch_to(Activity::SearchingInJoin);
        self.set_active(false);
        let work = find_until(self, is_over);
        if work.is_none() {
            S::TaskPool::before_outside_work(self);
        }
        self.set_active(true);
        S::TaskPool::became_active(self);
        self.timer().switch_to(outer);
        self.local.suspend(|| match work {
            Some(Work::Injected(job)) => job.run_when_idle(self),
            Some(Work::Stolen(stolen)) => self.run_stolen(stolen),
            Some(Work::Stop) => unreachable!("the call from outside borrows the pool"),
            None => (),
        });
    }
}

#[cold]
fn cannot_wait<S: Scheduler>() -> ! {
    match S::DETECTS_QUIESCENCE {
        false => panic!(
            "Pool::wait on a worker of this pool would wait for itself; \
             Worker::finish waits for a part of the tasks"
        ),
        true => panic!(
            "Pool::wait on a worker of this pool would wait for itself; call it in the closure that \
             a thread other than a worker passes to Pool::run, or in the body of a finish there"
        ),
    }
}
