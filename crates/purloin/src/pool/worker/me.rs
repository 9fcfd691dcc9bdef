//! A worker on its own thread: [`Me`], and [`Core`], what only this thread uses.

use std::cell::{Cell, RefCell, RefMut};
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::null;
use std::time::Duration;

use super::Remote;
use crate::pool::{Pool, Shared};
use crate::promise::Blocks;
use crate::runtime::{Frame, Tickets};
use crate::scheduler::{Point, Protocol, Scheduler};
use crate::sleep::{SpinTime, TinyTasks};
use crate::stats::{Activity, Count, Timer};
use crate::sync::plain::Ordering;
use crate::this_thread;
use crate::tracing::buffer::Record;
use crate::victim::Walk;

/// A worker, on its own thread: what other threads see of it ([`Remote`]), and what only this thread may do.
///
/// It is not `Send`, and it is made where a thread finds its worker. So a function that gets it runs on
/// the worker's thread, and says so by its type.
#[repr(transparent)]
pub struct Me<'w, S: Scheduler> {
    remote: &'w Remote<S>,
    not_send: PhantomData<*const ()>,
}

// Derived implementations would demand that `S` be `Clone` and `Copy`.
impl<S: Scheduler> Clone for Me<'_, S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<S: Scheduler> Copy for Me<'_, S> {}

impl<S: Scheduler> Deref for Me<'_, S> {
    type Target = Remote<S>;

    #[inline(always)]
    fn deref(&self) -> &Remote<S> {
        self.remote
    }
}

/// The part of a worker that only its own thread uses.
pub(crate) struct Core<S: Scheduler> {
    /// The innermost frame, or the code outside of all frames.
    pub(crate) frame: Cell<*const Frame<S>>,
    /// The futures whose tickets lie on the stack.
    pub(crate) tickets: Tickets<S>,
    /// Free memory for futures.
    pub(crate) blocks: Blocks,
    /// How many waits lie on top of each other on this thread: stolen tasks whose code has returned and that
    /// wait for their spawns, and waits during which the worker runs unrelated work. Each began while the one
    /// below it waited.
    pub(crate) suspended: Cell<usize>,
    /// The number of suspended tasks that one finish may cause before its spawns go to its queue.
    pub(crate) max_suspended: usize,
    /// Whether the stolen ticket that this worker has just reached must stay stolen, because the future's
    /// closure is suspended further down on the same thread.
    pub(crate) keeps_ticket: Cell<bool>,
    /// Whether the next spawn is the first of a stolen task.
    pub(crate) is_first_spawn: Cell<bool>,
    /// Whether the worker runs a job within [`Pool::yield_now`].
    pub(crate) yields: Cell<bool>,
    /// The spare parts of the loop that asks its iterator.
    spare_parts: Cell<SpareParts>,
    walk: RefCell<Walk>,
    pub(super) spin_time: Cell<SpinTime>,
    /// How long the worker's last successful claim took.
    pub(crate) claim: Cell<Duration>,
    /// Tiny tasks that this worker has stolen while it was idle.
    pub(super) tiny_stolen: Cell<TinyTasks>,
    /// Tiny tasks for which this worker has waited in joins.
    pub(crate) tiny_awaited: Cell<TinyTasks>,
}

/// The addresses between which the newest [spare parts](Me::spawn_spare_part) of a loop lie on the stack.
#[derive(Clone, Copy, Default)]
pub(crate) struct SpareParts {
    start: usize,
    end: usize,
}

impl<S: Scheduler> Core<S> {
    pub(crate) fn new(walk: Walk, max_suspended: usize) -> Self {
        Core {
            frame: Cell::new(null()),
            tickets: Tickets::default(),
            blocks: Blocks::default(),
            suspended: Cell::new(0),
            max_suspended,
            keeps_ticket: Cell::new(false),
            is_first_spawn: Cell::new(false),
            yields: Cell::new(false),
            spare_parts: Cell::default(),
            walk: RefCell::new(walk),
            spin_time: Cell::new(SpinTime::usual()),
            claim: Cell::new(Duration::ZERO),
            tiny_stolen: Cell::new(TinyTasks::NONE),
            tiny_awaited: Cell::new(TinyTasks::NONE),
        }
    }
}

/// Operations for a scheduler, on a worker's own thread.
impl<'w, S: Scheduler> Me<'w, S> {
    /// Returns what other threads see of the worker. The reference lives for `'w`, longer than one obtained
    /// through `Deref`.
    #[inline(always)]
    pub fn remote(self) -> &'w Remote<S> {
        self.remote
    }

    /// Begins a search for a victim. Returns the first victim in the order of the pool's [victim
    /// selection](crate::VictimSelection), active or not, or `None` if the worker is the only one.
    pub fn drawn_victim(self) -> Option<&'w Remote<S>> {
        let mut walk = self.walk();
        walk.start();
        Some(&self.remote.peers()[walk.next()?])
    }

    /// Counts an event.
    pub fn count(self, count: Count) {
        self.remote.counters.add(count);
        let record = match count {
            Count::ForcedSteals => Record::Forced,
            Count::Handoffs => Record::HandoffBegin,
            Count::Publications => Record::Published,
            _ => return,
        };
        if let Some(trace) = self.timer().trace() {
            trace.push(record);
        }
    }

    /// Returns the current time, as the start of an attempt to steal for [`Self::time_steal`].
    pub fn attempt_began(self) -> u64 {
        self.timer().now()
    }

    /// Records a successful steal, whose attempt began at `began`.
    pub fn time_steal(self, began: u64) {
        self.timer().stolen(began);
    }

    /// Records that the worker has been answering thieves since `began`.
    pub fn time_service(self, began: u64) {
        self.timer().served(began);
    }
}

