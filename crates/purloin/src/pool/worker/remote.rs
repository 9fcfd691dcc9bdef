//! A worker, as every thread sees it: [`Remote`].

use crossbeam_utils::CachePadded;

use super::mail::Mailbox;
use super::me::{Core, Owned};
use crate::pool::cache_placement::Hashes;
use crate::pool::{Pool, Shared};
use crate::runtime::{Frames, Slot, TaskStack};
use crate::scheduler::{Scheduler, TaskPool};
use crate::stats::{Counters, Timer};
use crate::sync::{AtomicBool, AtomicUsize, Ordering, plain};

/// A worker of a pool, as every thread sees it. [`Me`](super::Me) has what only the worker's own thread may
/// do. [`PublicTasks`](crate::scheduler::PublicTasks) says what a thief may take.
#[repr(C)]
pub struct Remote<S: Scheduler> {
    /// First, so that the fast path addresses it without an offset.
    pub(crate) tasks: S::TaskPool,
    pub(super) core: Owned<Core<S>>,
    /// The frames of the code that the worker runs.
    pub(crate) frames: Frames<S>,
    /// The number of futures, and of calls that other workers wait for, that the worker runs, one on top of
    /// the other.
    pub(super) futures: AtomicUsize,
    /// The depth in the program's tree that a task in the first slot would have, extrapolated from
    /// the branch that the worker runs. Modulo 2⁶⁴.
    pub(crate) depth: AtomicUsize,
    /// On lines of their own: a worker that waits counts its attempts to steal all the time.
    pub(crate) counters: CachePadded<Counters>,
    pub(crate) timer: Timer,
    /// What the worker waits for, as [`WorkerActivity`](crate::WorkerActivity) encodes it; 0 if it does not wait.
    pub(super) waits_for: plain::AtomicUsize,
    /// On a line of its own: each thief that comes by looks at it.
    pub(super) place: CachePadded<Place<S>>,
    pub(super) mailbox: Mailbox<S>,
}

/// A worker's number and pool, and flags for what it is doing.
pub(super) struct Place<S: Scheduler> {
    index: usize,
    pool: *const Shared<S>,
    /// Whether the worker runs anything; only then can it have tasks.
    pub(super) active: AtomicBool,
    /// Whether the worker is idle and awake, so that it looks at one victim after another.
    pub(super) polling: plain::AtomicBool,
    /// Whether the pool may end although this worker is active. The worker is a thread of the program, which
    /// never goes idle, or it is in its exit handler.
    pub(super) may_pool_end: AtomicBool,
}

// SAFETY: the pool outlives its workers, and is `Sync`. All other fields are `Sync`.
unsafe impl<S: Scheduler> Sync for Remote<S> {}
// SAFETY: the pool outlives its workers. No field is tied to a thread before the worker starts, and
// a worker does not move after it has started.
unsafe impl<S: Scheduler> Send for Remote<S> {}

/// Operations for a scheduler, on any worker.
impl<S: Scheduler> Remote<S> {
    /// The worker's number, from 0. Spare workers come after the others.
    #[inline(always)]
    pub fn index(&self) -> usize {
        self.place.index
    }

    /// The worker's tasks.
    pub fn task_pool(&self) -> &S::TaskPool {
        &self.tasks
    }

    /// All workers of the pool, including this worker, in the order of their numbers. Spare workers
    /// whose threads have not been started are missing.
    pub fn peers(&self) -> &[Remote<S>] {
        &self.pool().worker_threads
    }

    /// Wakes this worker, no matter how it sleeps, or ends its next sleep at once.
    pub fn unpark(&self) {
        self.pool().sleep.unpark(self.index());
    }

    /// Returns whether work from outside the pool waits for an idle worker.
    pub fn has_outside_work(&self) -> bool {
        !self.pool().inbox.is_empty()
    }

    /// Returns the number of the newest call of [`Pool::wait`](crate::Pool::wait), if any call is
    /// waiting. For schedulers that [detect quiescence](Scheduler::DETECTS_QUIESCENCE).
    pub fn standing_wait(&self) -> Option<u64> {
        self.pool().quiescence.awaited()
    }

    /// Ends the calls of [`Pool::wait`](crate::Pool::wait) up to this number, because every task
    /// that was spawned before them is done.
    pub fn end_waits(&self, number: u64) {
        self.pool().quiescence.end(number);
    }
}

