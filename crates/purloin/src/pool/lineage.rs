//! The lineage of a task: the call to a pool from which it descends.
//!
//! Everything that a worker runs descends from one call: a call of [`Pool::run`](crate::Pool::run),
//! or a job left by [`Pool::spawn`](crate::Pool::spawn). Three things must find their way back to
//! that call: the panic of a task whose result is never fetched; a job that spawns another job, for
//! [`Pool::wait`](crate::Pool::wait); and a worker that waits for another pool, see
//! [`super::outside`]. None of them may add to the cost of a join. So each worker records its
//! current lineage, and a thief copies the lineage of its victim.
//!
//! # Calls
//!
//! On its own thread a worker knows the innermost **call** that it runs. A call that a worker makes
//! to its own pool runs on the spot, within the call that the worker was running: calls nest.
//!
//! A stolen task descends from the innermost call in which its owner pushed it. The owner may run
//! other calls by the time of the steal. So each call that begins within another one records where
//! the worker's task stack ended, and a thief goes inward from the owner's **first** call, the
//! outermost, up to the innermost call that began below the stolen slot
//! ([`WorkerThread::lineage_of`]). The thief reads only calls around that slot. They wait for the
//! slot, so they neither end nor change while the thief holds the task.
//!
//! - If a worker leaves idleness for a call, this is its first call. It lies in the frame of the
//!   thread that waits for it.
//! - If it leaves idleness for a task, its first call is the one from which the task descends, and
//!   which waits for it.
//! - An idle worker has no call. It may still run a destructor, of the result of a job for example.
//!   The tasks that the destructor makes descend from no call.
//!
//! On top of that, a worker may run tasks that it waits for, and calls that descend from the call
//! that it waits for. A task that it waits for may descend from another call, if the worker gets a
//! future that was made there. Such a task is a **detour**: it becomes a call within the worker's
//! innermost one, and also descends from its own.
//!
//! # The generation
//!
//! [`Quiescence`](super::Quiescence) needs the generation of each job. A worker that runs one task
//! on top of another records the older of the two generations. So a wait may last longer than it
//! has to, but never ends early.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::WorkerThread;
use crate::runtime::Slot;
use crate::scheduler::{Scheduler, TaskPool};
use crate::unwind::{Panic, discard};

/// A call to a pool. It lives as long as any task that descends from it.
pub(crate) struct Call {
    /// The call from within which a worker made this call and waits for it; null if no worker did.
    caller: *const Call,
    /// The call from which a detour descends besides; null for other calls.
    origin: *const Call,
    /// The first orphan: the panic of a task whose result is never fetched.
    orphan: Mutex<Option<Panic>>,
    /// The call that the same worker runs within this one.
    inner: Inner,
}

impl Call {
    /// Returns a call that is made from within `caller`, which outlives it. `caller` is null if no
    /// worker makes the call.
    pub(super) fn new(caller: *const Call) -> Call {
        Call::detour(caller, null())
    }

