//! Loom models of the channels, of forwarding, of resting, and of the manager.
//!
//! With `RUSTFLAGS="--cfg loom" cargo test --release -p purloin --lib`.

mod manager;
mod requests;

use std::sync::atomic::{AtomicUsize as Count, Ordering::Relaxed};

use loom::sync::Arc;

use super::ChannelSlot;
use super::network::{self, Kind, MANAGER, Network, Post, Situation};
use super::request::{Awaited, Colour, Sent};
use super::strategy::Stealing;
use super::tasks::ChannelTasks;
use super::thief::claim;
use purloin::scheduler::models::{self, Quiescence, Sleep};
use purloin::scheduler::sync::{AtomicUsize, Mutex, Ordering, fence, lock, yield_now};
use purloin::scheduler::{Reclaimed, State, StateWord, TaskPool, TaskStack};

/// A few workers with their stacks.
struct Model {
    stacks: Vec<ChannelTasks>,
    /// Which of them run something.
    active: AtomicUsize,
    sleep: Sleep,
    barrier: Quiescence,
    /// Jobs from outside.
    outside: Mutex<usize>,
    outside_len: AtomicUsize,
    /// How often each task was run.
    runs: [Count; 3],
}

impl Network for Model {
    fn workers(&self) -> usize {
        self.stacks.len()
    }

    fn post(&self, worker: usize) -> &Post {
        &self.stacks[worker].post
    }

    fn is_active(&self, worker: usize) -> bool {
        self.active.load(Ordering::Relaxed) & 1 << worker != 0
    }

    fn notify(&self, worker: usize) {
        self.stacks[worker].notify();
        self.sleep.unpark(worker);
    }
}

fn check(workers: usize, active: usize, model: impl Fn(Arc<Model>) + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let stack = |_| ChannelTasks::new(TaskStack::new(4).unwrap(), workers, Stealing::One);
        model(Arc::new(Model {
            stacks: (0..workers).map(stack).collect(),
            active: AtomicUsize::new(active),
            sleep: Sleep::for_model(workers, 0),
            barrier: Quiescence::new(),
            outside: Mutex::new(0),
            outside_len: AtomicUsize::new(0),
            runs: Default::default(),
        }));
    });
}

impl Model {
    /// Thief: sends its request.
    fn ask(&self, thief: usize, to: usize) {
        let own = self.post(thief).request(Kind::Any);
        // SAFETY: this worker is the request's thief, and the request is home, so no other
        // worker touches its contents.
        unsafe {
            own.with(|contents| {
                contents.begin_anew();
                contents.note_asked(thief);
            });
        }
        own.depart(Colour::Idle);
        network::send(self, network::id(thief, Kind::Any), to);
    }

    fn run(&self, task: u64) {
        self.runs[task as usize].fetch_add(1, Relaxed);
    }

    fn assert_each_ran_once(&self, tasks: usize) {
        for (task, runs) in self.runs.iter().enumerate() {
            assert_eq!(runs.load(Relaxed), usize::from(task < tasks), "task {task}");
        }
    }

    /// Owner: looks into its mailbox, and answers or sends on what is there.
    fn poll(&self, me: usize, situation: Situation) {
        let (stack, mailbox) = (&self.stacks[me], &self.post(me).mailbox);
        loop {
            for id in mailbox.iter() {
                if !mailbox.take(id) {
                    continue;
                }
                let (thief, request) = (network::thief(id), network::request(self, id));
                if thief == me {
                    request.taken_back();
                } else if let Some(colour) = request.hold() {
                    if stack.unstolen() == 0 {
                        request.let_go(colour);
                        network::pass(self, me, id, situation);
                        continue;
                    }
                    // SAFETY: the request is out of every mailbox and held by this worker, so its
                    // contents are this worker's alone.
                    unsafe {
                        request.with(|contents| {
                            stack.give(1, |slot| {
                                contents.tasks.push(Sent { slot, owner: me });
                            });
                        });
                    }
                    request.answer();
                    self.sleep.unpark(thief);
                }
            }
            if !mailbox.is_empty() {
                return stack.keep_requested();
            }
            stack.settle();
            if mailbox.is_empty() {
                return;
            }
        }
    }

    /// Owner: the first half of a join.
    fn push(&self, me: usize, task: u64) -> *mut ChannelSlot {
        let stack = &self.stacks[me];
        let slot = stack.stack().top();
        let is_open = stack.is_open(slot);
        // SAFETY: the slot at the top is free.
        unsafe { models::write_number(slot, task) };
        stack.push(slot);
        if !is_open {
            self.poll(me, Situation::Running);
        }
        slot
    }

    /// Owner: sends its oldest task to nobody in particular.
    fn send(&self, me: usize) {
        self.stacks[me].give(1, |_| ());
        self.stacks[me].settle();
    }

    /// Owner: the second half.
    fn join(&self, me: usize, slot: *mut ChannelSlot, task: u64) {
        let stack = &self.stacks[me];
        if stack.pop(slot) {
            return self.run(task);
        }
        match stack.reclaim(slot) {
            Reclaimed::Owned => {
                self.poll(me, Situation::Running);
                self.run(task);
            }
            Reclaimed::Stolen => {
                // SAFETY: live until it is released.
                while !unsafe { &*slot }.header().is_done() {
                    yield_now();
                }
                stack.release(slot);
            }
        }
    }

    /// Thief: takes what its request has brought, and perhaps runs it.
    fn receive(&self, thief: usize) {
        let own = self.post(thief).request(Kind::Any);
        assert_eq!(own.colour(), Colour::Answered);
        // SAFETY: this worker is the request's thief. The request is answered, so its
        // victim has left the contents to this worker.
        let sent = unsafe { own.with(|contents| contents.tasks.pop()) };
        own.arrive();
        if let Some(sent) = sent {
            self.begin(thief, sent.slot);
        }
    }

    fn begin(&self, thief: usize, slot: *mut ChannelSlot) {
        if claim(slot, thief, || true) {
            // SAFETY: ours until it is done.
            unsafe {
                self.run(models::read_number(slot));
                (*slot).header().finish_stolen();
            }
        }
    }
}
