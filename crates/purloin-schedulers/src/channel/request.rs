//! A steal request: its states and its contents.
//!
//! The page of the protocol, [`super`], has the table of states and names the worker that makes
//! each change.

use super::Channel;
use super::protocol::SentTask;
use super::strategy::Amount;
use purloin::scheduler::sync::{AtomicU32, AtomicUsize, Ordering, UnsafeCell};
use purloin::scheduler::{ShortSpin, StateWord};

/// The state of a request: whether it is under way, and whether its thief is idle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(super) enum RequestState {
    /// Not under way. The thief has it.
    Unsent,
    /// Under way. Its thief still has something to run.
    Working,
    /// Under way. Its thief has nothing to run.
    Idle,
    /// Under way. Its thief has nothing to run, and the manager has counted it.
    RegisteredIdle,
    /// Under way, but no longer wanted: its thief has found something to run and could not
    /// recall the request.
    Withdrawn,
    /// A worker is about to answer it.
    Held,
    /// It has brought tasks, which the thief may now take.
    Answered,
}

use RequestState::*;

impl RequestState {
    fn from_word(word: u32) -> RequestState {
        const ALL: [RequestState; 7] = [
            Unsent,
            Working,
            Idle,
            RegisteredIdle,
            Withdrawn,
            Held,
            Answered,
        ];
        ALL[word as usize]
    }

    /// Returns whether a worker may answer the request.
    fn is_wanted(self) -> bool {
        matches!(self, Working | Idle | RegisteredIdle)
    }
}

/// The state word of the task that a blocked thief waits for.
#[derive(Clone, Copy)]
pub(super) struct Awaited(*const StateWord);

impl Awaited {
    pub(super) fn new(outcome: &StateWord) -> Self {
        Awaited(outcome)
    }

    /// Returns whether the awaited task is the one with this state word.
    pub(super) fn is(self, outcome: &StateWord) -> bool {
        std::ptr::eq(self.0, outcome)
    }

    /// Returns whether the awaited task is done.
    ///
    /// # Safety
    ///
    /// The caller has [held](Request::hold) the request that names the task, and has neither
    /// answered nor released it.
    pub(super) unsafe fn is_done(self) -> bool {
        // SAFETY: the word lies in a frame of the thief. The thief leaves that frame only after
        // `Request::withdraw`, which waits while the request is HELD.
        unsafe { &*self.0 }.is_done()
    }
}

/// The contents of a request: the demand of the thief, and the tasks of the answer.
pub(super) struct Contents {
    /// The workers that were asked since the request was sent, one bit each.
    asked: Box<[u64]>,
    /// Whether the request has become a work-sharing request: all active workers were asked.
    pub(super) is_work_sharing: bool,
    /// How many of a victim's tasks the thief wants.
    pub(super) amount: Amount,
    /// The task on which the thief is blocked. Only a [`Leapfrog`](super::protocol::Kind)
    /// request has one.
    pub(super) awaited: Option<Awaited>,
    pub(super) tasks: Vec<SentTask<Channel>>,
}

impl Contents {
    pub(super) fn was_asked(&self, worker: usize) -> bool {
        self.asked[worker / 64] & 1 << (worker % 64) != 0
    }

    pub(super) fn mark_asked(&mut self, worker: usize) {
        self.asked[worker / 64] |= 1 << (worker % 64);
    }

    /// Forgets which workers were asked.
    pub(super) fn restart(&mut self) {
        self.asked.fill(0);
        self.is_work_sharing = false;
    }
}

/// A steal request.
pub(super) struct Request {
    state: AtomicU32,
    /// The worker whose mailbox has the request, had it last, or is about to get it.
    destination: AtomicUsize,
    contents: UnsafeCell<Contents>,
}

// SAFETY: one worker at a time uses the contents, see `Request::with`.
unsafe impl Sync for Request {}
// SAFETY: no field is tied to a thread.
unsafe impl Send for Request {}

impl Request {
    /// Returns an unsent request in a pool of this many workers, with room for this many tasks.
    pub(super) fn new(workers: usize, max_tasks: usize) -> Request {
        Request {
            state: AtomicU32::new(Unsent as u32),
            destination: AtomicUsize::new(0),
            contents: UnsafeCell::new(Contents {
                asked: vec![0; workers.div_ceil(64)].into(),
                is_work_sharing: false,
                amount: Amount::One,
                awaited: None,
                tasks: Vec::with_capacity(max_tasks),
            }),
        }
    }

    /// Reads or writes the contents.
    ///
    /// # Safety
    ///
    /// Either the caller is the thief, and the request is UNSENT or ANSWERED; or the caller has
    /// taken the request out of a mailbox, and has not answered it or put it into a mailbox since.
    /// `f` does not call this method on the same request.
    pub(super) unsafe fn with<R>(&self, f: impl FnOnce(&mut Contents) -> R) -> R {
        // SAFETY: the caller has the request, so no other worker uses the contents, and `f` does
        // not call this again.
        self.contents
            .with_mut(|contents| f(unsafe { &mut *contents }))
    }

