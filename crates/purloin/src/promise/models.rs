//! Loom models of a future's channel.

use std::alloc::Layout;
use std::mem::offset_of;
use std::ptr::{NonNull, null};
use std::sync::atomic::{AtomicBool, AtomicUsize as Count, Ordering::Relaxed};
use std::task::{Wake, Waker};

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use super::{EXTRA_HOLDER, Functions, Head, JOB, Message, Oneshot, Promise, SharedTask};
use super::{Waiters, WaitingWorker};
use crate::runtime::State;
use crate::sleep::Sleep;
use crate::sync::yield_now;

/// A channel for a number, and counts of what has happened to it.
struct Model {
    channel: Oneshot,
    message: UnsafeCell<Option<u32>>,
    sleep: Sleep,
    runs: Count,
    frees: Count,
    /// How often a message was dropped that the handle had not taken.
    unfetched: Count,
    /// Whether the ticket has been used, so that the scope may have ended.
    has_scope_ended: AtomicBool,
}

const FUTURE: usize = 0;
const TICKET: usize = 1;
/// A worker that is neither of the two.
const THIRD: usize = 2;

impl Model {
    fn new() -> Model {
        Model {
            channel: Oneshot::new(false),
            message: UnsafeCell::new(None),
            sleep: Sleep::for_model(2, 0),
            runs: Count::new(0),
            frees: Count::new(0),
            unfetched: Count::new(0),
            has_scope_ended: AtomicBool::new(false),
        }
    }

