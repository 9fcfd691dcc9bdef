//! The threads of a pool, and the jobs that were spawned on them.
//!
//! Purloin's inbox is a plain queue. rayon promises more: a thread runs the jobs that it has spawned
//! itself from the newest to the oldest, and other threads take the oldest. So the jobs are in a list
//! for each thread, and the inbox has a **place** for each job. The thread that takes a place runs one
//! job: its own newest job, or else the oldest job that was spawned outside of the pool, or else the
//! oldest job of another thread. A place may find no job, because [`yield_now`](crate::yield_now) runs
//! jobs without a place.
//!
//! A job that was spawned in FIFO order is in a second list. In the first list is an entry that
//! stands for the oldest job of the second.

use std::any::Any;
use std::cell::Cell;
use std::collections::VecDeque;
use std::process::abort;
use std::ptr::null;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use purloin::Pool;

use crate::ThreadPool;
use crate::builder::ThreadPoolBuilder;
use crate::unwind::halt_unwinding;

pub(crate) type Job = Box<dyn FnOnce() + Send>;
pub(crate) type PanicHandler = Box<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;
pub(crate) type ThreadHandler = Box<dyn Fn(usize) + Send + Sync>;

/// State shared by the threads of a pool, besides the pool itself.
pub(crate) struct Registry {
    threads: Box<[Thread]>,
    /// Jobs that were spawned outside of the pool, oldest first.
    outside: Mutex<VecDeque<Job>>,
    panic_handler: Option<PanicHandler>,
    start_handler: Option<ThreadHandler>,
    exit_handler: Option<ThreadHandler>,
    /// Number of threads that have ended.
    ended: Mutex<usize>,
    end: Condvar,
}

/// The jobs that were spawned on one thread, oldest first.
#[derive(Default)]
struct Thread {
    jobs: Mutex<VecDeque<Entry>>,
    fifo: Mutex<VecDeque<Job>>,
}

enum Entry {
    Job(Job),
    /// The oldest job in `fifo`.
    OldestOfFifo,
}

impl Thread {
    fn pop(&self, take: impl FnOnce(&mut VecDeque<Entry>) -> Option<Entry>) -> Option<Job> {
        let entry = take(&mut lock(&self.jobs))?;
        match entry {
            Entry::Job(job) => Some(job),
            Entry::OldestOfFifo => lock(&self.fifo).pop_front(),
        }
    }
}

/// A thread of a pool.
pub(crate) struct Worker {
    pub(crate) registry: Arc<Registry>,
    /// The number of Purloin's worker. Spare workers come after the threads that the program has
    /// asked for.
    pub(crate) id: usize,
}

impl Worker {
    /// Returns the index of this thread as the program sees it: below the number of threads, and
    /// different from the index of every other running thread.
    pub(crate) fn index(&self) -> usize {
        match self.id < self.registry.num_threads() {
            true => self.id,
            false => purloin::with_token(|token| match token {
                Some(token) => token.thread_index(),
                None => unreachable!("a thread of a pool of this crate is a worker"),
            }),
        }
    }

    /// Returns the number of the list with this thread's jobs. A spare worker shares the list of
    /// another thread.
    pub(crate) fn list(&self) -> usize {
        self.id % self.registry.num_threads()
    }
}

thread_local! {
    /// The worker that runs on this thread, or null.
    static CURRENT: Cell<*const Worker> = const { Cell::new(null()) };
}

/// Returns the worker that runs on this thread, if it is a thread of a pool of this crate.
#[inline]
pub(crate) fn current<'w>() -> Option<&'w Worker> {
    // SAFETY: the pointer is null, or `enter` has set it on this thread. Until `leave` clears it,
    // the worker lives. Callers use the reference on this thread, below the frame of its worker.
    unsafe { CURRENT.get().as_ref() }
}

/// Makes this thread a worker, until it calls [`leave`].
pub(crate) fn enter(registry: &Arc<Registry>, id: usize) {
    let registry = Arc::clone(registry);
    CURRENT.set(Box::into_raw(Box::new(Worker { registry, id })));
}

/// Ends what [`enter`] began.
fn leave() {
    let worker = CURRENT.replace(null());
    if !worker.is_null() {
        // SAFETY: `enter` made the pointer from a box, and nothing below this frame uses it.
        drop(unsafe { Box::from_raw(worker.cast_mut()) });
    }
}

impl Registry {
    pub(crate) fn new(
        threads: usize,
        panic_handler: Option<PanicHandler>,
        start_handler: Option<ThreadHandler>,
        exit_handler: Option<ThreadHandler>,
    ) -> Registry {
        Registry {
            threads: (0..threads).map(|_| Thread::default()).collect(),
            outside: Mutex::default(),
            panic_handler,
            start_handler,
            exit_handler,
            ended: Mutex::default(),
            end: Condvar::new(),
        }
    }

    pub(crate) fn num_threads(&self) -> usize {
        self.threads.len()
    }

    /// Called by each thread of the pool when it begins.
    pub(crate) fn started(self: &Arc<Self>, id: usize) {
        enter(self, id);
        self.call(self.start_handler.as_ref());
    }

