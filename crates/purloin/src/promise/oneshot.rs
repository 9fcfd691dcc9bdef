//! A oneshot channel, which carries a task's result from the thread that runs the task to the
//! threads that get it. The message itself lies behind the channel, in the memory of the task: the
//! channel says to whom it belongs.
//!
//! | word | written by | read by |
//! |---|---|---|
//! | `state`: TASK, then STOLEN, then DONE. Before DONE, two bits show that someone waits | the claimant moves it from TASK to STOLEN and DONE; a waiting worker sets WAITED_FOR, a watcher WATCHED | all |
//! | `waiter` | each worker that waits, before it sets the bit | the claimant, after DONE, if the bit was set; workers that wait |
//! | `watchers`, under a lock | each watcher, before DONE, once it has set WATCHED | the claimant, after DONE, if the bit was set; it takes all of them out |
//! | the message | the claimant, before DONE; the thread that takes it, after | the handles, after DONE |
//! | `holders` | each holder, when it releases the channel; the holder that adds one | the last one but a job drops the message; the last one frees the channel; the ticket waits until no extra holder is left |
//! | `may_leapfrog` | the claimant | workers that wait |
//! | `is_injected` | whoever makes a channel with a job; the holder that injects a job, once | holders that would inject one |
//! | `is_cancelled` | the claimant, before DONE | the handles, after DONE; whoever drops the message |
//! | `is_helped` | the first worker that waits through a handle | the others, which do not help |
//! | `is_fetched` | the first thread that gets the result through a shared handle, after DONE; it continues the task's panic, if that is the message | the others; whoever drops the message |
//!
//! The holders are the task's handle and its ticket. If a thread outside the pool asks for the
//! result, there may be a third holder: a job with which an idle worker runs the closure. A future
//! that belongs to no scope has such a job from the start, instead of a ticket. The job claims the
//! closure or releases the channel; it never waits.
//!
//! The scope of the future does not wait for such a job, and the result may borrow from the scope. So
//! the last holder other than the job drops a result that was never fetched, and leaves only the memory
//! to the job. For this reason the job is counted separately. (The result of a future without a scope
//! borrows nothing, and its job is a holder like the handle.)
//!
//! A worker that runs such a job, and claims, is an **extra holder** from then on, and counted apart. It still
//! uses the channel for a moment after DONE. The ticket waits until the extra holder has released the channel,
//! and only then releases it itself. Otherwise the extra holder could be the last one, and would be left
//! with the task's panic after the scope of the task has ended. (A thread that claims through a handle needs no
//! holder of its own, because it borrows the handle until it returns.)
//!
//! Many threads may [share](super::SharedTask) the handle, which is one holder. One worker among them
//! waits on the channel; all others are watchers. If a third worker runs the closure, that one and
//! the ticket may both wait: two workers. Then `waiter` no longer tells which, and the claimant wakes all
//! workers.

use std::ptr::NonNull;
use std::task::Waker;

use super::wake;
use crate::cancel::Cancelled;
use crate::graph::Pending;
use crate::runtime::state::{ShortSpin, State, StateWord};
use crate::sync::{AtomicBool, AtomicU32, Mutex, Ordering, lock};
use crate::unwind::Panic;

/// Whom to wake when the message is available.
#[derive(Default)]
pub(crate) struct Waiters {
    pub(crate) worker: WaitingWorker,
    pub(crate) watchers: Watchers,
}

/// The workers among the [`Waiters`].
#[derive(Default)]
pub(crate) enum WaitingWorker {
    #[default]
    None,
    One(usize),
    /// More than one; the channel does not record which.
    Several,
}

/// The wakers, and the tasks that begin after this one, that the end of a task wakes. Most tasks have two successors at most.
#[derive(Default)]
pub(crate) struct Watchers {
    /// Tasks that begin after this one. (The compiler would copy an array of two to its place.)
    first: Option<NonNull<Pending>>,
    second: Option<NonNull<Pending>>,
    more: Option<Box<More>>,
}

