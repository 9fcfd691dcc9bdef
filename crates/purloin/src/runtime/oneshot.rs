//! A oneshot channel, which carries a future's result from the worker that runs the task to the
//! thread that gets the result. This file also allocates the channel.
//!
//! | word | written by | read by |
//! |---|---|---|
//! | `state`: TASK, then STOLEN, then DONE. Before DONE, two bits show that someone waits | the claimant moves it from TASK to STOLEN and DONE; a waiting worker sets WAITED_FOR, the handle WATCHED | all |
//! | `waiter` | each worker that waits, before it sets the bit | the claimant, after DONE, if the bit was set; workers that wait |
//! | `watcher` | the handle, once, before it sets WATCHED | the claimant, likewise; it takes the watcher out |
//! | `message` | the claimant, before DONE, unless it is the handle; the thread that takes it, after | the thread that takes it |
//! | `holders` | each holder, when it releases the channel; the holder that adds one | the last one but a job takes the message; the last one frees the channel; the ticket waits until no extra holder is left |
//! | `may_leapfrog` | the claimant | the other holder |
//! | `is_injected` | whoever makes a channel with a job; the holder that injects a job, once | holders that would inject one |
//!
//! The holders are the future's handle and its ticket. If a thread outside the pool asks for the
//! result, there may be a third holder: a job with which an idle worker runs the closure. A future
//! that belongs to no scope has such a job from the start, instead of a ticket. The job claims the
//! closure or releases the channel; it never waits.
//!
//! The scope of the future does not wait for such a job, and the result may borrow from the scope. So
//! the last holder other than the job takes a result that was never fetched, and leaves only the memory
//! to the job. For this reason the job is counted separately. (The result of a future without a scope
//! borrows nothing, and its job is a holder like the handle.)
//!
//! A thread may claim as neither the handle nor the ticket: a worker that runs the job, or one that gets the
//! result through a shared handle. It is an **extra holder** from then on, and counted apart. It still uses
//! the channel for a moment after DONE. The ticket waits until the extra holder has released the channel,
//! and only then releases it itself. Otherwise the extra holder could be the last one, and would be left
//! with the task's panic after the scope of the task has ended.
//!
//! A [shared handle](crate::SharedHandle) is one holder for many threads. One worker among them
//! waits on the channel. Its watcher wakes all others. If an extra holder runs the closure, the handle and
//! the ticket may both wait: two workers. Then `waiter` no longer tells which, and the claimant wakes all
//! workers.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::task::Waker;

use super::slot::{ShortSpin, State, StateWord};
use crate::sync::thread;
use crate::sync::{AtomicBool, AtomicU32, AtomicUsize, Ordering, UnsafeCell};

/// Whom to wake when the message is available.
#[derive(Default)]
pub(super) struct Waiters {
    pub(super) worker: WaitingWorker,
    pub(super) watcher: Option<Waker>,
}

/// The workers among the [`Waiters`].
#[derive(Default)]
pub(super) enum WaitingWorker {
    #[default]
    None,
    One(usize),
    /// More than one; the channel does not record which.
    Several,
}

/// Values of `waiter` that are not the index of a worker.
const NO_WORKER: usize = usize::MAX;
const SEVERAL_WORKERS: usize = usize::MAX - 1;

/// How much the job of a future with a scope counts in `holders`.
pub(super) const JOB: u32 = 1 << 8;

/// How much an extra holder counts in `holders`. Any other holder counts 1.
pub(super) const EXTRA_HOLDER: u32 = 1 << 16;

/// A channel for one message.
pub(super) struct Oneshot<T> {
    state: StateWord,
    holders: AtomicU32,
    waiter: AtomicUsize,
    watcher: UnsafeCell<Option<Waker>>,
    message: UnsafeCell<Option<thread::Result<T>>>,
    /// 1 if a waiting worker may leapfrog with the claimant: when the claimant claimed, all of its
    /// tasks were stolen.
    may_leapfrog: AtomicU32,
    /// Whether a job was injected with which an idle worker claims.
    is_injected: AtomicBool,
}