    fn detour(caller: *const Call, origin: *const Call) -> Call {
        Call {
            caller,
            origin,
            orphan: Mutex::new(None),
            inner: Inner::none(),
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

    fn take_orphan(&self) -> Option<Panic> {
        let mut orphan = self.orphan.lock().unwrap_or_else(PoisonError::into_inner);
        orphan.take()
    }

    /// Ends the call. An orphan becomes the call's own panic, unless the call has panicked itself.
    fn end<R>(&self, result: thread::Result<R>) -> thread::Result<R> {
        match self.take_orphan() {
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

/// Returns whether `call` is made from within `ancestor`, directly or not.
///
/// # Safety
///
/// `call` is null or lives, and so do the calls from which it descends.
pub(super) unsafe fn descends_from(call: *const Call, ancestor: *const Call) -> bool {
    let mut seen = Vec::new();
    let mut open = vec![call];
    while let Some(call) = open.pop() {
        if call.is_null() || seen.contains(&call) {
            continue;
        }
        if std::ptr::eq(call, ancestor) {
            return true;
        }
        seen.push(call);
        // SAFETY: the caller guarantees that `call` and the calls from which it descends live.
        let call = unsafe { &*call };
        open.extend([call.caller, call.origin]);
    }
    false
}

/// The call that a worker runs within another one, and where it began.
struct Inner {
    /// The address of the top of the worker's task stack when the call began; the maximum if there
    /// is no call.
    base: AtomicUsize,
    call: AtomicPtr<Call>,
}

impl Inner {
    fn none() -> Inner {
        Inner {
            base: AtomicUsize::new(usize::MAX),
            call: AtomicPtr::new(null_mut()),
        }
    }

    fn set(&self, call: *const Call, base: usize) {
        self.call.store(call.cast_mut(), Ordering::Relaxed);
        self.base.store(base, Ordering::Relaxed);
    }

    fn clear(&self) {
        self.base.store(usize::MAX, Ordering::Relaxed);
    }

    /// Returns the call if it began at or below this address.
    fn around(&self, address: usize) -> Option<*const Call> {
        let base = self.base.load(Ordering::Relaxed);
        (base <= address).then(|| self.call.load(Ordering::Relaxed).cast_const())
    }
}

/// The call from which a task descends, and the generation of jobs that it belongs to.
#[derive(Clone, Copy)]
pub(crate) struct Lineage {
    /// Null for a task that no call waits for.
    call: *const Call,
    /// See [`Quiescence`](super::Quiescence).
    pub(super) generation: u64,
}

impl Lineage {
    /// The lineage of a task that no call waits for.
    pub(crate) const NONE: Lineage = Lineage {
        call: null(),
        generation: NO_GENERATION,
    };

    /// Returns whether no call waits for the task.
    pub(crate) fn is_none(self) -> bool {
        self.call.is_null()
    }
}

/// The generation of a task that does not descend from a job.
pub(super) const NO_GENERATION: u64 = u64::MAX;

// SAFETY: only tasks that the call waits for dereference the pointer, and a `Call` may be shared:
// its panic is in a mutex, and its other fields are atomic or never change.
unsafe impl Send for Lineage {}
// SAFETY: a shared `Lineage` is read-only, and its call may be shared between threads, as for
// `Send`.
unsafe impl Sync for Lineage {}

/// The calls that a worker runs. Only the worker's own thread writes it.
///
/// All accesses are relaxed: a thief reads only calls that began before their worker pushed the
/// task that the thief has acquired, and that do not end before the task does.
pub(super) struct OwnLineage {
    /// The outermost call, or null.
    first: AtomicPtr<Call>,
    /// The call within the first one. It is not in the first call, which other workers may share.
    inner: Inner,
    generation: AtomicU64,
    /// The innermost call. Only its own thread reads it.
    call: Cell<*const Call>,
    /// Where a call within the innermost one is recorded: null for `inner`. Only its own thread
    /// reads it.
    newest: Cell<*const Inner>,
}

// SAFETY: only the worker's own thread uses `call` and `newest`. The methods of `WorkerThread` that
// use them run on that thread. The other fields are atomic.
unsafe impl Sync for OwnLineage {}
// SAFETY: no field is tied to a thread before the worker starts.
unsafe impl Send for OwnLineage {}

impl OwnLineage {
    pub(super) fn new() -> Self {
        OwnLineage {
            first: AtomicPtr::new(null_mut()),
            inner: Inner::none(),
            generation: AtomicU64::new(NO_GENERATION),
            call: Cell::new(null()),
            newest: Cell::new(null()),
        }
    }

    fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// Calls `f` with the older of this generation and the worker's.
    fn with_generation<R>(&self, generation: u64, f: impl FnOnce() -> R) -> R {
        let outer = self.generation();
        self.generation
            .store(outer.min(generation), Ordering::Relaxed);
        let result = f();
        self.generation.store(outer, Ordering::Relaxed);
        result
    }

    /// Calls `f` within `call`: the first call, or one within the innermost that begins where the
    /// task stack ends, at `base`. `f` must not panic.
    ///
    /// # Safety
    ///
    /// `call` lives until `f` has returned. If it is not the first call, no other worker enters it.
    unsafe fn enter<R>(&self, call: *const Call, base: usize, f: impl FnOnce() -> R) -> R {
        let outer = self.call.replace(call);
        if outer.is_null() {
            self.first.store(call.cast_mut(), Ordering::Relaxed);
            let result = f();
            // A destructor may run on an idle worker, and push tasks that descend from no call.
            self.first.store(null_mut(), Ordering::Relaxed);
            self.call.set(outer);
            return result;
        }
        let newest = self.newest.get();
        // SAFETY: the pointer is null, or it is in the innermost call, which lives until its own
        // `enter` has restored `newest`.
        let outer_inner = unsafe { newest.as_ref() }.unwrap_or(&self.inner);
        outer_inner.set(call, base);
        // SAFETY: the caller guarantees that the call lives.
        self.newest.set(unsafe { &raw const (*call).inner });
        let result = f();
        self.newest.set(newest);
        outer_inner.clear();
        self.call.set(outer);
        result
    }
}

impl<S: Scheduler> WorkerThread<S> {
    /// Returns the lineage of what this worker runs. Called on the worker's own thread.
    pub(crate) fn lineage(&self) -> Lineage {
        Lineage {
            call: self.call(),
            generation: self.own_lineage().generation(),
        }
    }

    /// Returns the lineage of the task in a slot of this worker. Called by a thief while it holds
    /// the task.
    pub(crate) fn lineage_of(&self, slot: *const Slot<S>) -> Lineage {
        let own = self.own_lineage();
        let mut call = own.first.load(Ordering::Relaxed).cast_const();
        let mut inner = own.inner.around(slot.addr());
        while let Some(around) = inner {
            call = around;
            // SAFETY: the call began before its worker pushed the task, so it waits for the task,
            // which the thief holds.
            inner = unsafe { &*around }.inner.around(slot.addr());
        }
        Lineage {
            call,
            generation: own.generation(),
        }
    }

    /// Returns the innermost call that this worker runs, or null. Called on the worker's own
    /// thread.
    pub(super) fn call(&self) -> *const Call {
        self.own_lineage().call.get()
    }

    /// Runs a task with this lineage: a task that the worker waits for, or the first item after
    /// idleness. `task` must not panic.
    pub(crate) fn with_lineage<R>(&self, lineage: Lineage, task: impl FnOnce() -> R) -> R {
        let own = self.own_lineage();
        let task = || own.with_generation(lineage.generation, task);
        let call = self.call();
        if lineage.is_none() || std::ptr::eq(lineage.call, call) {
            return task();
        }
        if call.is_null() {
            // SAFETY: the call waits for the task.
            return unsafe { own.enter(lineage.call, 0, task) };
        }
        let detour = Call::detour(call, lineage.call);
        // SAFETY: the detour lives in this frame, and only this worker enters it.
        let result = unsafe { own.enter(&detour, self.stack_top(), task) };
        if let Some(orphan) = detour.take_orphan() {
            // SAFETY: the call waits for the task, which has not been marked done yet.
            unsafe { &*lineage.call }.keep(orphan);
        }
        result
    }

    /// Runs a call, and returns its result, its panic, or the panic of an orphan. No worker has
    /// entered `call` before.
    pub(super) fn with_call<R>(
        &self,
        call: &Call,
        generation: u64,
        f: impl FnOnce() -> R,
    ) -> thread::Result<R> {
        let own = self.own_lineage();
        let caught = || catch_unwind(AssertUnwindSafe(f));
        let caught = || own.with_generation(generation, caught);
        // SAFETY: the reference outlives this function, and only this worker enters the call.
        call.end(unsafe { own.enter(call, self.stack_top(), caught) })
    }

    fn stack_top(&self) -> usize {
        self.task_pool().stack().top().addr()
    }

    /// Runs a task that does not descend from any call as a call of its own.
    pub(crate) fn run_as_call<R>(&self, task: impl FnOnce() -> R) -> thread::Result<R> {
        self.with_call(&Call::new(null()), NO_GENERATION, task)
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

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::Ordering;

    use crate::Pool;

    #[test]
    fn an_idle_worker_has_no_call() {
        let pool = Pool::builder().workers(2).build().unwrap();
        for _ in 0..10 {
            pool.run(|_| ());
        }
        let is_null = |worker: &super::WorkerThread<_>| {
            let first = worker.own_lineage().first.load(Ordering::Relaxed);
            first.is_null()
        };
        assert!(pool.shared.worker_threads.iter().all(is_null));
    }
}