#[derive(Default)]
struct More {
    /// Of threads and of executors.
    wakers: Vec<Waker>,
    successors: Vec<NonNull<Pending>>,
}

// SAFETY: `Oneshot::precede` says that each successor lives until the end wakes it, and any thread may do that.
unsafe impl Send for Watchers {}

impl Watchers {
    /// Wakes all, after the end of the task, within the frame of the worker that has run it. So a worker that helps
    /// this one does not take the tasks that begin now: they need not be what it waits for.
    #[inline]
    pub(crate) fn wake(self) {
        if self.first.is_some() || self.more.is_some() {
            self.wake_all();
        }
    }

    fn wake_all(self) {
        let More { wakers, successors } = *self.more.unwrap_or_default();
        wakers.into_iter().for_each(wake);
        let first = self.first.into_iter().chain(self.second);
        for pending in first.chain(successors) {
            // SAFETY: `Oneshot::precede` counted the input, and this is its end, once.
            unsafe { Pending::input_ended(pending) };
        }
    }
}

/// Values of `waiter` that are not the index of a worker.
const NO_WORKER: u32 = u32::MAX;
const SEVERAL_WORKERS: u32 = u32::MAX - 1;

/// How much the job of a future with a scope counts in `holders`.
pub(crate) const JOB: u32 = 1 << 8;

/// How much an extra holder counts in `holders`. Any other holder counts 1.
pub(crate) const EXTRA_HOLDER: u32 = 1 << 16;

/// A channel for one message.
pub(crate) struct Oneshot {
    state: StateWord,
    holders: AtomicU32,
    waiter: AtomicU32,
    watchers: Mutex<Watchers>,
    /// Whether a waiting worker may leapfrog with the claimant: when the claimant claimed, all of its
    /// tasks were stolen.
    may_leapfrog: AtomicBool,
    /// Whether a job was injected with which an idle worker claims.
    is_injected: AtomicBool,
    /// Whether the task was cancelled, or ended because another task was.
    is_cancelled: AtomicBool,
    /// Whether a thread has got the result through a shared handle. If the message is a panic, that thread has it.
    is_fetched: AtomicBool,
    /// Whether a worker that needs the result helps the claimant.
    is_helped: AtomicBool,
}

impl Oneshot {
    // The caller writes the channel to its place. Without this it would copy it there.
    #[inline]
    fn with(state: State, holders: u32, is_injected: bool) -> Self {
        Oneshot {
            state: StateWord::new(state),
            holders: AtomicU32::new(holders),
            waiter: AtomicU32::new(NO_WORKER),
            watchers: Mutex::new(Watchers::default()),
            may_leapfrog: AtomicBool::new(false),
            is_injected: AtomicBool::new(is_injected),
            is_cancelled: AtomicBool::new(false),
            is_fetched: AtomicBool::new(false),
            is_helped: AtomicBool::new(false),
        }
    }

    /// Returns an unclaimed channel with two holders: the handle, and the ticket or a job that
    /// `is_injected`.
    #[inline]
    pub(crate) fn new(is_injected: bool) -> Self {
        Self::with(State::TASK, 2, is_injected)
    }

    /// Returns the channel of a task that has ended, with one holder: the handle.
    pub(crate) fn ended() -> Self {
        Self::with(State::DONE, 1, false)
    }

    /// Returns whether no holder has claimed, as far as this thread knows.
    #[inline]
    pub(crate) fn is_unclaimed(&self) -> bool {
        self.state.get(Ordering::Relaxed) == State::TASK
    }

    /// Returns, as a hint, whether a worker has claimed.
    pub(crate) fn is_begun(&self) -> bool {
        let state = self.state.get(Ordering::Relaxed);
        state.thief().is_some() || state == State::DONE
    }

