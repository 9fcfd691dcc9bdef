//! Sleeping and waking. The page above tells the protocol.

use std::time::Duration;

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicUsize, Condvar, Mutex, Ordering, fence, lock};

/// The sleepers of a pool, and those that might wake them.
pub(crate) struct Sleep {
    /// Idle workers that are awake, or napping, and look for work.
    searching: CachePadded<AtomicUsize>,
    /// Idle workers registered as sleepers.
    asleep: CachePadded<AtomicUsize>,
    sleepers: Mutex<Vec<Sleeper>>,
    /// The worker that naps, plus one.
    napper: AtomicUsize,
    beds: Box<[CachePadded<Bed>]>,
}

/// A registered sleeper.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Sleeper {
    worker: usize,
    /// A blocked worker sleeps until this one publishes; an idle one until
    /// anyone does.
    until: Option<usize>,
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

/// Where one worker sleeps.
struct Bed {
    woken: Mutex<bool>,
    wake: Condvar,
    /// Blocked workers registered as sleepers until this one publishes.
    awaited: AtomicUsize,
}

impl Bed {
    fn park(&self) {
        let mut woken = lock(&self.woken);
        while !*woken {
            woken = match self.wake.wait(woken) {
                Ok(woken) => woken,
                Err(poisoned) => poisoned.into_inner(),
            };
        }
        *woken = false;
    }

    /// False if nobody came.
    #[cfg(not(loom))]
    fn park_for(&self, time: Duration) -> bool {
        let woken = lock(&self.woken);
        let (mut woken, _) = match self.wake.wait_timeout_while(woken, time, |woken| !*woken) {
            Ok(result) => result,
            Err(poisoned) => poisoned.into_inner(),
        };
        std::mem::replace(&mut woken, false)
    }

    #[cfg(loom)]
    fn park_for(&self, _: Duration) -> bool {
        crate::sync::yield_now();
        false
    }

    fn unpark(&self) {
        *lock(&self.woken) = true;
        self.wake.notify_one();
    }
}

impl Sleep {
    pub(crate) fn new(workers: usize) -> Sleep {
        let bed = || {
            CachePadded::new(Bed {
                woken: Mutex::new(false),
                wake: Condvar::new(),
                awaited: AtomicUsize::new(0),
            })
        };
        Sleep {
            searching: CachePadded::new(AtomicUsize::new(0)),
            asleep: CachePadded::new(AtomicUsize::new(0)),
            sleepers: Mutex::new(Vec::new()),
            napper: AtomicUsize::new(0),
            beds: (0..workers).map(|_| bed()).collect(),
        }
    }

    /// The worker `by` has made tasks public: wakes one that may take them,
    /// unless somebody is looking anyway.
    pub(crate) fn published(&self, by: usize) {
        // Between the publication and our look for sleepers.
        fence(Ordering::SeqCst);
        if self.searching.load(Ordering::Relaxed) == 0 && self.has_sleepers(by) {
            self.wake_one(by);
        }
    }

    /// There is work from outside: wakes an idle worker for it.
    pub(crate) fn injected(&self) {
        fence(Ordering::SeqCst);
        if self.searching.load(Ordering::Relaxed) == 0 {
            self.wake_one(usize::MAX);
        } else if let Some(napper) = self.napper.load(Ordering::Relaxed).checked_sub(1) {
            self.unpark(napper);
        }
    }

    /// Whether anyone sleeps who could use a task of worker `of`.
    pub(crate) fn has_sleepers(&self, of: usize) -> bool {
        self.asleep.load(Ordering::Relaxed) > 0 || self.beds[of].awaited.load(Ordering::Relaxed) > 0
    }

    /// How many workers are idle, awake or asleep.
    pub(crate) fn idle(&self) -> usize {
        self.searching.load(Ordering::Relaxed) + self.asleep.load(Ordering::Relaxed)
    }

    /// A worker says that it is about to offer tasks, and learns whether it
    /// should ask itself for them.
    pub(crate) fn is_needed_by_sleepers(&self, of: usize) -> bool {
        fence(Ordering::SeqCst);
        self.has_sleepers(of)
    }

