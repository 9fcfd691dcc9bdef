//! Pools: their threads, their lifecycle, and work from outside.
//!
//! - [`builder`], [`error`] and [`mod@global`]: how a pool is made.
//! - [`threads`] and [`worker_thread`]: the threads of the workers.
//! - [`placement`]: where a worker's memory lies.
//! - [`idle`] and [`blocked`]: idle workers and blocked workers.
//! - [`inbox`] and [`outside`]: calls and jobs from outside, and the threads that wait for them.
//! - [`row`]: short jobs that a worker runs one after the other.
//! - [`mail`]: jobs that one particular worker runs.
//! - [`quiescence`]: waiting for all spawned jobs.
//! - [`master`]: a worker that waits for them and takes part.
//! - [`handlers`]: functions of the program that a pool calls.
//! - [`lineage`]: which call a task descends from.

mod address_space;
pub(crate) mod blocked;
mod builder;
mod error;
mod global;
mod handlers;
pub(crate) mod idle;
mod inbox;
mod lineage;
mod mail;
mod master;
pub(crate) mod outside;
pub(crate) mod placement;
mod quiescence;
mod row;
mod threads;
mod worker_thread;

use std::any::Any;
use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::panic::{RefUnwindSafe, UnwindSafe, resume_unwind};
use std::ptr::null;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::Duration;

pub use builder::Builder;
pub use error::BuildError;
pub(crate) use global::global_or_default;
pub use global::{configure_global, global};
pub use idle::Search;
pub(crate) use inbox::{Injected, Job};
pub(crate) use lineage::Lineage;
use lineage::{Call, NO_GENERATION};
pub(crate) use outside::{block_until, keep_orphan, thread_waker};
pub use outside::{blocking, pause};
pub use quiescence::Quiescence;
pub use row::Row;
pub use worker_thread::WorkerThread;
pub(crate) use worker_thread::current_of_default;

use self::idle::Work;
use crate::handle::Handle;
use crate::loops::Splitting;
use crate::runtime::{self, ReturnBarrier, Token, detached_future};
use crate::scheduler::{Scheduler, TaskPool};
use crate::sleep::Sleep;
use crate::stats::{Count, Stats, Times};
use crate::unwind::abort;
use crate::worker::Scope;
use handlers::Handlers;
use inbox::Inbox;
use threads::Threads;
pub use threads::WorkerStart;

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
        detached_future(&self.shared, f)
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
    ///   from the awaited call. So pools may call each other. (The channel schedulers of the crate
    ///   `purloin-schedulers` have no spare workers. Two such pools hang if all workers of each wait
    ///   for the other.)
    ///
    /// If this pool begins no work from outside for 20 milliseconds, a spare worker runs `f`, unless
    /// the pool [rescues no calls](Builder::rescue_calls). This
    /// happens, for example, when all workers wait for a lock that the caller holds.
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
            Some(worker) => runtime::call(worker, |_| runtime::finish(worker, body))
                .unwrap_or_else(|panic| resume_unwind(panic)),
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
        self.shared.spawn(f);
    }

    /// Runs one job or call that waits for this pool, or [broadcasts](Self::broadcast) to this worker,
    /// on the calling thread. Returns false at once if none waits, or if this thread is not a worker of
    /// this pool.
    ///
    /// A task that waits for something in a loop of its own may call this meanwhile. It is the only
    /// way in which unrelated work runs within a task: the task must hold no lock that a job may
    /// need. A task that blocks should call [`blocking`] instead.
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
        self.shared.run_one()
    }

    /// Waits until all jobs that were [spawned](Pool::spawn) before this call have ended, and all
    /// jobs that these have spawned in turn. It does not wait for jobs that other threads spawn
    /// meanwhile.
    ///
    /// The schedulers `Channel` and `StrictChannel` of the crate `purloin-schedulers` do not count
    /// jobs. Under them, this call waits until no worker has anything to do, including calls of
    /// [`run`](Pool::run). A worker that waits in this call counts as having nothing to do.
    ///
    /// Under these two schedulers, the closure of a call of `run` by a thread that is no worker may
    /// wait, too. While its worker waits, it runs any task, job or call. So the closure must hold no lock
    /// that these may need, and none of them may wait for something that the closure does afterwards.
    /// The closure may also wait in the body of a [`finish`](crate::Worker::finish), if no task or future
    /// that it made before the finish is pending. Everywhere else on a worker the call panics. In a join
    /// or a loop it panics or not, depending on which worker runs the closure of the join or loop. It
    /// also panics if [`yield_now`](Pool::yield_now) runs the call of `run` within a task.
    ///
    /// # Panics
    ///
    /// Panics if a job has panicked, with the first panic; on a worker of this pool where it may not
    /// wait, as it would wait for itself; and in a forked process, which has a copy of the pool but none
    /// of its threads.
    pub fn wait(&self) {
        self.shared.wait();
    }

    /// Returns the number of workers, without spare workers.
    pub fn workers(&self) -> usize {
        self.shared.workers
    }

    /// Returns the workers' counters since the pool was built.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats::default();
        for worker in &self.shared.worker_threads {
            stats.add(worker.counters());
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
        let workers = self.shared.worker_threads.iter();
        let times = |worker: &WorkerThread<S>| {
            let mut times = worker.timer().read();
            if worker.is_spare() {
                times.searching = Duration::ZERO;
            }
            times
        };
        workers.map(times).collect()
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
        self.shared.sleep.stop();
        // A worker cannot wait for its own end. Nor can it wait for a worker of another pool, which
        // may be waiting for the task that this worker runs. In both cases the pool's threads end
        // on their own as soon as they are idle.
        if !self.shared.ends_alone && worker_thread::host().is_none() {
            self.shared.threads.join_all();
        }
    }
}

