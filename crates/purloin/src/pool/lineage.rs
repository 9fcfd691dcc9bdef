//! From which call to a pool a task descends.
//!
//! Whatever a worker runs descends from one call: of [`Pool::run`](crate::Pool::run), or of a job
//! left by [`Pool::spawn`](crate::Pool::spawn). Three things must find the way back to it: the
//! panic of a task whose result is never fetched; a job that spawns another, for
//! [`Pool::wait`](crate::Pool::wait); and a worker that waits for another pool, see
//! [`super::outside`]. None of them may cost a join anything. So a worker notes the lineage of
//! what it runs, and a thief copies that of its victim.
//!
//! # The root
//!
//! A worker that leaves idleness notes the **root** of the first thing that it runs, and keeps
//! this root until it is idle again, whatever it runs on top. So a thief may read its victim's
//! root at any time while it holds a task of that victim, whichever task it is: everything on the
//! victim's stack ends before the first thing does, and the root outlives that.
//!
//! - The first thing is a call: the root is the call's own, in the frame of the thread that waits
//!   for it.
//! - It is a stolen task: the root is that of the task's owner, which waits for the task.
//! - It is the task of a future, run by an idle worker: the root is that of the future's scope,
//!   which waits for the task.
//!
//! On top of it a worker may run tasks that it waits for, and calls that descend from the one
//! that it waits for.
//!
//! # The call
//!
//! On its own thread a worker also knows the innermost **call** that it runs. It lies within the
//! root, or is the root.
//!
//! # The generation
//!
//! The generation of a job is for [`Quiescence`](super::Quiescence). A worker that runs a task on
//! top of another notes the older of the two. So a wait may last longer than it has to, but never
//! ends early.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::WorkerThread;
use crate::scheduler::Scheduler;
use crate::unwind::{Panic, discard};

/// A call to a pool. It lives as long as any task that descends from it.
pub(crate) struct Root {
    /// The call that made this one and waits for it; null if no worker did.
    caller: *const Root,
    /// The first orphan: the panic of a task whose result is never fetched.
    orphan: Mutex<Option<Panic>>,
}

impl Root {
    /// Returns a call that is made from within `caller`, which outlives it, or from null.
    pub(super) fn new(caller: *const Root) -> Root {
        Root {
            caller,
            orphan: Mutex::new(None),
        }
    }

    fn keep(&self, panic: Panic) {
        let mut orphan = self.orphan.lock().unwrap_or_else(PoisonError::into_inner);
        let second = match *orphan {
            Some(_) => Some(panic),
            None => orphan.replace(panic),
        };
        drop(orphan);
        discard(second);
    }

