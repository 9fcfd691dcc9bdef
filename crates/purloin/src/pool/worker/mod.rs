//! One worker: what it is, what its thread does, and how it waits.
//!
//! - This file: its tasks, its place among the pool's workers, and the operations of a scheduler.
//! - [`main_loop`]: what its thread does from start to end.
//! - [`idle`]: how it looks for work, and sleeps when there is none.
//! - [`wait`](mod@wait): how it waits in the middle of a task.
//! - [`current`]: how code on its thread finds it.
//! - [`mail`]: jobs that only this worker may run, also while it is blocked.
//! - [`lineage`]: which call from outside its code descends from.
//! - [`row`]: short jobs that it runs one after the other.

pub(crate) mod current;
pub(crate) mod idle;
pub(crate) mod lineage;
pub(crate) mod mail;
pub(crate) mod main_loop;
pub(crate) mod row;
pub(crate) mod wait;

use std::cell::{Cell, RefCell, RefMut};
use std::time::Duration;

use crossbeam_utils::CachePadded;

use self::lineage::OwnLineage;
use self::mail::Mailbox;
use crate::pool::placement::Hashes;
use crate::pool::{Pool, Shared};
use crate::runtime::{Local, Stolen, steal};
use crate::scheduler::{Point, Protocol, Scheduler, TaskPool};
use crate::sleep::{SpinTime, TinyTasks};
use crate::stats::{Activity, Count, Counters, Timer};
use crate::sync::Instant;
use crate::sync::plain::{AtomicBool, Ordering};
use crate::victim::Walk;

/// One worker of a pool.
#[repr(C)]
pub struct WorkerThread<S: Scheduler> {
    /// First, so that the fast path addresses it without an offset.
    pub(crate) local: Local<S>,
    index: usize,
    pool: *const Shared<S>,
    /// Whether the pool may end although this worker is active: its thread is one of the program's,
    /// and never goes idle, or the worker calls its exit handler.
    may_pool_end: AtomicBool,
    /// Whether the worker runs anything; only then can it have tasks.
    active: CachePadded<AtomicBool>,
    /// Whether the worker is idle and awake, so that it looks at one victim after another.
    polling: AtomicBool,
    own: CachePadded<Own>,
    lineage: OwnLineage,
    mailbox: Mailbox<S>,
}

/// State that only the worker's own thread uses, except that other threads read the counters.
struct Own {
    walk: RefCell<Box<dyn Walk>>,
    spin_time: Cell<SpinTime>,
    /// Tiny tasks that this worker has stolen while it was idle.
    tiny_stolen: Cell<TinyTasks>,
    claim: Cell<Duration>,
    /// Whether the worker runs a job within [`Pool::yield_now`].
    yields: Cell<bool>,
    /// Tiny tasks for which this worker has waited in joins.
    tiny_awaited: Cell<TinyTasks>,
    counters: Counters,
    timer: Timer,
}

// SAFETY: the pool outlives its workers, and is `Sync`. Only the worker's own thread uses the cells
// of `own`. All other fields are `Sync`.
unsafe impl<S: Scheduler> Sync for WorkerThread<S> {}
// SAFETY: the pool outlives its workers. No field is tied to a thread before the worker starts, and
// a worker does not move after it has started.
unsafe impl<S: Scheduler> Send for WorkerThread<S> {}

/// The operations of a worker that a scheduler may use.
impl<S: Scheduler> WorkerThread<S> {
    /// The worker's number, from 0. Spare workers come after the others.
    #[inline(always)]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The worker's tasks.
    pub fn task_pool(&self) -> &S::TaskPool {
        &self.local.tasks
    }

    /// All workers of the pool, including this worker, in the order of their numbers. Spare workers
    /// whose threads have not been started are missing.
    pub fn peers(&self) -> &[WorkerThread<S>] {
        &self.pool().worker_threads
    }

    /// Returns whether the worker runs anything; only then can it have tasks.
    pub fn is_active(&self) -> bool {
        self.active.load(Ordering::Relaxed)
    }

    /// Returns, as a hint, whether the worker is a thief that looks at one victim after another. A
    /// worker that sleeps does not.
    pub fn is_polling(&self) -> bool {
        !self.is_active() && self.polling.load(Ordering::Relaxed)
    }

    /// Sets whether the worker, while it is idle, looks at one victim after another.
    pub(crate) fn set_polling(&self, is_polling: bool) {
        self.polling.store(is_polling, Ordering::Relaxed);
    }

    /// Returns how many workers of the pool are idle, awake or asleep.
    pub fn idle_workers(&self) -> usize {
        self.pool().sleep.idle()
    }

