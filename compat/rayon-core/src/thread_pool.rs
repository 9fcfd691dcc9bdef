//! Pools, and what a thread knows about its own.

use std::error::Error;
use std::fmt;

use crate::broadcast::{BroadcastContext, broadcast_in, spawn_broadcast_in};
use crate::jobs::job;
use crate::registry::{ThreadPool, Worker, current};
use crate::scope::{Scope, ScopeFifo, scope_fifo_in, scope_in};
use crate::spawn::{spawn_fifo_in, spawn_in};

impl ThreadPool {
    /// Builds a pool.
    ///
    /// # Errors
    ///
    /// Returns an error if a thread cannot be started.
    #[deprecated(note = "Use `ThreadPoolBuilder::build`")]
    #[allow(deprecated)]
    pub fn new(configuration: crate::Configuration) -> Result<ThreadPool, Box<dyn Error>> {
        configuration.build()
    }

    /// Runs `op` on a thread of this pool, and returns its result. Functions of this crate that `op`
    /// calls use this pool.
    ///
    /// # Panics
    ///
    /// Panics if `op` panics.
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        self.pool.run(|_| op())
    }

    /// Runs `op` on each thread of this pool. See [`broadcast`](crate::broadcast()).
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast_in(&self.pool, op)
    }

    /// Returns the number of threads.
    #[inline]
    pub fn current_num_threads(&self) -> usize {
        self.registry.num_threads()
    }

    /// Returns the number of this thread, if it belongs to this pool.
    #[inline]
    pub fn current_thread_index(&self) -> Option<usize> {
        self.registry.current().map(Worker::index)
    }

    /// Returns whether jobs wait that this thread has spawned, if it belongs to this pool.
    #[inline]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        let worker = self.registry.current()?;
        Some(self.registry.has_own(worker))
    }

    /// Runs two closures in this pool. See [`join`](crate::join()).
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.install(|| crate::join(oper_a, oper_b))
    }

    /// Makes a scope in this pool. See [`scope`](crate::scope()).
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| self.in_place_scope(op))
    }

    /// Makes a scope in this pool. See [`scope_fifo`](crate::scope_fifo()).
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| self.in_place_scope_fifo(op))
    }

    /// Makes a scope in this pool. See [`in_place_scope`](crate::in_place_scope()).
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        scope_in(&self.pool, &self.registry, op)
    }

    /// Makes a scope in this pool. See [`in_place_scope_fifo`](crate::in_place_scope_fifo()).
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        scope_fifo_in(&self.pool, &self.registry, op)
    }

    /// Hands a job to this pool. See [`spawn`](crate::spawn()).
    pub fn spawn<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        spawn_in(&self.pool, &self.registry, job(op));
    }

    /// Hands a job to this pool. See [`spawn_fifo`](crate::spawn_fifo()).
    pub fn spawn_fifo<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        spawn_fifo_in(&self.pool, &self.registry, job(op));
    }

    /// Lets each thread of this pool run `op` once. See
    /// [`spawn_broadcast`](crate::spawn_broadcast()).
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        spawn_broadcast_in(&self.pool, op);
    }

    /// Runs one job, call or broadcast, if this thread belongs to this pool. See [`yield_now`].
    pub fn yield_now(&self) -> Option<Yield> {
        let worker = self.registry.current()?;
        Some(Yield::after(worker.yield_now()))
    }

    /// Runs one job that this thread has spawned, if it belongs to this pool. See [`yield_local`].
    pub fn yield_local(&self) -> Option<Yield> {
        let worker = self.registry.current()?;
        Some(Yield::after(self.registry.run_own(worker)))
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool")
            .field("num_threads", &self.current_num_threads())
            .finish_non_exhaustive()
    }
}

/// Returns the number of this thread in its pool, from 0, or `None` if it belongs to no pool.
#[inline]
pub fn current_thread_index() -> Option<usize> {
    current().map(Worker::index)
}

/// Returns whether jobs wait that this thread has spawned, or `None` if it belongs to no pool.
#[inline]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    current().map(|worker| worker.registry.has_own(worker))
}

/// Runs one job that was [spawned](crate::spawn()) in the pool of this thread, or a call or broadcast
/// that waits for it, if there is one. Returns `None` if this thread belongs to no pool.
///
/// After some calls in a row that found nothing, it sleeps for 0.2 ms, so that another thread takes
/// the tasks of this thread for which the program may wait.
pub fn yield_now() -> Option<Yield> {
    current().map(|worker| Yield::after(worker.yield_now()))
}

/// Runs the newest job that this thread has spawned, if there is one. Returns `None` if this thread
/// belongs to no pool.
pub fn yield_local() -> Option<Yield> {
    current().map(|worker| Yield::after(worker.registry.run_own(worker)))
}

/// The outcome of [`yield_now`] or [`yield_local`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// A job ran.
    Executed,
    /// No job was found.
    Idle,
}

impl Yield {
    fn after(has_run: bool) -> Yield {
        match has_run {
            true => Yield::Executed,
            false => Yield::Idle,
        }
    }
}
