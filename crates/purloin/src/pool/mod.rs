//! Pools: their threads, their lifecycle, and work from outside.

pub(crate) mod blocked;
mod builder;
mod error;
mod global;
pub(crate) mod idle;
mod inbox;
mod lineage;
pub(crate) mod outside;
mod quiescence;
mod threads;
mod worker_thread;

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{RefUnwindSafe, UnwindSafe, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

pub use builder::Builder;
pub use error::BuildError;
pub use global::global;
pub(crate) use global::global_or_default;
pub use idle::Search;
pub(crate) use inbox::{Injected, Job};
pub(crate) use lineage::Lineage;
use lineage::{NO_GENERATION, Root};
pub(crate) use outside::keep_orphan;
pub use quiescence::Quiescence;
pub use worker_thread::WorkerThread;
pub(crate) use worker_thread::current_of_default;

use self::idle::Work;
use crate::handle::Handle;
use crate::loops::Splitting;
use crate::runtime::{self, ReturnBarrier, Token, detached_future};
use crate::scheduler::Scheduler;
use crate::sleep::Sleep;
use crate::stats::{Count, Stats, Times};
use crate::unwind::discard;
use inbox::Inbox;
use threads::Threads;

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
/// Workers sleep while there is nothing to do, and then use no processor time.
/// Dropping the pool ends them; calls of [`run`](Pool::run) borrow the pool, so
/// none is cut off.
pub struct Pool<S: Scheduler = ReturnBarrier> {
    shared: Arc<Shared<S>>,
}

impl Pool {
    /// A pool with one worker for each available core, or as many as the
    /// environment variable `PURLOIN_WORKERS` says.
    ///
    /// # Errors
    ///
    /// If the variable is not a number from 1 to [`Builder::MAX_WORKERS`], or
    /// if a worker cannot be started.
    pub fn new() -> Result<Pool, BuildError> {
        Pool::builder().build()
    }

    /// Options for a pool.
    pub fn builder() -> Builder {
        Builder::default()
    }
}

impl Pool {
    /// Leaves a task to this pool, and returns its result to come.
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
    /// It may be called from any thread, and from several at once; the caller
    /// sleeps meanwhile. On a worker of this very pool, `f` is called at once. A worker
    /// of another pool lends its processor meanwhile, as in a join, so pools may call each
    /// other. If all workers are blocked, perhaps waiting for the caller, a [spare
    /// worker](Builder::spare_workers) runs `f` after some milliseconds.
    ///
    /// # Panics
    ///
    /// If `f` panics, so does this. In a forked process, which has a copy of the pool but
    /// none of its threads.
    pub fn run<F, R>(&self, f: F) -> R
    where
        F: for<'t> FnOnce(Token<'t, S>) -> R + Send,
        R: Send,
    {
        self.shared.run(f)
    }

    /// Leaves `f` to this pool, and does not wait for it: see
    /// [`wait`](Pool::wait).
    ///
    /// It may be called from any thread. The pool begins its tasks in order, each when a
    /// worker is idle; any number may be waiting. Dropped, it first runs all that is left.
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
    /// If `f` panics, the next `wait` does; a second panic before that is
    /// dropped.
    pub fn spawn<F>(&self, f: F)
    where
        F: for<'t> FnOnce(Token<'t, S>) + Send + 'static,
    {
        self.shared.spawn(f);
    }

    /// Waits until every task has ended that was [spawned](Pool::spawn) before this call,
    /// and every task that such a task has spawned in turn. It does not wait for tasks that
    /// others spawn meanwhile.
    ///
    /// Under [`Channel`](crate::Channel), which does not count tasks, it waits
    /// until no worker has anything to do, calls of [`run`](Pool::run) included.
    ///
    /// # Panics
    ///
    /// If one of them has panicked; of several panics, the first. And on a worker
    /// of this very pool, which would wait for itself.
    pub fn wait(&self) {
        self.shared.wait();
    }

    /// The number of workers, without spare ones.
    pub fn workers(&self) -> usize {
        self.shared.workers
    }

    /// What the workers have done since the pool was made.
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
    /// Where each worker's time has gone since the pool was made; all zero
    /// unless it was made to be [timed](Builder::timed). First come the workers,
    /// then the spare ones, whose searching does not count: meanwhile their processor
    /// is that of a blocked worker, which waits. What they run is theirs, beside the
    /// waiting of the other.
    ///
    /// Take it before and after, and subtract:
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

