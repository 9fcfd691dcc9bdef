//! Pools: their threads, their lifecycle, and work from outside.
//!
//! - [`builder`], [`options`], [`start`] and [`mod@global`]: how a pool is made.
//! - [`shared`]: the state that its workers share.
//! - [`threads`]: the threads of the workers, and [`worker`]: what each of them does.
//! - [`cache_placement`]: where a worker's memory lies, and [`stack_sizes`]: how large its stacks are.
//! - [`outside`] and [`inbox`]: calls and jobs from outside, their queue, and the threads that
//!   wait for them.
//! - [`rescue`]: a processor for work from outside that no worker begins.
//! - [`quiescence`]: waiting for all spawned jobs.
//! - [`state`]: what a pool does at a moment. [`watched`] knows all pools: [`watchdog`] prints the state of a pool that
//!   is stuck, and `monitor` tells it to `purloin top`.
//! - [`forked_process`]: what a forked process does without the threads.
//! - [`handlers`]: functions of the program that a pool calls.

mod builder;
pub(crate) mod cache_placement;
mod forked_process;
mod global;
mod handlers;
mod inbox;
#[cfg(all(loom, test))]
pub(crate) mod models;
#[cfg(unix)]
mod monitor;
mod options;
mod outside;
mod quiescence;
mod rescue;
mod shared;
pub(crate) mod stack_sizes;
mod start;
mod state;
mod threads;
mod watchdog;
mod watched;
pub(crate) mod worker;

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::null;
use std::sync::Arc;
use std::time::Duration;

use purloin_trace::Trace;

pub use builder::Builder;
pub(crate) use global::global_or_default;
pub use global::{configure_global, global};
pub(crate) use inbox::{Injected, Job};
pub use quiescence::Quiescence;
use shared::NEXT_POOL;
pub use shared::Shared;
pub use state::{PoolState, WorkerActivity, WorkerState};
pub use threads::WorkerStart;
pub use worker::batch::Batch;
pub(crate) use worker::current::{current_of_default, of_pool};
pub use worker::main_loop::Search;
pub(crate) use worker::me::SpareParts;
pub use worker::{Me, Remote};

use crate::error::BuildError;
use crate::handle::Handle;
use crate::runtime::{self, ReturnBarrier, Token, detached_future};
use crate::scheduler::Scheduler;
use crate::scope::Scope;
use crate::stats::{Stats, Times};
use crate::this_thread::{self, raise};

/// A pool of workers that share their tasks by stealing.
///
/// ```
/// use purloin::{Pool, Worker};
///
/// let pool = Pool::new()?; // one worker for each available core
/// let (a, b) = pool.run(|mut w| w.join(|_| 6, |_| 7));
/// assert_eq!(a * b, 42);
/// # Ok::<(), purloin::BuildError>(())
/// ```
///
/// Workers without work sleep, and use no processor time.
///
/// Dropping a pool ends its workers, after they have run all jobs that were left by
/// [`spawn`](Pool::spawn). Calls of [`run`](Pool::run) borrow the pool, so dropping it cuts off
/// none of them. A worker of any pool that drops a pool does not wait for these jobs, because they
/// may wait for the worker's own task. The jobs run all the same.
pub struct Pool<S: Scheduler = ReturnBarrier> {
    shared: Arc<Shared<S>>,
}

impl Pool {
    /// Creates a pool with one worker for each available core, or with the number of workers in the
    /// environment variable `PURLOIN_WORKERS`.
    ///
    /// # Errors
    ///
    /// Returns an error if the variable is not a number from 1 to [`Builder::MAX_WORKERS`], or if a
    /// worker cannot be started.
    pub fn new() -> Result<Pool, BuildError> {
        Pool::builder().build()
    }

    /// Returns the options for a pool, all at their defaults.
    pub fn builder() -> Builder {
        Builder::default()
    }
}

