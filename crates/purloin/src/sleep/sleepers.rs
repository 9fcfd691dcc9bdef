//! Sleeping and waking. The page above tells the protocol.

use std::io;
use std::time::Duration;

use crossbeam_utils::CachePadded;

use super::handoff::Processors;
use super::parker::Parker;
use crate::sync::{AtomicUsize, Mutex, MutexGuard, Ordering, fence, lock};

/// The sleepers of a pool, and those that might wake them.
pub struct Sleep {
    /// Idle workers that are awake, or napping, and look for work.
    pub(super) searching: CachePadded<AtomicUsize>,
    /// Idle workers registered as sleepers.
    pub(super) asleep: CachePadded<AtomicUsize>,
    sleepers: Mutex<Sleepers>,
    /// How many workers have a processor beyond those that there are: see
    /// [`super::handoff`].
    pub(super) surplus: CachePadded<AtomicUsize>,
    /// The worker that naps, plus one.
    napper: AtomicUsize,
    parkers: Box<[CachePadded<Parker>]>,
    /// Starts the thread of a worker that has none yet.
    start: Start,
}

/// Starts the thread of this worker.
type Start = Box<dyn Fn(usize) -> io::Result<()> + Send + Sync>;

/// Instead of a worker, for what is on nobody's stack.
const OUTSIDE: usize = usize::MAX;

/// Who sleeps, and who has a processor.
pub(super) struct Sleepers {
    pub(super) list: Vec<Sleeper>,
    pub(super) processors: Processors,
}

/// A registered sleeper.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Sleeper {
    pub(super) worker: usize,
    /// A blocked worker sleeps until this one publishes; an idle one until
    /// anyone does.
    pub(super) until: Option<usize>,
}

/// How a sleep ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slept {
    /// By a wake-up, or it did not begin.
    Woken,
    /// By a wake-up of a worker that has published tasks.
    WokenForTasks,
    /// By itself.
    TimedOut,
}

impl Sleepers {
    /// The place of the sleeper to wake for the tasks of worker `of`: one that is
    /// blocked on it; an idle one, the one that has slept the least; of those that
    /// have no thread yet, the first, if one may be started.
    fn to_wake(&self, of: usize, may_start: bool) -> Option<usize> {
        let has_thread = |sleeper: &Sleeper| self.processors.has_thread(sleeper.worker);
        let last = |wanted: &dyn Fn(&Sleeper) -> bool| self.list.iter().rposition(wanted);
        last(&|sleeper| sleeper.until == Some(of))
            .or_else(|| last(&|sleeper| sleeper.until.is_none() && has_thread(sleeper)))
            .or_else(|| {
                let places = 0..if may_start { self.list.len() } else { 0 };
                places
                    .filter(|&place| self.list[place].until.is_none())
                    .min_by_key(|&place| self.list[place].worker)
            })
    }
}

impl Sleep {
    /// For so many workers with a thread, and so many spare ones that may be
    /// started.
    pub fn new(workers: usize, spares: usize, start: Start) -> Sleep {
        let parker = |_| CachePadded::new(Parker::new());
        Sleep {
            searching: CachePadded::new(AtomicUsize::new(0)),
            asleep: CachePadded::new(AtomicUsize::new(0)),
            sleepers: Mutex::new(Sleepers {
                list: Vec::new(),
                processors: Processors::new(workers, spares),
            }),
            surplus: CachePadded::new(AtomicUsize::new(0)),
            napper: AtomicUsize::new(0),
            parkers: (0..workers + spares).map(parker).collect(),
            start,
        }
    }

