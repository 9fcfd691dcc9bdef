//! The queue of a finish: tasks that could not go to a task stack ([`super::finish`](mod@super::finish) says when), and the
//! first panic of all tasks. A finish makes its queue when it first needs it for either.
//!
//! Two kinds of worker take tasks from it, the oldest first: the owner of the finish, once its body
//! has ended, and idle workers. An idle worker does not know the queue. So the queue **calls** idle
//! workers by jobs in the pool's inbox, at most one for each worker: a worker that answers a call
//! takes a task, and calls the next worker if more tasks wait. It then goes on with a [`Batch`] of
//! tasks. A finish that ends withdraws the calls that no worker has answered.
//!
//! The queue counts its **pending** tasks, waiting or running. The thread that ends the last task
//! wakes the owner. The owner may also be a thread outside the pool, which runs no tasks.

use std::collections::VecDeque;
use std::ptr::null;
use std::sync::Arc;

use super::token::Token;
use crate::call::Lineage;
use crate::pool::worker::wait::{self, Awaited, Wait};
use crate::pool::{Batch, Injected, Job, Me, Shared, WorkerActivity};
use crate::scheduler::{Point, Protocol, Scheduler, TaskPool};
use crate::sleep::{Latch, Slept, Waiter, recheck_interval};
use crate::sync::{Mutex, lock};
use crate::unwind::FirstPanic;

/// The tasks of a finish that could not go to a task stack.
pub(super) struct Queue<S: Scheduler> {
    /// The first panic of a task, wherever it lay, or of a future whose result is never fetched.
    pub(super) panic: FirstPanic,
    /// Held for each task, waiting or running, that has not ended. The owner waits for it.
    pending: Latch,
    lineage: Lineage,
    waiting: Mutex<Waiting<S>>,
}

struct Waiting<S: Scheduler> {
    tasks: VecDeque<Injected<S>>,
    /// The number of pending calls for idle workers: at most the number of workers, and at least
    /// one while there are tasks.
    calls: usize,
    /// Whether the owner, a worker, has found no task and waits for one.
    owner_waits: bool,
}

impl<S: Scheduler> Queue<S> {
    pub(super) fn new(owner: Waiter, lineage: Lineage) -> Self {
        let waiting = Waiting {
            tasks: VecDeque::new(),
            calls: 0,
            owner_waits: false,
        };
        Queue {
            panic: FirstPanic::default(),
            pending: Latch::new(0, owner),
            lineage,
            waiting: Mutex::new(waiting),
        }
    }

    /// Adds a task, and calls an idle worker for it.
    pub(super) fn push(self: &Arc<Self>, pool: &Shared<S>, task: Injected<S>) {
        self.hold();
        let mut waiting = lock(&self.waiting);
        waiting.tasks.push_back(task);
        let should_call = waiting.calls < pool.workers;
        waiting.calls += usize::from(should_call);
        // An owner that runs a task, or waits for another one in a join, must not be disturbed.
        let owner_waits = std::mem::take(&mut waiting.owner_waits);
        drop(waiting);
        if owner_waits {
            self.pending.waiter().unpark(&pool.sleep);
        }
        if should_call {
            call_worker(pool, Arc::clone(self));
        }
    }

    /// Keeps the finish from ending until [`Self::ended_one`]. Called while the finish cannot end.
    pub(super) fn hold(&self) {
        self.pending.hold();
    }

    /// Owner: runs the tasks, and waits until all of them have ended. Then withdraws the calls that no
    /// worker has answered.
    pub(super) fn await_end(&self, owner: Me<'_, S>) {
        wait::until(owner, self);
        self.withdraw_calls(owner.pool());
    }

    /// Owner that is not a worker of the pool: waits until all tasks have ended. Then withdraws the
    /// calls that no worker has answered.
    pub(super) fn await_end_outside(&self, pool: &Shared<S>) {
        pool.wait_outside(self.lineage, &|| self.is_over());
        self.withdraw_calls(pool);
    }

    /// Takes the oldest task.
    fn pop(&self) -> Option<Injected<S>> {
        lock(&self.waiting).tasks.pop_front()
    }

    /// Owner: takes the oldest task. If there is none, the next task wakes the owner.
    fn pop_or_wait(&self) -> Option<Injected<S>> {
        let mut waiting = lock(&self.waiting);
        let task = waiting.tasks.pop_front();
        waiting.owner_waits = task.is_none();
        task
    }

