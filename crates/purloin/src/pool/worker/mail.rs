//! Mail: jobs for one particular worker, which runs them as soon as it is idle or blocked.
//!
//! Any worker may run a task or a job from outside. A **broadcast** runs once on each worker, for
//! example to set up thread-local values. So each regular worker has a mailbox, and a broadcast sends
//! a message, a job, to each of them. A worker checks its mailbox while it is idle, and while it is
//! blocked: in a join, a finish or a future, or while it waits for another pool. A new message wakes
//! the worker wherever it sleeps, also in the reserve (see [`crate::sleep`]).
//!
//! A blocked worker runs its messages on top of the task that waits. The tasks that a message pushes
//! do not descend from that task. A leapfrogging thief must not take them, because they are unrelated
//! to the task that the thief waits for. So the worker sets a flag while it runs such work on top, and a
//! leapfrogging thief checks the flag after it has claimed a task, just as it checks that the task
//! that it waits for has not ended (see [`crate::runtime`]).
//!
//! A worker that ends first runs the messages that are left, and then **closes** its mailbox. A
//! broadcast to a closed mailbox panics. This happens only in a pool that was dropped: in an exit
//! handler, or on a thread of the program that is a worker.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Me;
use crate::pool::{Injected, Pool, Shared};
use crate::runtime::Token;
use crate::scheduler::Scheduler;
use crate::sync::plain::{AtomicBool, OnceLock, Ordering};
use crate::sync::thread::{self, Thread};
use crate::sync::{Mutex, lock};
use crate::unwind::Panic;

/// The messages of one worker. Their number is in [`crate::sleep::Sleep`].
pub(crate) struct Mailbox<S: Scheduler> {
    /// The messages, oldest first; `None` once the worker has ended.
    jobs: Mutex<Option<VecDeque<Injected<S>>>>,
    /// The worker's thread, once it runs.
    thread: OnceLock<Thread>,
    /// Whether the worker runs anything on top of a task that waits: mail, a job, a stolen task.
    pub(super) runs_on_top: AtomicBool,
}

impl<S: Scheduler> Mailbox<S> {
    pub(crate) fn new() -> Self {
        Mailbox {
            jobs: Mutex::new(Some(VecDeque::new())),
            thread: OnceLock::new(),
            runs_on_top: AtomicBool::new(false),
        }
    }
}

impl<S: Scheduler> Me<'_, S> {
    /// Lets messages wake the thread of this worker, which calls this.
    pub(crate) fn open_mailbox(self) {
        // A worker has one thread.
        let _ = self.mailbox.thread.set(thread::current());
    }

    /// Takes the oldest message to this worker.
    pub(crate) fn take_mail(self) -> Option<Injected<S>> {
        if !self.has_mail() {
            return None;
        }
        let job = lock(&self.mailbox.jobs).as_mut()?.pop_front();
        if job.is_some() {
            self.pool().sleep.took_mail(self.index());
        }
        job
    }

    /// Runs the mail that is left, and takes no more. Called before the worker ends.
    pub(crate) fn close_mailbox(self) {
        loop {
            let mut jobs = lock(&self.mailbox.jobs);
            match jobs.as_mut().and_then(VecDeque::pop_front) {
                Some(job) => {
                    drop(jobs);
                    self.pool().sleep.took_mail(self.index());
                    self.active(|| job.run(self));
                }
                None => return *jobs = None,
            }
        }
    }

    /// Runs the mail of this worker, which is blocked. Returns whether there was
    /// any.
    pub(crate) fn run_mail_while_blocked(self) -> bool {
        let Some(mut job) = self.take_mail() else {
            return false;
        };
        self.run_on_top(|| {
            loop {
                // A message catches its panics.
                job.run(self);
                match self.take_mail() {
                    Some(next) => job = next,
                    None => break,
                }
            }
        });
        true
    }

    /// Runs work that has nothing to do with the task for which this worker is blocked. `work` must
    /// not panic.
    pub(crate) fn run_on_top(self, work: impl FnOnce()) {
        let outer = self.timer().switch_to_application();
        let on_top = &self.mailbox.runs_on_top;
        // Relaxed: a thief that claims a task of the work has acquired it, and sees this store.
        let was_on_top = on_top.swap(true, Ordering::Relaxed);
        work();
        // Relaxed: no task of the work is left.
        on_top.store(was_on_top, Ordering::Relaxed);
        self.timer().switch_to(outer);
    }
}

impl<S: Scheduler> Shared<S> {
    /// Sends a message to a regular worker. If the worker has ended, returns the panic of the job,
    /// which is dropped.
    pub(crate) fn post(&self, worker: usize, job: Injected<S>) -> Result<(), Panic> {
        let mailbox = &self.worker_threads[worker].mailbox;
        match lock(&mailbox.jobs).as_mut() {
            Some(jobs) => jobs.push_back(job),
            None => return Err(Box::new(HAS_ENDED)),
        }
        self.sleep.post(worker);
        // A worker that waits for another pool sleeps without its parker.
        if let Some(thread) = mailbox.thread.get() {
            thread.unpark();
        }
        Ok(())
    }
}

/// The panic of a broadcast. Workers end only in a pool that was dropped.
const HAS_ENDED: &str = "a worker cannot run the broadcast, because it has ended";

impl Pool {
    /// Lets each worker of this pool run `f` once, and returns without waiting for it. Like a
    /// [job](Self::spawn), the function descends from no call, and its panics go to the [panic
    /// handler](crate::Builder::panic_handler) or to the next [`wait`](Self::wait), which also
    /// waits for it.
    ///
    /// ```
    /// # use purloin::Pool;
    /// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    ///
    /// static SEEN: AtomicUsize = AtomicUsize::new(0);
    /// let pool = Pool::builder().workers(3).build()?;
    /// pool.spawn_broadcast(|w| {
    ///     SEEN.fetch_add(1 << w.index(), Relaxed);
    /// });
    /// pool.wait();
    /// assert_eq!(SEEN.load(Relaxed), 0b111);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Panics in a forked process, which has a copy of the pool but none of its threads.
    pub fn spawn_broadcast<F>(&self, f: F)
    where
        F: for<'t> Fn(Token<'t>) + Send + Sync + 'static,
    {
        let pool = &*self.shared;
        let f = Arc::new(f);
        for worker in 0..pool.workers {
            let f = Arc::clone(&f);
            let (generation, job) = pool.job(move |token| f(token));
            if let Err(panic) = pool.post(worker, job) {
                pool.end_job(generation, Err(panic));
            }
        }
    }
}