    /// Wakes this worker, no matter how it sleeps, or ends its next sleep at once.
    pub fn unpark(&self) {
        self.pool().sleep.unpark(self.index);
    }

    /// Begins a search for a victim, on the worker's own thread. Returns the first active victim in
    /// the order of the pool's [victim selection](crate::VictimSelection).
    pub fn first_victim(&self) -> Option<&WorkerThread<S>> {
        let mut walk = self.walk();
        walk.start();
        loop {
            let victim = &self.peers()[walk.next()?];
            if victim.is_active() {
                return Some(victim);
            }
            if victim.is_polling() {
                walk.met_thief();
            }
        }
    }

    /// Begins a search for a victim, on the worker's own thread. Returns the first victim in the order
    /// of the pool's [victim selection](crate::VictimSelection), active or not, or `None` if the worker
    /// is the only one.
    pub fn drawn_victim(&self) -> Option<&WorkerThread<S>> {
        let mut walk = self.walk();
        walk.start();
        Some(&self.peers()[walk.next()?])
    }

    /// Returns whether work from outside the pool waits for an idle worker.
    pub fn has_outside_work(&self) -> bool {
        self.pool().has_injected()
    }

    /// Returns the number of the newest call of [`Pool::wait`](crate::Pool::wait), if any call is
    /// waiting. For schedulers that [detect quiescence](Scheduler::DETECTS_QUIESCENCE).
    pub fn standing_wait(&self) -> Option<u64> {
        self.pool().quiescence.awaited()
    }

    /// Returns whether a call of [`Pool::wait`](crate::Pool::wait) is waiting, after a full fence.
    /// A worker calls this when it has just changed state that the scheduler inspects, because no
    /// other worker may make the scheduler look again.
    pub fn is_wait_standing_by_now(&self) -> bool {
        self.pool().quiescence.is_awaited_by_now()
    }

    /// Ends the calls of [`Pool::wait`](crate::Pool::wait) up to this number, because every task
    /// that was spawned before them is done.
    pub fn end_waits(&self, number: u64) {
        self.pool().quiescence.end(number);
    }

    /// Counts an event, on the worker's own thread.
    pub fn count(&self, count: Count) {
        self.own.counters.add(count);
    }

    /// Returns the current time, as the start of an attempt to steal for [`Self::time_steal`].
    pub fn attempt_began(&self) -> u64 {
        self.own.timer.now()
    }

    /// Records a successful steal, whose attempt began at `began`.
    pub fn time_steal(&self, began: u64) {
        self.own.timer.stolen(began);
    }

    /// Records that the worker has been answering thieves since `began`.
    pub fn time_service(&self, began: u64) {
        self.own.timer.served(began);
    }

    /// Returns whether an idle worker of the pool is awake and looks for work.
    pub fn has_searchers(&self) -> bool {
        self.pool().sleep.has_searchers()
    }
}

impl<S: Scheduler> WorkerThread<S> {
    pub(crate) fn new(
        index: usize,
        pool: *const Shared<S>,
        local: Local<S>,
        walk: Box<dyn Walk>,
        timed: bool,
    ) -> Self {
        WorkerThread {
            local,
            index,
            pool,
            may_pool_end: AtomicBool::new(false),
            active: CachePadded::new(AtomicBool::new(false)),
            polling: AtomicBool::new(false),
            own: CachePadded::new(Own {
                walk: RefCell::new(walk),
                spin_time: Cell::new(SpinTime::usual()),
                tiny_stolen: Cell::new(TinyTasks::NONE),
                claim: Cell::new(Duration::ZERO),
                yields: Cell::new(false),
                tiny_awaited: Cell::new(TinyTasks::NONE),
                counters: Counters::default(),
                timer: Timer::new(timed),
            }),
            lineage: OwnLineage::new(),
            mailbox: Mailbox::new(),
        }
    }

    /// Returns the hashes of the pages with this worker's words and slots.
    pub(crate) fn hashes(&self) -> Hashes {
        let slots = self.local.tasks.stack().first();
        Hashes::of_value(self).union(Hashes::of_task_stack(slots.addr()))
    }

    pub(crate) fn pool(&self) -> &Shared<S> {
        // SAFETY: the worker lies in the `Shared` that `pool` points to. A reference to the worker
        // exists only while the worker's thread or a caller from outside keeps it alive.
        unsafe { &*self.pool }
    }

    /// Returns the pool as the program sees it.
    pub(crate) fn as_pool(&self) -> &Pool<S> {
        // SAFETY: `Shared::add_worker` took the pointer from the `Arc`. A reference to the worker exists
        // only while the worker's thread or a caller from outside keeps it alive.
        unsafe { Shared::as_pool(self.pool) }
    }

