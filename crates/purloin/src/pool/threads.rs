//! The threads of a pool's workers. The thread of the watcher starts in [`rescue`](super::rescue).

use std::fmt;
use std::io;
use std::sync::Arc;

use super::Shared;
use super::cache_placement::{MAX_SKIP, run_apart};
use super::worker::{Me, main_loop};
use crate::runtime::ReturnBarrier;
use crate::scheduler::Scheduler;
use crate::sync::plain::{Mutex, lock};
use crate::sync::thread::{self, JoinHandle};
use crate::this_thread;
use crate::tunables;
use crate::unwind::abort;

/// A worker that waits for its thread, from [`Builder::build_with`](crate::Builder::build_with).
///
/// The pool is not complete before [`run`](Self::run) is called. If the value is dropped instead,
/// the pool starts a thread of its own for the worker, unless the pool was not built or was dropped
/// before. If that thread cannot be started, `build_with` returns an error; once `build_with` has
/// returned, the process aborts.
pub struct WorkerStart<S: Scheduler = ReturnBarrier> {
    /// None once the worker runs.
    pool: Option<Arc<Shared<S>>>,
    worker: usize,
}

impl<S: Scheduler> WorkerStart<S> {
    pub(super) fn new(pool: Arc<Shared<S>>, worker: usize) -> Self {
        let pool = Some(pool);
        WorkerStart { pool, worker }
    }

    fn threads(&self) -> &Threads {
        let pool = self.pool.as_ref();
        &pool.expect("only `run` and `start` take the pool").threads
    }

    /// Returns the number of the worker.
    pub fn index(&self) -> usize {
        self.worker
    }

    /// Returns the name for the thread, see [`Builder::thread_name`](crate::Builder::thread_name).
    pub fn name(&self) -> String {
        self.threads().name(self.worker)
    }

    /// Sets the name for the thread, and for spare workers that are named after it.
    ///
    /// # Panics
    ///
    /// Panics if the name contains `'\0'`.
    pub fn set_name(&mut self, name: &str) {
        // A spare worker would start later with this name, and the start would panic.
        assert!(!name.contains('\0'), "the name of a thread contains '\\0'");
        lock(&self.threads().names)[self.worker] = name.to_string();
    }

    /// Returns the size of the stack that the thread should have, in bytes: the size of
    /// [`Builder::stack_size`](crate::Builder::stack_size) and some pages.
    pub fn stack_size(&self) -> usize {
        self.threads().stack_size + MAX_SKIP
    }

    /// Runs the worker on this thread, until the pool has ended.
    ///
    /// # Panics
    ///
    /// Panics if this thread is a worker already.
    pub fn run(mut self) {
        check_is_no_worker();
        if let Some(pool) = self.pool.take() {
            pool.sleep.start_searching();
            // SAFETY: this is the thread of the worker.
            let me = unsafe { Me::new(&pool.worker_threads[self.worker]) };
            pool.threads.run(me);
        }
    }

    /// Makes this thread the worker, and returns. From then on, joins and loops on this thread use
    /// the pool directly. The thread takes no jobs and no other worker's tasks, except while it
    /// waits for its own, and a [broadcast](crate::Pool::broadcast) waits until it does. It stays the
    /// worker until it ends, and the pool's memory stays as long as the process.
    ///
    /// ```
    /// use purloin::Pool;
    ///
    /// let pool = Pool::builder().workers(2).build_with(|worker| {
    ///     match worker.index() {
    ///         0 => worker.attach(),
    ///         _ => drop(worker), // gets a thread of its own
    ///     }
    ///     Ok(())
    /// })?;
    /// assert_eq!(pool.run(|w| w.index()), 0);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if this thread is a worker already; inside a [`finish`](crate::Worker::finish) on this thread, which
    /// would end on a worker although it did not begin on one; and under a scheduler that [detects by
    /// itself](Scheduler::DETECTS_QUIESCENCE) that all workers are idle, as the scheduler `Channel` of
    /// the crate `purloin-schedulers` does: it would not learn that this thread is idle, and
    /// [`Pool::wait`](crate::Pool::wait) would not return.
    pub fn attach(mut self) {
        check_is_no_worker();
        assert!(
            !this_thread::is_in_scope_outside(),
            "a thread cannot be attached to a pool within a `finish`; attach it before the `finish` begins"
        );
        assert!(
            !S::DETECTS_QUIESCENCE,
            "a thread of the program cannot be attached under this scheduler, which detects by itself \
             that all workers are idle; drop the `WorkerStart`, or call its `run`"
        );
        if let Some(pool) = self.pool.take() {
            // SAFETY: this is the thread of the worker.
            unsafe { Me::new(&pool.worker_threads[self.worker]) }.attach();
            std::mem::forget(pool);
        }
    }