impl<S: Scheduler> Remote<S> {
    pub(crate) fn new(
        index: usize,
        pool: *const Shared<S>,
        tasks: S::TaskPool,
        core: Core<S>,
        timer: Timer,
    ) -> Self {
        let frames = Frames::new();
        core.frame.set(frames.root());
        Remote {
            tasks,
            core: Owned::new(core),
            frames,
            futures: AtomicUsize::new(0),
            depth: AtomicUsize::new(0),
            counters: CachePadded::new(Counters::default()),
            timer,
            waits_for: plain::AtomicUsize::new(0),
            place: CachePadded::new(Place {
                index,
                pool,
                active: AtomicBool::new(false),
                polling: plain::AtomicBool::new(false),
                may_pool_end: AtomicBool::new(false),
            }),
            mailbox: Mailbox::new(),
        }
    }

    /// Returns whether the worker runs anything; only then can it have tasks.
    pub(crate) fn is_active(&self) -> bool {
        self.place.active.load(Ordering::Relaxed)
    }

    /// Returns, as a hint, whether the worker is a thief that looks at one victim after another. A
    /// worker that sleeps does not.
    pub(crate) fn is_polling(&self) -> bool {
        !self.is_active() && self.place.polling.load(Ordering::Relaxed)
    }

    /// Returns the hashes of the pages with this worker's words and slots.
    pub(crate) fn hashes(&self) -> Hashes {
        let slots = self.tasks.stack().first();
        Hashes::of_value(self).union(Hashes::of_task_stack(slots.addr()))
    }

    pub(crate) fn pool(&self) -> &Shared<S> {
        // SAFETY: the worker lies in the `Shared` that `pool` points to. A reference to the worker
        // exists only while the worker's thread or a caller from outside keeps it alive.
        unsafe { &*self.place.pool }
    }

    /// Returns the pool as the program sees it.
    pub(super) fn as_pool(&self) -> &Pool<S> {
        // SAFETY: `Shared::add_worker` took the pointer from the `Arc`. A reference to the worker exists
        // only while the worker's thread or a caller from outside keeps it alive.
        unsafe { Shared::as_pool(self.place.pool) }
    }

    /// Returns the active workers other than this worker, from which a thief may steal.
    pub(crate) fn active_others(&self) -> impl Iterator<Item = &Remote<S>> + Clone {
        let others = self.pool().started().iter();
        others.filter(|other| other.index() != self.index() && other.is_active())
    }

    /// Returns the slots of this worker's tasks.
    #[inline(always)]
    pub(crate) fn stack(&self) -> &TaskStack<S> {
        self.tasks.stack()
    }

    /// Returns whether this worker runs a future, or a call from a worker of another pool.
    ///
    /// Relaxed: a worker that runs a descendant of the future sees the count. It has taken the task by
    /// an acquire that pairs with the push, and the push came after the count.
    pub(crate) fn runs_future(&self) -> bool {
        self.futures.load(Ordering::Relaxed) > 0
    }

    /// Returns how deep in the program's tree the task in `slot` is.
    pub(crate) fn depth_of(&self, slot: *const Slot<S>) -> usize {
        let position = self.stack().position(slot);
        self.depth.load(Ordering::Relaxed).wrapping_add(position)
    }

    /// Returns whether this is a spare worker, which runs while another worker is blocked.
    pub(crate) fn is_spare(&self) -> bool {
        self.index() >= self.pool().workers
    }

    /// Returns what the worker waits for, as [`WorkerActivity`](crate::WorkerActivity) encodes it.
    pub(crate) fn waits_for(&self) -> usize {
        self.waits_for.load(Ordering::Relaxed)
    }

    /// Returns whether the worker is a thread of the program that never goes idle, or is in its exit handler.
    pub(crate) fn may_pool_end(&self) -> bool {
        self.place.may_pool_end.load(Ordering::Relaxed)
    }

    /// Returns whether the pool cannot end because of what this worker runs.
    pub(crate) fn keeps_pool(&self) -> bool {
        self.is_active() && !self.may_pool_end()
    }

    /// Returns whether this worker has mail.
    pub(crate) fn has_mail(&self) -> bool {
        self.pool().sleep.has_mail(self.index())
    }

    /// Returns whether tasks of this worker may descend from other work than the task for which the
    /// worker is blocked. Called by a thief that has claimed a task.
    pub(crate) fn runs_on_top(&self) -> bool {
        self.mailbox.runs_on_top.load(Ordering::Relaxed)
    }
}
