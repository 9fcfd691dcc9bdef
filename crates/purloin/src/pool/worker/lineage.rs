//! How a worker enters and leaves [calls](crate::call).

use std::ptr::null;

use super::{Me, Remote};
use crate::call::{Call, Detour, Lineage, NO_GENERATION};
use crate::cancel::CancelFlag;
use crate::runtime::{FrameGuard, Slot};
use crate::scheduler::Scheduler;
use crate::sync::thread;
use crate::unwind::{Panic, discard};

/// A guard for the time during which a worker runs a task with a certain lineage.
#[must_use]
pub(crate) struct InLineage<'w, S: Scheduler> {
    me: Me<'w, S>,
    call: Option<FrameGuard<'w, S>>,
    detour: Option<Detour>,
}

impl<S: Scheduler> Drop for InLineage<'_, S> {
    fn drop(&mut self) {
        drop(self.call.take());
        if let Some(detour) = self.detour.take() {
            // It may hold a panic, whose destructor is the program's.
            self.me.outside_of_frames(|| drop(detour));
        }
    }
}

impl<S: Scheduler> Remote<S> {
    /// Returns the scope and the lineage of the task in a slot of this worker.
    ///
    /// # Safety
    ///
    /// The caller is a thief that holds the task.
    pub(crate) unsafe fn origin_of(&self, slot: *const Slot<S>) -> (CancelFlag, Lineage) {
        let (scope, call) = self.frames().around(slot.addr());
        // SAFETY: the call is null, or it waits for the task, which the thief holds.
        (scope, unsafe { Lineage::of(call) })
    }
}

impl<'w, S: Scheduler> Me<'w, S> {
    /// Returns the lineage of what this worker runs.
    pub(crate) fn lineage(self) -> Lineage {
        // SAFETY: the innermost call lives until this worker leaves it.
        unsafe { Lineage::of(self.call()) }
    }

    /// Enters the lineage of a task, until the guard is dropped: a task that the worker waits for,
    /// or the first item after idleness. The guard is dropped before the task is marked done.
    #[inline(never)]
    pub(crate) fn enter_lineage(self, lineage: Lineage) -> InLineage<'w, S> {
        let outer = self.call();
        let mut detour = None;
        let call = if lineage.is_none() || std::ptr::eq(lineage.call(), outer) {
            None
        } else if outer.is_null() {
            Some(lineage.call())
        } else {
            // SAFETY: the lineage has a call, which waits for the task, and the guard is dropped before the task is marked
            // done. `InLineage` leaves the detour's call before it drops the detour.
            let new = unsafe { Detour::new(outer, lineage) };
            Some(detour.insert(new).call())
        };
        InLineage {
            me: self,
            // SAFETY: the call waits for the task. `InLineage` leaves it before it drops the detour.
            call: call.map(|call| unsafe { self.enter_call(call) }),
            detour,
        }
    }

    /// Runs a call, and returns its result, its panic, or the panic of an orphan. `f` catches its panics.
    pub(crate) fn with_call<R>(
        self,
        call: &Call,
        f: impl FnOnce() -> thread::Result<R>,
    ) -> thread::Result<R> {
        // SAFETY: the caller's reference outlives the guard.
        let in_call = unsafe { self.enter_call(call) };
        let result = f();
        drop(in_call);
        call.end(result)
    }

    /// Runs a task that does not descend from any call as a call of its own. `task` catches its
    /// panics.
    pub(crate) fn run_as_call<R>(
        self,
        task: impl FnOnce() -> thread::Result<R>,
    ) -> thread::Result<R> {
        self.with_call(&Call::new(null(), NO_GENERATION), task)
    }

    /// Keeps the panic of a task whose result is never fetched, for the innermost call of this
    /// worker.
    pub(crate) fn keep_orphan(self, panic: Panic) {
        // SAFETY: the pointer is null, or the call lives, because it waits for everything that this
        // worker runs within it.
        match unsafe { self.call().as_ref() } {
            Some(call) => call.keep_orphan(panic),
            None => discard(panic),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::Pool;

    #[test]
    fn an_idle_worker_has_no_call() {
        let pool = Pool::builder().workers(2).build().unwrap();
        for _ in 0..10 {
            pool.run(|_| ());
        }
        let is_in_none =
            |worker: &super::Remote<_>| worker.frames().around(usize::MAX - 1).1.is_null();
        assert!(pool.shared.worker_threads.iter().all(is_in_none));
    }
}
