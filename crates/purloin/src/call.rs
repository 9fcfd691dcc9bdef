//! The lineage of a task: the call to a pool from which it descends.
//!
//! Nearly everything that a worker runs descends from a call: a call of [`Pool::run`](crate::Pool::run),
//! or a job left by [`Pool::spawn`](crate::Pool::spawn). Three things must find their way back to
//! that call: the panic of a task whose result is never fetched; a job that spawns another job, for
//! [`Pool::wait`](crate::Pool::wait); and a worker that waits for another pool (`pool/outside.rs`). None of them may add to
//! the cost of a join. So each worker records the calls that it runs, and a thief looks for the lineage of its task there.
//!
//! # Calls
//!
//! On its own thread a worker knows the innermost **call** that it runs. A call that a worker makes
//! to its own pool runs on the spot, within the call that the worker was running: calls nest.
//!
//! A stolen task descends from the innermost call in which its owner pushed it. The owner may run
//! other calls by the time of the steal. So a worker begins a [frame](crate::runtime::Frame) for each call, and a
//! thief looks for the call in the victim's list of frames, as it does for the scope. The calls around the stolen slot wait
//! for the slot, so they do not end while the thief holds the task.
//!
//! - If a worker leaves idleness for a call, the call lies on the stack of the thread that waits for it, or on the
//!   worker's own stack if no thread does.
//! - If it leaves idleness for a task, it enters the call from which the task descends, and
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
//! [`Quiescence`](crate::pool::Quiescence) needs the generation of each job. It is that of the call from
//! which the task that spawns the job descends, also on top of a task of another generation.

use std::ptr::null;

use crate::sync::thread;
use crate::unwind::{FirstPanic, Panic};

/// A call to a pool. It lives as long as any task that descends from it.
pub(crate) struct Call {
    /// The call from within which a worker made this call and waits for it; null if no worker did.
    caller: *const Call,
    /// The call from which a detour descends besides; null for other calls.
    origin: *const Call,
    /// The generation of jobs that the call belongs to. See [`Quiescence`](crate::pool::Quiescence).
    generation: u64,
    /// The first orphan: the panic of a task whose result is never fetched.
    orphan: FirstPanic,
}

impl Call {
    /// Returns a call that is made from within `caller`, which outlives it. `caller` is null if no
    /// worker makes the call.
    pub(crate) fn new(caller: *const Call, generation: u64) -> Call {
        Call::detour(caller, null(), generation)
    }

    /// Returns the generation of jobs that the call belongs to.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns whether a worker has made the call, and waits for it.
    pub(crate) fn has_caller(&self) -> bool {
        !self.caller.is_null()
    }

    fn detour(caller: *const Call, origin: *const Call, generation: u64) -> Call {
        Call {
            caller,
            origin,
            generation,
            orphan: FirstPanic::default(),
        }
    }

    /// Keeps the first orphan, and drops the others.
    pub(crate) fn keep_orphan(&self, panic: Panic) {
        self.orphan.keep(panic);
    }

    /// Ends the call. An orphan becomes the call's own panic, unless the call has panicked itself.
    pub(crate) fn end<R>(&self, result: thread::Result<R>) -> thread::Result<R> {
        self.orphan.conclude(result)
    }
}

/// Returns whether `call` is made from within `ancestor`, directly or not.
///
/// # Safety
///
/// `call` is null or lives, and so do the calls from which it descends.
pub(crate) unsafe fn descends_from(call: *const Call, ancestor: *const Call) -> bool {
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

/// The call from which a task descends.
#[derive(Clone, Copy)]
pub(crate) struct Lineage(*const Call);

impl Lineage {
    /// The lineage of a task that no call waits for.
    pub(crate) const NONE: Lineage = Lineage(null());

    /// Returns the lineage of a task that descends from `call`, or from no call if that is null.
    pub(crate) fn of(call: *const Call) -> Lineage {
        Lineage(call)
    }

    /// Returns whether a worker waits for the call.
    ///
    /// # Safety
    ///
    /// The call lives, if there is one.
    pub(crate) unsafe fn has_caller(self) -> bool {
        // SAFETY: by this function's contract.
        unsafe { self.0.as_ref() }.is_some_and(Call::has_caller)
    }

    /// Returns the call, or null.
    pub(crate) fn call(self) -> *const Call {
        self.0
    }

    /// Returns whether no call waits for the task.
    pub(crate) fn is_none(self) -> bool {
        self.0.is_null()
    }
}

/// The generation of a task that does not descend from a job.
pub(crate) const NO_GENERATION: u64 = u64::MAX;

// SAFETY: only tasks that the call waits for dereference the pointer, and a `Call` may be shared:
// its panic is in a mutex, and its other fields never change.
unsafe impl Send for Lineage {}
// SAFETY: a shared `Lineage` is read-only, and its call may be shared between threads, as for
// `Send`.
unsafe impl Sync for Lineage {}

/// A task that the worker waits for, as a call within the worker's innermost one.
pub(crate) struct Detour(*mut Call);

impl Detour {
    /// Returns a detour from `caller`, the worker's innermost call, for a task with the lineage `origin`.
    ///
    /// # Safety
    ///
    /// `origin` has a call, which lives until the detour is dropped. By then the worker has left the detour's call.
    pub(crate) unsafe fn new(caller: *const Call, origin: Lineage) -> Detour {
        // SAFETY: by this function's contract.
        let generation = unsafe { &*origin.call() }.generation;
        let call = Call::detour(caller, origin.call(), generation);
        Detour(Box::into_raw(Box::new(call)))
    }

    /// Returns the call, which lives as long as the detour.
    pub(crate) fn call(&self) -> *const Call {
        self.0
    }
}

impl Drop for Detour {
    fn drop(&mut self) {
        // SAFETY: `new` made the pointer from a box. By the contract of `new`, the worker has left the call.
        let call = unsafe { Box::from_raw(self.0) };
        if let Some(orphan) = call.orphan.take() {
            // SAFETY: by the contract of `new`, the call lives.
            unsafe { &*call.origin }.orphan.keep(orphan);
        }
    }
}