impl<T> Oneshot<T> {
    /// Returns an unclaimed channel with two holders: the handle, and the ticket or a job that
    /// `is_injected`.
    pub(super) fn new(is_injected: bool) -> Self {
        Oneshot {
            is_injected: AtomicBool::new(is_injected),
            state: StateWord::new(State::TASK),
            holders: AtomicU32::new(2),
            waiter: AtomicUsize::new(NO_WORKER),
            watcher: UnsafeCell::new(None),
            message: UnsafeCell::new(None),
            may_leapfrog: AtomicU32::new(0),
        }
    }

    /// Returns whether no holder has claimed, as far as this thread knows.
    pub(super) fn is_unclaimed(&self) -> bool {
        self.state.get(Ordering::Relaxed) == State::TASK
    }

    /// Returns, as a hint, whether a worker has claimed.
    pub(super) fn is_begun(&self) -> bool {
        let state = self.state.get(Ordering::Relaxed);
        state.thief().is_some() || state == State::DONE
    }

    /// Claims on behalf of `worker`, which will send. Returns false if another holder has
    /// claimed.
    pub(super) fn claim(&self, worker: usize) -> bool {
        let (unclaimed, claimed) = (State::TASK, State::stolen(worker));
        // Relaxed: the closure came with the ticket or with the future.
        let order = Ordering::Relaxed;
        match self.state.exchange(unclaimed, claimed, order) {
            Ok(()) => true,
            // A watcher is there already. Only a claim can follow this state.
            Err(state) if state == unclaimed.watched() => {
                let claimed = claimed.watched();
                self.state.exchange(state, claimed, order).is_ok()
            }
            Err(_) => false,
        }
    }

    /// Claimant: declares that it offers only descendants of the claimed task.
    pub(super) fn allow_leapfrogging(&self) {
        // Relaxed: a worker that does not see it does not leapfrog.
        self.may_leapfrog.store(1, Ordering::Relaxed);
    }

    pub(super) fn may_leapfrog(&self) -> bool {
        self.may_leapfrog.load(Ordering::Relaxed) == 1
    }

    /// Sends the message.
    ///
    /// # Safety
    ///
    /// The caller has claimed, and has not called [`Self::end`].
    pub(super) unsafe fn send(&self, message: thread::Result<T>) {
        self.message.with_mut(|place| {
            // SAFETY: the caller is the claimant. Until `end`, only the claimant touches the
            // message.
            unsafe { *place = Some(message) }
        });
    }

    /// Claimant, once: marks the claimed task done. Returns the threads to wake.
    pub(super) fn end(&self) -> Waiters {
        // Releases the message, and acquires the identity of the waiters.
        let last = self.state.finish();
        let mut waiters = Waiters::default();
        if last.is_waited_for() {
            waiters.worker = match self.waiter.load(Ordering::Relaxed) {
                SEVERAL_WORKERS => WaitingWorker::Several,
                worker => WaitingWorker::One(worker),
            };
        }
        if last.is_watched() {
            // SAFETY: the bit was set, so the handle has stored its watcher here, and does not
            // touch the place again.
            waiters.watcher = self.watcher.with_mut(|place| unsafe { (*place).take() });
        }
        waiters
    }