    /// Returns the active workers other than this worker, from which a thief may steal.
    pub(crate) fn active_others(&self) -> impl Iterator<Item = &WorkerThread<S>> + Clone {
        let others = self.pool().started().iter();
        others.filter(|other| other.index != self.index && other.is_active())
    }

    /// Returns the worker's walk through its victims. Called on the worker's own thread.
    pub(crate) fn walk(&self) -> RefMut<'_, Box<dyn Walk>> {
        self.own.walk.borrow_mut()
    }

    /// Runs a task that this worker has stolen while it was idle, and then rests if the task was
    /// not worth the steal.
    pub(crate) fn run_stolen_when_idle(&self, stolen: Stolen<S>) {
        if !S::LEAVES_TINY_TASKS {
            return self.active(|| self.run_stolen(stolen));
        }
        let start = Instant::now();
        self.active(|| self.run_stolen(stolen));
        let row = self.own.tiny_stolen.get();
        let limit = TinyTasks::stolen_limit(self.own.claim.get());
        let row = row.after(start.elapsed(), limit);
        self.own.tiny_stolen.set(row);
        row.take_rest();
    }

    /// Notes how long this worker's last successful claim took. Called on the worker's own thread.
    pub(crate) fn note_claim(&self, time: Duration) {
        self.own.claim.set(time);
    }

    /// Returns the row of tiny tasks for which this worker has waited in joins. Called on the
    /// worker's own thread.
    pub(crate) fn tiny_awaited(&self) -> &Cell<TinyTasks> {
        &self.own.tiny_awaited
    }

    /// Runs a task that this worker has stolen.
    pub(crate) fn run_stolen(&self, stolen: Stolen<S>) {
        steal::run(self, stolen);
    }

    /// Lets the pool end although this worker is active.
    pub(crate) fn let_pool_end(&self) {
        // Relaxed: a worker that misses it waits until this worker is inactive, or wakes it.
        self.may_pool_end.store(true, Ordering::Relaxed);
        self.pool().sleep.became_inactive();
    }

    /// Returns whether the pool may end although this worker is active.
    pub(crate) fn lets_pool_end(&self) -> bool {
        self.may_pool_end.load(Ordering::Relaxed)
    }

    /// Returns whether the pool cannot end because of what this worker runs.
    pub(crate) fn keeps_pool(&self) -> bool {
        self.is_active() && !self.lets_pool_end()
    }

    /// Returns whether this is a spare worker, which runs while another worker is blocked.
    pub(crate) fn is_spare(&self) -> bool {
        self.index >= self.pool().workers
    }

    /// Runs `job` within [`Pool::yield_now`].
    pub(crate) fn while_yielding(&self, job: impl FnOnce()) {
        // A job does not panic.
        let outer = self.own.yields.replace(true);
        job();
        self.own.yields.set(outer);
    }

    /// Returns whether the worker runs a job within [`Pool::yield_now`].
    pub(crate) fn yields(&self) -> bool {
        self.own.yields.get()
    }

    /// Runs `work` as an active worker, whose tasks thieves look for.
    pub(crate) fn active(&self, work: impl FnOnce()) {
        debug_assert!(self.local.is_outermost(), "it was idle");
        self.set_active(true);
        S::Protocol::answer(self, Point::Active);
        self.timer().switch_to(Activity::Application);
        work();
        self.timer().switch_to(Activity::Searching);
        self.set_active(false);
    }

    /// Sets whether thieves look for tasks of this worker.
    pub(crate) fn set_active(&self, is_active: bool) {
        // Release: whoever sees that the worker is inactive, and then looks for its own mail, finds
        // the messages that this worker has sent. For the rest relaxed would do: a fence follows
        // before each look that depends on it, and the release of the inbox's length before a job
        // that is taken.
        self.active.store(is_active, Ordering::Release);
        if !is_active {
            self.pool().sleep.became_inactive();
        }
    }

    /// Returns how long the worker's next search spins, on its own thread.
    pub(crate) fn spin_time(&self) -> SpinTime {
        self.own.spin_time.get()
    }

    /// Sets how long the worker's next search spins, on its own thread.
    pub(crate) fn set_spin_time(&self, time: SpinTime) {
        self.own.spin_time.set(time);
    }

    pub(crate) fn mailbox(&self) -> &Mailbox<S> {
        &self.mailbox
    }

    pub(crate) fn own_lineage(&self) -> &OwnLineage {
        &self.lineage
    }

    pub(crate) fn timer(&self) -> &Timer {
        &self.own.timer
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.own.counters
    }
}