    /// Claims on behalf of `worker`, which will send. Returns false if another holder has
    /// claimed.
    pub(crate) fn claim(&self, worker: usize) -> bool {
        let (unclaimed, claimed) = (State::TASK, State::stolen(worker));
        // Relaxed: the closure came with the ticket or with the future.
        let order = Ordering::Relaxed;
        match self.state.exchange(unclaimed, claimed, order) {
            Ok(()) => true,
            // There are watchers already. Only a claim can follow this state.
            Err(state) if state == unclaimed.watched() => {
                let claimed = claimed.watched();
                self.state.exchange(state, claimed, order).is_ok()
            }
            Err(_) => false,
        }
    }

    /// Claimant: declares that it offers only descendants of the claimed task.
    pub(crate) fn allow_leapfrogging(&self) {
        // Relaxed: a worker that does not see it does not leapfrog.
        self.may_leapfrog.store(true, Ordering::Relaxed);
    }

    pub(crate) fn may_leapfrog(&self) -> bool {
        self.may_leapfrog.load(Ordering::Relaxed)
    }

    /// Claimant, before the end: notes whether this panic, the message, is a [`Cancelled`].
    pub(crate) fn note_if_cancelled(&self, panic: &Panic) {
        // Relaxed: DONE, which this thread sets later, releases it to the handles.
        (self.is_cancelled).store(panic.is::<Cancelled>(), Ordering::Relaxed);
    }

    /// A handle, after the end, or whoever drops the message: returns whether it is a [`Cancelled`].
    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// A shared handle, after the end: says that a thread gets the result. Returns whether it is the first.
    pub(crate) fn note_fetched(&self) -> bool {
        // Relaxed: each thread has seen the end, and with it the message. Whoever drops the message sees the flag,
        // because the handle is given up first.
        !self.is_fetched() && !self.is_fetched.swap(true, Ordering::Relaxed)
    }

    /// Returns whether a thread has got the result through a shared handle.
    pub(crate) fn is_fetched(&self) -> bool {
        self.is_fetched.load(Ordering::Relaxed)
    }

    /// Claimant, once: marks the claimed task done. Returns the threads to wake.
    pub(crate) fn end(&self) -> Waiters {
        // Releases the message, and acquires the identity of the waiters.
        let last = self.state.finish();
        let mut waiters = Waiters::default();
        if last.is_waited_for() {
            waiters.worker = match self.waiter.load(Ordering::Relaxed) {
                SEVERAL_WORKERS => WaitingWorker::Several,
                worker => WaitingWorker::One(worker as usize),
            };
        }
        if last.is_watched() {
            waiters.watchers = std::mem::take(&mut *lock(&self.watchers));
        }
        waiters
    }

    /// A handle: returns whether this worker is the one that helps the claimant.
    pub(crate) fn may_help(&self) -> bool {
        // Relaxed: one worker helps; which one does not matter.
        !self.is_helped.swap(true, Ordering::Relaxed)
    }

    /// A holder that has not claimed: adds a worker that may wait.
    pub(crate) fn add_waiter(&self, worker: usize) {
        // Relaxed: setting the bit WAITED_FOR later releases this store.
        let (worker, order) = (worker as u32, Ordering::Relaxed);
        match self
            .waiter
            .compare_exchange(NO_WORKER, worker, order, order)
        {
            Err(other) if other != worker => {
                self.waiter.store(SEVERAL_WORKERS, order);
                // The bit may be set already, so this sets it again, to release the store.
                while !self.is_done() && !self.state.wait_for_anew() {}
            }
            _ => (),
        }
    }

    /// A handle: lets the end wake `waker`. Returns false if the task is already done.
    pub(crate) fn watch(&self, waker: Waker) -> bool {
        self.add(|watchers| watchers.more.get_or_insert_default().wakers.push(waker))
    }

    /// A handle: takes back a [`Self::watch`], unless the end has come.
    pub(crate) fn unwatch(&self, waker: &Waker) {
        if let Some(more) = &mut lock(&self.watchers).more {
            more.wakers.retain(|other| !other.will_wake(waker));
        }
    }