// A panic in a closure leaves nothing of the pool half done: it goes on.
impl<S: Scheduler> UnwindSafe for Pool<S> {}
impl<S: Scheduler> RefUnwindSafe for Pool<S> {}

impl<S: Scheduler> Drop for Pool<S> {
    fn drop(&mut self) {
        if !self.shared.is_home() {
            // There is nothing to stop. What the threads have held is left as it is.
            return std::mem::forget(Arc::clone(&self.shared));
        }
        self.shared.stop();
        // A worker cannot wait for itself, nor for another worker, of whichever pool, that may be
        // waiting for the task that it runs. The threads all end as soon as they are idle.
        if worker_thread::host().is_none() {
            self.shared.threads.join_all();
        }
    }
}

/// No pool has this number.
const NO_POOL: u64 = 0;

/// The number of the next pool. No two ever have the same.
static NEXT_POOL: AtomicU64 = AtomicU64::new(NO_POOL + 1);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Every pool that is there, by its number: for those that have a number, and do not know
/// whether its pool is still there.
static POOLS: Mutex<BTreeMap<u64, Weak<dyn Any + Send + Sync>>> = Mutex::new(BTreeMap::new());

/// What the workers of a pool share.
pub struct Shared<S: Scheduler> {
    /// The number of the pool.
    pub(crate) id: u64,
    /// The process that has its threads.
    process: u32,
    /// The workers, then the spare ones.
    pub(crate) worker_threads: Box<[WorkerThread<S>]>,
    /// How many are no spare ones.
    workers: usize,
    threads: Threads,
    pub(crate) sleep: Sleep,
    inbox: Inbox<S>,
    pub(crate) quiescence: Quiescence,
    stopping: AtomicBool,
    /// See [`Builder::steal_delay`].
    steal_delay: Duration,
    splitting: Splitting,
}

impl<S: Scheduler> Drop for Shared<S> {
    fn drop(&mut self) {
        lock(&POOLS).remove(&self.id);
    }
}

