//! The worker that runs on this thread, with its types. [`this_thread`] knows the same worker without its types.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::sync::Arc;

use super::wait::{self, Outside};
use super::{Me, Remote};
use crate::call::Call;
use crate::cancel::CancelFlag;
use crate::runtime::{ReturnBarrier, call_in};
use crate::scheduler::{Point, Protocol, Scheduler};
use crate::sleep::Visits;
use crate::stats::{Activity, Count};
use crate::this_thread::{self, Host};
use crate::tracing;
use crate::unwind::Panic;

/// Makes this thread `worker`, until the guard is dropped.
pub(crate) fn enter<S: Scheduler>(worker: Me<'_, S>) -> impl Sized + use<S> {
    let is_default = TypeId::of::<S>() == TypeId::of::<ReturnBarrier>();
    let (pool, remote) = (worker.pool().id, worker.remote());
    // SAFETY: the number, the pointer and the reference are of one worker, and the type says which scheduler it has. This
    // is the worker's own thread, which drops the guard, and keeps the worker alive until then.
    let current =
        unsafe { this_thread::enter(pool, std::ptr::from_ref(remote).cast(), is_default, remote) };
    let traced = worker
        .timer()
        .trace()
        .map(|buffer| tracing::enter(Arc::clone(buffer)));
    (current, traced)
}

/// Returns the worker that runs on this thread, if its pool has the default scheduler.
#[inline(always)]
pub(crate) fn current_of_default<'w>() -> Option<Me<'w, ReturnBarrier>> {
    let worker = this_thread::worker_of_default().cast::<Remote<ReturnBarrier>>();
    // SAFETY: the pointer is null, or `enter` has set it on this thread, for a worker with the default scheduler. The
    // thread keeps the worker alive until it drops the guard, which clears the pointer.
    unsafe { Some(Me::new(worker.as_ref()?)) }
}

/// Returns the worker that runs on this thread, if it belongs to the pool with this number.
///
/// # Safety
///
/// The pool with this number has the scheduler `S`.
#[inline]
pub(crate) unsafe fn of_pool<'w, S: Scheduler>(id: u64) -> Option<Me<'w, S>> {
    let worker = this_thread::worker_of(id)?;
    // SAFETY: each pool has a number of its own, which is not `NO_POOL`. So `enter` has set the pointer on this thread,
    // which keeps the pool alive until it drops the guard. The caller guarantees the type.
    unsafe { Some(Me::new(&*worker.cast())) }
}

impl<S: Scheduler> Me<'_, S> {
    /// Makes this thread the worker, until the thread ends. The caller keeps the pool alive for ever.
    pub(crate) fn attach(self) {
        crate::sync::thread_local!(static ATTACHED: RefCell<Option<Box<dyn Any>>> = const { RefCell::new(None) });
        let attached = Attached {
            worker: std::ptr::from_ref(self.remote()),
            _current: Box::new(enter(self)),
        };
        ATTACHED.with(|slot| slot.replace(Some(Box::new(attached))));
        self.open_mailbox();
        self.let_pool_end();
        self.set_active(true);
        self.timer().switch_to(Activity::Application);
        S::Protocol::answer(self, Point::Active);
    }
}

/// What ends with a thread of the program that is a worker.
struct Attached<S: Scheduler> {
    worker: *const Remote<S>,
    /// The guard of [`enter`].
    _current: Box<dyn Any>,
}

impl<S: Scheduler> Drop for Attached<S> {
    fn drop(&mut self) {
        // SAFETY: `WorkerStart::attach` has made sure that the pool lives for ever. This is the worker's
        // thread, which ends.
        let worker = unsafe { Me::new(&*self.worker) };
        worker.close_mailbox();
        worker.set_active(false);
    }
}

/// Only [`enter`] makes this a `Host`, for the worker's own thread.
impl<S: Scheduler> Host for Remote<S> {
    fn block(&self, awaited: *const Call, is_done: &dyn Fn() -> bool) {
        wait::until(me(self), &Outside::new(awaited, is_done));
    }

    fn lend_processor(&self, lends_index: bool, f: &mut dyn FnMut()) {
        let me = me(self);
        // Thieves may take the tasks of this worker meanwhile.
        S::Protocol::answer(me, Point::Sleep);
        let worker = lends_index.then(|| me.index());
        let handed_off = me.pool().hand_off_processor(worker);
        if handed_off.is_some() {
            me.count(Count::Handoffs);
        }
        me.pool().look_for_others(Visits::Everyone, |_| false);
        f();
    }

    fn must_hand_off(&self) -> bool {
        let me = me(self);
        me.has_unstolen()
            || me.has_mail()
            || me.pool().inbox.has_front()
            || !me.pool().options.rescues_calls
    }

    fn call(&self) -> *const Call {
        me(self).call()
    }

    fn keep_orphan(&self, panic: Panic) {
        me(self).keep_orphan(panic);
    }

    fn in_scope(&self, scope: CancelFlag, f: &mut dyn FnMut()) -> Result<(), Panic> {
        call_in(me(self), scope, |_| f())
    }

    fn scope(&self) -> CancelFlag {
        me(self).scope()
    }
}

/// Returns the worker of a [`Host`].
fn me<S: Scheduler>(host: &Remote<S>) -> Me<'_, S> {
    // SAFETY: `enter` has stored the host on the worker's own thread, and no reference to it leaves that
    // thread.
    unsafe { Me::new(host) }
}
