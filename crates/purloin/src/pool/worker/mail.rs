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
use std::panic::resume_unwind;
use std::ptr::null;
use std::sync::Arc;

use super::WorkerThread;
use super::current::current_call;
use super::lineage::{Call, NO_GENERATION};
use crate::pool::outside::block;
use crate::pool::{Injected, Job, Pool, Shared};
use crate::runtime::{self, ReturnBarrier, Token};
use crate::scheduler::Scheduler;
use crate::sync::plain::{AtomicBool, AtomicUsize, Mutex, OnceLock, Ordering, lock};
use crate::sync::thread::{self, Thread};
use crate::unwind::{AbortOnUnwind, Panic, discard};

/// The messages of one worker. Their number is in [`crate::sleep::Sleep`].
pub(crate) struct Mailbox<S: Scheduler> {
    /// The messages, oldest first; `None` once the worker has ended.
    jobs: Mutex<Option<VecDeque<Injected<S>>>>,
    /// The worker's thread, once it runs.
    thread: OnceLock<Thread>,
    /// Whether the worker runs mail on top of a task that waits.
    runs_on_top: AtomicBool,
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

impl<S: Scheduler> WorkerThread<S> {
    /// Lets messages wake the thread of this worker, which calls this.
    pub(crate) fn open_mailbox(&self) {
        // A worker has one thread.
        let _ = self.mailbox().thread.set(thread::current());
    }

    /// Returns whether this worker has mail.
    pub(crate) fn has_mail(&self) -> bool {
        self.pool().sleep.has_mail(self.index())
    }

    /// Takes the oldest message to this worker, on its own thread.
    pub(crate) fn take_mail(&self) -> Option<Injected<S>> {
        if !self.has_mail() {
            return None;
        }
        let job = lock(&self.mailbox().jobs).as_mut()?.pop_front();
        if job.is_some() {
            self.pool().sleep.took_mail(self.index());
        }
        job
    }

