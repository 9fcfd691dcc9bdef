//! The current thread's worker, for code that does not know the worker's types: its scope, its call, and how
//! to block.
//!
//! Code finds the worker of its thread in three ways. A function without a token uses the worker's address, which is set if
//! the pool has the default scheduler. A pool compares its number with that of the worker's pool. All other code uses
//! [`Host`], whichever pool the worker belongs to.

use std::cell::Cell;
use std::io::{Write, stderr};
use std::panic::{panic_any, resume_unwind};
use std::ptr::null;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Duration;

use crate::call::Call;
use crate::cancel::{CancelFlag, Cancelled};
use crate::sync::Instant;
use crate::sync::thread::{self, Thread};
use crate::tunables;
use crate::unwind::{Panic, catch, discard, erased};

/// The number of no pool.
pub(crate) const NO_POOL: u64 = 0;

/// The worker that runs on a thread, if there is one.
#[derive(Clone, Copy)]
struct Current {
    /// The number of its pool.
    pool: u64,
    /// The worker.
    worker: *const (),
    /// The worker, if its pool has the default scheduler: for token-free calls.
    of_default: *const (),
    /// The worker as another pool sees it.
    host: Option<&'static dyn Host>,
    /// Whether the thread runs a program that is being measured.
    is_measured: bool,
}

impl Current {
    const NONE: Current = Current {
        pool: NO_POOL,
        worker: null(),
        of_default: null(),
        host: None,
        is_measured: false,
    };

    fn without_worker(self) -> Current {
        Current {
            is_measured: self.is_measured,
            ..Current::NONE
        }
    }
}

crate::sync::thread_local! {
    static CURRENT: Cell<Current> = const { Cell::new(Current::NONE) };
}

/// Sets what runs on this thread. The guard's destructor passes the current value to `after`, and sets the
/// result.
fn set<F: Fn(Current) -> Current>(current: Current, after: F) -> impl Drop + use<F> {
    struct Guard<F: Fn(Current) -> Current>(F);

    impl<F: Fn(Current) -> Current> Drop for Guard<F> {
        fn drop(&mut self) {
            CURRENT.with(|current| current.set((self.0)(current.get())));
        }
    }

    CURRENT.with(|last| last.set(current));
    Guard(after)
}

crate::sync::thread_local! {
    /// The innermost scope around the code on this thread, if it is not a worker.
    static SCOPE: Cell<CancelFlag> = const { Cell::new(CancelFlag::NONE) };
}

/// A worker as code sees it that does not know the worker's types.
pub(crate) trait Host {
    /// Blocks this worker until `is_done`. Called on the worker's own thread, which is
    /// [unparked](std::thread::Thread::unpark) at the end. `awaited` is the call that the worker waits for,
    /// or null.
    fn block(&self, awaited: *const Call, is_done: &dyn Fn() -> bool);

    /// Calls `f`, which blocks this worker. Meanwhile another worker may use the processor, and the thread index if
    /// this worker `lends_index`. Called on the worker's own thread.
    fn lend_processor(&self, lends_index: bool, f: &mut dyn FnMut());

    /// Returns whether tasks of this worker, or work from outside, wait for a worker or may do so soon. Jobs in the
    /// background and [spare parts of loops](crate::pool::Me::spawn_spare_part) do not count. Soon: if the pool does not
    /// [rescue calls](crate::Builder::rescue_calls), work that comes later waits, too.
    fn must_hand_off(&self) -> bool;

    /// Returns the innermost call that the worker runs, or null.
    fn call(&self) -> *const Call;

    /// Keeps the panic of a task whose result is never fetched, for the innermost call.
    fn keep_orphan(&self, panic: Panic);

    /// Calls `f` in a scope and in a frame of its own, ends the tasks that it leaves behind, and returns its panic. Called
    /// on the worker's own thread.
    fn in_scope(&self, scope: CancelFlag, f: &mut dyn FnMut()) -> Result<(), Panic>;

    /// Returns the flag of the innermost scope around the code that the worker runs.
    fn scope(&self) -> CancelFlag;
}

