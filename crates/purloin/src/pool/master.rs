//! The task barrier on a worker: the caller of [`Pool::wait`](crate::Pool::wait) takes part.
//!
//! If the scheduler detects quiescence by itself, a worker of the pool may wait, too. It is then the
//! **master**. First it takes back the newest tasks of its own body, and runs them, up to one that a
//! thief has. Then it is idle: it asks for tasks and runs any task, job or call. The scheduler counts
//! it among the idle workers, so the wait does not wait for itself. The master takes back its own tasks
//! again when the thief has ended that one.
//!
//! When the wait is over, the master goes on with the body. It calls
//! [`TaskPool::before_outside_work`] first, as an idle worker does before it takes a job. So a later wait
//! does not count it as idle.
//!
//! # Who may wait
//!
//! A body may wait if it is the closure of a call that a thread other than a worker has made, or the
//! body of a finish in that closure.
//!
//! - A job or a task may not: it would wait for itself.
//! - A call from a worker may not. That worker may belong to this pool, directly or by way of other
//!   pools, and then the wait would wait for it.
//! - The worker must have been idle when it began the call. Otherwise it would seem idle with the
//!   unfinished tasks below.
//!
//! An idle worker includes a waiting master: it may run another call, and that may wait, too. One
//! moment of quiescence may end both waits. The lower body goes on when the upper call has returned.
//!
//! # Tasks that were sent
//!
//! An idle worker has no tasks, but a master has those of its body. A thief that was sent such a task
//! may drop its address, so that only the owner knows it. So when all workers are idle, the master
//! looks at its own tasks once more. If one of them is left, it runs that, and waits anew.
//!
//! A thief that leapfrogs takes only descendants of the task that it awaits. A master holds no such
//! task below its wait, and answers no leapfrog request with a task from there.
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
        let mut wait = quiescence.begin_wait(Some(self.index()), ask);
        // What runs on top of the wait is not the body.
        let call = self.master().call.take();
        loop {
            let has_run = take_back_newest(self, body);
            let newest = newest_stolen(self, body);
            if quiescence.has_ended(wait) {
                if !has_run && newest.is_none() {
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
