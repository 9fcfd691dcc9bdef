//! Loom models of messages alone: the channel, answers, withdrawals, and termination.
//!
//! The workers of a model run the functions that a pool's workers run. Run with `./x prove loom`.

use std::sync::atomic::{AtomicUsize as Counter, Ordering::Relaxed};

use loom::sync::Arc;
use loom::thread;

use super::Channel;
use super::fifo::Fifo;
use super::handler::{
    begin_outside_work, begin_split, end_outside_work, handle_messages, is_quiescent, send_request,
};
use super::manager::MANAGER;
use super::messages::{
    Channels, Colour, Kind, Leapfrog, LeapfrogRequest, Message, Outside, Peers, SentTask,
    Situation, StealRequest,
};
use super::strategy::{Amount, Stealing};
use super::tasks::{ChannelTasks, claim};
use purloin::scheduler::models::{self, Quiescence, Sleep};
use purloin::scheduler::sync::{AtomicUsize, Mutex, Ordering, lock, yield_now};
use purloin::scheduler::{Count, Reclaimed, Slot, StateWord, TaskPool};

/// A few workers with their task pools. Each task is a number.
struct Model {
    task_pools: Vec<ChannelTasks>,
    sleep: Sleep,
    barrier: Quiescence,
    /// The jobs from outside the pool.
    jobs: Jobs,
    /// How many times each task was run.
    runs: [Counter; 2],
}

impl Peers for Model {
    fn workers(&self) -> usize {
        self.task_pools.len()
    }

    fn channels(&self, worker: usize) -> &Channels {
        &self.task_pools[worker].channels
    }

    fn unpark(&self, worker: usize) {
        self.sleep.unpark(worker);
    }

    fn notify(&self, worker: usize) {
        self.task_pools[worker].notify();
        self.sleep.unpark(worker);
    }

    fn set_floor(&self, me: usize, is_raised: bool) {
        self.task_pools[me].set_floor(is_raised);
    }

    fn add_own_tasks(
        &self,
        me: usize,
        demand: (Kind, Amount),
        situation: Situation,
        tasks: &mut Vec<SentTask>,
    ) {
        self.task_pools[me].answer_with_own(me, demand, situation, tasks);
    }

    fn count(&self, _: usize, _: Count) {}
}

/// Jobs from outside the pool.
struct Jobs {
    count: Mutex<usize>,
    /// A copy of `count` that can be read without the lock.
    hint: AtomicUsize,
}

impl Jobs {
    /// Returns no jobs.
    fn new() -> Self {
        Jobs {
            count: Mutex::new(0),
            hint: AtomicUsize::new(0),
        }
    }

    fn add(&self) {
        let mut count = lock(&self.count);
        *count += 1;
        self.hint.store(*count, Ordering::Relaxed);
    }

    /// Takes a job. Returns whether there was one.
    fn take(&self) -> bool {
        let mut count = lock(&self.count);
        let is_there = *count > 0;
        *count = count.saturating_sub(1);
        self.hint.store(*count, Ordering::Release);
        is_there
    }

    /// Returns whether there are none. The caller acquires what the worker that took the last job
    /// did before.
    fn are_over(&self) -> bool {
        self.hint.load(Ordering::Acquire) == 0
    }
}

fn check(workers: usize, model: impl Fn(Arc<Model>) + Sync + Send + 'static) {
    let builder = purloin::implement::model_builder(3);
    builder.check(move || {
        let task_pool = |_| {
            let channels = Channels::new(workers, Stealing::One, true);
            ChannelTasks::new(models::task_stack(4), channels)
        };
        model(Arc::new(Model {
            task_pools: (0..workers).map(task_pool).collect(),
            sleep: Sleep::for_model(workers, 0),
            barrier: Quiescence::new(),
            jobs: Jobs::new(),
            runs: Default::default(),
        }));
    });
}

impl Model {
    fn handle_messages(&self, me: usize, situation: Situation) {
        let own = &mut *self.channels(me).worker_state();
        handle_messages(self, me, own, situation);
    }

