//! Threads that wait for a pool to which they do not belong.
//!
//! A thread outside the pool sleeps until a worker has finished its call. Two deadlocks may keep
//! the workers from the call for ever, and a spare worker resolves both:
//!
//! - The thread is a worker of another pool, and the two pools wait for each other. So it hands off
//!   its processor while it sleeps, as in a join ([`Host`]). If no spare worker is left to take the
//!   processor, the thread itself serves its pool, but only **calls that descend from the awaited
//!   call**. Any other call may need a lock that a frame further down its stack holds, or the
//!   result of a task that such a frame runs.
//! - Every worker waits for this very thread in a way that its pool does not see: in a lock, or for
//!   the end of a thread. See [`rescue`](super::rescue).
//!
//! A pool with the scheduler `Channel` has no spare workers, so a waiting worker always serves its
//! pool.

use std::cell::{Cell, RefCell};
use std::ptr::null;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Duration;

use super::lineage::{Call, Lineage, NO_GENERATION};
use super::wait::{self, Awaited, HandedOff, Wait};
use super::worker_thread::host;
use super::{Shared, WorkerThread};
use crate::loops::CancelFlag;
use crate::scheduler::{Scheduler, TaskPool};
use crate::sleep::Slept;
use crate::stats::Count;
use crate::sync::Instant;
use crate::sync::thread::{self, Thread};
use crate::unwind::{Panic, discard};
use crate::worker::Cancelled;

/// Maximum sleep of a worker that waits for another pool and need not serve its own.
const RECHECK: Duration = Duration::from_millis(20);

/// Maximum sleep of a waiting worker that thieves may need to be awake, or that serves its pool.
const NAP: Duration = Duration::from_millis(1);

/// Time for which a thread outside the pool yields its processor before it sleeps: about as long as
/// it takes to put the thread to sleep and to wake it.
const YIELD_TIME: Duration = Duration::from_micros(30);

/// A worker as another pool sees it.
pub(super) trait Host {
    /// Blocks this worker until `is_done`. Called on the worker's own thread, which is
    /// [unparked](thread::Thread::unpark) at the end. `awaited` is the call that the worker waits for,
    /// or null.
    fn block(&self, awaited: *const Call, is_done: &dyn Fn() -> bool);

    /// Hands off the processor of this worker, which is going to block, until the guard is
    /// dropped, and its thread index if it `lends_index`. Called on the worker's own thread.
    fn lend_processor(&self, lends_index: bool) -> Option<HandedOff<'_>>;

    /// Returns the innermost call that the worker runs, or null.
    fn call(&self) -> *const Call;

    /// See [`WorkerThread::keep_orphan`].
    fn keep_orphan(&self, panic: Panic);

    /// Enters a scope, and returns the scope around it.
    fn enter_scope(&self, scope: CancelFlag) -> CancelFlag;

    /// Leaves a scope that the worker has [entered](Self::enter_scope), whose result was `outer`.
    fn leave_scope(&self, outer: CancelFlag);

    /// Returns the flag of the innermost scope around the code that the worker runs.
    fn scope(&self) -> CancelFlag;
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

/// Returns the flag of the innermost scope around the code on this thread.
pub(crate) fn current_scope() -> CancelFlag {
    match host() {
        Some(host) => host.scope(),
        None => SCOPE.get(),
    }
}

/// Enters a scope, until the guard is dropped. Guards are dropped in the reverse order.
pub(crate) fn enter_scope(scope: CancelFlag) -> InScope {
    let outer = match host() {
        Some(host) => host.enter_scope(scope),
        None => SCOPE.replace(scope),
    };
    InScope(outer)
}

/// A guard for the time while a thread is in a scope. It has the scope around it.
#[must_use]
pub(crate) struct InScope(CancelFlag);

impl Drop for InScope {
    fn drop(&mut self) {
        match host() {
            Some(host) => host.leave_scope(self.0),
            None => SCOPE.set(self.0),
        }
    }
}

/// Returns whether this thread is a worker.
pub(crate) fn is_worker() -> bool {
    host().is_some()
}

/// Returns the innermost call that this thread runs, or null.
pub(super) fn current_call() -> *const Call {
    host().map_or(null(), |host| host.call())
}

impl<S: Scheduler> Host for WorkerThread<S> {
    fn block(&self, awaited: *const Call, is_done: &dyn Fn() -> bool) {
        let awaited = Outside {
            call: awaited,
            is_done,
            token: RefCell::default(),
        };
        wait::until(self, &awaited);
    }

    fn lend_processor(&self, lends_index: bool) -> Option<HandedOff<'_>> {
        // Thieves may take the tasks of this worker meanwhile.
        S::TaskPool::offer_all(self);
        let worker = lends_index.then(|| self.index());
        let handed_off = self.pool().hand_off_processor(worker);
        if handed_off.is_some() {
            self.count(Count::Handoffs);
        }
        self.pool().look_for_others(|_| false);
        handed_off
    }