impl Pool {
    /// Hands a task to this pool, and returns a handle to its result.
    pub(crate) fn future<F, T>(&self, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(Token<'t>) -> T + Send + 'static,
        T: Send + 'static,
    {
        detached_future(&self.shared, runtime::Kind::Detached, f)
    }
}

impl<S: Scheduler> Pool<S> {
    /// Runs `f` on a worker of this pool and returns its result.
    ///
    /// Any thread may call this, and several threads at once. The calling thread sleeps until `f`
    /// has ended. Two kinds of caller are different:
    ///
    /// - On a worker of this pool, `f` runs at once, on the calling thread.
    /// - A worker of another pool hands off its processor to a [spare
    ///   worker](Builder::spare_workers) of that pool while it waits, as in a join. If no spare
    ///   worker is left, the waiting worker itself serves its own pool, but only calls that descend
    ///   from the awaited call. So pools may call each other. But two pools hang if all workers and
    ///   spare workers of each wait for the other, for calls that descend from none of theirs: with the
    ///   default of 128 spare workers, when more than 250 calls wait in both directions at once. (The
    ///   scheduler `Channel` of the crate `purloin-schedulers` has no spare workers.)
    ///
    /// If this pool begins no work from outside for 20 to 40 milliseconds, a spare worker runs `f`, unless
    /// the pool [rescues no calls](Builder::rescue_calls). This happens, for example, when all workers
    /// wait for a lock that the caller holds. Several such calls are rescued one after the other, each
    /// after another 20 to 40 milliseconds.
    ///
    /// # Panics
    ///
    /// Panics if `f` panics, and in a forked process, which has a copy of the pool but none of its
    /// threads.
    pub fn run<F, R>(&self, f: F) -> R
    where
        F: for<'t> FnOnce(Token<'t, S>) -> R + Send,
        R: Send,
    {
        self.shared.run(f)
    }

    /// Runs `body` on the calling thread, with a [`Scope`] into which it may spawn tasks for this
    /// pool, and waits for all of these tasks. The body need not be `Send`. On a worker of this
    /// pool, this is [`Worker::finish`](crate::Worker::finish).
    ///
    /// ```
    /// # use purloin::Pool;
    /// use std::rc::Rc;
    ///
    /// let pool = Pool::new()?;
    /// let text = Rc::new("stays on this thread");
    /// let mut lengths = [0; 3];
    /// pool.finish(|scope| {
    ///     for (length, word) in lengths.iter_mut().zip(text.split(' ')) {
    ///         scope.spawn(|_| *length = word.len());
    ///     }
    /// });
    /// assert_eq!(lengths, [5, 2, 4]);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the body or a task panics, after all tasks have ended, and in a forked process,
    /// which has a copy of the pool but none of its threads.
    pub fn finish<'env, F, R>(&self, body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, S>) -> R,
    {
        match self.shared.current() {
            Some(worker) => runtime::call(worker, |_| runtime::finish(worker, None, body))
                .unwrap_or_else(|panic| raise(panic)),
            None => {
                self.shared.check_process();
                runtime::finish_outside(&self.shared, body)
            }
        }
    }

    /// Hands a job, `f`, to this pool and returns without waiting for it. [`wait`](Pool::wait)
    /// waits for all jobs.
    ///
    /// Any thread may call this, and any number of jobs may be waiting. Idle workers begin them in
    /// order of arrival. When the pool is dropped, its workers first run all jobs that are left.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    /// # use purloin::Pool;
    ///
    /// static SUM: AtomicU32 = AtomicU32::new(0);
    /// let pool = Pool::new()?;
    /// for n in 1..=10 {
    ///     pool.spawn(move |_| {
    ///         SUM.fetch_add(n, Relaxed);
    ///     });
    /// }
    /// pool.wait();
    /// assert_eq!(SUM.load(Relaxed), 55);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// If `f` panics, the next `wait` panics. Further panics before that `wait` are dropped. If the
    /// pool has a [panic handler](Builder::panic_handler), the handler gets all panics instead.
    ///
    /// # Panics
    ///
    /// Panics in a forked process, which has a copy of the pool but none of its threads.
    pub fn spawn<F>(&self, f: F)
    where
        F: for<'t> FnOnce(Token<'t, S>) + Send + 'static,
    {
        let (_, job) = self.shared.job(f);
        self.shared.inject(job, null(), null());
    }

