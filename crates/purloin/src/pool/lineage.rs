//! The lineage of a task: the call to a pool from which it descends.
//!
//! Everything that a worker runs descends from one call: a call of [`Pool::run`](crate::Pool::run),
//! or a job left by [`Pool::spawn`](crate::Pool::spawn). Three things must find their way back to
//! that call: the panic of a task whose result is never fetched; a job that spawns another job, for
//! [`Pool::wait`](crate::Pool::wait); and a worker that waits for another pool, see
//! [`super::outside`]. None of them may add to the cost of a join. So each worker records its
//! current lineage, and a thief copies the lineage of its victim.
//!
//! # The root
//!
//! A worker that leaves idleness records the **root** of the first item that it runs. It keeps this
//! root until it is idle again, no matter what it runs on top. So while a thief holds any task of a
//! victim, it may read the victim's root: everything on the victim's stack ends before the first
//! item does, and the root outlives the first item.
//!
//! - If the first item is a call, the root is the call's own. It lies in the frame of the thread
//!   that waits for the call.
//! - If the first item is a stolen task, the root is the root of the task's owner, which waits for
//!   the task.
//! - If the first item is the task of a future, the root is the root of the future's scope, which
//!   waits for the task.
//!
//! On top of the first item a worker may run tasks that it waits for, and calls that descend from
//! the call that it waits for.
//!
//! # The call
//!
//! On its own thread a worker also knows the innermost **call** that it runs. This call is the
//! root, or was made from within it.
//!
//! # The generation
//!
//! [`Quiescence`](super::Quiescence) needs the generation of each job. A worker that runs one task
//! on top of another records the older of the two generations. So a wait may last longer than it
//! has to, but never ends early.

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
    /// The call from within which a worker made this call and waits for it; null if no worker did.
    caller: *const Root,
    /// The first orphan: the panic of a task whose result is never fetched.
    orphan: Mutex<Option<Panic>>,
}

impl Root {
    /// Returns a call that is made from within `caller`, which outlives it. `caller` is null if no
    /// worker makes the call.
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

    /// Ends the call. An orphan becomes the call's own panic, unless the call has panicked itself.
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
    // SAFETY: the caller guarantees that `root` and the calls around it live.
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

// SAFETY: only tasks that the root waits for dereference the pointer, and a `Root` may be shared:
// its panic is in a mutex, and its other field never changes.
unsafe impl Send for Lineage {}
// SAFETY: a shared `Lineage` is read-only, and its root may be shared between threads, as for
// `Send`.
unsafe impl Sync for Lineage {}

/// The current lineage of a worker. Only the worker's own thread writes it.
///
/// All accesses are relaxed: a thief reads the lineage after it has acquired a task that was pushed
/// after the root was set, and the root does not change before that task has ended.
pub(super) struct OwnLineage {
    root: AtomicPtr<Root>,
    generation: AtomicU64,
    /// The innermost call. Only its own thread reads it.
    call: Cell<*const Root>,
}

// SAFETY: only the worker's own thread uses `call`. The methods of `WorkerThread` that use it run
// on that thread. The other fields are atomic.
unsafe impl Sync for OwnLineage {}
// SAFETY: no field is tied to a thread before the worker starts.
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

    /// Calls `f` with `inner` added to this lineage and with `call` as the innermost call, then
    /// restores both. `f` must not panic.
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
    /// Returns the worker's current lineage. Called on its own thread, or by a thief while it holds
    /// a task of this worker.
    pub(crate) fn lineage(&self) -> Lineage {
        self.own_lineage().get()
    }

    /// Returns the innermost call that this worker runs, or null. Called on the worker's own
    /// thread.
    pub(super) fn call(&self) -> *const Root {
        self.own_lineage().call.get()
    }

    /// Runs a task with this lineage: a task that the worker waits for, or the first item after
    /// idleness. `task` must not panic.
    pub(crate) fn with_lineage<R>(&self, lineage: Lineage, task: impl FnOnce() -> R) -> R {
        let call = match self.lineage().root.is_null() {
            true => lineage.root,
            false => self.call(),
        };
        self.own_lineage().with(lineage, call, task)
    }

    /// Runs a call, and returns its result, its panic, or the panic of an orphan.
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

    /// Runs a task that does not descend from any call as a call of its own.
    pub(crate) fn run_as_call<R>(&self, task: impl FnOnce() -> R) -> thread::Result<R> {
        self.with_root(&Root::new(null()), NO_GENERATION, task)
    }

    /// Keeps the panic of a task whose result is never fetched, for the innermost call of this
    /// worker. Called on the worker's own thread.
    pub(crate) fn keep_orphan(&self, panic: Panic) {
        // SAFETY: the pointer is null, or the call lives, because it waits for everything that this
        // worker runs within it.
        match unsafe { self.call().as_ref() } {
            Some(call) => call.keep(panic),
            None => discard(panic),
        }
    }
}