    /// Ends the call. An orphan becomes its own panic, unless it has one.
    fn end<R>(&self, result: thread::Result<R>) -> thread::Result<R> {
        let mut orphan = self.orphan.lock().unwrap_or_else(PoisonError::into_inner);
        let orphan = orphan.take();
        match orphan {
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

/// Returns whether the call `root` is made from within `ancestor`, directly or not.
///
/// # Safety
///
/// `root` is null or lives, and so do the calls from within which it was made.
pub(super) unsafe fn descends_from(mut root: *const Root, ancestor: *const Root) -> bool {
    // SAFETY: the caller's promise.
    while let Some(call) = unsafe { root.as_ref() } {
        if std::ptr::eq(call, ancestor) {
            return true;
        }
        root = call.caller;
    }
    false
}

/// The root of a task, and the generation of jobs that it belongs to.
#[derive(Clone, Copy)]
pub(crate) struct Lineage {
    /// Null for a task that no call waits for.
    root: *const Root,
    /// See [`Quiescence`](super::Quiescence).
    pub(super) generation: u64,
}

/// The generation of a task that does not descend from a job.
pub(super) const NO_GENERATION: u64 = u64::MAX;

// SAFETY: only tasks that the root waits for use it.
unsafe impl Send for Lineage {}
// SAFETY: as for `Send`; a `Root` may be shared, because its panic is in a mutex and the rest
// does not change.
unsafe impl Sync for Lineage {}

/// The lineage of what a worker runs. Only its own thread writes it.
///
/// Relaxed, all of it: a thief reads it when it has acquired a task that was pushed later, and
/// the root does not change before that task has ended.
pub(super) struct OwnLineage {
    root: AtomicPtr<Root>,
    generation: AtomicU64,
    /// The innermost call. Only its own thread reads it.
    call: Cell<*const Root>,
}

// SAFETY: only the worker's own thread uses `call`, which `WorkerThread` upholds.
unsafe impl Sync for OwnLineage {}
// SAFETY: nothing is tied to a thread before the worker starts.
unsafe impl Send for OwnLineage {}

impl OwnLineage {
    pub(super) fn new() -> Self {
        OwnLineage {
            root: AtomicPtr::new(null_mut()),
            generation: AtomicU64::new(NO_GENERATION),
            call: Cell::new(null()),
        }
    }

    fn get(&self) -> Lineage {
        Lineage {
            root: self.root.load(Ordering::Relaxed),
            generation: self.generation.load(Ordering::Relaxed),
        }
    }

    fn set(&self, lineage: Lineage) {
        self.root.store(lineage.root.cast_mut(), Ordering::Relaxed);
        self.generation.store(lineage.generation, Ordering::Relaxed);
    }

    /// Adds `inner` to this, calls `f`, and removes it. `call` becomes the innermost call. `f`
    /// must not panic.
    fn with<R>(&self, inner: Lineage, call: *const Root, f: impl FnOnce() -> R) -> R {
        let outer = self.get();
        let outer_call = self.call.replace(call);
        self.set(Lineage {
            root: match outer.root.is_null() {
                true => inner.root,
                false => outer.root,
            },
            generation: outer.generation.min(inner.generation),
        });
        let result = f();
        self.set(outer);
        self.call.set(outer_call);
        result
    }
}

impl<S: Scheduler> WorkerThread<S> {
    /// The lineage of what this worker runs. For its own thread, and for a thief while it holds a
    /// task of this worker.
    pub(crate) fn lineage(&self) -> Lineage {
        self.own_lineage().get()
    }

    /// The innermost call that this worker runs, on its own thread; null if it runs none.
    pub(super) fn call(&self) -> *const Root {
        self.own_lineage().call.get()
    }

    /// Runs a task with this lineage: one that the worker waits for, or the first thing after it
    /// was idle. `task` must not panic.
    pub(crate) fn with_lineage<R>(&self, lineage: Lineage, task: impl FnOnce() -> R) -> R {
        let call = match self.lineage().root.is_null() {
            true => lineage.root,
            false => self.call(),
        };
        self.own_lineage().with(lineage, call, task)
    }

    /// Runs a call, and returns its result, its panic, or an orphan.
    pub(super) fn with_root<R>(
        &self,
        root: &Root,
        generation: u64,
        call: impl FnOnce() -> R,
    ) -> thread::Result<R> {
        let lineage = Lineage { root, generation };
        let caught = || catch_unwind(AssertUnwindSafe(call));
        root.end(self.own_lineage().with(lineage, root, caught))
    }

    /// Runs a task that belongs to no call as a call of its own.
    pub(crate) fn run_as_call<R>(&self, task: impl FnOnce() -> R) -> thread::Result<R> {
        self.with_root(&Root::new(null()), NO_GENERATION, task)
    }

    /// Keeps the panic of a task whose result is never fetched for the call that this worker runs.
    /// On the worker's own thread.
    pub(crate) fn keep_orphan(&self, panic: Panic) {
        // SAFETY: null, or the call waits for what this worker runs.
        match unsafe { self.call().as_ref() } {
            Some(call) => call.keep(panic),
            None => discard(panic),
        }
    }
}