    /// Starts a thread that runs the worker.
    pub(super) fn start(mut self) -> io::Result<()> {
        match self.pool.take() {
            Some(pool) => Threads::start_regular(pool, self.worker),
            None => Ok(()),
        }
    }
}

fn check_is_no_worker() {
    assert!(
        !this_thread::is_worker(),
        "this thread is a worker of a pool already"
    );
}

impl<S: Scheduler> Drop for WorkerStart<S> {
    fn drop(&mut self) {
        let Some(pool) = self.pool.take() else {
            return;
        };
        if let Some(dropped) = lock(&pool.threads.dropped).as_mut() {
            return dropped.push(self.worker);
        }
        if !pool.sleep.is_stopping() && Threads::start_regular(pool, self.worker).is_err() {
            // The pool is in use, and would wait for this worker forever.
            abort("no thread can be started for a worker whose `WorkerStart` was dropped");
        }
    }
}

impl<S: Scheduler> fmt::Debug for WorkerStart<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerStart")
            .field("index", &self.index())
            .finish_non_exhaustive()
    }
}

/// The threads of a pool that were started, and the settings to start more.
pub(super) struct Threads {
    /// The names of the threads, by regular worker.
    pub(super) names: Mutex<Box<[String]>>,
    /// Number of regular workers.
    pub(super) workers: usize,
    pub(super) stack_size: usize,
    /// The processors to which workers are bound: each regular worker to one of them, each spare
    /// worker to all of them. Empty if workers are not bound.
    pub(super) processors: Box<[usize]>,
    pub(super) handles: Mutex<Vec<JoinHandle<()>>>,
    /// The workers whose [`WorkerStart`] was dropped while the pool is being built; `None` once it is
    /// built.
    pub(super) dropped: Mutex<Option<Vec<usize>>>,
}

impl Threads {
    /// Returns the name of a worker's thread. A spare worker is named after a regular one.
    fn name(&self, worker: usize) -> String {
        let name = lock(&self.names)[worker % self.workers].clone();
        match worker < self.workers || name.is_empty() {
            true => name,
            false => name + "-spare",
        }
    }

    /// Starts the thread of a regular worker. It counts as searching from now on: work that arrives
    /// before the thread has begun finds an idle worker.
    pub(super) fn start_regular<S: Scheduler>(
        shared: Arc<Shared<S>>,
        worker: usize,
    ) -> io::Result<()> {
        let pool = Arc::clone(&shared);
        pool.sleep.start_searching();
        Threads::start(shared, worker).inspect_err(|_| pool.sleep.stop_searching())
    }

    /// Starts the thread of a spare worker, which counts as searching. Returns false if that fails.
    ///
    /// The thread makes the worker. If the system has no thread, nothing is left behind: a task stack
    /// might be the last memory that the program may have.
    pub(super) fn start_spare<S: Scheduler>(shared: Arc<Shared<S>>, worker: usize) -> bool {
        let pool = Arc::clone(&shared);
        let started = check_room().and_then(|()| Threads::start(pool, worker));
        let is_started = started.is_ok();
        if !is_started {
            Threads::start_failed(&shared, worker);
        }
        is_started
    }

    /// Sets a worker aside that could not be started, and lets a thread watch the pool, which tries
    /// again.
    fn start_failed<S: Scheduler>(shared: &Shared<S>, worker: usize) {
        shared.sleep.start_failed(worker);
        shared.watch();
    }

