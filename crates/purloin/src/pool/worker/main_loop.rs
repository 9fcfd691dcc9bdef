//! The main loop of a worker's thread: it finds work, runs it, and ends with its pool.

use super::idle::{self, Work};
use super::{Me, current};
use crate::scheduler::{Point, Protocol, Scheduler};
use crate::stats::Count;
use crate::sync::{Ordering, fence};
use crate::unwind::AbortOnUnwind;

/// Runs a worker on this thread, until the pool ends. The worker counts as searching: the threads of
/// regular workers start with the pool, and that of a spare worker when there is something to do.
pub(crate) fn run<S: Scheduler>(me: Me<'_, S>) {
    // The runtime catches panics of the program where it runs tasks. A panic that gets this
    // far is a bug in this crate, and other workers would wait for this worker for ever.
    let guard = AbortOnUnwind::new("a worker has panicked outside of any task");
    // A worker that sees the number of this one, in a task that it has stolen for example, finds it
    // among the workers: the number is stored after this fence, and loaded with Acquire.
    fence(Ordering::Release);
    let (pool, index) = (me.pool(), me.index());
    let current = current::enter(me);
    me.open_mailbox();
    if pool.handlers.start.is_some() {
        idle::interrupt(me, || pool.call_handler(me, pool.handlers.start.as_ref()));
    }
    pool.sleep.release_thread_index(index);
    let mut work = idle::go_on_finding(me);
    loop {
        match work {
            Work::Injected(job) => me.active(|| job.run(me)),
            Work::Stolen(stolen) => me.run_stolen_when_idle(stolen),
            Work::Stop => break,
        }
        if me.is_spare() {
            me.count(Count::SpareTasks);
            pool.sleep.release_thread_index(index);
        }
        work = idle::find(me);
    }
    if pool.handlers.exit.is_some() {
        // The handler may wait for those of other workers, which end meanwhile.
        me.let_pool_end();
        pool.call_handler(me, pool.handlers.exit.as_ref());
        // It may have left jobs, and no other worker is bound to be there.
        while !pool.inbox.is_empty() {
            S::Protocol::answer(me, Point::OutsideWork);
            if let Some(job) = pool.inbox.pop() {
                me.active(|| job.run(me));
            }
        }
    }
    me.close_mailbox();
    pool.sleep.end_with_thread_index(index);
    // From here on this thread is not a worker. Destructors of thread-local values run on it
    // later, when the pool may be gone.
    drop(current);
    guard.disarm();
}