    /// Thief: sends its request for any task.
    fn send_request(&self, thief: usize, to: usize) {
        let own = &mut *self.channels(thief).worker_state();
        send_request(self, thief, own, Colour::Idle, to);
    }

    /// Thief: sends its request for any task as if all other workers had been asked.
    fn send_asked(&self, thief: usize, to: usize) {
        let request = StealRequest {
            thief,
            colour: Colour::Idle,
            amount: Amount::One,
            asked: self.workers() - 1,
            last: to,
        };
        self.channels(thief).worker_state().sent = Some(Colour::Idle);
        self.send(to, Message::Steal(request));
    }

    fn run(&self, task: u64) {
        self.runs[task as usize].fetch_add(1, Relaxed);
    }

    fn assert_each_ran_once(&self, tasks: usize) {
        for (task, runs) in self.runs.iter().enumerate() {
            assert_eq!(runs.load(Relaxed), usize::from(task < tasks), "task {task}");
        }
    }

    /// Owner: pushes a task.
    fn push(&self, me: usize, task: u64) -> *mut Slot<Channel> {
        let tasks = &self.task_pools[me];
        let slot = tasks.stack().top();
        let is_open = tasks.is_open(slot);
        // SAFETY: the slot at the top is free.
        unsafe { models::write_number(slot, task) };
        tasks.push(slot);
        if !is_open {
            self.handle_messages(me, Situation::Running);
        }
        slot
    }

    /// Owner: splits the loop that it runs, if it keeps a request. Returns whether it does.
    fn split(&self, me: usize, task: u64) -> bool {
        self.handle_messages(me, Situation::InLoop);
        let is_splitting = begin_split(&mut self.channels(me).worker_state()) > 0;
        if is_splitting {
            self.push(me, task);
        }
        is_splitting
    }

