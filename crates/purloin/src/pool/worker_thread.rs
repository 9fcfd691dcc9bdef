//! A worker as its pool knows it.

use std::cell::{RefCell, RefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crossbeam_utils::CachePadded;

use super::Shared;
use super::lineage::OwnLineage;
use crate::scheduler::Protocol;
use crate::stats::{Activity, Count, Counters, Timer};
use crate::victim::Walk;

/// One worker of a pool: its tasks, and its place among the others.
#[repr(C)]
pub struct Member<S: Protocol> {
    /// First, so that the fast path addresses it without an offset.
    pub(crate) tasks: S::Tasks,
    pub(crate) index: usize,
    pool: *const Shared<S>,
    /// Whether it runs anything; only then can it have tasks.
    active: CachePadded<AtomicBool>,
    own: CachePadded<Own>,
    lineage: OwnLineage,
}

/// Used by the worker's own thread only, but for reading the counters.
struct Own {
    /// Its way through its victims.
    walk: RefCell<Box<dyn Walk>>,
    counters: Counters,
    timer: Timer,
}

// SAFETY: `pool` outlives its members, and is `Sync`; `own.walk` is used by
// the worker's own thread only; all else is `Sync`.
unsafe impl<S: Protocol> Sync for Member<S> {}
// SAFETY: `pool` outlives its members. Nothing is tied to a thread before the worker starts,
// and members do not move after that.
unsafe impl<S: Protocol> Send for Member<S> {}

impl<S: Protocol> Member<S> {
    pub(super) fn new(
        index: usize,
        pool: *const Shared<S>,
        tasks: S::Tasks,
        walk: Box<dyn Walk>,
        timed: bool,
    ) -> Self {
        Member {
            tasks,
            index,
            pool,
            active: CachePadded::new(AtomicBool::new(false)),
            own: CachePadded::new(Own {
                walk: RefCell::new(walk),
                counters: Counters::default(),
                timer: Timer::new(timed),
            }),
            lineage: OwnLineage::new(),
        }
    }

    pub(crate) fn pool(&self) -> &Shared<S> {
        // SAFETY: members lie in their pool's shared part, which each worker's
        // thread and each caller from outside keeps alive.
        unsafe { &*self.pool }
    }

    /// The others, from which a thief may steal: those that are active.
    pub(crate) fn active_others(&self) -> impl Iterator<Item = &Member<S>> + Clone {
        let others = self.pool().members.iter();
        others.filter(|other| other.index != self.index && other.is_active())
    }

    /// This worker's way through its victims, on its own thread.
    pub(crate) fn walk(&self) -> RefMut<'_, Box<dyn Walk>> {
        self.own.walk.borrow_mut()
    }

    /// Runs what this worker has stolen.
    pub(crate) fn run_stolen(&self, stolen: S::Stolen) {
        let delay = self.pool().steal_delay;
        if !delay.is_zero() {
            let running = self.timer().turn_to_stealing();
            let start = Instant::now();
            while start.elapsed() < delay {
                std::hint::spin_loop();
            }
            self.timer().turn(running);
        }
        S::run(self, stolen);
    }

    /// Whether it is there for the time when another is blocked.
    pub(crate) fn is_spare(&self) -> bool {
        self.index >= self.pool().workers
    }

    pub(crate) fn is_active(&self) -> bool {
        self.active.load(Ordering::Relaxed)
    }

    /// Runs `work` as an active worker: one that thieves look at.
    pub(super) fn active(&self, work: impl FnOnce()) {
        self.active.store(true, Ordering::Relaxed);
        S::became_active(self);
        self.timer().turn(Activity::Application);
        work();
        self.timer().turn(Activity::Searching);
        self.active.store(false, Ordering::Relaxed);
    }

    pub(super) fn own_lineage(&self) -> &OwnLineage {
        &self.lineage
    }

    pub(crate) fn count(&self, count: Count) {
        self.own.counters.add(count);
    }

    pub(crate) fn timer(&self) -> &Timer {
        &self.own.timer
    }

    pub(super) fn counters(&self) -> &Counters {
        &self.own.counters
    }
}