/// Makes this thread a worker of the pool with this number, until the guard is dropped. `is_default` says whether the
/// pool has the default scheduler.
///
/// # Safety
///
/// This is the worker's own thread, and `pool` is the number of the worker's pool. `worker` points at the worker, as a
/// `Remote` of the pool's scheduler, which is the default one if `is_default`; `host` is the same worker. The worker lives
/// until this thread drops the guard.
pub(crate) unsafe fn enter(
    pool: u64,
    worker: *const (),
    is_default: bool,
    host: &dyn Host,
) -> impl Drop + use<> {
    // SAFETY: only the lifetime changes. The caller keeps the worker alive until it drops the guard; the reference
    // does not leave this thread.
    let host = unsafe { std::mem::transmute::<&dyn Host, &'static dyn Host>(host) };
    let last = CURRENT.with(Cell::get);
    let current = Current {
        pool,
        worker,
        of_default: if is_default { worker } else { null() },
        host: Some(host),
        ..last
    };
    set(current, Current::without_worker)
}

/// Makes this thread no worker.
pub(crate) fn forget() {
    CURRENT.with(|current| current.set(current.get().without_worker()));
}

/// Returns the worker that runs on this thread, or null if its pool does not have the default scheduler.
#[inline(always)]
pub(crate) fn worker_of_default() -> *const () {
    CURRENT.with(|current| current.get().of_default)
}

/// Returns the worker that runs on this thread, if it belongs to the pool with this number.
#[inline]
pub(crate) fn worker_of(pool: u64) -> Option<*const ()> {
    CURRENT.with(|current| {
        let current = current.get();
        (current.pool == pool).then_some(current.worker)
    })
}

/// Returns the worker that runs on this thread, whichever pool it belongs to.
pub(crate) fn host() -> Option<&'static dyn Host> {
    CURRENT.with(|current| current.get().host)
}

/// Returns whether this thread is a worker.
pub(crate) fn is_worker() -> bool {
    host().is_some()
}

/// Implements [`crate::implement::measured`].
pub(crate) fn measured<R>(f: impl FnOnce() -> R) -> R {
    let current = Current {
        is_measured: true,
        ..Current::NONE
    };
    let last = CURRENT.with(Cell::get);
    let _guard = set(current, move |_| last);
    f()
}

/// Panics if this thread runs a program that is being measured.
pub(crate) fn check_not_measured() {
    assert!(
        !CURRENT.with(|current| current.get().is_measured),
        "this program is being measured, and has called a function without a token, or a pool: the \
         measuring worker sees only tasks that go through the token that it has passed to the program; \
         write `w.join`, `w.finish` and `w.for_each` instead of `purloin::join` and so on"
    );
}