/// A number that no pool has.
const NO_POOL: u64 = 0;

/// The number of the next pool. Each pool has a number of its own.
static NEXT_POOL: AtomicU64 = AtomicU64::new(NO_POOL + 1);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All pools that exist, by their numbers. A handle to a task of a pool has only its number, and
/// the pool may be gone.
static POOLS: Mutex<BTreeMap<u64, Weak<dyn Any + Send + Sync>>> = Mutex::new(BTreeMap::new());

/// The state that the workers of a pool share.
pub struct Shared<S: Scheduler> {
    /// The pool's number.
    pub(crate) id: u64,
    /// The process that has the threads.
    process: u32,
    /// The regular workers, then the spare ones.
    pub(crate) worker_threads: Box<[WorkerThread<S>]>,
    /// Number of regular workers.
    workers: usize,
    threads: Threads,
    pub(crate) sleep: Sleep,
    inbox: Inbox<S>,
    pub(crate) quiescence: Quiescence,
    handlers: Handlers,
    /// See [`Builder::ends_alone`].
    ends_alone: bool,
    /// See [`Builder::run_anything_while_blocked`].
    runs_anything: bool,
    /// See [`Builder::rescue_calls`].
    rescues_calls: bool,
    /// See [`Builder::steal_delay`].
    steal_delay: Duration,
    splitting: Splitting,
    /// The pool as tokens show it. It does not own what it points to.
    borrowed: OnceLock<ManuallyDrop<Pool<S>>>,
}

impl<S: Scheduler> Drop for Shared<S> {
    fn drop(&mut self) {
        lock(&POOLS).remove(&self.id);
    }
}

