//! Loom models of requests, answers, forwarding, work sharing and the manager.
//!
//! Run with `./x prove loom`.

pub(super) mod jobs;
mod manager;
mod requests;

use std::sync::atomic::{AtomicUsize as Count, Ordering::Relaxed};

use loom::sync::Arc;

use jobs::Jobs;

use super::Channel;
use super::forward;
use super::network::{Channels, Network, RequestId};
use super::protocol::{Kind, MANAGER, Situation};
use super::request::{Awaited, Request, RequestState};
use super::strategy::Stealing;
use super::tasks::{ChannelTasks, claim};
use super::victim::{begin_split, thieves_at_hand};
use purloin::scheduler::models::{self, Quiescence, Sleep};
use purloin::scheduler::sync::{AtomicUsize, Ordering, fence, yield_now};
use purloin::scheduler::{Reclaimed, Slot, State, StateWord, TaskPool};

/// A few workers with their task pools. Each task is a number.
struct Model {
    task_pools: Vec<ChannelTasks<Channel>>,
    /// The workers that run something, one bit each.
    active: AtomicUsize,
    sleep: Sleep,
    barrier: Quiescence,
    /// The jobs from outside the pool.
    jobs: Jobs,
    /// How many times each task was run.
    runs: [Count; 3],
}

impl Network for Model {
    fn workers(&self) -> usize {
        self.task_pools.len()
    }

    fn channels(&self, worker: usize) -> &Channels {
        &self.task_pools[worker].channels
    }

    fn is_active(&self, worker: usize) -> bool {
        self.active.load(Ordering::Relaxed) & 1 << worker != 0
    }

    fn notify(&self, worker: usize) {
        self.task_pools[worker].notify();
        self.sleep.unpark(worker);
    }
}

/// Runs a model of this many workers. The workers in the bit set `active` run something.
fn check(workers: usize, active: usize, model: impl Fn(Arc<Model>) + Sync + Send + 'static) {
    check_with(true, workers, active, model);
}

/// Runs a model in which workers forward requests, or refuse them.
fn check_with(
    forwards: bool,
    workers: usize,
    active: usize,
    model: impl Fn(Arc<Model>) + Sync + Send + 'static,
) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let task_pool = |_| {
            let channels = Channels::new(workers, Stealing::One, forwards);
            ChannelTasks::new(models::task_stack(4), channels)
        };
        model(Arc::new(Model {
            task_pools: (0..workers).map(task_pool).collect(),
            active: AtomicUsize::new(active),
            sleep: Sleep::for_model(workers, 0),
            barrier: Quiescence::new(),
            jobs: Jobs::new(),
            runs: Default::default(),
        }));
    });
}

impl Model {
    /// Returns a worker's request for any task.
    fn own_request(&self, worker: usize) -> &Request {
        self.channels(worker).request(Kind::Any)
    }

    /// Thief: sends its request for any task, because it is idle.
    fn send_request(&self, thief: usize, to: usize) {
        self.send_request_in(RequestState::Idle, thief, to);
    }

    /// Thief: sends its request for any task in this state.
    fn send_request_in(&self, state: RequestState, thief: usize, to: usize) {
        let own = self.own_request(thief);
        // SAFETY: the calling thread is the request's thief, and the request is UNSENT.
        unsafe {
            own.with(|contents| {
                contents.restart();
                contents.mark_asked(thief);
            });
        }
        own.begin(state);
        self.send(RequestId::new(thief, Kind::Any), to);
    }

    fn run(&self, task: u64) {
        self.runs[task as usize].fetch_add(1, Relaxed);
    }

    fn assert_each_ran_once(&self, tasks: usize) {
        for (task, runs) in self.runs.iter().enumerate() {
            assert_eq!(runs.load(Relaxed), usize::from(task < tasks), "task {task}");
        }
    }