/// Returns the innermost call that this thread runs, or null.
pub(crate) fn current_call() -> *const Call {
    host().map_or(null(), |host| host.call())
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

/// Continues the panic of a task, or of a call, in the code that waits for it.
///
/// No panic hook has seen a [`Cancelled`]: in a cancelled scope it only ends a task. Outside of all calls and scopes it may
/// end the program, so this calls the hook.
#[cold]
pub(crate) fn raise(panic: Panic) -> ! {
    if panic.is::<Cancelled>() && current_call().is_null() && current_scope() == CancelFlag::NONE {
        let text = "purloin: a result is needed whose task was cancelled; try_get returns an error instead";
        let _ = writeln!(stderr(), "{text}");
        panic_any(Cancelled);
    }
    resume_unwind(panic)
}

/// Returns the flag of the innermost scope around the code on this thread.
pub(crate) fn current_scope() -> CancelFlag {
    match host() {
        Some(host) => host.scope(),
        None => SCOPE.with(Cell::get),
    }
}

/// Returns whether this thread is in a scope that it entered while it was not a worker.
pub(crate) fn is_in_scope_outside() -> bool {
    SCOPE.with(Cell::get) != CancelFlag::NONE
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
    let (ran, result) = erased(f, |f| host.in_scope(scope, f));
    ran.map(|()| result.expect("the host has called the function"))
}

/// Blocks this thread until `is_done`. A worker blocks as [`Host::block`] describes. `awaited` is the
/// call that the thread waits for, or null. This calls `limit` before each sleep, also on a worker, because
/// `limit` restarts a missing watcher. A thread that is not a worker sleeps at most as long as it returns.
pub(crate) fn block(
    awaited: *const Call,
    is_done: &dyn Fn() -> bool,
    limit: &dyn Fn() -> Option<Duration>,
) {
    if let Some(host) = host() {
        // A worker checks `is_done` again every 20 ms at least.
        return host.block(awaited, &|| {
            limit();
            is_done()
        });
    }
    let begin = Instant::now();
    while begin.elapsed() < tunables::OUTSIDE_YIELD.get() {
        if is_done() {
            return;
        }
        thread::yield_now();
    }
    let mut token = ParkToken::default();
    while !is_done() {
        token.park(limit());
    }
}

/// Sleeps until `is_done`. This thread is [unparked](thread::Thread::unpark) at the end. A worker
/// hands off its processor meanwhile.
pub(crate) fn block_until(is_done: impl Fn() -> bool) {
    block(null(), &is_done, &|| None);
}

/// Runs `f`, which blocks this thread: in a lock, a system call, or a channel. Meanwhile a [spare
/// worker](crate::Builder::spare_workers) uses the processor of this worker. Other workers may take
/// its tasks, but not the rest of a loop that it runs.
///
/// Without this call, a worker that blocks in any way that the pool does not see keeps its
/// processor. The call costs some microseconds, so it is worth while if `f` takes longer. It just
/// runs `f` outside of any pool, and where there are no spare workers.
///
/// ```
/// use std::sync::mpsc::channel;
/// use purloin::Pool;
///
/// let pool = Pool::builder().workers(1).build()?;
/// let (send, receive) = channel();
/// let job = move |_: purloin::Token<'_>| send.send(7).unwrap();
/// let number = pool.run(move |w| {
///     w.pool().spawn(job);
///     // The only worker waits here. A spare worker runs the job.
///     purloin::blocking(|| receive.recv())
/// });
/// assert_eq!(number, Ok(7));
/// # Ok::<(), purloin::BuildError>(())
/// ```
///
/// # Panics
///
/// Panics if `f` panics.
pub fn blocking<R>(f: impl FnOnce() -> R) -> R {
    // The program's code goes on, so this worker keeps its thread index.
    lending_processor(false, f)
}

/// Sleeps for this time. Meanwhile another worker may use the processor and the thread index of this
/// worker.
pub fn pause(time: Duration) {
    lending_processor(true, || thread::sleep(time));
}

fn lending_processor<R>(lends_index: bool, f: impl FnOnce() -> R) -> R {
    let Some(host) = host() else { return f() };
    let ((), result) = erased(f, |f| host.lend_processor(lends_index, f));
    result.expect("the host has called the function")
}

/// Returns whether this thread is a worker whose tasks, or work from outside, may wait for long if it blocks without a
/// call of [`blocking`].
pub(crate) fn must_hand_off() -> bool {
    host().is_some_and(|host| host.must_hand_off())
}

/// Returns a waker that [unparks](thread::Thread::unpark) this thread.
pub(crate) fn thread_waker() -> Waker {
    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    Waker::from(Arc::new(Unpark(thread::current())))
}

/// The token that [`thread::Thread::unpark`] leaves for a thread.
///
/// The program may have left one for its own [`thread::park`], and a thread that sleeps here takes
/// it. So the thread gives a token back when it goes on. A token too many is harmless, because
/// `thread::park` may return at any time.
#[derive(Default)]
pub(crate) struct ParkToken {
    is_taken: bool,
}

impl ParkToken {
    pub(crate) fn park(&mut self, time: Option<Duration>) {
        self.is_taken = true;
        match time {
            Some(time) => thread::park_timeout(time),
            None => thread::park(),
        }
    }
}

impl Drop for ParkToken {
    fn drop(&mut self) {
        if self.is_taken {
            thread::current().unpark();
        }
    }
}
