//! The threads of a pool, and what they share besides Purloin's pool.

use std::any::Any;
use std::cell::Cell;
use std::process::abort;
use std::ptr::null;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use purloin::implement::Batch;
use purloin::{Pool, Token};

use crate::fifo::Fifos;
use crate::jobs::{Job, Jobs};
use crate::sync::lock;
use crate::unwind::halt_unwinding;

pub(crate) type PanicHandler = Box<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;
pub(crate) type ThreadHandler = Box<dyn Fn(usize) + Send + Sync>;

/// A pool of threads.
///
/// When it is dropped, the calling thread does not wait: the threads first run all jobs that are
/// left, and then end.
///
/// ```
/// # use rayon_core::ThreadPoolBuilder;
/// let pool = ThreadPoolBuilder::new().num_threads(2).build()?;
/// let (a, b) = pool.join(|| 6, || 7);
/// assert_eq!(a * b, 42);
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPool {
    pub(crate) pool: Pool,
    pub(crate) registry: Arc<Registry>,
}

/// State shared by the threads of a pool, besides the pool itself.
pub(crate) struct Registry {
    threads: usize,
    jobs: Jobs,
    fifos: Fifos<Job>,
    panic_handler: Option<PanicHandler>,
    start_handler: Option<ThreadHandler>,
    exit_handler: Option<ThreadHandler>,
    /// Number of threads that have ended.
    ended: Mutex<usize>,
    end: Condvar,
}

/// A thread of a pool.
pub(crate) struct Worker {
    pub(crate) registry: Arc<Registry>,
    /// The number of Purloin's worker. Spare workers come after the threads that the program has
    /// asked for.
    pub(crate) id: usize,
    /// The number of calls of [`yield_now`](Self::yield_now) in a row that found nothing.
    idle_yields: Cell<u32>,
    /// Whether the last [place](crate::jobs) that the thread took had no job.
    place_was_empty: Cell<bool>,
}

/// Number of calls of [`yield_now`](crate::yield_now) that find nothing, after which a thread lends
/// its processor and its index.
const ENOUGH_YIELDS: u32 = 16;

/// Time for which it does: a few times as long as it takes to wake a thread.
const LENT: Duration = Duration::from_micros(200);

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

    /// Runs one job, call or broadcast that waits for the pool, and returns whether there was one.
    ///
    /// A program that yields again and again may wait for a task that this thread has made itself,
    /// in a join or a scope. So from time to time another thread may take the tasks of this one.
    pub(crate) fn yield_now(&self) -> bool {
        let has_run = loop {
            self.place_was_empty.set(false);
            let found =
                purloin::with_token(|token| token.is_some_and(|token| token.pool().yield_now()));
            if !self.place_was_empty.get() {
                break found;
            }
        };
        self.idle_yields.set(match has_run {
            true => 0,
            false => self.idle_yields.get() + 1,
        });
        if self.idle_yields.get() >= ENOUGH_YIELDS {
            self.idle_yields.set(0);
            purloin::implement::pause(LENT);
        }
        has_run
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
    CURRENT.set(Box::into_raw(Box::new(Worker {
        registry,
        id,
        idle_yields: Cell::new(0),
        place_was_empty: Cell::new(false),
    })));
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
            threads,
            jobs: Jobs::new(threads),
            fifos: Fifos::new(threads),
            panic_handler,
            start_handler,
            exit_handler,
            ended: Mutex::default(),
            end: Condvar::new(),
        }
    }

    pub(crate) fn num_threads(&self) -> usize {
        self.threads
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
                    eprintln!(
                        "a spawned job or a handler of a thread has panicked, and no caller gets its \
                         panic; aborting. ThreadPoolBuilder::panic_handler sets a function that gets it"
                    );
                    abort();
                }
            }
        }
    }

    /// Adds a job. Returns whether the caller must add a [place](crate::jobs).
    #[must_use]
    pub(crate) fn push(&self, job: Job) -> bool {
        self.jobs.push(self.current().map(Worker::list), job)
    }

    /// Adds a job that runs after all others that the same thread has added in this way. Returns
    /// whether the caller must add a place.
    #[must_use]
    pub(crate) fn push_fifo(&self, job: Job) -> bool {
        let Some(list) = self.current().map(Worker::list) else {
            return self.push(job);
        };
        self.fifos.push(list, job);
        let placeholder = move || {
            // A thread of this pool runs it.
            if let Some(job) = current().and_then(|worker| worker.registry.fifos.pop(list)) {
                job();
            }
        };
        self.jobs.push(Some(list), Box::new(placeholder))
    }

    /// Runs the newest job that the calling thread has spawned, if there is one.
    pub(crate) fn run_own(&self, worker: &Worker) -> bool {
        let job = self.jobs.take_own(worker.list());
        let found = job.is_some();
        job.into_iter().for_each(|job| self.catch(job));
        found
    }

    /// Takes the place, and runs a job if one waits. If no other task waits on this thread, it runs a
    /// batch of jobs.
    pub(crate) fn run_place(&self, worker: &Worker, token: &Token<'_>) {
        let list = worker.list();
        let mut batch = Batch::begin(token);
        let (mut next, needs_place) = self.jobs.take_place(list, batch.is_some());
        if needs_place {
            add_place(token.pool());
        }
        worker.place_was_empty.set(next.is_none());
        while let Some(job) = next {
            self.catch(job);
            let goes_on = batch.as_mut().is_some_and(|batch| batch.goes_on(token));
            next = goes_on.then(|| self.jobs.take(list)).flatten();
        }
    }

    /// Returns whether jobs wait that the calling thread has spawned.
    pub(crate) fn has_own(&self, worker: &Worker) -> bool {
        self.jobs.has_own(worker.list())
    }

    /// Returns whether this thread belongs to this registry, as its worker.
    pub(crate) fn current(&self) -> Option<&Worker> {
        current().filter(|worker| std::ptr::eq(&*worker.registry, self))
    }
}

/// Lets a thread of the pool run jobs. See [`crate::jobs`].
pub(crate) fn add_place(pool: &Pool) {
    purloin::implement::spawn_uncounted(pool, |token| {
        if let Some(worker) = current() {
            worker.registry.run_place(worker, &token);
        }
    });
}
