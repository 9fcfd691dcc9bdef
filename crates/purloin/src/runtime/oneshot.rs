//! The channel of a future: for one message, with two holders.
//!
//! | word | written by | read by |
//! |---|---|---|
//! | `state`: TASK, then STOLEN, then DONE; and up to DONE two bits for holders that wait | the holder that claims moves it from TASK, and it alone from then on; a worker that waits sets WAITED_FOR, a thread outside WAITED_FOR_OUTSIDE | all |
//! | `waiter` | a worker that waits, before it sets its bit | the holder that has claimed, after DONE, if the bit was set |
//! | `outside` | the future, on a thread outside, before it sets its bit | the same; it takes the thread out |
//! | `message` | the holder that has claimed, before DONE; whoever takes it, after | |
//! | `holders` | each once | the last frees the channel |
//! | `may_be_helped` | the holder that has claimed | the other |
//!
//! A future that a thread outside gets may have a third holder, a job that has the closure
//! run by an idle worker. It claims, or lets go; it never waits.

use std::thread::{self, Thread};

use super::{State, StateWord};
use crate::sync::{AtomicU32, AtomicUsize, Ordering, UnsafeCell};

/// What sleeps until a message is there.
#[derive(Default)]
pub(super) struct Waiters {
    pub(super) worker: Option<usize>,
    pub(super) outside: Option<Thread>,
}

/// One message on its way.
pub(super) struct Channel<T> {
    state: StateWord,
    holders: AtomicU32,
    waiter: AtomicUsize,
    outside: UnsafeCell<Option<Thread>>,
    message: UnsafeCell<Option<thread::Result<T>>>,
    /// 1 if who has claimed had no tasks of his own that were not stolen.
    may_be_helped: AtomicU32,
}

impl<T> Channel<T> {
    pub(super) fn new() -> Self {
        Channel {
            state: StateWord::new(State::TASK),
            holders: AtomicU32::new(2),
            waiter: AtomicUsize::new(usize::MAX),
            outside: UnsafeCell::new(None),
            message: UnsafeCell::new(None),
            may_be_helped: AtomicU32::new(0),
        }
    }

    /// Whether nobody has claimed, as far as this thread knows.
    pub(super) fn is_unclaimed(&self) -> bool {
        self.state.get(Ordering::Relaxed) == State::TASK
    }

    /// Whether some worker has claimed, at a glance.
    pub(super) fn is_begun(&self) -> bool {
        let state = self.state.get(Ordering::Relaxed);
        state.thief().is_some() || state == State::DONE
    }

    /// Whether it is now `worker` that is to send.
    pub(super) fn claim(&self, worker: usize) -> bool {
        let (unclaimed, claimed) = (State::TASK, State::stolen(worker));
        // Relaxed: what there is to do came with the ticket or with the future.
        let order = Ordering::Relaxed;
        match self.state.exchange(unclaimed, claimed, order) {
            Ok(()) => true,
            // A thread outside waits already. Nothing follows on this state but a claim.
            Err(state) if state == unclaimed.waited_for_outside() => {
                let claimed = claimed.waited_for_outside();
                self.state.exchange(state, claimed, order).is_ok()
            }
            Err(_) => false,
        }
    }

    /// Notes that who has claimed offers nothing but what descends from that.
    pub(super) fn allow_help(&self) {
        // Relaxed: who does not see it does not help.
        self.may_be_helped.store(1, Ordering::Relaxed);
    }

    pub(super) fn may_be_helped(&self) -> bool {
        self.may_be_helped.load(Ordering::Relaxed) == 1
    }

    /// Leaves the message.
    ///
    /// # Safety
    ///
    /// The caller has claimed, and has not called [`Self::end`].
    pub(super) unsafe fn send(&self, message: thread::Result<T>) {
        self.message.with_mut(|place| {
            // SAFETY: until the end, it is the caller's alone.
            unsafe { *place = Some(message) }
        });
    }

    /// Says that what was claimed is done. Returns what to wake.
    ///
    /// The caller has claimed, and calls this once.
    pub(super) fn end(&self) -> Waiters {
        // Releases the message, and acquires who waits.
        let last = self.state.finish();
        let mut waiters = Waiters::default();
        if last.is_waited_for() {
            waiters.worker = Some(self.waiter.load(Ordering::Relaxed));
        }
        if last.is_waited_for_outside() {
            // SAFETY: the bit was set, so the future has left its thread here, and does
            // not touch it again.
            waiters.outside = self.outside.with_mut(|place| unsafe { (*place).take() });
        }
        waiters
    }

    /// Says who may come to wait, on behalf of the holder that has not claimed.
    pub(super) fn expect(&self, waiter: usize) {
        // Relaxed: released by the bit that says that it waits.
        self.waiter.store(waiter, Ordering::Relaxed);
    }

    /// Asks for `thread` to be woken at the end, on behalf of the future. False if the end
    /// is past.
    ///
    /// # Safety
    ///
    /// The caller is the future, and nothing else waits for this channel on its behalf.
    pub(super) unsafe fn wait_outside(&self, thread: Thread) -> bool {
        // SAFETY: until the bit is set, only the future touches it.
        self.outside
            .with_mut(|place| unsafe { *place = Some(thread) });
        while !self.state.is_done() {
            if self.state.wait_for_outside() {
                return true;
            }
        }
        // SAFETY: the bit was not set before the end, so nobody else will touch it.
        self.outside.with_mut(|place| unsafe { *place = None });
        false
    }

