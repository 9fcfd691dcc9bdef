//! The task barrier on a worker: the caller of [`Pool::wait`](crate::Pool::wait) takes part.
//!
//! If the scheduler detects quiescence by itself, a worker of the pool may wait, too. It is then the
//! **master**. First it runs the tasks on its own stack that no thief has. From then on it is idle, as
//! the other workers see it: it asks for tasks and runs any of them, and any job. So the scheduler
//! counts it among the idle workers, and the wait does not wait for itself. When the wait is over, the
//! master goes on with work that no worker has given to it. It says so beforehand, as it does
//! before it takes work from outside.
//!
//! Only the body of a call may wait that comes from a thread that is no worker, or the body of a
//! finish there. All tasks on the stack below are then spawns of this body, which are stolen while the
//! master is idle. Three things follow:
//!
//! - A job or a task that waits would wait for itself. It does not belong to such a body.
//! - A worker of this pool may wait for a call that comes from a worker of another pool. The wait
//!   would wait for that worker.
//! - A thief that leapfrogs takes only descendants of the task that it awaits. A master holds no
//!   such task below the wait, and offers no task from there.
//!
//! The master may run another call meanwhile, and that may wait, too: a body that runs on top of a wait
//! is like one that runs on an idle worker. Then both masters are idle, and the same moment of
//! quiescence may end both waits; the lower one goes on after the upper call has returned.
//!
//! Source: Channel, "Task Barrier": `TASKING_BARRIER`, in which the master thread runs tasks.

use std::cell::Cell;

use super::idle::{Work, find_until};
use super::lineage::Call;
use super::{Shared, WorkerThread};
use crate::runtime::{Body, end_body, run_unstolen};
use crate::scheduler::{Scheduler, TaskPool};
use crate::stats::Activity;

/// Where this worker may wait, and whether it does. Only its own thread uses it.
#[derive(Default)]
pub(super) struct Master {
    /// The call whose body may wait, if there is one.
    call: Cell<Option<*const Call>>,
    /// The address of the top of the task stack at the beginning of that call.
    base: Cell<usize>,
    /// The call whose body waits, while this worker begins a job on top of it.
    waiting: Cell<Option<*const Call>>,
}

impl<S: Scheduler> WorkerThread<S> {
    /// Runs the body of `call`, a call from outside. The body may wait if no worker has made the call,
    /// and if this worker has nothing else to run until the body has ended.
    pub(super) fn as_master_of<R>(&self, call: &Call, body: impl FnOnce() -> R) -> R {
        if !S::DETECTS_QUIESCENCE {
            return body();
        }
        let (own, outer) = (self.master(), self.call());
        let is_idle = outer.is_null() || own.waiting.take() == Some(outer);
        let call = (is_idle && !call.has_caller()).then_some(std::ptr::from_ref(call));
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
    /// Panics if a job has panicked, and if this worker may not wait here.
    pub(super) fn wait_as_master(&self) {
        // A worker could wait for its processor, and nothing would wake it when the wait is over.
        const { assert!(!S::DETECTS_QUIESCENCE || !S::HANDS_OFF) };
        let body = self.body_that_may_wait();
        let body = body.unwrap_or_else(|| cannot_wait::<S>());
        let pool = self.pool();
        let index = Some(self.index());
        let wait = pool.quiescence.begin_wait(index, || pool.sleep.unpark(0));
        // Nothing that runs on top may wait, except for calls from outside.
        let call = self.master().call.take();
        let outer = self.timer().switch_to_application();
        loop {
            run_unstolen(self, body);
            let Some(work) = self.find_until(pool, wait) else {
                break;
            };
            self.timer().switch_to(Activity::ApplicationInJoin);
            self.local.suspend(|| match work {
                Work::Injected(job) => {
                    self.master().waiting.set(call);
                    job.run(self);
                    self.master().waiting.set(None);
                }
                Work::Stolen(stolen) => self.run_stolen(stolen),
                Work::Stop => unreachable!("the call from outside borrows the pool"),
            });
        }
        end_body(self, body);
        self.timer().switch_to(outer);
        self.master().call.set(call);
        pool.quiescence.end_wait(index);
    }

    /// Returns the tasks of the code that calls this, if it is a body that may wait.
    fn body_that_may_wait(&self) -> Option<Body<S>> {
        let own = self.master();
        let is_body = own.call.get() == Some(self.call());
        is_body
            .then(|| self.local.body_at(own.base.get()))
            .flatten()
    }

    /// Is idle until there is something to run, or until the wait is over.
    fn find_until(&self, pool: &Shared<S>, wait: u64) -> Option<Work<S>> {
        self.timer().switch_to(Activity::SearchingInJoin);
        self.set_active(false);
        let work = find_until(self, &|| pool.quiescence.has_ended(wait));
        if work.is_none() {
            S::TaskPool::before_outside_work(self);
        }
        self.set_active(true);
        S::TaskPool::became_active(self);
        work
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
