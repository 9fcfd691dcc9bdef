//! The token of a pool's worker, and what a program does with it.

use std::ops::ControlFlow;
use std::panic::resume_unwind;

use super::finish::{self, Finish};
use super::future::{self, Kind};
use super::join::{call, in_registers, join_in_registers};
use super::return_barrier::ReturnBarrier;
use super::shared_loop::run_shared;
use super::slot::Slot;
use crate::cancel::{CancelFlag, CancelState};
use crate::graph::Inputs;
use crate::handle::Handle;
use crate::loops::{self, Internal, IntoIterations, Iterations};
use crate::pool::{Me, Pool, Remote};
use crate::promise::Place;
use crate::scheduler::{Point, Protocol, Scheduler, TaskPool};
use crate::scope::{Scope, Spawner};
use crate::worker::Worker;

/// The [`Worker`] of a pool: a worker's thread, and the top of its task stack in a register.
///
/// # What a join costs
///
/// Beyond the two calls: two loads and compares at the push (the top in memory, the barrier), a
/// test of the slot's address (the end of the stack), the stores of the closure's captures, of the
/// code pointer and of the top; at the pop a store of the top, and a load and compare of the
/// barrier. There is no atomic read-modify-write and no fence. A join touches two cache lines of
/// the worker and the line of the slot, all of them in the first-level cache.
pub struct Token<'t, S: Scheduler = ReturnBarrier> {
    pub(super) thread: Me<'t, S>,
    /// The top of the stack when the token was made. The token may be stale: see
    /// [the page](super).
    pub(super) top: *mut Slot<S>,
}

impl<'t, S: Scheduler> Token<'t, S> {
    /// Returns a token for the code that `thread` runs now.
    #[inline(always)]
    pub(crate) fn at_top(thread: Me<'t, S>) -> Self {
        Token {
            thread,
            top: thread.stack().top(),
        }
    }

    pub(crate) fn thread(&self) -> Me<'t, S> {
        self.thread
    }

    /// Returns whether this is the token of `worker`.
    #[inline(always)]
    pub(crate) fn is_of(&self, worker: *const Remote<S>) -> bool {
        std::ptr::eq(self.thread.remote(), worker)
    }

    /// Returns the index of the worker. A pool's regular workers have the indices below
    /// [`Self::workers`]. [Spare workers](crate::Builder::spare_workers) have the indices after them.
    ///
    /// Code may move to another worker only where it begins to run: a closure of a join, for
    /// example, stays on its worker to the end.
    pub fn index(&self) -> usize {
        self.thread.index()
    }

    /// Returns a number below [`workers`](Self::workers) that no other running worker of the pool has,
    /// for indexing an array of that length. A regular worker returns its [`index`](Self::index). A
    /// spare worker uses the index of a worker that is blocked or idle, until it has ended the task
    /// that it took; it may have to wait for one.
    ///
    /// A worker cannot resume while another worker uses its index. So a task must not ask for its
    /// index and then wait for a lock that a blocked task may hold. Nor should a call from outside ask
    /// for it while it holds a lock that other tasks need: if a spare worker [has rescued the
    /// call](crate::Builder::rescue_calls), it may wait for the index of a worker that waits for the lock. The same
    /// goes for anything else that a task waits for: a message of a channel, the next item of a
    /// [bridge](crate::bridge()).
    ///
    /// ```
    /// use std::sync::Mutex;
    /// use purloin::{Pool, Worker};
    ///
    /// let pool = Pool::new()?;
    /// let sums: Vec<Mutex<u64>> = (0..pool.workers()).map(|_| Mutex::new(0)).collect();
    /// pool.run(|mut w| {
    ///     w.par(0..1000_u64).for_each_with_token(|w, n| *sums[w.thread_index()].try_lock().unwrap() += n);
    /// });
    /// let sum: u64 = sums.into_iter().map(|sum| sum.into_inner().unwrap()).sum();
    /// assert_eq!(sum, 499_500);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    pub fn thread_index(&self) -> usize {
        match self.thread.is_spare() {
            true => self.thread.pool().sleep.thread_index(self.index()),
            false => self.index(),
        }
    }

    /// Returns the number of workers of the pool, without spare workers.
    pub fn workers(&self) -> usize {
        self.thread.pool().workers
    }

    /// Returns the pool of the worker.
    ///
    /// ```
    /// use purloin::Pool;
    ///
    /// let pool = Pool::builder().workers(2).build()?;
    /// let steals = pool.run(|w| w.pool().stats().steals);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    pub fn pool(&self) -> &'t Pool<S> {
        self.thread.as_pool()
    }
}

impl<'w, S: Scheduler> Worker for Token<'w, S> {
    type Token<'t> = Token<'t, S>;
    type Spawner = S;