    /// A holder that has not claimed: adds a worker that may wait.
    pub(super) fn add_waiter(&self, worker: usize) {
        // Relaxed: setting the bit WAITED_FOR later releases this store.
        let order = Ordering::Relaxed;
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

    /// The handle: asks the claimant to wake `watcher` at the end. Returns false if the task is
    /// already done.
    ///
    /// # Safety
    ///
    /// The caller is the handle, and calls this once.
    pub(super) unsafe fn watch(&self, watcher: Waker) -> bool {
        // SAFETY: the caller is the handle. Until the bit is set, only the handle touches the
        // place.
        self.watcher
            .with_mut(|place| unsafe { *place = Some(watcher) });
        while !self.state.is_done() {
            if self.state.watch() {
                return true;
            }
        }
        // SAFETY: the caller is the handle. The bit was not set before the end, so the claimant
        // does not touch the place.
        self.watcher.with_mut(|place| unsafe { *place = None });
        false
    }

    /// Returns, as a hint, whether [`Self::call_worker`] would return false.
    pub(super) fn needs_no_call(&self) -> bool {
        self.is_begun() || self.is_injected.load(Ordering::Relaxed)
    }

    /// A holder: returns whether it must inject a job with which an idle worker claims. The job is one
    /// more holder, and counts as [`JOB`]. Returns false if a worker has claimed, or if a job was
    /// injected before.
    pub(super) fn call_worker(&self) -> bool {
        // Relaxed: one thread injects; which one does not matter.
        let calls = !self.is_begun() && !self.is_injected.swap(true, Ordering::Relaxed);
        if calls {
            // Relaxed: the calling holder keeps the channel alive.
            self.holders.fetch_add(JOB, Ordering::Relaxed);
        }
        calls
    }

    /// The claimant: adds the calling thread as an extra holder, in place of a holder that counts as
    /// `instead_of`, or of none.
    pub(super) fn add_extra_holder(&self, instead_of: u32) {
        // Relaxed: DONE, which this thread sets later, releases the count to the ticket.
        self.holders
            .fetch_add(EXTRA_HOLDER - instead_of, Ordering::Relaxed);
    }

    /// The ticket, after DONE: waits until the extra holder, if there is one, has released the channel. The
    /// extra holder runs none of the program's code before that.
    pub(super) fn await_extra_holder(&self) {
        let mut spin = ShortSpin::default();
        // Acquire: what the extra holder did happens before the scope ends.
        while self.holders.load(Ordering::Acquire) >= EXTRA_HOLDER {
            spin.pause();
        }
    }

    /// Returns the state to wait on.
    pub(super) fn outcome(&self) -> &StateWord {
        &self.state
    }

    pub(super) fn is_done(&self) -> bool {
        self.state.is_done()
    }

    /// Returns the place of the message, which belongs to the handle from the end on, until it
    /// releases the channel.
    pub(super) fn message(&self) -> *mut Option<thread::Result<T>> {
        self.message.with_mut(|place| place)
    }

    /// Takes the message, if the claimant has sent one and no holder has taken it.
    ///
    /// # Safety
    ///
    /// The caller is the handle and has seen the end, or it is the last holder but a job.
    pub(super) unsafe fn take(&self) -> Option<thread::Result<T>> {
        // SAFETY: the caller is the handle after the end, or the last holder but a job. No other holder
        // touches the message then.
        self.message.with_mut(|place| unsafe { (*place).take() })
    }

    /// Releases the channel for one holder, which counts as 1, as [`JOB`] or as [`EXTRA_HOLDER`]. If it
    /// was the last one but a job, returns the message that nobody has taken. Also returns whether it
    /// was the last one.
    ///
    /// The caller drops the message before the scope of the task ends. The scope waits for the handle and for
    /// the ticket. It does not wait for an extra holder that has released the channel. But an extra holder is
    /// never the last holder of a future with a scope, because the ticket leaves after it.
    #[must_use]
    pub(super) fn let_go(&self, count: u32) -> (Option<thread::Result<T>>, bool) {
        let mut message = None;
        if count != JOB {
            // Acquire: the message.
            let mut now = self.holders.load(Ordering::Acquire);
            while now - now % EXTRA_HOLDER + now % JOB != count {
                // AcqRel: as below.
                let order = (Ordering::AcqRel, Ordering::Acquire);
                let less = now - count;
                match (self.holders).compare_exchange_weak(now, less, order.0, order.1) {
                    Ok(_) => return (None, false),
                    Err(other) => now = other,
                }
            }
            // SAFETY: the caller is the last holder but a job. If the future has a scope, its ticket has seen
            // the end before it has released the channel, so the job does not claim any more. If it has none,
            // its job is among the holders that have released the channel.
            message = unsafe { self.take() };
        }
        // AcqRel: the last holder sees what the others have done, and their accesses come
        // before the memory is used for something else.
        let is_last = self.holders.fetch_sub(count, Ordering::AcqRel) == count;
        (message, is_last)
    }
}

/// The sizes of blocks that a worker keeps, in bytes: two cache lines and four.
const SIZES: [usize; 2] = [128, 256];
const ALIGN: usize = 16;

/// Maximum number of blocks of each size that a worker keeps.
const MAX_BLOCKS: usize = 256;

/// Returns the smallest size class that is large enough, if there is one.
const fn class(layout: Layout) -> Option<usize> {
    if layout.align() > ALIGN || layout.size() > SIZES[1] {
        None
    } else {
        Some((layout.size() > SIZES[0]) as usize)
    }
}

fn layout_of_class(class: usize) -> Layout {
    Layout::from_size_align(SIZES[class], ALIGN).expect("a power of two")
}

fn layout_of<T>() -> Layout {
    match const { class(Layout::new::<T>()) } {
        Some(class) => layout_of_class(class),
        None => Layout::new::<T>(),
    }
}

/// Free memory for futures.
///
/// Allocating and freeing a few words takes longer than everything else in a future that is not
/// stolen. So each worker keeps some of the blocks that it has freed.
#[derive(Default)]
pub(crate) struct Blocks([std::cell::UnsafeCell<Vec<NonNull<u8>>>; SIZES.len()]);

impl Blocks {
    /// # Safety
    ///
    /// `f` does not call this again.
    unsafe fn with<R>(&self, class: usize, f: impl FnOnce(&mut Vec<NonNull<u8>>) -> R) -> R {
        // SAFETY: only `Me` gives access, so this is the worker's own thread, and `f` does not call this
        // again: this is the only reference.
        f(unsafe { &mut *self.0[class].get() })
    }