    /// A handle: lets the end count for a task that begins after this one. Returns false if this task is already done.
    ///
    /// # Safety
    ///
    /// The successor waits for the end, and lives until [`Pending::input_ended`].
    pub(crate) unsafe fn precede(&self, successor: NonNull<Pending>) -> bool {
        self.add(|watchers| {
            if watchers.first.is_none() {
                watchers.first = Some(successor);
            } else if watchers.second.is_none() {
                watchers.second = Some(successor);
            } else {
                let more = watchers.more.get_or_insert_default();
                more.successors.push(successor);
            }
        })
    }

    /// Adds a watcher. Returns false if the task is already done.
    fn add(&self, add: impl FnOnce(&mut Watchers)) -> bool {
        // The claimant locks after it has seen the bit, so it finds the watcher, or the bit was not set in time.
        let mut watchers = lock(&self.watchers);
        while !self.state.is_done() {
            if self.state.watch() {
                add(&mut watchers);
                return true;
            }
        }
        false
    }

    /// Returns, as a hint, whether [`Self::call_worker`] would return false.
    pub(crate) fn needs_no_call(&self) -> bool {
        self.is_begun() || self.is_injected.load(Ordering::Relaxed)
    }

    /// A holder: returns whether it must inject a job with which an idle worker claims. The job is one
    /// more holder, and counts as [`JOB`]. Returns false if a worker has claimed, or if a job was
    /// injected before.
    pub(crate) fn call_worker(&self) -> bool {
        // Relaxed: one thread injects; which one does not matter.
        let calls = !self.is_begun() && !self.is_injected.swap(true, Ordering::Relaxed);
        if calls {
            // Relaxed: the calling holder keeps the channel alive.
            self.holders.fetch_add(JOB, Ordering::Relaxed);
        }
        calls
    }

    /// The claimant, a job that counts as `instead_of`: makes itself an extra holder.
    pub(crate) fn become_extra_holder(&self, instead_of: u32) {
        // Relaxed: DONE, which this thread sets later, releases the count to the ticket.
        self.holders
            .fetch_add(EXTRA_HOLDER - instead_of, Ordering::Relaxed);
    }

    /// The ticket, after DONE: waits until the extra holder, if there is one, has released the channel. The
    /// extra holder runs none of the program's code before that.
    pub(crate) fn await_extra_holder(&self) {
        let mut spin = ShortSpin::default();
        // Acquire: what the extra holder did happens before the scope ends.
        while self.holders.load(Ordering::Acquire) >= EXTRA_HOLDER {
            spin.pause();
        }
    }

    /// Returns the state to wait on.
    pub(crate) fn outcome(&self) -> &StateWord {
        &self.state
    }

    pub(crate) fn is_done(&self) -> bool {
        self.state.is_done()
    }

    /// Releases the channel for a holder that counts as 1 or as [`EXTRA_HOLDER`], unless a job is the only other holder.
    /// Returns true in that case: the caller must then drop the message, and call [`release`](Self::release).
    ///
    /// The scope of the task waits for the handle and for
    /// the ticket. It does not wait for an extra holder that has released the channel. But an extra holder is
    /// never the last holder of a future with a scope, because the ticket leaves after it. So the message is dropped
    /// before the scope ends.
    #[must_use]
    pub(crate) fn release_unless_last(&self, count: u32) -> bool {
        // Acquire: the message.
        let mut now = self.holders.load(Ordering::Acquire);
        while now - now % EXTRA_HOLDER + now % JOB != count {
            // AcqRel: as below.
            let order = (Ordering::AcqRel, Ordering::Acquire);
            let less = now - count;
            match (self.holders).compare_exchange_weak(now, less, order.0, order.1) {
                Ok(_) => return false,
                Err(other) => now = other,
            }
        }
        // If the future has a scope, its ticket has seen
        // the end before it has released the channel, so the job does not claim any more. If it has none,
        // its job is among the holders that have released the channel.
        true
    }

    /// Releases the channel for a job, or for the last other holder. Returns whether no holder is left.
    #[must_use]
    pub(crate) fn release(&self, count: u32) -> bool {
        // AcqRel: the last holder sees what the others have done, and their accesses come
        // before the memory is used for something else.
        self.holders.fetch_sub(count, Ordering::AcqRel) == count
    }
}