    #[inline(always)]
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Token<'t, S>) -> RA + Send,
        B: for<'t> FnOnce(Token<'t, S>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        match const { in_registers::<A, B>() } {
            true => join_in_registers(self.thread, self.top, a, b),
            false => self.join_inline::<true, _, _, _, _>(a, b),
        }
    }

    fn finish<'env, F, R>(&mut self, body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, S>) -> R,
    {
        finish::finish(self.thread, None, body)
    }

    #[inline(always)]
    fn lend<R>(&mut self, f: impl for<'t> FnOnce(Token<'t, S>) -> R) -> R {
        f(Token {
            thread: self.thread,
            top: self.top,
        })
    }

    #[inline]
    fn future<F, T>(&mut self, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(Token<'t, S>) -> T + Send + 'static,
        T: Send + 'static,
    {
        match self.thread.frame() {
            Some(_) => future::future(self.thread, self.top, std::ptr::null(), f),
            // A forked process has no other worker. (A measured thread has none, either: its token runs the task.)
            None if !self.thread.is_current() => match call(self.thread, |mut w| w.future(f)) {
                Ok(handle) => handle,
                Err(panic) => resume_unwind(panic),
            },
            None => future::detached_future(self.thread.pool(), Kind::Detached, f),
        }
    }

    #[inline]
    fn get<T: Send>(&mut self, future: Handle<T>) -> T {
        let (pool, worker) = (self.thread.pool().id, self.thread.remote());
        // SAFETY: a token stays on the thread of its worker, and lives longer than `place`. `pool` is the number of that
        // worker's pool, whose scheduler is `S`.
        let place = unsafe {
            Place::new(
                pool,
                std::ptr::from_ref(worker).cast(),
                self.top.cast_const().cast(),
            )
        };
        future.get_at(Some(&place))
    }

    fn cancel_flag(&self, _: Internal) -> CancelFlag {
        self.thread.scope()
    }

    #[inline]
    fn run_loop<I, A, N, F, C>(&mut self, iterations: I, init: N, step: F, combine: C) -> A
    where
        I: IntoIterations,
        N: Fn() -> A + Sync,
        F: for<'t> Fn(Token<'t, S>, A, I::Item) -> ControlFlow<A, A> + Sync,
        C: Fn(A, A) -> A + Sync,
        A: Send,
    {
        let iterations = iterations.into_iterations();
        match <I::Iterations as Iterations>::IS_ORDERED {
            true => self.lend(|w| {
                loops::run_loop::<Self, _, _, _, _, _>(w, iterations, init, step, combine)
            }),
            false => run_shared(self.thread, iterations, init, step, combine),
        }
    }

    #[inline(always)]
    fn split_hint(&mut self, rest: usize) -> usize {
        match self.thread.tasks.is_open(self.top) {
            true => 0,
            false => S::split_hint(self.thread, rest),
        }
    }

    fn sort_pieces(&self) -> usize {
        match self.thread.pool().workers {
            1 => 1,
            // A thief that comes late, or whose processor is slower, gets fewer of them.
            workers => 8 * workers,
        }
    }
}

impl<S: Scheduler> Spawner for S {
    type Token<'t> = Token<'t, S>;
    type Finish = Finish<S>;

    unsafe fn future<'scope, F, T>(finish: &'scope Finish<S>, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(Token<'t, S>) -> T + Send + 'scope,
        T: Send + 'scope,
    {
        finish.future(f)
    }

    const DEFERS: bool = true;

    unsafe fn after<'scope, F, T>(
        finish: &'scope Finish<S>,
        inputs: Inputs,
        is_spawn: bool,
        f: F,
    ) -> Option<Handle<T>>
    where
        F: for<'t> FnOnce(Token<'t, S>) -> T + Send + 'scope,
        T: Send + 'scope,
    {
        // SAFETY: the caller guarantees it.
        unsafe { future::after(finish, inputs, is_spawn, f) }
    }

    #[inline(always)]
    unsafe fn spawn<'scope, F>(finish: &'scope Finish<S>, task: F)
    where
        F: for<'t> FnOnce(Token<'t, S>) + Send + 'scope,
    {
        finish.spawn(task);
    }

    fn cancelled(finish: &Finish<S>) -> &CancelState {
        finish.cancelled()
    }

    fn join<A, B, RA, RB>(finish: &Finish<S>, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Token<'t, S>) -> RA + Send,
        B: for<'t> FnOnce(Token<'t, S>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        let join = move |mut w: Token<'_, S>| w.join(a, b);
        match finish.pool().current() {
            Some(thread) => call(thread, join).unwrap_or_else(|panic| resume_unwind(panic)),
            None => finish.pool().run(join),
        }
    }
}

/// Implements [`Scheduler::split_hint`].
pub fn split_hint<S: Scheduler>(owner: Me<'_, S>, rest: usize) -> usize {
    if rest < 2 || !owner.stack().make_room() {
        S::Protocol::answer(owner, Point::Join);
        return 0;
    }
    match S::Protocol::answer(owner, Point::Loop) {
        0 => 0,
        thieves => {
            let pool = owner.pool();
            pool.options.splitting.share(rest, pool.workers, thieves)
        }
    }
}
