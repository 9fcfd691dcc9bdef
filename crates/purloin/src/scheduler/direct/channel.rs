//! The channel of a future: for one message, with two holders.
//!
//! | word | written by | read by |
//! |---|---|---|
//! | `state`: TASK, then STOLEN, then DONE | who claims, from TASK; he alone from then on, but for the bit of who waits | both |
//! | `waiter` | the holder that has not claimed, before it sets that bit | the other, after DONE |
//! | `message` | who has claimed, before DONE; whoever takes it, after | |
//! | `holders` | each once | the last frees the channel |
//! | `may_be_helped` | who has claimed | the other |

use std::thread;

use super::{State, StateWord};
use crate::sync::{AtomicU32, AtomicUsize, Ordering, UnsafeCell};

/// One message on its way.
pub(super) struct Channel<T> {
    state: StateWord,
    holders: AtomicU32,
    waiter: AtomicUsize,
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
            message: UnsafeCell::new(None),
            may_be_helped: AtomicU32::new(0),
        }
    }

    /// Whether nobody has claimed, as far as this thread knows.
    pub(super) fn is_unclaimed(&self) -> bool {
        self.state.get(Ordering::Relaxed) == State::TASK
    }

    /// Whether it is now `worker` who is to send.
    pub(super) fn claim(&self, worker: usize) -> bool {
        // Relaxed: what there is to do came with the ticket or with the future.
        self.state
            .exchange(State::TASK, State::stolen(worker), Ordering::Relaxed)
            .is_ok()
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

    /// Says that what was claimed is done. Returns the worker that waits for it.
    pub(super) fn end(&self) -> Option<usize> {
        // Releases the message, and acquires who waits.
        self.state
            .finish_stolen()
            .then(|| self.waiter.load(Ordering::Relaxed))
    }

    /// Says who may come to wait, on behalf of the holder that has not claimed.
    pub(super) fn expect(&self, waiter: usize) {
        // Relaxed: released by the bit that says that it waits.
        self.waiter.store(waiter, Ordering::Relaxed);
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

    /// One of the two holders lets go. True if it was the last.
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
    use crate::sync::yield_now;
    use crate::wait::sleep::Sleep;

    /// A channel for a number, and what has become of it.
    struct Model {
        channel: Channel<u32>,
        sleep: Sleep,
        runs: Count,
        frees: Count,
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
            if let Some(waiter) = self.channel.end() {
                self.sleep.unpark(waiter);
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
}
