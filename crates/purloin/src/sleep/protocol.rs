//! Sleeping and waking. [The page above](super) has the protocol.

use std::convert::Infallible;
use std::time::Duration;

use crossbeam_utils::CachePadded;

use super::offers::{Offers, WorkerSet};
use super::parker::Parker;
use super::sleepers::{Processors, Sleeper, Sleepers, ThreadIndices};
use crate::append_vec::AppendVec;
use crate::sync::{AtomicUsize, Mutex, MutexGuard, Operation, Ordering, counted_as, fence, lock};

/// The sleepers of a pool, and the workers that might wake them.
pub struct Sleep {
    /// The number of the pool.
    pool: u64,
    /// Number of idle workers that look for work, awake or napping.
    pub(super) searching: CachePadded<AtomicUsize>,
    /// Number of idle workers registered as sleepers.
    pub(super) asleep: CachePadded<AtomicUsize>,
    sleepers: Mutex<Sleepers>,
    /// The workers that idle workers should visit.
    pub(crate) offers: Offers,
    /// The workers for whose tasks a blocked worker sleeps. It changes only under the lock of the sleepers.
    pub(crate) awaited: WorkerSet,
    /// Number of workers with a processor beyond the number of processors: see
    /// [`super::handoff`].
    pub(super) surplus: CachePadded<AtomicUsize>,
    /// One plus the worker that naps, or 0.
    napper: AtomicUsize,
    /// The worker that has last begun work from outside.
    last_outside: AtomicUsize,
    /// Not 0 once the pool is being dropped.
    stopping: AtomicUsize,
    /// Number of messages that workers have taken, modulo 2⁶⁴.
    mail_taken: AtomicUsize,
    pub(super) parkers: AppendVec<CachePadded<Parker>>,
    /// Starts the thread of a worker that has none yet.
    start: Start,
    /// Number of workers that wait for a thread index.
    pub(super) waiting_for_index: AtomicUsize,
}

/// Starts the thread of this worker. If that fails, calls [`Sleep::start_failed`], and returns false.
pub(super) type Start = Box<dyn Fn(&Sleep, usize) -> bool + Send + Sync>;

/// Stands for a worker when work has come from outside the pool.
const OUTSIDE: usize = usize::MAX;

/// How a sleep ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slept {
    /// The worker was woken for another reason, or did not fall asleep.
    Woken,
    /// A worker that has published tasks woke it.
    WokenForTasks,
    /// The time limit was reached.
    TimedOut,
}

impl Sleep {
    /// Returns the state of the pool with this number, with `workers` regular workers, which have threads, and `spares`
    /// spare workers, whose threads `start` starts.
    pub fn new(pool: u64, workers: usize, spares: usize, start: Start) -> Sleep {
        let sleep = Sleep {
            pool,
            searching: CachePadded::new(AtomicUsize::new(0)),
            asleep: CachePadded::new(AtomicUsize::new(0)),
            sleepers: Mutex::new(Sleepers {
                list: Vec::new(),
                processors: Processors::new(workers, spares),
                indices: ThreadIndices::new(workers),
            }),
            offers: Offers::new(workers + spares),
            awaited: WorkerSet::new(workers + spares),
            surplus: CachePadded::new(AtomicUsize::new(0)),
            napper: AtomicUsize::new(0),
            last_outside: AtomicUsize::new(0),
            stopping: AtomicUsize::new(0),
            mail_taken: AtomicUsize::new(0),
            parkers: AppendVec::with_capacity(workers + spares),
            start,
            waiting_for_index: AtomicUsize::new(0),
        };
        sleep.make_parkers(workers - 1);
        sleep
    }

    /// Makes the parkers of the workers up to and including this one that do not exist yet.
    fn make_parkers(&self, worker: usize) {
        let make = |worker| Ok::<_, Infallible>(CachePadded::new(Parker::new(self.pool, worker)));
        let Ok(()) = self.parkers.grow(worker, make);
    }