    /// Returns the worker whose mailbox has the request, unless a worker has just taken it out.
    pub(super) fn destination(&self) -> usize {
        // Relaxed: a hint. The mailbox itself says whether the request is there.
        self.destination.load(Ordering::Relaxed)
    }

    /// Records the worker whose mailbox is about to get the request.
    pub(super) fn set_destination(&self, worker: usize) {
        self.destination.store(worker, Ordering::Relaxed);
    }

    /// Returns the state, and acquires everything that was done before the state was set.
    pub(super) fn state(&self) -> RequestState {
        RequestState::from_word(self.state.load(Ordering::Acquire))
    }

    /// Sets the state without reading the old one. Only the worker that has the request may call
    /// this. The manager may change the state by an exchange at the same time: see
    /// [`StateWord::set_among_swaps`].
    fn set(&self, state: RequestState, order: Ordering) {
        #[cfg(not(loom))]
        self.state.store(state as u32, order);
        #[cfg(loom)]
        self.state.swap(state as u32, order);
    }

    fn exchange(&self, from: RequestState, to: RequestState) -> bool {
        // Acquire: everything that a worker did before it released the request. Release: everything
        // that the calling worker did before.
        let order = Ordering::AcqRel;
        self.state
            .compare_exchange(from as u32, to as u32, order, Ordering::Acquire)
            .is_ok()
    }
}

/// The thief's changes.
impl Request {
    /// Thief: makes the request ready to be put into a mailbox.
    pub(super) fn begin(&self, state: RequestState) {
        debug_assert_eq!(self.state(), Unsent);
        // Release: the manager concludes from the state alone that the tasks that the thief has
        // run are done.
        self.set(state, Ordering::Release);
    }

    /// Thief: ends the request, after reading the answer or taking the request out of a mailbox.
    pub(super) fn end(&self) {
        // Relaxed: no other worker looks at the request before it is sent again.
        self.set(Unsent, Ordering::Relaxed);
    }

    /// Thief: marks the thief as idle in a request under way. Returns false if the request is not
    /// under way, or the thief is already marked.
    pub(super) fn mark_idle(&self) -> bool {
        let mut spin = ShortSpin::default();
        loop {
            match self.state() {
                // Its handler is about to answer it, or to restore WORKING. The thief may sleep next.
                Held => spin.pause(),
                state @ (Withdrawn | Working) => {
                    if self.exchange(state, Idle) {
                        return true;
                    }
                }
                _ => return false,
            }
        }
    }

    /// Thief: marks the request as withdrawn, because the thief has something to run. Returns the
    /// resulting state, which is different if the request is answered or not under way.
    pub(super) fn withdraw(&self) -> RequestState {
        let mut spin = ShortSpin::default();
        loop {
            match self.state() {
                // A worker is about to answer it, or to release it.
                Held => spin.pause(),
                state if state.is_wanted() => {
                    if self.exchange(state, Withdrawn) {
                        return Withdrawn;
                    }
                }
                state => return state,
            }
        }
    }
}

/// The changes of the worker that has taken the request out of a mailbox, its handler.
impl Request {
    /// Handler: begins an answer, and returns the previous state of the request. Returns `None` if
    /// the request was withdrawn; it is then UNSENT.
    pub(super) fn hold(&self) -> Option<RequestState> {
        loop {
            let state = self.state();
            debug_assert!(state.is_wanted() || state == Withdrawn);
            if state == Withdrawn {
                if self.exchange(Withdrawn, Unsent) {
                    return None;
                }
            } else if self.exchange(state, Held) {
                return Some(state);
            }
        }
    }

    /// Handler: ends an answer. The tasks are in the contents.
    pub(super) fn answer(&self) {
        // Release: publishes the tasks.
        self.set(Answered, Ordering::Release);
    }

    /// Handler: gives up an answer for lack of tasks, and restores the previous state.
    pub(super) fn release(&self, state: RequestState) {
        self.set(state, Ordering::Release);
    }

    /// Handler: ends the request without an answer, because its thief no longer needs it or no
    /// worker is left to ask.
    pub(super) fn cancel(&self) {
        // Release: publishes the handlers' writes to the contents.
        self.set(Unsent, Ordering::Release);
    }

    /// Manager: marks the thief as idle. Returns false if the thief has something to run.
    pub(super) fn register(&self) -> bool {
        self.exchange(Idle, RegisteredIdle) || self.state() == RegisteredIdle
    }

    /// Manager: clears the idle mark of the thief, because its request is about to be forwarded.
    pub(super) fn unregister(&self) {
        self.exchange(RegisteredIdle, Idle);
    }
}