    fn call(&self) -> *const Call {
        WorkerThread::call(self)
    }

    fn keep_orphan(&self, panic: Panic) {
        WorkerThread::keep_orphan(self, panic);
    }

    fn enter_scope(&self, scope: CancelFlag) -> CancelFlag {
        let base = self.task_pool().stack().top().addr();
        self.local.scopes.enter(scope, base)
    }

    fn leave_scope(&self, outer: CancelFlag) {
        self.local.scopes.leave(outer);
    }

    fn scope(&self) -> CancelFlag {
        self.local.scopes.current()
    }
}

/// Something outside the pool that a worker waits for. The worker's thread is
/// [unparked](thread::Thread::unpark) at the end.
struct Outside<'f> {
    /// The call that the worker waits for, or null.
    call: *const Call,
    is_done: &'f dyn Fn() -> bool,
    token: RefCell<ParkToken>,
}

impl<S: Scheduler> Awaited<S> for Outside<'_> {
    /// Another pool takes microseconds to answer.
    const SPINS: bool = false;

    fn is_over(&self) -> bool {
        (self.is_done)()
    }

    /// Runs a call that descends from the awaited call, if no other worker is left to do so.
    fn run_one(&self, wait: &mut Wait<'_, S>) -> bool {
        if !(wait.is_processor_idle() && wait.may_run()) {
            return false;
        }
        let me = wait.me;
        let Some(job) = me.pool().take_descendant_of(self.call) else {
            return false;
        };
        wait.run(|| job.run(me));
        true
    }

    fn sleep(&self, wait: &mut Wait<'_, S>) -> Slept {
        let may_sleep = S::TaskPool::offer_all(wait.me);
        // Other workers of this pool may block later in joins, where they run no calls from outside. So
        // this worker checks again from time to time whether it must serve.
        let naps = wait.is_processor_idle() || !may_sleep;
        let time = if naps { NAP } else { RECHECK };
        self.token.borrow_mut().park(Some(time));
        Slept::Woken
    }
}

impl<S: Scheduler> Shared<S> {
    /// Runs `f` on this thread, which is not a worker of this pool, as a call to the pool. The tasks
    /// with the lineage that `f` gets end before `f` does.
    pub(crate) fn as_outside_call<R>(
        &self,
        f: impl FnOnce(Lineage) -> thread::Result<R>,
    ) -> thread::Result<R> {
        let call = Call::new(current_call(), NO_GENERATION);
        call.end(f(Lineage::of_call(&call)))
    }

    /// Sleeps until `is_done`, when the thread waits for tasks with this lineage. The calling thread is
    /// not a worker of this pool, and is unparked at the end.
    pub(crate) fn wait_outside(&self, awaited: Lineage, is_done: &dyn Fn() -> bool) {
        block(awaited.call(), is_done);
    }
}

/// Blocks this thread until `is_done`. A worker blocks as [`Host::block`] describes. `awaited` is the
/// call that the thread waits for, or null.
pub(super) fn block(awaited: *const Call, is_done: &dyn Fn() -> bool) {
    if let Some(host) = host() {
        return host.block(awaited, is_done);
    }
    let begin = Instant::now();
    while begin.elapsed() < YIELD_TIME {
        if is_done() {
            return;
        }
        thread::yield_now();
    }
    let mut token = ParkToken::default();
    while !is_done() {
        token.park(None);
    }
}

/// The token that [`thread::Thread::unpark`] leaves for a thread.
///
/// The program may have left one for its own [`thread::park`], and a thread that sleeps here takes
/// it. So the thread gives a token back when it goes on. A token too many is harmless, because
/// `thread::park` may return at any time.
#[derive(Default)]
struct ParkToken {
    is_taken: bool,
}

impl ParkToken {
    fn park(&mut self, time: Option<Duration>) {
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

/// If this thread is a worker, blocks it until `is_done`, and returns true. The thread is
/// [unparked](thread::Thread::unpark) at the end. Returns false at once if this thread is not a
/// worker.
pub(super) fn block_worker(is_done: impl Fn() -> bool) -> bool {
    match host() {
        Some(host) => {
            host.block(null(), &is_done);
            true
        }
        None => false,
    }
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
    let _handed_off = host().and_then(|host| host.lend_processor(false));
    f()
}

/// Sleeps for this time. Meanwhile another worker may use the processor and the thread index of this
/// worker.
pub fn pause(time: Duration) {
    let _handed_off = host().and_then(|host| host.lend_processor(true));
    thread::sleep(time);
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

/// Sleeps until `is_done`. This thread is [unparked](thread::Thread::unpark) at the end. A worker
/// hands off its processor meanwhile.
pub(crate) fn block_until(is_done: impl Fn() -> bool) {
    block(null(), &is_done);
}
