//! Quiescence, or the task barrier: [`Pool::wait`](crate::Pool::wait) waits until all jobs that
//! were spawned before it have ended.
//!
//! Under most schedulers the pool counts the jobs that were spawned and have not ended, by
//! **generation**. A wait closes the current generation, and waits until this and all older
//! generations have no job left. Jobs that are spawned later belong to a newer generation. A job
//! that another job spawns belongs to the generation of its parent, no matter how late it is
//! spawned, so a wait covers all jobs that its jobs spawn in turn.
//!
//! A scheduler may instead detect by itself that all workers are idle
//! ([`Scheduler::DETECTS_QUIESCENCE`](crate::scheduler::Scheduler::DETECTS_QUIESCENCE)). Waits have
//! numbers then. The scheduler reads the number of the newest wait, checks that all workers are
//! idle, and ends all waits up to that number.

use std::collections::VecDeque;
use std::ptr::null;
use std::time::Duration;

use crate::call::NO_GENERATION;
use crate::sync::thread::{self, Thread};
use crate::sync::{AtomicUsize, Mutex, MutexGuard, Ordering, lock};
use crate::this_thread::{block, raise};
use crate::unwind::{FirstPanic, discard};

/// The waits of a pool for its spawned jobs.
pub struct Quiescence {
    /// Number of waits for the scheduler to detect quiescence.
    waiting: AtomicUsize,
    inner: Mutex<Inner>,
    /// The first panic of a job since the last wait.
    pub(super) panic: FirstPanic,
}

#[derive(Default)]
struct Inner {
    /// The current generation. A job that is not spawned by another job belongs to it.
    generation: u64,
    /// Each generation that has jobs left, with the number of these jobs. The oldest comes first.
    pending: VecDeque<(u64, usize)>,
    /// The number of the newest wait, if the scheduler detects quiescence.
    newest_wait: u64,
    /// Waits up to this number have ended.
    ended_wait: u64,
    /// The threads that wait.
    threads: Vec<Thread>,
}

impl Inner {
    /// Returns the index of a generation in `pending`, or the index at which to insert it.
    fn place(&self, generation: u64) -> Result<usize, usize> {
        self.pending.binary_search_by_key(&generation, |&(g, _)| g)
    }
}

impl Quiescence {
    /// Returns the state of a pool without jobs.
    pub fn new() -> Quiescence {
        Quiescence {
            waiting: AtomicUsize::new(0),
            inner: Mutex::new(Inner::default()),
            panic: FirstPanic::default(),
        }
    }

    /// Counts a job, and returns its generation. `parent` is the generation of the job that spawns
    /// it, if any.
    pub(super) fn spawned(&self, parent: Option<u64>) -> u64 {
        let mut inner = lock(&self.inner);
        let generation = parent.unwrap_or(NO_GENERATION).min(inner.generation);
        match inner.place(generation) {
            Ok(place) => inner.pending[place].1 += 1,
            Err(place) => inner.pending.insert(place, (generation, 1)),
        }
        generation
    }

    /// Records that a job of this generation has ended.
    pub(super) fn done(&self, generation: u64) {
        let mut inner = lock(&self.inner);
        let Ok(place) = inner.place(generation) else {
            unreachable!("a job that has not ended is counted");
        };
        inner.pending[place].1 -= 1;
        if inner.pending[place].1 == 0 {
            inner.pending.remove(place);
            wake_threads(inner);
        }
    }

    /// Waits until all jobs that were spawned before have ended, and all jobs that these have
    /// spawned in turn. For `limit`, see [`block`].
    pub(super) fn wait(&self, limit: &dyn Fn() -> Option<Duration>) {
        let mut inner = lock(&self.inner);
        let last = inner.generation;
        inner.generation += 1;
        drop(inner);
        self.wait_until(
            |inner| inner.pending.front().is_none_or(|&(first, _)| first > last),
            limit,
        );
        self.resume_panic();
    }

    /// Returns the number of the newest wait, if a thread waits for the scheduler to detect quiescence.
    pub fn awaited(&self) -> Option<u64> {
        // Relaxed: the thread wakes the worker that must see it, see `wait_for_end`.
        let is_awaited = self.waiting.load(Ordering::Relaxed) > 0;
        is_awaited.then(|| lock(&self.inner).newest_wait)
    }

    /// Ends the waits up to this number: all jobs that were spawned before them have ended.
    pub fn end(&self, wait: u64) {
        let mut inner = lock(&self.inner);
        inner.ended_wait = inner.ended_wait.max(wait);
        wake_threads(inner);
    }

    /// Waits until the scheduler has detected quiescence. `ask` makes the scheduler look.
    ///
    /// # Panics
    ///
    /// Panics if a job has panicked, with its panic.
    pub fn wait_for_end(&self, ask: impl FnOnce()) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let mut inner = lock(&self.inner);
        inner.newest_wait += 1;
        let wait = inner.newest_wait;
        drop(inner);
        // The worker that `ask` wakes sees the wait: waking it takes a lock.
        ask();
        self.wait_until(|inner| inner.ended_wait >= wait, &|| None);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        self.resume_panic();
    }

    /// Blocks this thread until `is_over`. For `limit`, see [`block`].
    fn wait_until(&self, is_over: impl Fn(&Inner) -> bool, limit: &dyn Fn() -> Option<Duration>) {
        let this = thread::current();
        let is_over_by_now = || {
            let mut inner = lock(&self.inner);
            let is_over = is_over(&inner);
            let is_this = |thread: &Thread| thread.id() == this.id();
            match inner.threads.iter().position(is_this) {
                Some(place) if is_over => drop(inner.threads.swap_remove(place)),
                None if !is_over => inner.threads.push(this.clone()),
                _ => (),
            }
            is_over
        };
        block(null(), &is_over_by_now, limit);
    }

    /// Continues the panic that was kept, if there is one.
    fn resume_panic(&self) {
        if let Some(panic) = self.panic.take() {
            raise(panic);
        }
    }
}

/// Releases the lock, then wakes all waiting threads.
fn wake_threads(mut inner: MutexGuard<'_, Inner>) {
    let threads = std::mem::take(&mut inner.threads);
    drop(inner);
    threads.into_iter().for_each(|thread| thread.unpark());
}

impl Drop for Quiescence {
    fn drop(&mut self) {
        discard(self.panic.take());
    }
}
