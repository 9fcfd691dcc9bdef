//! Which worker runs on this thread, and what code that does not know its worker asks of it.
//!
//! A thread finds its worker in three ways: token-free functions by its address, if its pool has the
//! default scheduler; a pool by the number of the pool, to see whether the worker is one of its own; and everything
//! else through [`Host`], whichever pool the worker belongs to.

use std::any::{Any, TypeId};
use std::cell::{Cell, RefCell};
use std::ptr::null;

use super::lineage::Call;
use super::wait::{self, HandedOff, Outside};
use super::{Me, Remote};
use crate::cancel::CancelFlag;
use crate::cancel::Cancelled;
use crate::pool::NO_POOL;
use crate::runtime::{ReturnBarrier, call_in};
use crate::scheduler::{Point, Protocol, Scheduler};
use crate::stats::Count;
use crate::unwind::{Panic, catch, discard};

/// The worker that runs on a thread, if there is one.
struct Current {
    /// The number of its pool.
    pool: Cell<u64>,
    /// The worker: a `Remote` of the pool's scheduler.
    worker: Cell<*const ()>,
    /// The worker, if its pool has the default scheduler: for token-free calls.
    of_default: Cell<*const Remote<ReturnBarrier>>,
    /// The worker as another pool sees it.
    host: Cell<Option<&'static dyn Host>>,
    /// Whether the thread runs a program that is being measured.
    is_measured: Cell<bool>,
}

crate::sync::thread_local! {
    static CURRENT: Current = const { Current {
        pool: Cell::new(NO_POOL),
        worker: Cell::new(null()),
        of_default: Cell::new(null()),
        host: Cell::new(None),
        is_measured: Cell::new(false),
    } };
}

/// Implements [`crate::implement::measured`].
pub(crate) fn measured<R>(f: impl FnOnce() -> R) -> R {
    struct Guard {
        worker: (u64, *const (), *const Remote<ReturnBarrier>),
        host: Option<&'static dyn Host>,
        was_measured: bool,
    }
    impl Drop for Guard {
        fn drop(&mut self) {
            CURRENT.with(|current| {
                let (pool, worker, of_default) = self.worker;
                current.pool.set(pool);
                current.worker.set(worker);
                current.of_default.set(of_default);
                current.host.set(self.host);
                current.is_measured.set(self.was_measured);
            });
        }
    }
    let _guard = CURRENT.with(|current| Guard {
        worker: (
            current.pool.get(),
            current.worker.get(),
            current.of_default.get(),
        ),
        host: current.host.get(),
        was_measured: current.is_measured.replace(true),
    });
    forget();
    f()
}

/// Panics if this thread runs a program that is being measured.
pub(crate) fn check_not_measured() {
    assert!(
        !CURRENT.with(|current| current.is_measured.get()),
        "this program is being measured, and has called a function without a token, or a pool: the \
         measuring worker sees only tasks that go through the token that it has passed to the program; \
         write `w.join`, `w.finish` and `w.for_each` instead of `purloin::join` and so on"
    );
}

/// Makes this thread no worker.
pub(crate) fn forget() {
    CURRENT.with(|current| {
        current.pool.set(NO_POOL);
        current.of_default.set(null());
        current.host.set(None);
    });
}

/// Makes this thread `worker`, until the guard is dropped.
pub(crate) fn enter<S: Scheduler>(worker: Me<'_, S>) -> impl Drop + use<S> {
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            forget();
        }
    }
    let host: &dyn Host = worker.remote();
    // SAFETY: only the lifetime changes. The worker's own thread drops the guard, and keeps the
    // worker alive until then; the reference does not leave this thread.
    let host = unsafe { std::mem::transmute::<&dyn Host, &'static dyn Host>(host) };
    CURRENT.with(|current| {
        current.pool.set(worker.pool().id);
        current
            .worker
            .set(std::ptr::from_ref(worker.remote()).cast());
        if TypeId::of::<S>() == TypeId::of::<ReturnBarrier>() {
            current
                .of_default
                .set(std::ptr::from_ref(worker.remote()).cast());
        }
        current.host.set(Some(host));
    });
    Guard
}

/// Returns the worker that runs on this thread, if its pool has the default scheduler.
#[inline(always)]
pub(crate) fn current_of_default<'w>() -> Option<Me<'w, ReturnBarrier>> {
    let worker = CURRENT.with(|current| current.of_default.get());
    // SAFETY: the pointer is null, or `enter` set it on this thread, which keeps the pool alive
    // until it drops the guard.
    unsafe { Some(Me::new(worker.as_ref()?)) }
}

/// Returns the worker that runs on this thread, if it belongs to the pool with this number.
///
/// # Safety
///
/// The pool with this number has the scheduler `S`.
#[inline]
pub(crate) unsafe fn of_pool<'w, S: Scheduler>(id: u64) -> Option<Me<'w, S>> {
    let worker =
        CURRENT.with(|current| (current.pool.get() == id).then(|| current.worker.get()))?;
    // SAFETY: `enter` set the pointer on this thread, which keeps the pool alive until it drops the guard. The
    // caller guarantees the type.
    unsafe { Some(Me::new(&*worker.cast())) }
}