    /// Owner: pushes a task, and takes it back or waits for it.
    fn fork_and_join(&self, me: usize, task: u64) {
        let (tasks, slot) = (&self.task_pools[me], self.push(me, task));
        if tasks.pop(slot, false) {
            return self.run(task);
        }
        match tasks.reclaim(slot) {
            Reclaimed::Owned => {
                self.handle_messages(me, Situation::Running);
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

    /// Thief: runs the task that an answer has brought, if it can claim it. Returns whether there was
    /// an answer.
    fn run_answer(&self, thief: usize, kind: Kind) -> bool {
        let sent = self
            .channels(thief)
            .answer(kind)
            .receive(|tasks| tasks.pop());
        if let Some(Some(sent)) = sent {
            let slot: *mut Slot<Channel> = sent.slot;
            if claim(slot, thief, || true) {
                // SAFETY: the thief has claimed the task, so the slot is the thief's until DONE.
                unsafe {
                    self.run(models::read_number(slot));
                    (*slot).header().finish_stolen();
                }
            }
        }
        sent.is_some()
    }

    /// A worker whose request is at the manager runs all jobs, and is idle again afterwards. For each
    /// job it calls `job` with the number of jobs that it has run before.
    fn run_jobs(&self, me: usize, job: impl Fn(usize)) {
        let mut number = 0;
        while !self.jobs.are_over() {
            begin_outside_work(self, me, &mut self.channels(me).worker_state());
            if self.jobs.take() {
                job(number);
                number += 1;
            }
        }
        self.become_idle(me);
    }

    /// A worker that has run something from outside becomes idle again.
    fn become_idle(&self, me: usize) {
        self.sleep.park_until(me, || {
            self.handle_messages(me, Situation::Idle);
            let own = &mut *self.channels(me).worker_state();
            end_outside_work(self, me, own);
            own.outside == Outside::Nothing
        });
    }

    /// The idle manager. Returns when it has ended the waits at the task barrier up to this one.
    fn end_waits(&self, last: u64) {
        self.sleep.park_until(MANAGER, || {
            self.end_wait_if_quiescent()
                .is_some_and(|wait| wait >= last)
        });
    }

    /// The idle manager: looks at its messages, and ends the waits at the task barrier if all workers
    /// are idle. Returns the last of these waits.
    fn end_wait_if_quiescent(&self) -> Option<u64> {
        self.handle_messages(MANAGER, Situation::Idle);
        let wait = self.barrier.awaited()?;
        let own = self.channels(MANAGER).worker_state();
        let is_quiescent = is_quiescent(self, &own, || self.jobs.are_over());
        if !is_quiescent {
            return None;
        }
        self.barrier.end(wait);
        Some(wait)
    }
}

#[test]
fn messages_of_two_senders_are_received_once_each() {
    let builder = purloin::implement::model_builder(3);
    builder.check(|| {
        let channel = Arc::new(Fifo::new(2));
        let senders = [1, 2].map(|message| {
            let channel = channel.clone();
            thread::spawn(move || channel.send(message))
        });
        let mut sum = 0;
        while sum < 3 {
            match channel.receive() {
                Some(message) => sum += message,
                None => yield_now(),
            }
        }
        senders
            .into_iter()
            .for_each(|sender| sender.join().unwrap());
        assert!(channel.is_empty());
        assert_eq!(channel.receive(), None);
    });
}

/// Only the turns of the cells order the reads and writes.
#[test]
fn a_cell_is_written_again_after_it_was_read() {
    loom::model(|| {
        let channel = Arc::new(Fifo::new(2));
        let received = Arc::new(AtomicUsize::new(0));
        channel.send(1);
        channel.send(2);
        let sender = {
            let (channel, received) = (channel.clone(), received.clone());
            thread::spawn(move || {
                let may_send = received.load(Ordering::Relaxed) == 1;
                if may_send {
                    channel.send(4);
                }
                may_send
            })
        };
        assert_eq!(channel.receive(), Some(1));
        received.store(1, Ordering::Relaxed);
        let has_sent = sender.join().unwrap();
        assert_eq!(channel.receive(), Some(2));
        assert_eq!(channel.receive(), has_sent.then_some(4));
    });
}

/// A message that a thread has sent before it told another thread comes first.
#[test]
fn a_message_comes_before_those_that_it_has_caused() {
    let builder = purloin::implement::model_builder(3);
    builder.check(|| {
        let channel = Arc::new(Fifo::new(2));
        let told = Arc::new(AtomicUsize::new(0));
        let first = {
            let (channel, told) = (channel.clone(), told.clone());
            thread::spawn(move || {
                channel.send(1);
                told.store(1, Ordering::Release);
            })
        };
        let second = {
            let channel = channel.clone();
            thread::spawn(move || {
                if told.load(Ordering::Acquire) == 1 {
                    channel.send(2);
                }
            })
        };
        let received = channel.receive();
        assert_ne!(received, Some(2));
        first.join().unwrap();
        second.join().unwrap();
    });
}

/// The victim answers, or the request waits with it and its floor stays raised.
#[test]
fn a_request_gets_a_task_or_waits_with_the_victim() {
    check(3, |model| {
        let victim = {
            let model = model.clone();
            thread::spawn(move || model.fork_and_join(1, 0))
        };
        // The victim keeps the request.
        model.send_asked(2, 1);
        let was_answered = model.run_answer(2, Kind::Any);
        // An owner waits for a task that the thief has claimed, and takes back any other.
        victim.join().unwrap();
        model.assert_each_ran_once(1);
        let is_answered = was_answered || model.channels(2).answer(Kind::Any).is_full();
        assert!(is_answered || model.task_pools[1].is_requested());
    });
}

/// The first part of the loop is sent, but not claimed, when the owner handles the second request.
#[test]
fn two_requests_at_once_get_one_part_of_a_loop_each() {
    check(3, |model| {
        let thieves = [1, 2].map(|thief| {
            let model = model.clone();
            thread::spawn(move || {
                model.send_request(thief, 0);
                let answer = model.channels(thief).answer(Kind::Any);
                model.sleep.park_until(thief, || answer.is_full());
                let sent = answer.receive(|tasks| tasks.pop());
                sent.flatten().expect("an answer has a task").slot as usize
            })
        });
        let mut parts = 0;
        while parts < 2 {
            match model.split(0, parts) {
                true => parts += 1,
                false => yield_now(),
            }
        }
        let slots = thieves.map(|thief| thief.join().unwrap());
        assert_ne!(slots[0], slots[1]);
        assert!(model.channels(0).worker_state().kept.is_empty());
    });
}

/// The holder answers a leapfrog request exactly once, whether or not the thief withdraws it.
#[test]
fn a_withdrawn_leapfrog_request_has_one_answer() {
    check(2, |model| {
        let holder = {
            let model = model.clone();
            thread::spawn(move || {
                model.fork_and_join(0, 0);
                // Until the withdrawal has come.
                model.sleep.park_until(0, || {
                    model.handle_messages(0, Situation::Running);
                    model.channels(1).answer(Kind::Leapfrog).is_full()
                });
            })
        };
        let awaited = StateWord::new(purloin::scheduler::State::EMPTY);
        let request = LeapfrogRequest::new(1, &awaited);
        model.channels(1).worker_state().leapfrog = Leapfrog::SentTo(0);
        model.send(0, Message::Leapfrog(request));
        model.send(0, Message::Withdraw { thief: 1 });
        holder.join().unwrap();
        let answer = model.channels(1).answer(Kind::Leapfrog);
        assert!(answer.receive(|_| ()).is_some());
        model.handle_messages(0, Situation::Running);
        assert!(!answer.is_full(), "a second answer");
        model.assert_each_ran_once(1);
    });
}

/// The wait ends after the job, and it does end: otherwise the manager would sleep for ever.
#[test]
fn a_wait_ends_after_the_last_job() {
    check(2, |model| {
        let effect = Arc::new(loom::cell::UnsafeCell::new(0));
        model.send_request(1, MANAGER);
        model.jobs.add();
        let manager = {
            let model = model.clone();
            thread::spawn(move || model.end_waits(1))
        };
        let worker = {
            let (model, effect) = (model.clone(), effect.clone());
            thread::spawn(move || {
                model.run_jobs(1, |_| {
                    // SAFETY: the reader waits until the job is done. Loom reports a race otherwise.
                    effect.with_mut(|effect| unsafe { *effect = 1 });
                    model.run(0);
                });
            })
        };
        model.barrier.wait_for_end(|| model.sleep.unpark(MANAGER));
        model.assert_each_ran_once(1);
        // SAFETY: the wait is over, so the job is done. Loom reports a race otherwise.
        effect.with(|effect| assert_eq!(unsafe { *effect }, 1));
        manager.join().unwrap();
        worker.join().unwrap();
    });
}

/// A victim that ends, and its thief that goes on: the manager learns of the thief first.
#[test]
fn a_wait_covers_the_thief_of_an_idle_victim() {
    check(3, |model| {
        // Worker 2 is registered, and its request is with worker 1, which runs a job.
        model.send_asked(2, MANAGER);
        model.handle_messages(MANAGER, Situation::Idle);
        model.handle_messages(1, Situation::Running);
        let manager = {
            let model = model.clone();
            thread::spawn(move || {
                model.handle_messages(MANAGER, Situation::Idle);
                let own = model.channels(MANAGER).worker_state();
                is_quiescent(&*model, &own, || true)
            })
        };
        let victim = {
            let model = model.clone();
            thread::spawn(move || {
                model.fork_and_join(1, 0);
                model.send_asked(1, MANAGER);
            })
        };
        let was_answered = model.run_answer(2, Kind::Any);
        let is_quiescent = manager.join().unwrap();
        victim.join().unwrap();
        // The thief has sent no request since its answer.
        let is_answered = was_answered || model.channels(2).answer(Kind::Any).is_full();
        assert!(!(is_quiescent && is_answered));
    });
}