    /// Returns the state for a model, which has started all threads beforehand.
    #[cfg(loom)]
    pub fn for_model(workers: usize, spares: usize) -> Sleep {
        let sleep = Sleep::new(0, workers, spares, Box::new(|_, _| unreachable!()));
        (workers..workers + spares).for_each(|worker| {
            sleep.lock().processors.mark_started(worker);
        });
        sleep.make_parkers(workers + spares - 1);
        sleep
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Sleepers> {
        lock(&self.sleepers)
    }

    /// Wakes a worker for the tasks that worker `by` has just made public, unless an idle worker is
    /// already searching. Returns whether one is.
    pub fn published(&self, by: usize) -> bool {
        // Orders the publication before the look for sleepers.
        fence(Ordering::SeqCst);
        self.offers.announce(by);
        let is_searching = self.is_any_searching();
        if !is_searching && self.has_sleepers(by) {
            self.wake_one(by);
        }
        is_searching
    }

    /// Wakes an idle worker for work that has just arrived from outside. Returns false if no worker is
    /// idle.
    pub fn injected(&self) -> bool {
        // Orders the arrival before the look for sleepers.
        fence(Ordering::SeqCst);
        if self.searching.load(Ordering::Relaxed) == 0 {
            return self.wake_one(OUTSIDE);
        }
        if let Some(napper) = self.napper.load(Ordering::Relaxed).checked_sub(1) {
            self.unpark(napper);
        }
        true
    }

    /// Returns whether a worker sleeps that could run a task of worker `of`.
    pub fn has_sleepers(&self, of: usize) -> bool {
        self.asleep.load(Ordering::Relaxed) > 0
            || self.parkers[of].awaited.load(Ordering::Relaxed) > 0
    }

    /// Records that a worker has begun work from outside. The next such work wakes this worker, if it
    /// sleeps, because a program often makes the same call again and again.
    pub fn began_outside_work(&self, worker: usize) {
        if self.last_outside.load(Ordering::Relaxed) != worker {
            self.last_outside.store(worker, Ordering::Relaxed);
        }
    }

    /// Returns the number of idle workers, awake or asleep.
    pub fn idle(&self) -> usize {
        self.searching.load(Ordering::Relaxed) + self.asleep.load(Ordering::Relaxed)
    }

    /// Announces a worker that has just become active. Returns whether it should post a request to itself on behalf of
    /// idle workers. For sleepers it must. A searcher would post one itself, but perhaps only after the first push.
    pub fn became_active(&self, worker: usize) -> bool {
        fence(Ordering::SeqCst);
        self.offers.announce(worker);
        self.has_sleepers(worker) || self.is_any_searching()
    }

    /// Wakes one sleeper for the tasks of worker `of`: a worker that is blocked on `of`, because it
    /// can take no other tasks, or else an idle worker. Returns false if there is none.
    pub fn wake_one(&self, of: usize) -> bool {
        counted_as(|_| Operation::Wake, || self.wake_sleeper(of))
    }

    fn wake_sleeper(&self, of: usize) -> bool {
        let mut may_start = true;
        loop {
            let mut sleepers = self.lock();
            let preferred = match of {
                OUTSIDE => self.last_outside.load(Ordering::Relaxed),
                _ => usize::MAX,
            };
            let Some(found) = sleepers.to_wake(of, preferred, may_start) else {
                return false;
            };
            let sleeper = sleepers.list.swap_remove(found);
            self.deregister(sleeper);
            let has_thread = sleepers.processors.mark_started(sleeper.worker);
            self.make_parkers(sleeper.worker);
            drop(sleepers);
            if has_thread {
                self.parkers[sleeper.worker].unpark();
                return true;
            }
            if (self.start)(self, sleeper.worker) {
                return true;
            }
            // Workers without a thread are set aside now. The watcher lets this worker try again.
            may_start = false;
        }
    }

    /// Returns whether an idle worker looks for work.
    pub fn is_any_searching(&self) -> bool {
        self.searching.load(Ordering::Relaxed) > 0
    }

    /// Returns whether idle workers sleep, and none searches that would wake them.
    pub fn leaves_sleepers(&self) -> bool {
        !self.is_any_searching() && self.asleep.load(Ordering::Relaxed) > 0
    }

    /// Wakes a worker, whether or not it is registered as a sleeper.
    pub fn unpark(&self, worker: usize) {
        self.parkers[worker].unpark();
    }

    /// Counts a message to a worker, and wakes the worker.
    pub fn post(&self, worker: usize) {
        // Release: the worker that sees the number finds the message.
        self.parkers[worker]
            .messages
            .fetch_add(1, Ordering::Release);
        self.unpark(worker);
    }

    /// Returns whether a message waits for a worker.
    pub fn has_mail(&self, worker: usize) -> bool {
        self.parkers[worker].messages.load(Ordering::Acquire) > 0
    }

    /// Counts a message that a worker has taken. The worker is active.
    pub fn took_mail(&self, worker: usize) {
        // Release: whoever sees the number sees that the worker is active, and whoever sees one message less sees the
        // number.
        self.mail_taken.fetch_add(1, Ordering::Release);
        self.parkers[worker]
            .messages
            .fetch_sub(1, Ordering::Release);
    }

    /// Returns how many messages workers have taken.
    pub fn mail_taken(&self) -> usize {
        self.mail_taken.load(Ordering::Relaxed)
    }

    /// Marks the pool as stopping, and wakes all workers. From now on a worker ends when it is idle
    /// and no worker is active, and no worker waits for a processor in the reserve.
    pub fn stop(&self) {
        // Release: a worker that sees it sees every job that was left before.
        self.stopping.store(1, Ordering::Release);
        self.wake_all();
    }

    /// Returns whether the pool is stopping.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire) != 0
    }