    /// Hands a job, `f`, to this pool, as [`spawn`](Self::spawn) does, but behind all other work from outside: calls,
    /// spawned jobs and futures that no worker has begun. So a request of a millisecond does not wait behind a queue of
    /// reports that take a second each.
    ///
    /// ```
    /// # use purloin::Pool;
    /// let pool = Pool::builder().workers(1).build()?;
    /// let (send, order) = std::sync::mpsc::channel();
    /// let (urgent, background) = (send.clone(), send);
    /// pool.run(|_| {
    ///     // The only worker is busy meanwhile.
    ///     pool.spawn_background(move |_| background.send("report").unwrap());
    ///     pool.spawn(move |_| urgent.send("request").unwrap());
    /// });
    /// assert!(order.iter().eq(["request", "report"]));
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// Jobs in the background do not starve: each ninth job that a worker begins is one of them, if any wait. If all
    /// workers are busy and none begins a job for 20 ms, a [spare worker](Builder::spare_workers) begins the next one, and
    /// the system shares the processors. So other work does not wait long behind such jobs, either.
    ///
    /// # Panics
    ///
    /// As for [`spawn`](Self::spawn).
    pub fn spawn_background<F>(&self, f: F)
    where
        F: for<'t> FnOnce(Token<'t, S>) + Send + 'static,
    {
        let (_, job) = self.shared.job(f);
        self.shared.inbox.push_background(job);
        self.shared.call_idle_worker();
    }

    /// Runs one job or call that waits for this pool, or [broadcasts](Self::broadcast) to this worker,
    /// on the calling thread. Returns false at once if none waits, or if this thread is not a worker of
    /// this pool.
    ///
    /// A task that waits for something in a loop of its own may call this meanwhile. It is the only
    /// way in which unrelated work runs within a task: the task must hold no lock that a job may
    /// need. A task that blocks should call [`blocking`](crate::blocking()) instead.
    ///
    /// ```
    /// # use purloin::Pool;
    /// let pool = Pool::builder().workers(1).build()?;
    /// pool.run(|w| {
    ///     w.pool().spawn(|_| println!("runs within the call"));
    ///     assert!(w.pool().yield_now());
    ///     assert!(!w.pool().yield_now());
    /// });
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    pub fn yield_now(&self) -> bool {
        let Some(worker) = self.shared.current() else {
            return false;
        };
        if worker.run_mail_while_blocked() {
            return true;
        }
        let job = self.shared.inbox.pop();
        let found = job.is_some();
        if let Some(job) = job {
            // A job does not panic.
            let outer = worker.core().yields.replace(true);
            job.run(worker);
            worker.core().yields.set(outer);
        }
        found
    }

    /// Waits until all jobs that were [spawned](Pool::spawn) before this call have ended, and all
    /// jobs that these have spawned in turn. It does not wait for jobs that other threads spawn
    /// meanwhile.
    ///
    /// The scheduler `Channel` of the crate `purloin-schedulers` does not count jobs. Under it, this
    /// call waits until no worker has anything to do, including calls of [`run`](Pool::run).
    ///
    /// # Panics
    ///
    /// Panics if a job has panicked, with the first panic; on a worker of this pool, because it would
    /// wait for itself ([`Worker::finish`](crate::Worker::finish) waits for a part of the tasks); and in
    /// a forked process, which has a copy of the pool but none of its threads.
    pub fn wait(&self) {
        let pool = &*self.shared;
        pool.check_process();
        assert!(
            pool.current().is_none(),
            "Pool::wait on a worker of this pool would wait for itself; Worker::finish waits for a \
             part of the tasks"
        );
        match S::DETECTS_QUIESCENCE {
            true => pool.quiescence.wait_for_end(|| pool.sleep.unpark(0)),
            false => pool.quiescence.wait(&|| pool.limit_outside()),
        }
    }

    /// Returns the number of workers, without spare workers.
    pub fn workers(&self) -> usize {
        self.shared.workers
    }

    /// Returns the workers' counters since the pool was built.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats::default();
        for worker in self.shared.started() {
            stats.add(&worker.counters);
        }
        stats.spare_workers = self.shared.sleep.spares() as u64;
        stats.spare_failures = self.shared.sleep.failures() as u64;
        stats
    }
}