    /// Owner: answers or forwards the requests in its mailbox.
    fn check_mailbox(&self, me: usize, situation: Situation) {
        let (tasks, mailbox) = (&self.task_pools[me], &self.channels(me).mailbox);
        let situation = situation.after_push(&mut self.channels(me).worker_state().is_splitting);
        loop {
            for id in mailbox.iter() {
                if !mailbox.take(id) {
                    continue;
                }
                let request = self.request(id);
                if id.thief() == me {
                    let goes_on = !self.forwards() && situation == Situation::Idle;
                    if !goes_on || !forward::ask_next(self, me, id) {
                        request.end();
                    }
                } else if let Some(state) = request.hold() {
                    // SAFETY: this worker has taken the request out of a mailbox and holds it. So
                    // it alone uses the contents.
                    let is_answered = unsafe {
                        request.with(|contents| {
                            let demand = (id.kind(), contents.amount);
                            tasks.answer_with_own(me, demand, situation, &mut contents.tasks);
                            !contents.tasks.is_empty()
                        })
                    };
                    if !is_answered {
                        request.release(state);
                        forward::forward(self, me, id, situation);
                        continue;
                    }
                    request.answer();
                    self.sleep.unpark(id.thief());
                }
            }
            if !mailbox.is_empty() {
                return tasks.keep_floor_raised();
            }
            tasks.take_floor_down();
            if mailbox.is_empty() {
                return;
            }
        }
    }

    /// Owner: the first half of a join.
    fn push(&self, me: usize, task: u64) -> *mut Slot<Channel> {
        let tasks = &self.task_pools[me];
        let slot = tasks.stack().top();
        let is_open = tasks.is_open(slot);
        // SAFETY: the slot at the top is free.
        unsafe { models::write_number(slot, task) };
        tasks.push(slot);
        if !is_open {
            self.check_mailbox(me, Situation::Running);
        }
        slot
    }

    /// Owner: splits the loop that it runs, if a thief waits for a part. Returns whether one does.
    fn split(&self, me: usize, task: u64) -> bool {
        self.check_mailbox(me, Situation::InLoop);
        let is_splitting = begin_split(self, me, false) > 0;
        if is_splitting {
            self.push(me, task);
        }
        is_splitting
    }

    /// Owner: marks its oldest task as sent, for a thief that already knows the address.
    fn send_oldest(&self, me: usize) {
        self.task_pools[me].send_oldest(1, |_| ());
        self.task_pools[me].take_floor_down();
    }

    /// Owner: the second half of a join.
    fn join(&self, me: usize, slot: *mut Slot<Channel>, task: u64) {
        let tasks = &self.task_pools[me];
        if tasks.pop(slot, false) {
            return self.run(task);
        }
        match tasks.reclaim(slot) {
            Reclaimed::Owned => {
                self.check_mailbox(me, Situation::Running);
                self.run(task);
            }
            Reclaimed::Stolen => {
                // SAFETY: the slot is live until this worker releases it.
                while !unsafe { &*slot }.header().is_done() {
                    yield_now();
                }
                tasks.release(slot);
            }
        }
    }

    /// Thief: receives the task that its request has brought, and runs it if it can claim it.
    fn receive(&self, thief: usize) {
        let own = self.own_request(thief);
        assert_eq!(own.state(), RequestState::Answered);
        // SAFETY: the calling thread is the request's thief, and the request is ANSWERED.
        let sent = unsafe { own.with(|contents| contents.tasks.pop()) };
        own.end();
        if let Some(sent) = sent {
            self.claim_and_run(thief, sent.slot);
        }
    }

    fn claim_and_run(&self, thief: usize, slot: *mut Slot<Channel>) {
        if claim(slot, thief, || true) {
            // SAFETY: the thief has claimed the task, so the slot is the thief's until DONE.
            unsafe {
                self.run(models::read_number(slot));
                (*slot).header().finish_stolen();
            }
        }
    }
}