    /// Called by each thread of the pool before it ends.
    pub(crate) fn ends(&self, id: usize) {
        self.call(self.exit_handler.as_ref());
        leave();
        if id < self.num_threads() {
            *lock(&self.ended) += 1;
            self.end.notify_all();
        }
    }

    /// Calls a handler with the index of this thread. Spare threads do not wait for an index here.
    fn call(&self, handler: Option<&ThreadHandler>) {
        if let (Some(handler), Some(worker)) = (handler, current()) {
            self.catch(|| handler(worker.list()));
        }
    }

    /// Waits until all threads have ended.
    #[cfg(test)]
    pub(crate) fn wait_until_stopped(&self) {
        let mut ended = lock(&self.ended);
        while *ended < self.num_threads() {
            ended = self.end.wait(ended).unwrap();
        }
    }

    /// Runs `f`, whose panic no caller gets. Without a handler, a panic aborts the process.
    pub(crate) fn catch(&self, f: impl FnOnce()) {
        if let Err(panic) = halt_unwinding(f) {
            match &self.panic_handler {
                Some(handler) if halt_unwinding(|| handler(panic)).is_ok() => (),
                _ => {
                    eprintln!("a job without a caller has panicked; aborting");
                    abort();
                }
            }
        }
    }

    /// Adds a job. The worker is a thread of this registry that spawns it, if one does.
    pub(crate) fn push(&self, by: Option<&Worker>, job: Job) {
        match by {
            Some(worker) => lock(&self.threads[worker.list()].jobs).push_back(Entry::Job(job)),
            None => lock(&self.outside).push_back(job),
        }
    }

    /// Adds a job that runs after all others that the same thread has added in this way.
    pub(crate) fn push_fifo(&self, by: Option<&Worker>, job: Job) {
        let Some(worker) = by else {
            return self.push(None, job);
        };
        let thread = &self.threads[worker.list()];
        lock(&thread.fifo).push_back(job);
        lock(&thread.jobs).push_back(Entry::OldestOfFifo);
    }

    /// Runs the newest job that the calling thread has spawned, if there is one.
    pub(crate) fn run_own(&self, worker: &Worker) -> bool {
        let job = self.threads[worker.list()].pop(VecDeque::pop_back);
        self.run(job)
    }

    /// Runs one job, if there is one.
    pub(crate) fn run_any(&self, worker: &Worker) -> bool {
        self.run_own(worker) || {
            let job = lock(&self.outside).pop_front();
            let others = || {
                let (left, right) = self.threads.split_at(worker.list());
                let mut others = right.iter().chain(left);
                others.find_map(|thread| thread.pop(VecDeque::pop_front))
            };
            self.run(job.or_else(others))
        }
    }

    /// Returns whether jobs wait that the calling thread has spawned.
    pub(crate) fn has_own(&self, worker: &Worker) -> bool {
        !lock(&self.threads[worker.list()].jobs).is_empty()
    }

    fn run(&self, job: Option<Job>) -> bool {
        let found = job.is_some();
        if let Some(job) = job {
            self.catch(job);
        }
        found
    }

    /// Returns whether this thread belongs to this registry, as its worker.
    pub(crate) fn current(&self) -> Option<&Worker> {
        current().filter(|worker| std::ptr::eq(&*worker.registry, self))
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

static GLOBAL: OnceLock<ThreadPool> = OnceLock::new();

/// Held while the global pool is built.
static BUILDING: Mutex<()> = Mutex::new(());

/// Returns the global pool, and builds it first if there is none.
pub(crate) fn global() -> &'static ThreadPool {
    GLOBAL.get().unwrap_or_else(|| {
        // If another thread was faster, its pool is there.
        let built = set_global(|| ThreadPoolBuilder::new().build());
        match GLOBAL.get() {
            Some(pool) => pool,
            None => panic!("the global thread pool cannot be built: {:?}", built.err()),
        }
    })
}

/// Returns Purloin's pool within the global pool.
pub(crate) fn global_pool() -> &'static Pool {
    &global().pool
}

/// Makes the pool that `build` returns the global one. Returns `None` if there is one already.
pub(crate) fn set_global<E>(
    build: impl FnOnce() -> Result<ThreadPool, E>,
) -> Result<Option<()>, E> {
    let _guard = lock(&BUILDING);
    if GLOBAL.get().is_some() {
        return Ok(None);
    }
    let pool = build()?;
    Ok(GLOBAL.set(pool).ok())
}

/// Calls `f` with the current pool: that of this thread, or else the global one.
pub(crate) fn with_current<R>(f: impl FnOnce(&Pool, &Arc<Registry>) -> R) -> R {
    match current() {
        Some(worker) => purloin::with_token(|token| match token {
            Some(token) => f(token.pool(), &worker.registry),
            None => unreachable!("a thread of a pool of this crate is a worker"),
        }),
        None => {
            let pool = global();
            f(&pool.pool, &pool.registry)
        }
    }
}