impl<S: Scheduler> Pool<S> {
    pub(crate) fn shared(&self) -> &Arc<Shared<S>> {
        &self.shared
    }

    /// Returns where the time of each worker has gone since the pool was built. All times are zero
    /// unless the pool is [timed](Builder::timed).
    ///
    /// Spare workers come after the regular ones. Their searching counts as zero, because a spare
    /// worker uses the processor of a blocked worker, whose waiting is counted already. The time in
    /// which a spare worker runs the program counts twice: once here, and once as the waiting of
    /// the blocked worker.
    ///
    /// To measure a part of a program, take the times before and after it, and subtract:
    ///
    /// ```
    /// # use purloin::{Pool, Worker};
    /// let pool = Pool::builder().workers(2).timed(true).build()?;
    /// let before = pool.times();
    /// pool.run(|mut w| w.join(|_| (), |_| ()));
    /// for (after, before) in pool.times().into_iter().zip(before) {
    ///     println!("searched for {:?}", (after - before).searching);
    /// }
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    pub fn times(&self) -> Vec<Times> {
        let workers = self.shared.started().iter();
        let times = |worker: &Remote<S>| {
            let mut times = worker.timer.read();
            if worker.is_spare() {
                times.searching = Duration::ZERO;
            }
            times
        };
        workers.map(times).collect()
    }
}

impl<S: Scheduler> Pool<S> {
    /// Returns what the workers have done and when, up to now, if the pool is [traced](Builder::traced).
    ///
    /// Calls of other threads may be running, and go on. The spans of threads outside of the pool are in the trace, too.
    /// [`Trace`] has the formats: a table, a page in HTML, and events for Perfetto.
    pub fn trace(&self) -> Option<Trace> {
        self.shared.trace.as_ref()?.trace()
    }

    /// Returns what each worker does at this moment, for what it waits, and what has not begun. For a program that hangs:
    /// print it from a thread outside of the pool, when a signal arrives for example.
    ///
    /// ```
    /// use purloin::{WorkerActivity, Pool};
    ///
    /// let pool = Pool::builder().workers(2).build()?;
    /// let state = pool.run(|w| w.pool().state());
    /// assert!(state.workers.iter().any(|worker| worker.does == WorkerActivity::Runs));
    /// println!("{state}");
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// With the environment variable `PURLOIN_WATCHDOG=TIME`, such as `10s`, a program prints the state of each of its pools
    /// that has something to do and makes no progress for this time, with the likely reason. With `PURLOIN_MONITOR=1`,
    /// `purloin top` shows what the pools of a running program do.
    pub fn state(&self) -> PoolState {
        self.shared.state()
    }
}

impl<S: Scheduler> std::fmt::Debug for Pool<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool")
            .field("workers", &self.workers())
            .finish_non_exhaustive()
    }
}

// A panic in a closure leaves the pool consistent, so it can be used again.
impl<S: Scheduler> UnwindSafe for Pool<S> {}
impl<S: Scheduler> RefUnwindSafe for Pool<S> {}

impl<S: Scheduler> Drop for Pool<S> {
    fn drop(&mut self) {
        if !self.shared.is_in_own_process() {
            // This forked process has no threads to stop. The values that they held are leaked.
            return std::mem::forget(Arc::clone(&self.shared));
        }
        watched::forget(self.shared.id);
        self.shared.sleep.stop();
        // A worker cannot wait for its own end. Nor can it wait for a worker of another pool, which
        // may be waiting for the task that this worker runs. In both cases the pool's threads end
        // on their own as soon as they are idle.
        if !self.shared.options.ends_alone && !this_thread::is_worker() {
            let is_watcher_missing = || self.shared.retry_missing_watcher();
            self.shared.threads.join_all(is_watcher_missing);
            self.shared.end_rescue();
            // The watcher may have started a spare worker.
            self.shared.threads.join_all(|| false);
        }
    }
}