impl<S: Scheduler> Shared<S> {
    /// See [`Pool::run`].
    pub(crate) fn run<F, R>(&self, f: F) -> R
    where
        F: for<'t> FnOnce(Token<'t, S>) -> R + Send,
        R: Send,
    {
        match self.current() {
            Some(worker) => {
                let root = Root::new(worker.call());
                let result = worker.with_root(&root, NO_GENERATION, || runtime::call(worker, f));
                result.unwrap_or_else(|panic| resume_unwind(panic))
            }
            None => {
                self.check_process();
                inbox::run_from_outside(self, f)
            }
        }
    }

    /// Whether this is the process that has the pool's threads.
    fn is_home(&self) -> bool {
        self.process == std::process::id()
    }

    /// Panics in a process that was forked from the pool's, which has none of its threads.
    pub(crate) fn check_process(&self) {
        assert!(
            self.is_home(),
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
        self.check_process();
        let generation = match S::DETECTS_QUIESCENCE {
            true => NO_GENERATION,
            false => {
                let parent = self.current().map(WorkerThread::lineage);
                self.quiescence
                    .spawned(parent.map(|parent| parent.generation))
            }
        };
        let end = move |pool: &Shared<S>, result: thread::Result<()>| {
            if let Err(panic) = result
                && let Err(second) = pool.quiescence.keep(panic)
            {
                discard(second);
            }
            if !S::DETECTS_QUIESCENCE {
                pool.quiescence.done(generation);
            }
        };
        self.inject(inbox::detached(f, generation, end));
    }

    fn wait(&self) {
        assert!(
            self.current().is_none(),
            "Pool::wait on a worker of this pool would wait for itself; \
             Worker::finish waits for a part of the tasks"
        );
        self.check_process();
        match S::DETECTS_QUIESCENCE {
            true => self.quiescence.wait_for_end(|| self.sleep.unpark(0)),
            false => self.quiescence.wait(),
        }
    }

    /// The worker of this pool that runs on this thread.
    pub(crate) fn current(&self) -> Option<&WorkerThread<S>> {
        let (pool, index) = worker_thread::current()?;
        (pool == self.id).then(|| &self.worker_threads[index])
    }

    /// How many of a loop's `rest` iterations a thief is to get, if so many ask.
    pub(crate) fn split_hint(&self, rest: usize, askers: usize) -> usize {
        self.splitting.share(rest, self.workers, askers)
    }

    pub(crate) fn workers(&self) -> usize {
        self.workers
    }

    /// The spare workers that may be at work.
    pub(crate) fn spares(&self) -> impl Iterator<Item = &WorkerThread<S>> {
        self.worker_threads[self.workers..].iter()
    }

    /// The same of a pool that may be gone, unless it has this very thread; its
    /// number is given.
    pub(crate) fn worker_of<'p>(pool: *const Self, id: u64) -> Option<&'p WorkerThread<S>> {
        let (own, index) = worker_thread::current()?;
        // SAFETY: a worker's thread keeps its pool alive.
        (own == id).then(|| unsafe { &(&(*pool).worker_threads)[index] })
    }

    /// Has the pool be found by its number.
    fn enlist(self: &Arc<Self>) {
        let pool: Weak<Self> = Arc::downgrade(self);
        lock(&POOLS).insert(self.id, pool);
    }

    /// The pool with this number, if it is still there.
    pub(crate) fn find(id: u64) -> Option<Arc<Self>> {
        let pool = lock(&POOLS).get(&id)?.upgrade()?;
        pool.downcast().ok()
    }

    /// Leaves a job for whichever worker is idle first.
    pub(crate) fn inject(&self, job: Injected<S>) {
        self.inject_call(job, std::ptr::null());
    }

    /// Leaves a call that the calling thread waits for. It is made from within `caller`.
    fn inject_call(&self, job: Injected<S>, caller: *const Root) {
        self.inbox.push(job, caller);
        self.sleep.injected();
    }

    /// Takes the oldest call that was made from within `ancestor`.
    fn take_descendant_of(&self, ancestor: *const Root) -> Option<Injected<S>> {
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
        // Relaxed: a worker that misses either is unparked after it has changed.
        self.stopping.load(Ordering::Relaxed)
            && !self.worker_threads.iter().any(|worker| worker.is_active())
    }

    /// A worker has become idle: if the pool was dropped, this may be its end.
    fn became_idle(&self) {
        if self.stopping.load(Ordering::Relaxed) {
            self.sleep.stop();
        }
    }

    fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.sleep.stop();
    }

    /// The life of a worker's thread.
    fn serve(&self, index: usize) {
        /// The panics of programs are caught where tasks are run. One that comes as
        /// far as this is a mistake of ours, and others would wait for this worker
        /// for ever.
        struct AbortOnPanic;
        impl Drop for AbortOnPanic {
            fn drop(&mut self) {
                if std::thread::panicking() {
                    eprintln!("purloin: a worker has panicked outside of any task");
                    std::process::abort();
                }
            }
        }
        let _guard = AbortOnPanic;
        let me = &self.worker_threads[index];
        let current = worker_thread::enter(me);
        // The thread of a spare worker is started when it is called.
        let mut work = match me.is_spare() {
            true => idle::go_on_finding(me),
            false => idle::find(me),
        };
        loop {
            match work {
                Work::Injected(job) => me.active(|| job(me)),
                Work::Stolen(stolen) => me.active(|| me.run_stolen(stolen)),
                Work::Stop => break,
            }
            if me.is_spare() {
                me.count(Count::SpareTasks);
            }
            work = idle::find(me);
        }
        // What runs on this thread from here on, destructors of thread-local
        // values, is no worker's: the pool may go.
        drop(current);
    }
}