    /// Returns uninitialised memory for a `T`.
    #[inline]
    pub(super) fn take<T>(&self) -> NonNull<T> {
        if let Some(class) = const { class(Layout::new::<T>()) }
            // SAFETY: `Vec::pop` does not call `with`.
            && let Some(block) = unsafe { self.with(class, Vec::pop) }
        {
            return block.cast();
        }
        allocate()
    }

    /// Takes back memory that some worker has [taken](Self::take).
    ///
    /// # Safety
    ///
    /// The memory holds nothing, and no thread uses it again.
    #[inline]
    pub(super) unsafe fn give<T>(&self, memory: NonNull<T>) {
        if let Some(class) = const { class(Layout::new::<T>()) } {
            // SAFETY: the closure does not call `with`.
            let is_kept = unsafe {
                self.with(class, |blocks| {
                    let has_room = blocks.len() < MAX_BLOCKS;
                    if has_room {
                        blocks.push(memory.cast());
                    }
                    has_room
                })
            };
            if is_kept {
                return;
            }
        }
        // SAFETY: the caller guarantees that the memory holds nothing and is not used again.
        unsafe { free(memory) };
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        for (class, blocks) in self.0.iter_mut().enumerate() {
            for block in blocks.get_mut().drain(..) {
                // SAFETY: `allocate` made the block with this layout, and `give`'s caller
                // guarantees that it is unused.
                unsafe { dealloc(block.as_ptr(), layout_of_class(class)) };
            }
        }
    }
}

/// Returns uninitialised memory for a `T`, as [`Blocks::take`] does, on any thread.
#[cold]
pub(super) fn allocate<T>() -> NonNull<T> {
    const { assert!(size_of::<T>() > 0) };
    let layout = layout_of::<T>();
    // SAFETY: the layout's size is not 0.
    let memory = NonNull::new(unsafe { alloc(layout) });
    memory.unwrap_or_else(|| handle_alloc_error(layout)).cast()
}

/// Frees memory that some worker has [taken](Blocks::take), on any thread.
///
/// # Safety
///
/// The memory holds nothing, and no thread uses it again.
#[cold]
pub(super) unsafe fn free<T>(memory: NonNull<T>) {
    // SAFETY: `allocate` made the memory with this layout, and the caller guarantees that it is
    // unused.
    unsafe { dealloc(memory.cast().as_ptr(), layout_of::<T>()) };
}