    /// One more holder, on behalf of a present one.
    pub(super) fn add_holder(&self) {
        // Relaxed: the present holder keeps the channel.
        self.holders.fetch_add(1, Ordering::Relaxed);
    }

    /// What to wait for.
    pub(super) fn outcome(&self) -> &StateWord {
        &self.state
    }

    pub(super) fn is_done(&self) -> bool {
        self.state.is_done()
    }

    /// Takes the message, if there was one and it is still there.
    ///
    /// # Safety
    ///
    /// The caller is the future and has seen the end, or is the last holder.
    pub(super) unsafe fn take(&self) -> Option<thread::Result<T>> {
        // SAFETY: the ticket's holder does not touch it after the end.
        self.message.with_mut(|place| unsafe { (*place).take() })
    }

    /// One of the holders lets go. True if it was the last.
    #[must_use]
    pub(super) fn let_go(&self) -> bool {
        // AcqRel: the last sees what the other has done, and that one's
        // accesses come before the memory is used for something else.
        self.holders.fetch_sub(1, Ordering::AcqRel) == 1
    }
}

#[cfg(all(loom, test))]
mod models {
    use std::sync::atomic::{AtomicUsize as Count, Ordering::Relaxed};

    use loom::sync::Arc;
    use loom::thread;

    use super::*;
    use crate::sleep::Sleep;
    use crate::sync::yield_now;

    /// A channel for a number, and what has become of it.
    struct Model {
        channel: Channel<u32>,
        sleep: Sleep,
        runs: Count,
        frees: Count,
        /// How often a thread outside was woken.
        told: Count,
    }

    const FUTURE: usize = 0;
    const TICKET: usize = 1;

    impl Model {
        fn check(future: fn(&Model)) {
            loom::model(move || {
                let model = Arc::new(Model {
                    channel: Channel::new(),
                    sleep: Sleep::for_model(2, 0),
                    runs: Count::new(0),
                    frees: Count::new(0),
                    told: Count::new(0),
                });
                let ticket = {
                    let model = model.clone();
                    thread::spawn(move || model.use_ticket())
                };
                future(&model);
                ticket.join().unwrap();
                assert_eq!(model.runs.load(Relaxed), 1);
                assert_eq!(model.frees.load(Relaxed), 1);
            });
        }

        fn run(&self) {
            self.runs.fetch_add(1, Relaxed);
        }

        fn end(&self) {
            let waiters = self.channel.end();
            if let Some(waiter) = waiters.worker {
                self.sleep.unpark(waiter);
            }
            if waiters.outside.is_some() {
                self.told.fetch_add(1, Relaxed);
            }
        }

        fn let_go(&self) {
            if self.channel.let_go() {
                // As the memory is used for something else.
                // SAFETY: the last holder.
                drop(unsafe { self.channel.take() });
                self.frees.fetch_add(1, Relaxed);
            }
        }

        fn use_ticket(&self) {
            if self.channel.claim(TICKET) {
                self.run();
                // SAFETY: claimed.
                unsafe { self.channel.send(Ok(7)) };
                self.end();
            } else {
                while !self.channel.is_done() {
                    yield_now();
                }
                assert_eq!(self.runs.load(Relaxed), 1, "the scope ends too early");
            }
            self.let_go();
        }

        fn take(&self) {
            // SAFETY: the future, after the end.
            let message = unsafe { self.channel.take() };
            assert!(matches!(message, Some(Ok(7))));
        }
    }

    #[test]
    fn a_future_that_is_got_is_run_once() {
        Model::check(|model| {
            if model.channel.claim(FUTURE) {
                model.run();
                model.end();
            } else {
                while !model.channel.is_done() {
                    yield_now();
                }
                model.take();
            }
            model.let_go();
        });
    }

    #[test]
    fn a_future_that_is_dropped_is_run_by_its_ticket() {
        Model::check(Model::let_go);
    }

    #[test]
    fn a_future_that_waits_is_woken() {
        Model::check(|model| {
            if model.channel.claim(FUTURE) {
                model.run();
                model.end();
            } else {
                model.channel.expect(FUTURE);
                let channel = &model.channel;
                model
                    .sleep
                    .park_until(FUTURE, || !channel.outcome().wait_for());
                while !channel.is_done() {
                    yield_now();
                }
                model.take();
            }
            model.let_go();
        });
    }

    #[test]
    fn a_thread_outside_is_woken_once_if_it_waits() {
        Model::check(|model| {
            // SAFETY: the future, once.
            let waits = unsafe { model.channel.wait_outside(std::thread::current()) };
            while !model.channel.is_done() {
                yield_now();
            }
            model.take();
            model.let_go();
            while model.told.load(Relaxed) != usize::from(waits) {
                yield_now();
            }
        });
    }

    /// An idle worker has the closure run on behalf of the thread that waits.
    #[test]
    fn a_future_that_is_got_outside_is_run_once_by_its_ticket_or_by_a_job() {
        Model::check(|model| {
            model.channel.add_holder();
            // SAFETY: the future, once.
            let waits = unsafe { model.channel.wait_outside(std::thread::current()) };
            // The job, on a third thread in truth: it does not touch what the future does.
            if model.channel.claim(FUTURE) {
                model.run();
                // SAFETY: claimed.
                unsafe { model.channel.send(Ok(7)) };
                model.end();
            }
            model.let_go();
            while !model.channel.is_done() {
                yield_now();
            }
            model.take();
            model.let_go();
            while model.told.load(Relaxed) != usize::from(waits) {
                yield_now();
            }
        });
    }
}