    /// Runs the mail that is left, and takes no more. Called on the worker's own thread before it ends.
    pub(crate) fn close_mailbox(&self) {
        loop {
            let mut jobs = lock(&self.mailbox().jobs);
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

    /// Runs the mail of this worker, which is blocked, on its own thread. Returns whether there was
    /// any.
    pub(crate) fn run_mail_while_blocked(&self) -> bool {
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
    pub(crate) fn run_on_top(&self, work: impl FnOnce()) {
        let outer = self.timer().switch_to_application();
        let on_top = &self.mailbox().runs_on_top;
        // Relaxed: a thief that claims a task of the work has acquired it, and sees this store.
        let was_on_top = on_top.swap(true, Ordering::Relaxed);
        work();
        // Relaxed: no task of the work is left.
        on_top.store(was_on_top, Ordering::Relaxed);
        self.timer().switch_to(outer);
    }

    /// Returns whether tasks of this worker may descend from other work than the task for which the
    /// worker is blocked. Called by a thief that has claimed a task.
    pub(crate) fn runs_on_top(&self) -> bool {
        self.mailbox().runs_on_top.load(Ordering::Relaxed)
    }
}

impl<S: Scheduler> Shared<S> {
    /// Sends a message to a regular worker. If the worker has ended, returns the panic of the job,
    /// which is dropped.
    pub(crate) fn post(&self, worker: usize, job: Injected<S>) -> Result<(), Panic> {
        let mailbox = self.worker_threads[worker].mailbox();
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

/// A broadcast whose caller waits for it.
struct Broadcast<'f, F, R> {
    f: &'f F,
    /// The call from within which the caller broadcasts, or null.
    caller: *const Call,
    /// The generation of the caller's jobs, if the caller is a worker of the pool.
    generation: u64,
    results: Box<[Mutex<Option<thread::Result<R>>>]>,
    /// Number of workers that have not ended.
    left: AtomicUsize,
    waiting: Thread,
}

/// The part of a broadcast that one worker runs.
struct Part<B> {
    broadcast: *const B,
    /// The number of the worker.
    index: usize,
}

impl<B> Clone for Part<B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for Part<B> {}

// SAFETY: `caller` lives until the broadcast is done, because it waits. The results are sent to the
// caller, and the other fields are `Sync`.
unsafe impl<F: Sync, R: Send> Sync for Broadcast<'_, F, R> {}

impl<F, R> Broadcast<'_, F, R>
where
    F: for<'t> Fn(Token<'t>) -> R + Sync,
    R: Send,
{
    /// Runs the broadcast's part for one worker, on its thread.
    ///
    /// # Safety
    ///
    /// `part` points at a `Part` of a broadcast with these types, which has not ended.
    unsafe fn run_part(part: *mut (), worker: &WorkerThread<ReturnBarrier>) {
        // SAFETY: by this function's contract. The part is copied, because the broadcast may be gone
        // before this function returns.
        unsafe {
            let Part { broadcast, index } = *part.cast::<Part<Self>>();
            Self::run_on(broadcast, worker, index);
        }
    }

    /// Runs the function on `worker`, which is the worker with number `index`.
    ///
    /// # Safety
    ///
    /// `this` points at a broadcast that waits for this worker. It may be gone afterwards, so this
    /// function gets no reference to it.
    unsafe fn run_on(this: *const Self, worker: &WorkerThread<ReturnBarrier>, index: usize) {
        // SAFETY: by this function's contract, until `end`.
        unsafe {
            let call = Call::new((*this).caller, (*this).generation);
            let f = (*this).f;
            let run = || worker.with_call(&call, || runtime::call_apart(worker, f));
            let result = worker.run_for_others(call.has_caller(), run);
            Self::end(this, index, result);
        }
    }

    /// Keeps the result of the worker with number `index`.
    ///
    /// # Safety
    ///
    /// As for [`run_on`](Self::run_on).
    unsafe fn end(this: *const Self, index: usize, result: thread::Result<R>) {
        // SAFETY: by this function's contract the broadcast waits until this worker is counted.
        unsafe {
            *lock(&(&(*this).results)[index]) = Some(result);
            // The broadcast may be gone once no worker is left.
            let waiting = (*this).waiting.clone();
            // Release: the caller sees the result.
            if (*this).left.fetch_sub(1, Ordering::Release) == 1 {
                waiting.unpark();
            }
        }
    }
}

impl Pool {
    /// Runs `f` once on each worker of this pool, and returns the results in the order of the
    /// workers' numbers. Waits for all of them.
    ///
    /// A worker runs `f` when it is idle, or blocked in a join, a finish or a future. A busy worker
    /// first ends its task. Spare workers do not take part.
    ///
    /// ```
    /// # use purloin::Pool;
    /// let pool = Pool::builder().workers(3).build()?;
    /// assert_eq!(pool.broadcast(|w| w.index()), [0, 1, 2]);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if `f` panics on any worker, after `f` has ended on all of them; if a worker has ended,
    /// in an exit handler for example; and in a forked process, which has a copy of the pool but none
    /// of its threads.
    pub fn broadcast<F, R>(&self, f: F) -> Vec<R>
    where
        F: for<'t> Fn(Token<'t>) -> R + Sync,
        R: Send,
    {
        let pool = &*self.shared;
        pool.check_process();
        let workers = pool.workers();
        let caller = pool.current();
        let generation = caller.map(|worker| worker.lineage().generation());
        let broadcast = Broadcast {
            f: &f,
            caller: current_call(),
            generation: generation.unwrap_or(NO_GENERATION),
            results: (0..workers).map(|_| Mutex::new(None)).collect(),
            left: AtomicUsize::new(workers),
            waiting: thread::current(),
        };
        let own = caller.filter(|worker| !worker.is_spare());
        let this: *const Broadcast<'_, F, R> = &broadcast;
        let part = |index| Part {
            broadcast: this,
            index,
        };
        let mut parts: Vec<_> = (0..workers).map(part).collect();
        let guard = AbortOnUnwind::new();
        for (worker, part) in parts.iter_mut().enumerate() {
            if own.is_some_and(|own| own.index() == worker) {
                continue;
            }
            let part: *mut Part<Broadcast<'_, F, R>> = part;
            // SAFETY: this function does not return, nor unwind, before every job has run. `F` is
            // `Sync` and `R` is `Send`.
            let job = unsafe { Job::in_frame(part.cast(), Broadcast::<F, R>::run_part) };
            if let Err(panic) = pool.post(worker, job) {
                // SAFETY: the broadcast is in this frame, and has not counted that worker.
                unsafe { Broadcast::end(this, worker, Err(panic)) };
            }
        }
        if let Some(own) = own {
            // SAFETY: the broadcast is in this frame, and has not counted this worker.
            unsafe { Broadcast::run_on(this, own, own.index()) };
        }
        // Acquire: pairs with the release of each worker.
        let is_over = || broadcast.left.load(Ordering::Acquire) == 0;
        block(null(), &is_over, &|| pool.limit_outside());
        guard.disarm();
        let results = broadcast.results.into_iter();
        let results = results.map(|result| result.into_inner().unwrap_or_else(|e| e.into_inner()));
        in_order(results.map(|result| result.expect("each worker has left its result")))
            .unwrap_or_else(|panic| resume_unwind(panic))
    }

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
        for worker in 0..pool.workers() {
            let f = Arc::clone(&f);
            let (generation, job) = pool.job(move |token| f(token));
            if let Err(panic) = pool.post(worker, job) {
                pool.end_job(generation, Err(panic));
            }
        }
    }
}

/// Returns all results, or the first panic.
fn in_order<R>(results: impl Iterator<Item = thread::Result<R>>) -> thread::Result<Vec<R>> {
    let mut all = Vec::new();
    let mut first: Option<Panic> = None;
    for result in results {
        match result {
            Ok(result) => all.push(result),
            Err(panic) => match first {
                None => first = Some(panic),
                Some(_) => discard(panic),
            },
        }
    }
    match first {
        None => Ok(all),
        Some(panic) => {
            discard(all);
            Err(panic)
        }
    }
}