impl<'w, S: Scheduler> Me<'w, S> {
    /// # Safety
    ///
    /// The calling thread is the worker's own.
    #[inline(always)]
    pub(crate) unsafe fn new(remote: &'w Remote<S>) -> Self {
        Me {
            remote,
            not_send: PhantomData,
        }
    }

    #[inline(always)]
    pub(crate) fn core(self) -> &'w Core<S> {
        self.remote.core.of(self)
    }

    pub(crate) fn pool(self) -> &'w Shared<S> {
        self.remote.pool()
    }

    /// Returns whether this thread still runs the worker. In a forked process it does not.
    pub(crate) fn is_current(self) -> bool {
        this_thread::worker_of(self.pool().id).is_some()
    }

    /// Returns the pool as the program sees it.
    pub(crate) fn as_pool(self) -> &'w Pool<S> {
        self.remote.as_pool()
    }

    pub(crate) fn timer(self) -> &'w Timer {
        &self.remote.timer
    }

    /// Returns the worker's walk through its victims.
    pub(crate) fn walk(self) -> RefMut<'w, Walk> {
        self.core().walk.borrow_mut()
    }

    /// Calls `spawn`, which spawns a part of a loop over an iterator, for the case that a worker looks for work, and adds
    /// it to the spare `parts`. As long as it has not begun, such a part has no items, so the iterator does not wait for
    /// it.
    pub(crate) fn spawn_spare_part(self, parts: &mut SpareParts, spawn: impl FnOnce()) {
        let slot = self.stack().top();
        spawn();
        let (top, SpareParts { start, end }) = (self.stack().top(), *parts);
        *parts = match end == slot.addr() {
            // Otherwise the task went to a queue, or the spawn has removed others from the stack.
            _ if top != slot.wrapping_add(1) => SpareParts::default(),
            true => SpareParts {
                start,
                end: top.addr(),
            },
            false => SpareParts {
                start: slot.addr(),
                end: top.addr(),
            },
        };
    }

    /// Asks the iterator of a loop. Meanwhile the worker knows the spare `parts` of the loop.
    pub(crate) fn beside_spare_parts<R>(self, parts: SpareParts, ask: impl FnOnce() -> R) -> R {
        struct Known<'w, S: Scheduler>(Me<'w, S>, SpareParts);

        impl<S: Scheduler> Drop for Known<'_, S> {
            fn drop(&mut self) {
                self.0.core().spare_parts.set(self.1);
            }
        }

        let _known = Known(self, self.core().spare_parts.replace(parts));
        ask()
    }

    /// Returns, as a hint, whether the worker has a task that is not stolen, apart from spare parts.
    pub(super) fn has_unstolen(self) -> bool {
        let stack = self.stack();
        let SpareParts { start, end } = self.core().spare_parts.get();
        let are_spare = end == stack.top().addr() && start <= stack.bottom().addr();
        stack.has_unstolen() && !are_spare
    }

    /// Runs `work` as an active worker, whose tasks thieves look for.
    pub(crate) fn active(self, work: impl FnOnce()) {
        debug_assert!(self.is_outermost(), "only an idle worker becomes active");
        self.set_active(true);
        S::Protocol::answer(self, Point::Active);
        self.timer().switch_to(Activity::Application);
        work();
        self.timer().switch_to(Activity::Searching);
        self.set_active(false);
    }

    /// Sets whether the worker, while it is idle, looks at one victim after another.
    pub(crate) fn set_polling(self, is_polling: bool) {
        self.place.polling.store(is_polling, Ordering::Relaxed);
    }

    /// Sets whether thieves look for tasks of this worker.
    pub(crate) fn set_active(self, is_active: bool) {
        // Release: whoever sees that the worker is inactive, and then looks for its own mail, finds
        // the messages that this worker has sent. For the rest relaxed would do: a fence follows
        // before each look that depends on it, and the release of the inbox's length before a job
        // that is taken.
        self.place.active.store(is_active, Ordering::Release);
        if !is_active {
            self.pool().sleep.became_inactive();
        }
    }

    /// Lets the pool end although this worker is active.
    pub(crate) fn let_pool_end(self) {
        // Relaxed: a worker that does not see it yet waits until this worker is inactive, or wakes it.
        self.place.may_pool_end.store(true, Ordering::Relaxed);
        self.pool().sleep.became_inactive();
    }

    /// Counts a future, or a call that another worker waits for, that this worker begins to run.
    pub(crate) fn begin_future(self) {
        // Relaxed, and not atomic as a whole: only this worker writes. See `Remote::runs_future`.
        let futures = self.futures.load(Ordering::Relaxed);
        self.futures.store(futures + 1, Ordering::Relaxed);
    }

    /// Takes back one [`Self::begin_future`].
    pub(crate) fn end_future(self) {
        let futures = self.futures.load(Ordering::Relaxed);
        self.futures.store(futures - 1, Ordering::Relaxed);
    }
}

/// A value that only the worker's own thread uses.
pub(super) struct Owned<T>(T);

// SAFETY: only the worker's own thread gets a reference to the value. (The pool's creator makes the
// value, and the thread that drops the pool drops it.)
unsafe impl<T> Sync for Owned<T> {}

impl<T> Owned<T> {
    pub(super) fn new(value: T) -> Self {
        Owned(value)
    }

    /// Returns the value, on the thread of the worker `_me`, which must own it.
    #[inline(always)]
    fn of<S: Scheduler>(&self, _me: Me<'_, S>) -> &T {
        &self.0
    }
}
