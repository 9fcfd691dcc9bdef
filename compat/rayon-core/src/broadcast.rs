//! Functions that each thread of a pool runs once.

use std::fmt;
use std::marker::PhantomData;

use purloin::Pool;
use purloin::implement::is_on_top;

use crate::global::with_current;
use crate::registry::{Worker, current};

/// Tells a broadcast function on which thread it runs.
pub struct BroadcastContext<'a> {
    worker: &'a Worker,
    /// Neither `Send` nor `Sync`: it says something about this thread.
    _thread: PhantomData<&'a mut dyn Fn()>,
}

impl BroadcastContext<'_> {
    /// Calls `f` on this thread of a pool, in the course of a broadcast.
    pub(crate) fn with<R>(f: impl FnOnce(BroadcastContext<'_>) -> R) -> R {
        let Some(worker) = current() else {
            unreachable!("broadcasts run on the threads of a pool");
        };
        // The jobs of this thread that were spawned before the broadcast come first, unless they are
        // unrelated to what waits below.
        let is_on_top = purloin::with_token(|token| token.is_some_and(|token| is_on_top(&token)));
        while !is_on_top && worker.registry.run_own(worker) {}
        f(BroadcastContext {
            worker,
            _thread: PhantomData,
        })
    }

    /// Returns the number of this thread, from 0 to [`num_threads`](Self::num_threads) - 1.
    #[inline]
    pub fn index(&self) -> usize {
        self.worker.id
    }

    /// Returns the number of threads of the pool.
    #[inline]
    pub fn num_threads(&self) -> usize {
        self.worker.registry.num_threads()
    }
}

impl fmt::Debug for BroadcastContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastContext")
            .field("index", &self.index())
            .field("num_threads", &self.num_threads())
            .finish_non_exhaustive()
    }
}

/// Runs `op` on each thread of the current pool, and returns the results in the order of the
/// threads.
///
/// ```
/// let indices = rayon_core::broadcast(|context| context.index());
/// assert!(indices.into_iter().eq(0..rayon_core::current_num_threads()));
/// ```
///
/// # Panics
///
/// Panics if `op` panics on any thread, after all have ended.
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    with_current(|pool, _| broadcast_in(pool, op))
}

/// Lets each thread of the current pool run `op` once, and returns. A panic goes to the pool's
/// handler; without one, the process aborts.
pub fn spawn_broadcast<OP>(op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    with_current(|pool, _| spawn_broadcast_in(pool, op));
}

pub(crate) fn broadcast_in<OP, R>(pool: &Pool, op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    pool.broadcast(|_| BroadcastContext::with(&op))
}

pub(crate) fn spawn_broadcast_in<OP>(pool: &Pool, op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    pool.spawn_broadcast(move |_| {
        if let Some(worker) = current() {
            worker.registry.catch(|| BroadcastContext::with(&op));
        }
    });
}