    /// The same where all threads are started beforehand.
    #[cfg(loom)]
    pub fn for_model(workers: usize, spares: usize) -> Sleep {
        let sleep = Sleep::new(workers, spares, Box::new(|_| unreachable!()));
        sleep.lock().processors.mark_started(workers + spares - 1);
        sleep
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Sleepers> {
        lock(&self.sleepers)
    }

    /// The worker `by` has made tasks public: wakes one that may take them,
    /// unless somebody is looking anyway.
    pub fn published(&self, by: usize) {
        // Between the publication and our look for sleepers.
        fence(Ordering::SeqCst);
        if self.searching.load(Ordering::Relaxed) == 0 && self.has_sleepers(by) {
            self.wake_one(by);
        }
    }

    /// There is work from outside: wakes an idle worker for it.
    pub fn injected(&self) {
        fence(Ordering::SeqCst);
        if self.searching.load(Ordering::Relaxed) == 0 {
            self.wake_one(OUTSIDE);
        } else if let Some(napper) = self.napper.load(Ordering::Relaxed).checked_sub(1) {
            self.unpark(napper);
        }
    }

    /// Whether anyone sleeps who could use a task of worker `of`.
    pub fn has_sleepers(&self, of: usize) -> bool {
        self.asleep.load(Ordering::Relaxed) > 0
            || self.parkers[of].awaited.load(Ordering::Relaxed) > 0
    }

    /// How many workers are idle, awake or asleep.
    pub fn idle(&self) -> usize {
        self.searching.load(Ordering::Relaxed) + self.asleep.load(Ordering::Relaxed)
    }

    /// A worker says that it is about to offer tasks, and learns whether it
    /// should ask itself for them.
    pub fn is_needed_by_sleepers(&self, of: usize) -> bool {
        fence(Ordering::SeqCst);
        self.has_sleepers(of)
    }

    /// Wakes one sleeper for the tasks of worker `of`: one that is blocked on
    /// it, as nothing else can help that, or else an idle one.
    pub fn wake_one(&self, of: usize) {
        let mut may_start = true;
        loop {
            let mut sleepers = self.lock();
            let Some(found) = sleepers.to_wake(of, may_start) else {
                return;
            };
            let sleeper = sleepers.list.swap_remove(found);
            self.deregister(sleeper);
            let has_thread = sleepers.processors.mark_started(sleeper.worker);
            drop(sleepers);
            if has_thread {
                return self.parkers[sleeper.worker].unpark();
            }
            match (self.start)(sleeper.worker) {
                Ok(()) => return,
                Err(_) => {
                    self.start_failed();
                    // The next that has no thread is for the next occasion: the system
                    // may have more to give by then.
                    may_start = false;
                }
            }
        }
    }

    /// Wakes a worker, wherever it sleeps.
    pub fn unpark(&self, worker: usize) {
        self.parkers[worker].unpark();
    }

    /// Wakes every worker, for good.
    pub fn stop(&self) {
        self.lock().processors.stop();
        self.parkers.iter().for_each(|parker| parker.unpark());
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
                self.parkers[of].awaited.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.rebalance(&mut sleepers);
        drop(sleepers);
        // Between our registration and our last look for tasks.
        fence(Ordering::SeqCst);
    }

    /// Counts for a sleeper that was just taken off the list; an idle one
    /// counts as searching from here, so that no second one is woken.
    pub(super) fn deregister(&self, sleeper: Sleeper) {
        match sleeper.until {
            None => {
                self.searching.fetch_add(1, Ordering::Relaxed);
                self.asleep.fetch_sub(1, Ordering::Relaxed);
            }
            Some(of) => {
                self.parkers[of].awaited.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Registers, looks once more, and sleeps unless `found_something`.
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

    /// Ends the sleep of this sleeper, which has just been woken, or has `found`
    /// something before it began; or else its rest, once that is over.
    pub(super) fn end_sleep(&self, sleeper: Sleeper, mut slept: Slept, found: bool) -> Slept {
        loop {
            let mut sleepers = self.lock();
            let place = sleepers.list.iter().position(|other| *other == sleeper);
            if let Some(place) = place {
                sleepers.list.swap_remove(place);
                self.deregister(sleeper);
                return slept;
            }
            // Whoever wakes a sleeper for a task takes it off the list. So does who
            // needs its processor.
            if !sleepers.processors.is_in_reserve(sleeper.worker) {
                return Slept::WokenForTasks;
            }
            // It was put to rest while it looked, and counted as searching before. If
            // it has found something, others rely on it: it goes on, and another may
            // have to rest.
            if found || sleepers.processors.is_stopped() {
                self.searching.fetch_add(1, Ordering::Relaxed);
                sleepers.processors.leave_reserve(sleeper.worker);
                self.rebalance(&mut sleepers);
                return Slept::Woken;
            }
            drop(sleepers);
            self.parkers[sleeper.worker].park();
            slept = Slept::Woken;
        }
    }

    /// An idle worker sleeps until there is something for it, or the time is over.
    pub fn sleep_idle(
        &self,
        worker: usize,
        time: Option<Duration>,
        found_something: impl FnOnce() -> bool,
    ) -> Slept {
        let until = None;
        self.sleep(Sleeper { worker, until }, time, found_something)
    }

    /// A blocked worker sleeps until worker `until` publishes, until it is
    /// unparked, or until the time is over. In the first case it must take what
    /// there is, or see that another does.
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

    /// A blocked worker naps; only the end of what it waits for wakes it.
    pub fn park(&self, worker: usize, time: Option<Duration>) {
        match time {
            Some(time) => {
                self.parkers[worker].park_for(time);
            }
            None => self.parkers[worker].park(),
        }
    }

    /// The only searcher naps; work from outside wakes it.
    pub fn nap(&self, worker: usize, time: Duration) {
        self.napper.store(worker + 1, Ordering::Relaxed);
        self.parkers[worker].park_for(time);
        self.napper.store(0, Ordering::Relaxed);
    }

    /// Sleeps, unregistered, as often as it takes until `is_over`.
    #[cfg(loom)]
    pub fn park_until(&self, worker: usize, mut is_over: impl FnMut() -> bool) {
        while !is_over() {
            self.parkers[worker].park();
        }
    }

    /// An idle worker begins to search.
    pub fn start_searching(&self) {
        self.searching.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends a search. Whoever published or pushed before counted on it, so the
    /// worker must look now whether anything is left for those that sleep.
    pub fn stop_searching(&self) {
        self.searching.fetch_sub(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Whether an idle worker is awake and looks for work.
    pub fn has_searchers(&self) -> bool {
        self.searching.load(Ordering::Relaxed) > 0
    }

    /// Returns whether one idle worker is awake and looks for work.
    pub fn is_only_searcher(&self) -> bool {
        self.searching.load(Ordering::Relaxed) == 1
    }
}
