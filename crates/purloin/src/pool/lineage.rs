//! From which call to a pool a task descends.
//!
//! Whatever a worker runs descends from one call: of [`Pool::run`](crate::Pool::run), or of a
//! job left by [`Pool::spawn`](crate::Pool::spawn). Two things must find the way back to
//! it: the panic of a future that nobody gets, and a task that spawns another, for
//! [`Pool::wait`](crate::Pool::wait). Neither may cost a join anything. So a worker notes
//! the lineage of what it runs, and a thief copies that of its victim: all tasks on a
//! worker's stack descend from one call, as a blocked worker runs only descendants of what
//! it waits for.
//!
//! There is one exception. A worker that waits for another pool may have to run work from
//! outside, see [`super::outside`]. It keeps its first root then, which lives longer, and
//! the older of the two generations, so that a wait may last too long, but never ends early.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::WorkerThread;
use crate::scheduler::Scheduler;
use crate::unwind::{Panic, discard};

/// A call to a pool, for as long as anything that descends from it runs.
#[derive(Default)]
pub(crate) struct Root {
    /// The first panic of a future that nobody gets.
    orphan: Mutex<Option<Panic>>,
}

impl Root {
    fn keep(&self, panic: Panic) {
        let mut orphan = self.orphan.lock().unwrap_or_else(PoisonError::into_inner);
        let second = match *orphan {
            Some(_) => Some(panic),
            None => orphan.replace(panic),
        };
        drop(orphan);
        discard(second);
    }

    /// Makes the panic of a future that of the call, unless that has one of its own.
    fn end<R>(self, result: thread::Result<R>) -> thread::Result<R> {
        let orphan = self.orphan.into_inner();
        match orphan.unwrap_or_else(PoisonError::into_inner) {
            Some(panic) if result.is_ok() => {
                discard(result);
                Err(panic)
            }
            orphan => {
                discard(orphan);
                result
            }
        }
    }
}

/// The root of a task, and the generation of jobs that it belongs to.
#[derive(Clone, Copy)]
pub(crate) struct Lineage {
    /// Null for what nobody waits for.
    root: *mut Root,
    /// See [`Quiescence`](super::Quiescence).
    pub(super) generation: u64,
}

/// What does not descend from a job.
pub(super) const NO_GENERATION: u64 = u64::MAX;

impl Lineage {
    pub(crate) const NONE: Lineage = Lineage {
        root: null_mut(),
        generation: NO_GENERATION,
    };
}

// SAFETY: the root is used only by what descends from it, for which it waits.
unsafe impl Send for Lineage {}
// SAFETY: as for `Send`; a `Root` is `Sync`.
unsafe impl Sync for Lineage {}

/// The lineage of what a worker runs. Written on its own thread only.
///
/// Relaxed, all of it: a thief reads it when it has acquired a task that was pushed later,
/// and the worker does not change it before that task has ended.
pub(super) struct OwnLineage {
    root: AtomicPtr<Root>,
    generation: AtomicU64,
}

impl OwnLineage {
    pub(super) fn new() -> Self {
        OwnLineage {
            root: AtomicPtr::new(null_mut()),
            generation: AtomicU64::new(NO_GENERATION),
        }
    }

    fn get(&self) -> Lineage {
        Lineage {
            root: self.root.load(Ordering::Relaxed),
            generation: self.generation.load(Ordering::Relaxed),
        }
    }

    fn set(&self, lineage: Lineage) {
        self.root.store(lineage.root, Ordering::Relaxed);
        self.generation.store(lineage.generation, Ordering::Relaxed);
    }
}

impl<S: Scheduler> WorkerThread<S> {
    /// The lineage of what this worker runs; for its thieves, while they hold a task of it.
    pub(crate) fn lineage(&self) -> Lineage {
        self.own_lineage().get()
    }

    /// Calls `f`, which descends from what `lineage` says. That must not panic.
    pub(crate) fn with_lineage<R>(&self, lineage: Lineage, f: impl FnOnce() -> R) -> R {
        let outer = self.lineage();
        self.own_lineage().set(lineage);
        let result = f();
        self.own_lineage().set(outer);
        result
    }

    /// Calls `f`, from which all descends that it starts.
    pub(super) fn with_root<R>(&self, generation: u64, f: impl FnOnce() -> R) -> thread::Result<R> {
        let mut root = Root::default();
        let outer = self.lineage();
        let lineage = Lineage {
            root: match outer.root.is_null() {
                true => &raw mut root,
                false => outer.root,
            },
            generation: outer.generation.min(generation),
        };
        let result = self.with_lineage(lineage, || catch_unwind(AssertUnwindSafe(f)));
        root.end(result)
    }

    /// Keeps the panic of a future that nobody gets, on this worker's own thread, for the
    /// call that it descends from.
    pub(crate) fn keep_orphan(&self, panic: Panic) {
        let root = self.lineage().root;
        // SAFETY: null, or it waits for what this worker runs.
        match unsafe { root.as_ref() } {
            Some(root) => root.keep(panic),
            None => discard(panic),
        }
    }
}