impl<S: Scheduler> Shared<S> {
    /// Implements [`Pool::run`].
    pub(crate) fn run<F, R>(&self, f: F) -> R
    where
        F: for<'t> FnOnce(Token<'t, S>) -> R + Send,
        R: Send,
    {
        match self.current() {
            Some(worker) => {
                let call = Call::new(worker.call(), worker.lineage().generation());
                let result = worker.with_call(&call, || runtime::call(worker, f));
                result.unwrap_or_else(|panic| resume_unwind(panic))
            }
            None => {
                self.check_process();
                inbox::run_from_outside(self, f)
            }
        }
    }

    /// Returns whether the pool may have spare workers.
    fn has_spares(&self) -> bool {
        self.worker_threads.len() > self.workers
    }

    /// Returns whether this is the process that has the pool's threads.
    fn is_in_own_process(&self) -> bool {
        self.process == std::process::id()
    }

    /// Panics in a process that was forked from the pool's process: it has none of the threads.
    pub(crate) fn check_process(&self) {
        assert!(
            self.is_in_own_process(),
            "the threads of this pool are in process {}; process {} was forked from it and \
             has none of them: make a pool there, after the fork",
            self.process,
            std::process::id(),
        );
    }

    fn spawn<F>(&self, f: F)
    where
        F: for<'t> FnOnce(Token<'t, S>) + Send + 'static,
    {
        self.inject(self.job(f).1);
    }

    /// Returns a job that runs `f`, and that [`Self::wait`] waits for, and its generation.
    fn job<F>(&self, f: F) -> (u64, Injected<S>)
    where
        F: for<'t> FnOnce(Token<'t, S>) + Send + 'static,
    {
        self.check_process();
        let generation = match S::DETECTS_QUIESCENCE {
            true => NO_GENERATION,
            false => {
                let parent = self.current().map(WorkerThread::lineage);
                self.quiescence.spawned(parent.map(Lineage::generation))
            }
        };
        let end = move |pool: &Shared<S>, result| pool.end_job(generation, result);
        (generation, inbox::detached(f, generation, end))
    }

    /// Records that a job of this generation has ended.
    fn end_job(&self, generation: u64, result: thread::Result<()>) {
        if let Err(panic) = result {
            self.keep_panic(panic);
        }
        if !S::DETECTS_QUIESCENCE {
            self.quiescence.done(generation);
        }
    }

    fn wait(&self) {
        self.check_process();
        if let Some(worker) = self.current() {
            return worker.wait_as_master();
        }
        match S::DETECTS_QUIESCENCE {
            true => self.quiescence.wait_for_end(|| self.sleep.unpark(0)),
            false => self.quiescence.wait(),
        }
    }

    /// Returns the worker of this pool that runs on this thread, if there is one.
    pub(crate) fn current(&self) -> Option<&WorkerThread<S>> {
        let (pool, index) = worker_thread::current()?;
        (pool == self.id).then(|| &self.worker_threads[index])
    }

    /// Returns how many of a loop's `rest` iterations one thief gets, if this many thieves ask.
    pub(crate) fn split_hint(&self, rest: usize, thieves: usize) -> usize {
        self.splitting.share(rest, self.workers, thieves)
    }

    pub(crate) fn workers(&self) -> usize {
        self.workers
    }

    /// Returns the pool.
    ///
    /// # Safety
    ///
    /// `this` comes from the `Arc` in which the state lies, which lives for `'p`.
    unsafe fn as_pool<'p>(this: *const Self) -> &'p Pool<S> {
        // SAFETY: the caller guarantees that the state lives.
        let borrowed = unsafe { &(*this).borrowed };
        borrowed.get_or_init(|| {
            // SAFETY: the caller says that the pointer is that of an `Arc`. This value is never
            // dropped, so it needs no share of the count, and only references to it leave the state.
            let shared = unsafe { Arc::from_raw(this) };
            ManuallyDrop::new(Pool { shared })
        })
    }

    /// Returns the workers whose threads have been started. The others have never run anything.
    pub(crate) fn started(&self) -> &[WorkerThread<S>] {
        &self.worker_threads[..self.sleep.started()]
    }

    /// Returns the spare workers whose threads have been started.
    pub(crate) fn started_spares(&self) -> &[WorkerThread<S>] {
        &self.started()[self.workers..]
    }

    /// Returns the worker that runs on this thread, if it belongs to the pool with this number.
    /// Otherwise `pool` may dangle.
    pub(crate) fn worker_of<'p>(pool: *const Self, id: u64) -> Option<&'p WorkerThread<S>> {
        let (own, index) = worker_thread::current()?;
        // SAFETY: this thread runs a worker of the pool with this number, and a worker's thread
        // keeps its pool alive. The caller passes the pool with that number.
        (own == id).then(|| unsafe { &(&(*pool).worker_threads)[index] })
    }

    /// Lets [`Self::find`] find the pool.
    fn register(self: &Arc<Self>) {
        let pool: Weak<Self> = Arc::downgrade(self);
        lock(&POOLS).insert(self.id, pool);
    }

    /// Returns the pool with this number, if it still exists.
    pub(crate) fn find(id: u64) -> Option<Arc<Self>> {
        let pool = lock(&POOLS).get(&id)?.upgrade()?;
        pool.downcast().ok()
    }

    /// Queues a job for the next idle worker.
    pub(crate) fn inject(&self, job: Injected<S>) {
        self.inject_tagged(job, null());
    }

    /// Queues a job for the next idle worker. [`Self::withdraw`] finds it by its tag, an address
    /// that belongs to the job alone.
    pub(crate) fn inject_tagged(&self, job: Injected<S>, tag: *const ()) {
        self.inbox.push(job, null(), tag);
        self.sleep.injected();
    }

    /// Queues a call without a waiting caller, with a tag as for [`Self::inject_tagged`]. `end`
    /// receives the outcome.
    pub(crate) fn inject_detached<F, T>(
        &self,
        f: F,
        end: impl FnOnce(&Shared<S>, thread::Result<T>) + Send + 'static,
        tag: *const (),
    ) where
        F: for<'t> FnOnce(Token<'t, S>) -> T + Send + 'static,
    {
        self.check_process();
        self.inject_tagged(inbox::detached(f, NO_GENERATION, end), tag);
    }

    /// Runs the job with this tag, if no worker has taken it and this thread is a worker of this
    /// pool.
    pub(crate) fn run_tagged(&self, tag: *const ()) {
        if let Some(worker) = self.current()
            && let Some(job) = self.inbox.pop_tagged(tag)
        {
            job.run(worker);
        }
    }

    /// Implements [`Pool::yield_now`].
    fn run_one(&self) -> bool {
        let Some(worker) = self.current() else {
            return false;
        };
        if worker.run_mail_while_blocked() {
            return true;
        }
        let job = self.take_injected();
        let found = job.is_some();
        job.into_iter()
            .for_each(|job| worker.while_yielding(|| job.run(worker)));
        found
    }

    /// Removes up to `max` jobs with this tag that no worker has taken.
    pub(crate) fn withdraw(&self, tag: *const (), max: usize) {
        self.inbox.withdraw(tag, max);
    }

    /// Queues a call that was made from within `caller`. The calling thread waits for it.
    fn inject_call(&self, job: Injected<S>, caller: *const Call) {
        self.inbox.push(job, caller, null());
        self.sleep.injected();
    }

    /// Takes the oldest call that was made from within `ancestor`.
    fn take_descendant_of(&self, ancestor: *const Call) -> Option<Injected<S>> {
        self.inbox.pop_descendant_of(ancestor)
    }

    pub(crate) fn take_injected(&self) -> Option<Injected<S>> {
        self.inbox.pop()
    }

    pub(crate) fn has_injected(&self) -> bool {
        !self.inbox.is_empty()
    }

    /// Returns whether the pool was dropped and nothing runs in it. Until then idle workers stay:
    /// a task that runs may need them.
    fn is_over(&self) -> bool {
        let is_any_needed = || self.started().iter().any(WorkerThread::keeps_pool);
        let is_over = self.sleep.is_over(is_any_needed);
        // Acquire: see `WorkerThread::set_active`.
        fence(Ordering::Acquire);
        is_over
    }

    /// Runs a worker on this thread, until the pool ends.
    fn serve(&self, index: usize) {
        /// The runtime catches panics of the program where it runs tasks. A panic that gets this
        /// far is a bug in this crate, and other workers would wait for this worker for ever.
        struct AbortOnPanic;
        impl Drop for AbortOnPanic {
            fn drop(&mut self) {
                if thread::panicking() {
                    abort("a worker has panicked outside of any task");
                }
            }
        }
        let _guard = AbortOnPanic;
        let me = &self.worker_threads[index];
        let current = worker_thread::enter(me);
        me.open_mailbox();
        self.call_handler(me, self.handlers.start.as_ref());
        self.sleep.release_thread_index(index);
        // The thread of a spare worker starts when the worker is first woken.
        let mut work = match me.is_spare() {
            true => idle::go_on_finding(me),
            false => idle::find(me),
        };
        loop {
            match work {
                Work::Injected(job) => me.active(|| job.run_when_idle(me)),
                Work::Stolen(stolen) => me.run_stolen_when_idle(stolen),
                Work::Stop => break,
            }
            if me.is_spare() {
                me.count(Count::SpareTasks);
                self.sleep.release_thread_index(index);
            }
            work = idle::find(me);
        }
        if self.handlers.exit.is_some() {
            // The handler may wait for those of other workers, which end meanwhile.
            me.let_pool_end();
            self.call_handler(me, self.handlers.exit.as_ref());
            // It may have left jobs, and no other worker is bound to be there.
            while self.has_injected() {
                S::TaskPool::before_outside_work(me);
                if let Some(job) = self.take_injected() {
                    me.active(|| job.run(me));
                }
            }
        }
        me.close_mailbox();
        self.sleep.end_with_thread_index(index);
        // From here on this thread is not a worker. Destructors of thread-local values run on it
        // later, when the pool may be gone.
        drop(current);
    }
}