    /// A worker without a parker has no thread yet. Its starter makes the parker under the lock that
    /// this takes. So if the parker is missing here, the worker takes the lock later, when it first
    /// registers as a sleeper, and then sees that the pool is stopping.
    fn wake_all(&self) {
        self.lock().processors.is_stopped = true;
        self.parkers.iter().for_each(|parker| parker.unpark());
    }

    /// Called when a worker is no longer active. If the pool is stopping, wakes all workers,
    /// because this worker may have been the last active one.
    pub fn became_inactive(&self) {
        // Orders the change before the check of `stopping`.
        fence(Ordering::SeqCst);
        if self.stopping.load(Ordering::Relaxed) != 0 {
            self.wake_all();
        }
    }

    /// Returns whether the pool is stopping and no worker is active.
    pub fn is_over(&self, is_any_active: impl FnOnce() -> bool) -> bool {
        // A worker that misses `stopping` is unparked after the change. Then it registers as a
        // sleeper again, and the fence there comes before both looks.
        self.is_stopping() && !is_any_active()
    }

    fn register(&self, sleeper: Sleeper) {
        let mut sleepers = self.lock();
        sleepers.list.push(sleeper);
        match sleeper.until {
            None => {
                self.asleep.fetch_add(1, Ordering::Relaxed);
                self.searching.fetch_sub(1, Ordering::Relaxed);
            }
            Some(of) => {
                if self.parkers[of].awaited.fetch_add(1, Ordering::Relaxed) == 0 {
                    self.awaited.add(of);
                }
            }
        }
        self.rebalance(&mut sleepers);
        let waiting_for_index = sleepers.indices.waiting.clone();
        drop(sleepers);
        // Orders the registration before the sleeper's last look for tasks.
        fence(Ordering::SeqCst);
        self.wake_waiting(waiting_for_index);
    }

    /// Updates the counters for a sleeper that was just taken off the list. An idle worker counts
    /// as searching from now on, so that no second worker is woken.
    pub(super) fn deregister(&self, sleeper: Sleeper) {
        match sleeper.until {
            None => {
                self.searching.fetch_add(1, Ordering::Relaxed);
                self.asleep.fetch_sub(1, Ordering::Relaxed);
            }
            Some(of) => {
                if self.parkers[of].awaited.fetch_sub(1, Ordering::Relaxed) == 1 {
                    self.awaited.remove(of);
                }
            }
        }
    }

    /// Registers a sleeper, looks once more, and sleeps unless `found_something`.
    fn sleep(
        &self,
        sleeper: Sleeper,
        time: Option<Duration>,
        found_something: impl FnOnce() -> bool,
    ) -> Slept {
        self.register(sleeper);
        let mut slept = Slept::Woken;
        let found = found_something();
        if !found {
            let parker = &self.parkers[sleeper.worker];
            match time {
                Some(time) if !parker.park_for(time) => slept = Slept::TimedOut,
                Some(_) => (),
                None => parker.park(),
            }
        }
        self.end_sleep(sleeper, slept, found)
    }