    fn check(future: fn(&Arc<Model>)) {
        loom::model(move || {
            let model = Arc::new(Model::new());
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

    /// The job with which an idle worker runs the closure. In reality it runs on a third thread; it
    /// touches nothing that the handle uses.
    fn run_job(&self) {
        self.run_job_as(JOB);
    }

    /// As [`Self::run_job`], if the job counts as `count`.
    fn run_job_as(&self, count: u32) {
        if self.channel.claim(THIRD) {
            self.channel.become_extra_holder(count);
            self.run();
            self.send();
            let waiters = self.channel.end();
            self.let_go_as(EXTRA_HOLDER);
            self.wake(waiters);
        } else {
            self.let_go_as(count);
        }
    }

    fn end(&self) {
        self.wake(self.channel.end());
    }

    fn wake(&self, waiters: Waiters) {
        match waiters.worker {
            WaitingWorker::None => (),
            WaitingWorker::One(worker) => self.sleep.unpark(worker),
            WaitingWorker::Several => unreachable!("one worker waits"),
        }
        waiters.watchers.wake();
    }

    /// Sends the message, on the thread that has claimed, before the end.
    fn send(&self) {
        // SAFETY: until the end, only the claimant uses the message.
        self.message
            .with_mut(|message| unsafe { *message = Some(7) });
    }

    fn let_go(&self) {
        self.let_go_as(1);
    }

    fn let_go_as(&self, count: u32) {
        if count != JOB {
            if !self.channel.release_unless_last(count) {
                return;
            }
            // SAFETY: this is the last holder but a job.
            let message = self
                .message
                .with_mut(|message| unsafe { (*message).take() });
            if message.is_some() {
                assert!(
                    count != EXTRA_HOLDER || !self.has_scope_ended.load(Relaxed),
                    "a panic has no scope"
                );
                self.unfetched.fetch_add(1, Relaxed);
            }
        }
        if self.channel.release(count) {
            // SAFETY: no holder is left.
            self.message.with_mut(|message| unsafe { *message = None });
            self.frees.fetch_add(1, Relaxed);
        }
    }

    fn use_ticket(&self) {
        if self.channel.claim(TICKET) {
            self.run();
            self.send();
            self.end();
        } else {
            while !self.channel.is_done() {
                yield_now();
            }
            assert_eq!(self.runs.load(Relaxed), 1, "the scope ends too early");
            self.channel.await_extra_holder();
        }
        self.let_go();
        self.has_scope_ended.store(true, Relaxed);
    }

    fn take(&self) {
        // SAFETY: the caller is the handle, and has seen the end.
        let message = self
            .message
            .with_mut(|message| unsafe { (*message).take() });
        assert_eq!(message, Some(7));
    }
}

/// A waker that counts.
#[derive(Default)]
struct Told(Count);

impl Wake for Told {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// Lets the end of the task wake a waker that counts. Returns it, and whether it will be woken.
fn watch(model: &Model) -> (std::sync::Arc<Told>, bool) {
    let told = std::sync::Arc::<Told>::default();
    let waits = model.channel.watch(Waker::from(told.clone()));
    (told, waits)
}

fn await_wakeups(told: &Told, wakeups: usize) {
    while told.0.load(Relaxed) != wakeups {
        yield_now();
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
    Model::check(|model| model.let_go());
}

#[test]
fn a_future_that_waits_is_woken() {
    Model::check(|model| {
        if model.channel.claim(FUTURE) {
            model.run();
            model.end();
        } else {
            model.channel.add_waiter(FUTURE);
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

/// Two workers wait while a third runs the closure: one for all threads that share the handle, and
/// one that has reached the ticket.
#[test]
fn the_end_wakes_both_workers_that_wait() {
    loom::model(|| {
        let channel = Arc::new(Oneshot::new(false));
        assert!(channel.claim(THIRD));
        let waiters = [FUTURE, TICKET].map(|worker| {
            let channel = channel.clone();
            // Returns whether the worker sleeps until it is woken.
            thread::spawn(move || {
                channel.add_waiter(worker);
                while !channel.is_done() {
                    if channel.outcome().wait_for() {
                        return true;
                    }
                }
                false
            })
        });
        let woken = channel.end().worker;
        for (worker, waiter) in waiters.into_iter().enumerate() {
            let is_woken = match woken {
                WaitingWorker::None => false,
                WaitingWorker::One(one) => one == worker,
                WaitingWorker::Several => true,
            };
            assert!(is_woken || !waiter.join().unwrap());
        }
    });
}

#[test]
fn a_thread_outside_is_woken_once_if_it_waits() {
    Model::check(|model| {
        let (told, waits) = watch(model);
        while !model.channel.is_done() {
            yield_now();
        }
        model.take();
        model.let_go();
        await_wakeups(&told, usize::from(waits));
    });
}

/// Two threads that share the handle watch, and one of them gives up, as a future that is dropped does.
#[test]
fn each_watcher_is_woken_or_sees_the_end() {
    Model::check(|model| {
        let other = {
            let model = model.clone();
            thread::spawn(move || {
                let (told, waits) = watch(&model);
                model.channel.unwatch(&Waker::from(told.clone()));
                (told, waits)
            })
        };
        let (told, waits) = watch(model);
        if waits {
            await_wakeups(&told, 1);
        }
        let (other, waited) = other.join().unwrap();
        assert!(other.0.load(Relaxed) <= usize::from(waited));
        while !model.channel.is_done() {
            yield_now();
        }
        model.take();
        model.let_go();
    });
}

/// An idle worker runs the closure on behalf of the waiting thread.
#[test]
fn a_future_that_is_got_outside_is_run_once_by_its_ticket_or_by_a_job() {
    Model::check(|model| {
        let calls = model.channel.call_worker();
        let (told, waits) = watch(model);
        if calls {
            model.run_job();
        }
        while !model.channel.is_done() {
            yield_now();
        }
        model.take();
        model.let_go();
        await_wakeups(&told, usize::from(waits));
    });
}

/// The handle is dropped after a poll from outside that has called a worker.
#[test]
fn a_worker_that_was_called_releases_the_channel_before_the_scope_ends() {
    Model::check(|model| {
        let calls = model.channel.call_worker();
        model.let_go();
        if calls {
            model.run_job();
        }
        // The result may borrow from the scope, for which the job does not count: see `let_go_as`.
        while model.unfetched.load(Relaxed) == 0 {
            yield_now();
        }
    });
}

/// A future that belongs to no scope: it has a job instead of a ticket. Two threads call a worker for
/// it, as polls and gets outside the pool do.
#[test]
fn a_job_is_injected_once() {
    for is_injected in [true, false] {
        loom::model(move || {
            let mut model = Model::new();
            model.channel = Oneshot::new(is_injected);
            let model = Arc::new(model);
            let jobs = Arc::new(Count::new(usize::from(is_injected)));
            let call = |model: &Model, jobs: &Count| {
                if model.channel.call_worker() {
                    jobs.fetch_add(1, Relaxed);
                }
            };
            let other = {
                let (model, jobs) = (model.clone(), jobs.clone());
                thread::spawn(move || call(&model, &jobs))
            };
            call(&model, &jobs);
            other.join().unwrap();
            assert_eq!(jobs.load(Relaxed), 1);
            model.run_job_as(if is_injected { 1 } else { JOB });
            assert!(model.channel.is_done());
            // A later get finds the task begun.
            call(&model, &jobs);
            assert_eq!(jobs.load(Relaxed), 1);
        });
    }
}

/// The handle of a future that belongs to no scope takes the task back, while a worker runs its job.
#[test]
fn a_task_that_is_taken_back_does_not_run() {
    loom::model(|| {
        let mut model = Model::new();
        model.channel = Oneshot::new(true);
        let model = Arc::new(model);
        let job = {
            let model = model.clone();
            thread::spawn(move || model.run_job_as(1))
        };
        let (told, waits) = watch(&model);
        let taken_back = model.channel.claim(State::NOBODY).then(|| {
            // The closure is dropped, which counts as its run here.
            model.run();
            model.channel.end()
        });
        model.let_go();
        job.join().unwrap();
        assert_eq!(model.runs.load(Relaxed), 1);
        assert_eq!(model.frees.load(Relaxed), 1);
        // No watcher is left behind.
        if let Some(waiters) = taken_back {
            waiters.watchers.wake();
        }
        assert_eq!(usize::from(waits), told.0.load(Relaxed));
    });
}

/// A task whose result counts how often it is dropped.
#[repr(C)]
struct Shared {
    head: Head,
    message: Message<Dropped>,
    drops: std::sync::Arc<Count>,
    frees: Count,
}

// SAFETY: the message is used as the page of the channel says.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

struct Dropped(std::sync::Arc<Count>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

const FUNCTIONS: &Functions = &Functions {
    pop: |_, _, _| false,
    // SAFETY: the model keeps the task until its end.
    let_go: |task| unsafe { task.cast::<Shared>().as_ref() }.leave(),
    abandon: |_| unreachable!(),
    is_local: |_, _| false,
    run: |_, _| (),
    call_worker: |_| (),
    wait: |_, _, _| unreachable!(),
    begin: |_, _| unreachable!(),
    got: None,
    fail: |_, _| unreachable!(),
    drop_message: Promise::<Dropped>::drop_message,
    message_offset: offset_of!(Shared, message),
    pending_offset: None,
    layout: Layout::new::<Shared>(),
};

impl Shared {
    /// Releases the channel for the handle or for the ticket, as a future does.
    fn leave(&self) {
        if self.head.channel.release_unless_last(1) {
            // SAFETY: this is the last holder.
            let panic = unsafe { Promise::<Dropped>::drop_message(NonNull::from(self).cast()) };
            assert!(panic.is_none());
            if self.head.channel.release(1) {
                self.frees.fetch_add(1, Relaxed);
            }
        }
    }
}

/// Two threads share the handle. Each looks at the result if it is there, and gives up its share, while the ticket
/// runs the task and leaves.
#[test]
fn a_shared_result_is_dropped_once() {
    loom::model(|| {
        let drops = std::sync::Arc::<Count>::default();
        let task = Arc::new(Shared {
            head: Head::new(Oneshot::new(false), FUNCTIONS, null()),
            message: Message::new(None),
            drops: drops.clone(),
            frees: Count::new(0),
        });
        // SAFETY: this is the handle, and the result has this type.
        let promise: Promise<Dropped> = unsafe { Promise::new(NonNull::from(&*task).cast()) };
        let handle = promise.share();
        let get = |handle: SharedTask, drops: &Count| {
            if handle.is_done() {
                handle.head().channel.note_fetched();
                // SAFETY: the task has ended, and this thread shares the handle.
                unsafe { handle.message::<Dropped>() }.with(|message| {
                    // SAFETY: as above.
                    assert!(unsafe { &*message }.is_some());
                });
                assert_eq!(drops.load(Relaxed), 0);
            }
        };
        let sharer = {
            let (handle, drops) = (handle.clone(), drops.clone());
            thread::spawn(move || get(handle, &drops))
        };
        let ticket = {
            let task = task.clone();
            thread::spawn(move || {
                assert!(task.head.channel.claim(TICKET));
                let result = Ok(Dropped(task.drops.clone()));
                // SAFETY: until the end, only the claimant uses the message.
                task.message
                    .with_mut(|message| unsafe { *message = Some(result) });
                task.head.channel.end();
                task.leave();
            })
        };
        get(handle, &drops);
        sharer.join().unwrap();
        ticket.join().unwrap();
        assert_eq!(drops.load(Relaxed), 1);
        assert_eq!(task.frees.load(Relaxed), 1);
    });
}