    /// Takes the oldest task for a worker that was called. Also returns whether the worker must
    /// call another one in its place.
    fn answer_call(&self) -> Option<(Injected<S>, bool)> {
        let mut waiting = lock(&self.waiting);
        let task = waiting.tasks.pop_front();
        let has_more = !waiting.tasks.is_empty();
        waiting.calls -= usize::from(!has_more);
        task.map(|task| (task, has_more))
    }

    /// The tag of calls for this queue. A call keeps the queue, so no other queue has its address
    /// meanwhile.
    fn tag(&self) -> *const () {
        std::ptr::from_ref(self).cast()
    }

    /// Runs a task that holds this queue.
    pub(super) fn run(&self, thread: Me<'_, S>, task: impl FnOnce()) {
        let outer = thread.timer().switch_to_application();
        // The owner of the finish waits for the task, and so does the finish's root.
        // SAFETY: the call from which the finish descends waits for the task, until `ended_one`.
        let in_lineage = unsafe { thread.enter_lineage(self.lineage) };
        let owner = self.pending.waiter();
        // SAFETY: the call from which the finish descends waits for the task.
        let is_awaited_elsewhere = owner.is_outside() && unsafe { self.lineage.has_caller() };
        thread.run_for_others(is_awaited_elsewhere, task);
        drop(in_lineage);
        thread.timer().switch_to(outer);
        self.ended_one(thread.pool());
    }

    /// Takes one [`Self::hold`] back, for a task that has ended, for example. The finish may be gone
    /// afterwards.
    pub(super) fn ended_one(&self, pool: &Shared<S>) {
        // SAFETY: each caller has held the latch, and calls this once. The queue lives, by the caller's
        // reference.
        unsafe { Latch::release(&self.pending, &pool.sleep) };
    }

    /// Withdraws the calls that no worker has answered, when no task is left.
    fn withdraw_calls(&self, pool: &Shared<S>) {
        // Every call that is left is in the inbox, or was taken by a worker a moment ago: a worker
        // that calls another one does so before it runs its task.
        let calls = lock(&self.waiting).calls;
        if calls > 0 {
            pool.inbox.withdraw(self.tag(), calls);
        }
    }
}

impl<S: Scheduler> Awaited<S> for Queue<S> {
    /// A task that comes wakes the owner, and other workers take it, too.
    const SPINS: bool = false;

    fn what(&self) -> WorkerActivity {
        WorkerActivity::WaitsForScope
    }

    /// Returns whether all tasks have ended.
    fn is_over(&self) -> bool {
        self.pending.is_open()
    }

    fn run_one(&self, wait: &mut Wait<'_, S>) -> bool {
        // Otherwise the workers that were called run the tasks.
        if !wait.may_run() {
            return false;
        }
        let Some(task) = self.pop_or_wait() else {
            return false;
        };
        let owner = wait.me;
        wait.run(|| self.run(owner, || task.run(owner)));
        true
    }

    fn sleep(&self, wait: &mut Wait<'_, S>) -> Slept {
        let owner = wait.me;
        let time = match owner.tasks.offers_nothing() {
            true => wait
                .limit_of_anything()
                .or_else(|| wait.backoff.sleep_limit(|_| true)),
            false => {
                S::Protocol::answer(owner, Point::Sleep);
                recheck_interval()
            }
        };
        owner.pool().sleep.park(owner.index(), time);
        Slept::Woken
    }
}

/// Calls an idle worker, which runs tasks of the queue. If more tasks wait, the called worker
/// first calls the next worker, behind jobs that other threads have injected. The queue may be
/// empty by then, because the owner was faster or the finish has ended.
fn call_worker<S: Scheduler>(pool: &Shared<S>, queue: Arc<Queue<S>>) {
    let tag = queue.tag();
    let call = move |thread: Me<'_, S>| {
        let Some((task, has_more)) = queue.answer_call() else {
            return;
        };
        if has_more {
            call_worker(thread.pool(), Arc::clone(&queue));
        }
        let batch = Batch::begin(&Token::at_top(thread));
        queue.run(thread, || task.run(thread));
        if let Some(mut batch) = batch {
            while batch.goes_on(&Token::at_top(thread))
                && let Some(task) = queue.pop()
            {
                queue.run(thread, || task.run(thread));
            }
        }
    };
    pool.inject(Job::boxed(call), null(), tag);
}
