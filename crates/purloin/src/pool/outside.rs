//! Threads that wait for a pool of which they are no worker.
//!
//! Such a thread sleeps until a worker has done what it waits for. Two things may keep
//! the workers from it for ever, and both are mended by a spare worker:
//!
//! - The thread is a worker of another pool, and the two pools wait for each other. So it
//!   lends its own processor while it sleeps, as in a join ([`Host`]). When no spare worker
//!   is left to take it, the thread itself takes what its pool was left from outside.
//! - Every worker waits, in a way that its pool does not see, for this very thread: in a
//!   lock, or for the end of a thread. So the thread lends the pool a processor, its own,
//!   once the pool has not begun anything from outside for [`STALL`].
//!
//! A pool without spare workers does not get the second; a worker of a pool of
//! [`Channel`](crate::Channel) runs its pool's work from outside while it waits.

use std::cell::Cell;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use super::HandedOff;
use super::worker_thread::host;
use super::{Shared, WorkerThread};
use crate::scheduler::{Scheduler, TaskPool};
use crate::stats::Activity;
use crate::unwind::{Panic, discard};

/// A pool that has work from outside and begins none of it for this long is stalled.
const STALL: Duration = Duration::from_millis(20);

/// How long a waiting worker sleeps that thieves may need awake, or that may have to take
/// work from outside.
const NAP: Duration = Duration::from_millis(1);

/// A worker as another pool sees it.
pub(super) trait Host {
    /// Blocks this worker, on its own thread, until `is_done`, of which the thread is told by
    /// [`Thread::unpark`](thread::Thread::unpark). `pause` says for how long to sleep at most.
    fn block(&self, is_done: &dyn Fn() -> bool, pause: &mut dyn FnMut() -> Option<Duration>);

    /// See [`WorkerThread::keep_orphan`].
    fn keep_orphan(&self, panic: Panic);
}

/// Keeps the panic of a future that nobody gets for the call whose task this thread runs.
/// If this thread is no worker, nobody hears of it.
pub(crate) fn keep_orphan(panic: Panic) {
    match host() {
        Some(host) => host.keep_orphan(panic),
        None => discard(panic),
    }
}

impl<S: Scheduler> Host for WorkerThread<S> {
    fn block(&self, is_done: &dyn Fn() -> bool, pause: &mut dyn FnMut() -> Option<Duration>) {
        let pool = self.pool();
        let outer = self.timer().turn(Activity::SearchingInJoin);
        let mut handed_off = None;
        loop {
            let is_free_to_sleep = S::TaskPool::offer_all(self);
            if is_done() {
                break;
            }
            handed_off = handed_off.or_else(|| pool.hand_off(self));
            pool.look_for_others(|_| false);
            let serves = handed_off.is_none() || pool.sleep.lacks_workers();
            if serves && let Some(job) = pool.take_injected() {
                drop(handed_off.take());
                self.timer().turn(Activity::ApplicationInJoin);
                job(self);
                self.timer().turn(Activity::SearchingInJoin);
                continue;
            }
            let nap = (serves || !is_free_to_sleep).then_some(NAP);
            // Other workers of this pool may block later, in joins, where they take nothing
            // from outside. So it looks again now and then whether it has to.
            let time = pause().into_iter().chain(nap).min();
            thread::park_timeout(time.unwrap_or(STALL));
        }
        drop(handed_off);
        self.timer().turn(outer);
    }

    fn keep_orphan(&self, panic: Panic) {
        WorkerThread::keep_orphan(self, panic);
    }
}

impl<S: Scheduler> Shared<S> {
    /// Sleeps until `is_done`, on a thread that is no worker of this pool and is unparked
    /// then. Once `is_begun`, the pool needs no help.
    pub(crate) fn wait_outside(&self, is_begun: impl Fn() -> bool, is_done: impl Fn() -> bool) {
        let mut rescue = Rescue::new(self);
        let pause = &mut || match S::HANDS_OFF && !is_begun() {
            true => Some(rescue.pause()),
            false => None,
        };
        block(&is_done, pause);
    }

    /// The same, but gives up when the pool is stalled and nothing can be done about it.
    pub(crate) fn wait_unless_stalled(&self, is_done: impl Fn() -> bool) {
        let mut rescue = Rescue::new(self);
        let is_stuck = Rc::clone(&rescue.is_stuck);
        block(&|| is_done() || is_stuck.get(), &mut || {
            Some(rescue.pause())
        });
    }
}

/// Blocks this thread, as the worker that it is, if it is one.
fn block(is_done: &dyn Fn() -> bool, pause: &mut dyn FnMut() -> Option<Duration>) {
    if let Some(host) = host() {
        return host.block(is_done, pause);
    }
    while !is_done() {
        match pause() {
            Some(time) => thread::park_timeout(time),
            None => thread::park(),
        }
    }
}

/// Processors that a waiting thread lends to a stalled pool.
struct Rescue<'p, S: Scheduler> {
    pool: &'p Shared<S>,
    /// What the pool had begun by `since`.
    begun: usize,
    since: Instant,
    handed_off: Vec<HandedOff<'p>>,
    /// Whether no worker is left that could take a processor.
    is_stuck: Rc<Cell<bool>>,
}

impl<'p, S: Scheduler> Rescue<'p, S> {
    fn new(pool: &'p Shared<S>) -> Self {
        Rescue {
            pool,
            begun: pool.inbox.begun(),
            since: Instant::now(),
            handed_off: Vec::new(),
            is_stuck: Rc::default(),
        }
    }

    /// Lends a processor if the pool is stalled. Returns for how long to sleep at most.
    fn pause(&mut self) -> Duration {
        let begun = self.pool.inbox.begun();
        if begun != self.begun {
            (self.begun, self.since) = (begun, Instant::now());
        } else if self.since.elapsed() >= STALL {
            self.since = Instant::now();
            match S::HANDS_OFF && !self.pool.sleep.lacks_workers() {
                true => {
                    self.handed_off.extend(self.pool.hand_off_processor());
                    self.pool.look_for_others(|_| false);
                }
                false => self.is_stuck.set(true),
            }
        }
        STALL
    }
}