/// Returns the worker that runs on this thread, whichever pool it belongs to.
pub(crate) fn host() -> Option<&'static dyn Host> {
    CURRENT.with(|current| current.host.get())
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

/// A worker as another pool sees it.
pub(crate) trait Host {
    /// Blocks this worker until `is_done`. Called on the worker's own thread, which is
    /// [unparked](std::thread::Thread::unpark) at the end. `awaited` is the call that the worker waits for,
    /// or null.
    fn block(&self, awaited: *const Call, is_done: &dyn Fn() -> bool);

    /// Hands off the processor of this worker, which is going to block, until the guard is
    /// dropped, and its thread index if it `lends_index`. Called on the worker's own thread.
    fn lend_processor(&self, lends_index: bool) -> Option<HandedOff<'_>>;

    /// Returns whether tasks of this worker, or work from outside, wait for a worker or may do so soon. Jobs in the
    /// background and [spare parts of loops](Me::spawn_spare_part) do not count. Soon: if the pool does not
    /// [rescue calls](crate::Builder::rescue_calls), work that comes later waits, too.
    fn must_hand_off(&self) -> bool;

    /// Returns the innermost call that the worker runs, or null.
    fn call(&self) -> *const Call;

    /// See [`Me::keep_orphan`].
    fn keep_orphan(&self, panic: Panic);

    /// Calls `f` in a scope and in a frame of its own, ends the tasks that it leaves behind, and returns its panic. Called
    /// on the worker's own thread.
    fn in_scope(&self, scope: CancelFlag, f: &mut dyn FnMut()) -> Result<(), Panic>;

    /// Returns the flag of the innermost scope around the code that the worker runs.
    fn scope(&self) -> CancelFlag;
}

/// Only [`enter`] makes this a `Host`, for the worker's own thread.
impl<S: Scheduler> Host for Remote<S> {
    fn block(&self, awaited: *const Call, is_done: &dyn Fn() -> bool) {
        wait::until(me(self), &Outside::new(awaited, is_done));
    }

    fn lend_processor(&self, lends_index: bool) -> Option<HandedOff<'_>> {
        let me = me(self);
        // Thieves may take the tasks of this worker meanwhile.
        S::Protocol::answer(me, Point::Sleep);
        let worker = lends_index.then(|| me.index());
        let handed_off = me.pool().hand_off_processor(worker);
        if handed_off.is_some() {
            me.count(Count::Handoffs);
        }
        me.pool().look_for_others(|_| false);
        handed_off
    }

    fn must_hand_off(&self) -> bool {
        let me = me(self);
        me.has_unstolen() || me.has_mail() || me.pool().has_urgent() || !me.pool().rescues_calls
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

/// Keeps the panic of a task whose result is never fetched, for the call that this thread runs.
/// Drops the panic if this thread is not a worker, or if it only says that the task was cancelled.
pub(crate) fn keep_orphan(panic: Panic) {
    match host() {
        _ if panic.is::<Cancelled>() => (),
        Some(host) => host.keep_orphan(panic),
        None => discard(panic),
    }
}

crate::sync::thread_local! {
    /// The innermost scope around the code on this thread, if it is not a worker.
    static SCOPE: Cell<CancelFlag> = const { Cell::new(CancelFlag::NONE) };
}

/// Returns whether this thread is in a scope that it entered while it was not a worker.
pub(crate) fn is_in_scope_outside() -> bool {
    SCOPE.with(Cell::get) != CancelFlag::NONE
}

/// Returns the flag of the innermost scope around the code on this thread.
pub(crate) fn current_scope() -> CancelFlag {
    match host() {
        Some(host) => host.scope(),
        None => SCOPE.with(Cell::get),
    }
}

/// Calls `f` in a scope, and returns its result or its panic. On a worker that enters the scope, the futures that `f` makes
/// end before this function returns.
#[inline(always)]
pub(crate) fn in_scope<R>(scope: CancelFlag, f: impl FnOnce() -> R) -> Result<R, Panic> {
    let outer = match host() {
        Some(host) if host.scope() != scope => return in_scope_on(host, scope, f),
        Some(_) => None,
        None => Some(SCOPE.with(|innermost| innermost.replace(scope))),
    };
    let result = catch(f);
    if let Some(outer) = outer {
        SCOPE.with(|innermost| innermost.set(outer));
    }
    result
}

#[inline(never)]
fn in_scope_on<R>(host: &dyn Host, scope: CancelFlag, f: impl FnOnce() -> R) -> Result<R, Panic> {
    let (mut f, mut result) = (Some(f), None);
    host.in_scope(scope, &mut || result = f.take().map(|f| f()))?;
    Ok(result.expect("the host has called the function"))
}

/// Returns whether this thread is a worker.
pub(crate) fn is_worker() -> bool {
    host().is_some()
}

/// Returns the innermost call that this thread runs, or null.
pub(crate) fn current_call() -> *const Call {
    host().map_or(null(), |host| host.call())
}
