//! Threads that wait for a pool to which they do not belong: for a call ([`calls`](super::calls)), a task or a future.
//!
//! A thread outside the pool sleeps until a worker has finished its call. Two deadlocks may keep
//! the workers from the call for ever, and a spare worker resolves both:
//!
//! - The thread is a worker of another pool, and the two pools wait for each other. So it hands off
//!   its processor while it sleeps, as in a join ([`wait`](mod@super::worker::wait)). If no spare worker
//!   is left to take the processor, the thread itself serves its pool, but only **calls that descend
//!   from the awaited call**. Any other call may need a lock that a frame further down its stack holds,
//!   or the result of a task that such a frame runs.
//! - Every worker waits for this very thread in a way that its pool does not see: in a lock, or for
//!   the end of a thread. See [`rescue`](super::rescue).
//!
//! A pool with the scheduler `Channel` has no spare workers, so a waiting worker always serves its
//! pool.

use std::ptr::null;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Duration;

use super::Shared;
use super::worker::current::{current_call, host};
use super::worker::lineage::{Call, Lineage, NO_GENERATION};
use crate::scheduler::Scheduler;
use crate::sync::Instant;
use crate::sync::thread::{self, Thread};
use crate::tunables;

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
        block(awaited.call(), is_done, &|| self.limit_outside());
    }
}

/// Blocks this thread until `is_done`. A worker blocks as [`Host::block`](super::worker::current::Host::block) describes. `awaited` is the
/// call that the thread waits for, or null. This calls `limit` before each sleep, also on a worker, because
/// `limit` restarts a missing watcher. A thread that is not a worker sleeps at most as long as it returns.
pub(super) fn block(
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

/// Returns whether this thread is a worker whose tasks, or work from outside, may wait for long if it blocks without a
/// call of [`blocking`].
pub(crate) fn must_hand_off() -> bool {
    host().is_some_and(|host| host.must_hand_off())
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
    block(null(), &is_done, &|| None);
}