    /// Wakes one sleeper for the tasks of worker `of`: one that is blocked on
    /// it, as nothing else can help that, or else an idle one.
    pub(crate) fn wake_one(&self, of: usize) {
        let mut sleepers = lock(&self.sleepers);
        let found = sleepers
            .iter()
            .rposition(|sleeper| sleeper.until == Some(of))
            .or_else(|| sleepers.iter().rposition(|sleeper| sleeper.until.is_none()));
        let Some(found) = found else { return };
        let sleeper = sleepers.swap_remove(found);
        self.deregister(sleeper);
        drop(sleepers);
        self.unpark(sleeper.worker);
    }

    /// Wakes a worker, wherever it sleeps.
    pub(crate) fn unpark(&self, worker: usize) {
        self.beds[worker].unpark();
    }

    /// Wakes every worker.
    pub(crate) fn unpark_all(&self) {
        self.beds.iter().for_each(|bed| bed.unpark());
    }

    fn register(&self, sleeper: Sleeper) {
        let mut sleepers = lock(&self.sleepers);
        sleepers.push(sleeper);
        match sleeper.until {
            None => {
                self.asleep.fetch_add(1, Ordering::Relaxed);
                self.searching.fetch_sub(1, Ordering::Relaxed);
            }
            Some(of) => {
                self.beds[of].awaited.fetch_add(1, Ordering::Relaxed);
            }
        }
        drop(sleepers);
        // Between our registration and our last look for tasks.
        fence(Ordering::SeqCst);
    }

    /// Counts for a sleeper that was just taken off the list; an idle one
    /// counts as searching from here, so that no second one is woken.
    fn deregister(&self, sleeper: Sleeper) {
        match sleeper.until {
            None => {
                self.searching.fetch_add(1, Ordering::Relaxed);
                self.asleep.fetch_sub(1, Ordering::Relaxed);
            }
            Some(of) => {
                self.beds[of].awaited.fetch_sub(1, Ordering::Relaxed);
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
        if !found_something() {
            let bed = &self.beds[sleeper.worker];
            match time {
                Some(time) if !bed.park_for(time) => slept = Slept::TimedOut,
                Some(_) => (),
                None => bed.park(),
            }
        }
        // Whoever woke us for a task has taken us off the list.
        let mut sleepers = lock(&self.sleepers);
        let place = sleepers.iter().position(|other| *other == sleeper);
        if let Some(place) = place {
            sleepers.swap_remove(place);
            self.deregister(sleeper);
        }
        match place {
            Some(_) => slept,
            None => Slept::WokenForTasks,
        }
    }

    /// An idle worker sleeps until there is something for it, or the time is over.
    pub(crate) fn sleep_idle(
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
    pub(crate) fn sleep_blocked(
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
    pub(crate) fn nap_blocked(&self, worker: usize, time: Duration) {
        self.beds[worker].park_for(time);
    }

    /// The only searcher naps; work from outside wakes it.
    pub(crate) fn nap(&self, worker: usize, time: Duration) {
        self.napper.store(worker + 1, Ordering::Relaxed);
        self.beds[worker].park_for(time);
        self.napper.store(0, Ordering::Relaxed);
    }

    /// Sleeps, unregistered, as often as it takes until `is_over`.
    pub(crate) fn park_until(&self, worker: usize, mut is_over: impl FnMut() -> bool) {
        while !is_over() {
            self.beds[worker].park();
        }
    }

    pub(crate) fn start_searching(&self) {
        self.searching.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends a search. Whoever published or pushed before counted on it, so the
    /// worker must look now whether anything is left for those that sleep.
    pub(crate) fn stop_searching(&self) {
        self.searching.fetch_sub(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Whether an idle worker is awake and looks for work.
    pub(crate) fn is_anyone_searching(&self) -> bool {
        self.searching.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn is_only_searcher(&self) -> bool {
        self.searching.load(Ordering::Relaxed) == 1
    }
}