    /// Ends the sleep of a worker that has just been woken, or whose last look has `found`
    /// something. If the worker is in the reserve, waits until it may leave.
    pub(super) fn end_sleep(&self, sleeper: Sleeper, mut slept: Slept, mut found: bool) -> Slept {
        loop {
            let mut sleepers = self.lock();
            let place = sleepers.list.iter().position(|other| *other == sleeper);
            if let Some(place) = place {
                sleepers.list.swap_remove(place);
                self.deregister(sleeper);
                return slept;
            }
            // A sleeper leaves the list for one of two reasons: a wake-up for a task, or a move to
            // the reserve.
            if !sleepers.processors.is_in_reserve(sleeper.worker) {
                return Slept::WokenForTasks;
            }
            // The worker was moved to the reserve during its last look, after it had counted as
            // searching. If it has found something, other workers rely on it. So it continues, and
            // another worker may have to move to the reserve.
            let leaves = found || sleepers.processors.is_stopped || self.has_mail(sleeper.worker);
            if leaves && sleepers.indices.may_run(sleeper.worker) {
                sleepers.indices.use_own(sleeper.worker);
                self.searching.fetch_add(1, Ordering::Relaxed);
                sleepers.processors.leave_reserve(sleeper.worker);
                self.rebalance(&mut sleepers);
                return Slept::Woken;
            }
            drop(sleepers);
            if std::mem::take(&mut found) {
                // Another worker uses its thread index. A third one searches in its place.
                self.wake_one(OUTSIDE);
            }
            self.parkers[sleeper.worker].park();
            slept = Slept::Woken;
        }
    }

    /// Puts an idle worker to sleep until there is work for it, or until the time limit.
    pub fn sleep_idle(
        &self,
        worker: usize,
        time: Option<Duration>,
        found_something: impl FnOnce() -> bool,
    ) -> Slept {
        let until = None;
        self.sleep(Sleeper { worker, until }, time, found_something)
    }

    /// Puts a blocked worker to sleep until worker `until` publishes, until it is unparked, or
    /// until the time limit. In the first case it must take a task, or pass on the wake-up.
    pub fn sleep_blocked(
        &self,
        worker: usize,
        until: usize,
        time: Option<Duration>,
        found_something: impl FnOnce() -> bool,
    ) -> Slept {
        let until = Some(until);
        self.sleep(Sleeper { worker, until }, time, found_something)
    }

    /// Puts a blocked worker to sleep without registering it. Only [`Self::unpark`] wakes it, when
    /// its wait is over.
    pub fn park(&self, worker: usize, time: Option<Duration>) {
        match time {
            Some(time) => {
                self.parkers[worker].park_for(time);
            }
            None => self.parkers[worker].park(),
        }
    }

    /// Puts the only searcher to sleep for a nap. Work from outside wakes it.
    pub fn nap(&self, worker: usize, time: Duration) {
        self.napper.store(worker + 1, Ordering::Relaxed);
        self.parkers[worker].park_for(time);
        self.napper.store(0, Ordering::Relaxed);
    }

    /// Puts a worker to sleep without registering it, again and again until `is_over`.
    #[cfg(loom)]
    pub fn park_until(&self, worker: usize, mut is_over: impl FnMut() -> bool) {
        while !is_over() {
            self.parkers[worker].park();
        }
    }

    /// Records that an idle worker begins to search.
    pub fn start_searching(&self) {
        self.searching.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends a search. Workers that have published or pushed counted on the search, so the caller
    /// must now check whether any tasks are left for the sleepers, unless another worker searches.
    pub fn stop_searching(&self) {
        self.searching.fetch_sub(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Returns, as a hint, whether a worker may have to give up its processor or its thread index.
    pub fn wants_worker(&self) -> bool {
        self.surplus.load(Ordering::Relaxed) > 0
            || self.waiting_for_index.load(Ordering::Relaxed) > 0
    }

    /// Returns whether exactly one idle worker is awake and looks for work.
    pub fn is_only_searcher(&self) -> bool {
        self.searching.load(Ordering::Relaxed) == 1
    }
}