    /// Starts the thread of a worker, which counts as searching. The thread makes the worker if the
    /// worker does not exist yet.
    fn start<S: Scheduler>(shared: Arc<Shared<S>>, worker: usize) -> io::Result<()> {
        let threads = &shared.threads;
        let mut builder = thread::Builder::new().stack_size(threads.stack_size + MAX_SKIP);
        let name = threads.name(worker);
        if !name.is_empty() {
            builder = builder.name(name);
        }
        let pool = Arc::clone(&shared);
        let thread = builder.spawn(move || match pool.add_worker(worker) {
            Ok(()) => {
                // SAFETY: this is the thread of the worker.
                let me = unsafe { Me::new(&pool.worker_threads[worker]) };
                pool.threads.run(me);
            }
            Err(_) => Threads::start_failed(&*pool, worker),
        })?;
        lock(&threads.handles).push(thread);
        Ok(())
    }

    /// Runs a worker, which counts as searching, on this thread, until the pool has ended.
    fn run<S: Scheduler>(&self, me: Me<'_, S>) {
        match self.processors.len() {
            0 => (),
            // Otherwise it would inherit the binding to the processor of the busy worker that starts
            // it.
            _ if me.is_spare() => bind(&self.processors),
            len => bind(&self.processors[me.index() % len..][..1]),
        }
        run_apart(me.hashes(), || main_loop::run(me));
    }

    /// Waits for the end of every thread, including threads that start meanwhile. A thread that
    /// starts another thread adds the new handle before it ends itself. Tries to start the pool's watcher
    /// while `is_watcher_missing`: the last jobs of the pool may wait for each other.
    pub(super) fn join_all(&self, is_watcher_missing: impl Fn() -> bool) {
        loop {
            let Some(thread) = lock(&self.handles).pop() else {
                return;
            };
            while is_watcher_missing() && !thread::is_finished(&thread) {
                thread::sleep(tunables::STALL.get());
            }
            // A worker's thread does not panic: it catches panics of the program, and aborts the
            // process on others.
            let _ = thread.join();
        }
    }
}

/// Returns an error if the system has no memory left for the small needs of a new thread. The standard
/// library aborts the process if a thread has a stack, of a thread that has ended, but finds no memory
/// for the stack of its signal handlers.
#[cfg(all(target_os = "linux", not(miri)))]
pub(super) fn check_room() -> io::Result<()> {
    const ROOM: usize = 64 << 10;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: the mapping is new, so nothing else uses it, and this function unmaps all of it.
    unsafe {
        let room = libc::mmap(std::ptr::null_mut(), ROOM, access, kind, -1, 0);
        if room == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        libc::munmap(room, ROOM);
    }
    Ok(())
}

#[cfg(not(all(target_os = "linux", not(miri))))]
pub(super) fn check_room() -> io::Result<()> {
    Ok(())
}

/// Returns the processors that this thread may use, or none if the system does not report
/// them.
#[cfg(target_os = "linux")]
pub(super) fn processors() -> Box<[usize]> {
    // SAFETY: the set is plain data, for which all zeros is valid. The system gets its true size,
    // and `CPU_ISSET` gets indices below `CPU_SETSIZE`.
    unsafe {
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut allowed) != 0 {
            return Box::default();
        }
        let bits = 0..libc::CPU_SETSIZE as usize;
        bits.filter(|&p| libc::CPU_ISSET(p, &allowed)).collect()
    }
}

/// Binds this thread to these processors.
#[cfg(target_os = "linux")]
fn bind(processors: &[usize]) {
    // SAFETY: the set is plain data, for which all zeros is valid. The system gets its true size,
    // and the indices come from `processors`, so they are below `CPU_SETSIZE`.
    unsafe {
        let mut own: libc::cpu_set_t = std::mem::zeroed();
        for &processor in processors {
            libc::CPU_SET(processor, &mut own);
        }
        // If this fails, the worker runs wherever the system puts it.
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &own);
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn processors() -> Box<[usize]> {
    Box::default()
}

#[cfg(not(target_os = "linux"))]
fn bind(_: &[usize]) {}
