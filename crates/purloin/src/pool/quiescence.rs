//! The task barrier: until everything is done that was spawned before.
//!
//! Most schedulers count the tasks that were spawned and have not ended, by
//! **generation**. A wait closes the generation of its time, and waits until that and all
//! older ones have no task left; what is spawned later is of a newer one. A task that is
//! spawned by another is of the generation of that one, however late, so a wait covers
//! what its tasks spawn in turn.
//!
//! A scheduler that knows when all workers are idle says that instead: it is asked, looks,
//! and ends what it was asked for before it looked.

use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::thread::{self, Thread};

use crate::sync::{AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, fence, lock};

use super::NO_GENERATION;
use super::outside::block_worker;
use crate::unwind::{Panic, discard};

/// Where threads wait until all that was spawned is done.
pub struct Quiescence {
    /// How many wait who have asked.
    waiting: AtomicUsize,
    inner: Mutex<Inner>,
    ended: Condvar,
}

#[derive(Default)]
struct Inner {
    /// The generation of what is spawned from outside now.
    generation: u64,
    /// Of each generation that has any, the tasks that have not ended; the oldest first.
    pending: VecDeque<(u64, usize)>,
    /// How often anyone has asked.
    asked: u64,
    /// Everything is done that was spawned before so many of them.
    answered: u64,
    /// The first panic of a task since the last wait.
    panic: Option<Panic>,
    /// Workers of other pools that wait.
    workers: Vec<Thread>,
}

impl Inner {
    /// Where this generation is among those that have pending tasks, or would be.
    fn place(&self, generation: u64) -> Result<usize, usize> {
        self.pending.binary_search_by_key(&generation, |&(g, _)| g)
    }
}

impl Quiescence {
    /// Returns one that nothing is counted in.
    pub fn new() -> Quiescence {
        Quiescence {
            waiting: AtomicUsize::new(0),
            inner: Mutex::new(Inner::default()),
            ended: Condvar::new(),
        }
    }

    /// Counts a task, spawned by one of this generation. Returns its own generation.
    pub(super) fn spawned(&self, parent: Option<u64>) -> u64 {
        let mut inner = lock(&self.inner);
        let generation = parent.unwrap_or(NO_GENERATION).min(inner.generation);
        match inner.place(generation) {
            Ok(place) => inner.pending[place].1 += 1,
            Err(place) => inner.pending.insert(place, (generation, 1)),
        }
        generation
    }

    /// A counted task has ended.
    pub(super) fn done(&self, generation: u64) {
        let mut inner = lock(&self.inner);
        let Ok(place) = inner.place(generation) else {
            unreachable!("a task that has not ended is counted");
        };
        inner.pending[place].1 -= 1;
        if inner.pending[place].1 == 0 {
            inner.pending.remove(place);
            self.notify(&mut inner);
        }
    }

    /// Waits until no task is pending that was spawned before, nor any that such a task has
    /// spawned.
    pub(super) fn wait(&self) {
        let mut inner = lock(&self.inner);
        let last = inner.generation;
        inner.generation += 1;
        drop(inner);
        self.wait_until(|inner| inner.pending.front().is_none_or(|&(first, _)| first > last));
        surface(lock(&self.inner));
    }

    /// Whether anyone has asked who waits still, at a glance.
    pub fn is_awaited(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// The same for one who has just done something for the scheduler to look at,
    /// in case nobody else has it look.
    pub fn is_awaited_by_now(&self) -> bool {
        // Between that and our look: see `wait_for_end`.
        fence(Ordering::SeqCst);
        self.is_awaited()
    }

    /// What was asked for so far, if anyone waits.
    pub fn awaited(&self) -> Option<u64> {
        self.is_awaited().then(|| lock(&self.inner).asked)
    }

    /// Everything is done that was spawned before so many had asked.
    pub fn end(&self, asked: u64) {
        let mut inner = lock(&self.inner);
        inner.answered = inner.answered.max(asked);
        self.notify(&mut inner);
    }

    /// Waits for the end of everything, after `ask` has had the scheduler look.
    pub fn wait_for_end(&self, ask: impl FnOnce()) {
        let mut inner = lock(&self.inner);
        inner.asked += 1;
        let asked = inner.asked;
        self.waiting.fetch_add(1, Ordering::Relaxed);
        drop(inner);
        // Between that and the asking. Who has something for the scheduler to
        // look at does it, and then looks whether anyone waits.
        fence(Ordering::SeqCst);
        ask();
        self.wait_until(|inner| inner.answered >= asked);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        surface(lock(&self.inner));
    }

    /// Sleeps until `is_over`. A worker of another pool goes on serving that.
    fn wait_until(&self, is_over: impl Fn(&Inner) -> bool) {
        let this = thread::current();
        let is_over_by_now = || {
            let mut inner = lock(&self.inner);
            let is_over = is_over(&inner);
            inner.workers.retain(|worker| worker.id() != this.id());
            if !is_over {
                inner.workers.push(this.clone());
            }
            is_over
        };
        if block_worker(is_over_by_now) {
            return;
        }
        let mut inner = lock(&self.inner);
        while !is_over(&inner) {
            inner = self.ended.wait(inner).unwrap_or_else(|e| e.into_inner());
        }
    }

    /// Wakes the threads that wait.
    fn notify(&self, inner: &mut Inner) {
        self.ended.notify_all();
        inner.workers.drain(..).for_each(|worker| worker.unpark());
    }

    /// Keeps a panic for who waits, or gives it back if there is one already.
    pub(super) fn keep(&self, panic: Panic) -> Result<(), Panic> {
        let mut inner = lock(&self.inner);
        match inner.panic {
            Some(_) => Err(panic),
            None => {
                inner.panic = Some(panic);
                Ok(())
            }
        }
    }
}

/// Goes on with a panic that was kept.
fn surface(mut inner: MutexGuard<'_, Inner>) {
    let panic = inner.panic.take();
    drop(inner);
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

impl Drop for Quiescence {
    fn drop(&mut self) {
        discard(lock(&self.inner).panic.take());
    }
}
