//! Workers that wait, and the spare ones to which they lend their cores: [`Spares`].
//!
//! # Futures that are got by their numbers: [`Futures`]
//!
//! The task of a future lies where all tasks lie, and is joined as they are, when the frame
//! ends that has made it. But it may be got before, by anyone: who gets it runs it, if nobody
//! has begun it. Then the task stays behind, without anything to run, wherever it is by
//! then, and whoever steals it has done so in vain.
//!
//! A program can wait for itself that way, if blocked workers run what has nothing to do with
//! what they wait for: that may wait for what it buries. So they lend their cores, and
//! nothing else ([`Workload::needs_spares`]). Then there is an end to each program: of all that
//! is begun or spawned and has not ended, take what comes first in the serial elision. It waits
//! for nothing. If it is begun, nothing lies on it, as that would come before it; so its worker
//! runs it, or is about to get its core back. If it is not, it is where thieves find it, or
//! the worker that has the core: what a blocked worker has left goes to that.

use super::Simulation;
use super::events::Event;
use super::worker::{Attempt, NONE, State, TaskId, Wait, Worker};
use crate::Workload;

/// The workers of a core, if they lend it.
#[derive(Clone, Debug)]
pub struct Spares {
    active: u32,
    /// Those that have waited for what is done by now.
    able: Vec<u32>,
    /// Those that have nothing.
    free: Vec<u32>,
}

impl Spares {
    pub fn new(active: u32) -> Spares {
        Spares {
            active,
            able: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<W: Workload> Simulation<'_, W> {
    /// The worker that has the core of this one.
    pub fn active(&self, worker: u32) -> u32 {
        if self.spares.is_empty() {
            return worker;
        }
        let core = self.core(worker);
        self.spares[core as usize].active
    }

    /// A worker is told that a task has ended. If that is what it waits for, it is able to go on.
    pub fn notify(&mut self, from: u32, worker: u32, is_able: bool) {
        let this = self.worker(worker);
        if is_able && this.state != State::Busy {
            this.is_able = true;
            if this.state == State::Parked {
                let core = this.core;
                self.spares[core as usize].able.push(worker);
            }
        }
        if self.crowd.is_open {
            return self.leave_crowd(worker);
        }
        if self.workers[worker as usize].state != State::Busy {
            let reach = self.reach(from, worker).message;
            let delay = self.machine.draw(reach, &mut self.random);
            self.events.add(self.now + delay, worker, Event::Woken);
        }
    }

    /// A worker may be able to go on, as what it waits for is done.
    pub fn woken(&mut self, worker: u32) {
        if self.worker(worker).state == State::Parked {
            let active = self.active(worker);
            let this = self.worker(active);
            if this.state == State::Dry && matches!(this.attempt, Attempt::Asking { .. }) {
                // What it has stolen meanwhile comes first: nobody would look for it elsewhere.
                self.run_dry(active);
            }
            return;
        }
        let this = &self.workers[worker as usize];
        let is_free = match this.attempt {
            Attempt::Nothing | Attempt::Asking { .. } => true,
            // It is at it, and will notice afterwards.
            Attempt::Sampling { .. } | Attempt::Reaching => self.policy.residual > 0,
            Attempt::Crowd => unreachable!("nobody is woken there"),
        };
        if this.state == State::Dry && is_free && this.is_able {
            self.proceed(worker);
        }
    }

    /// A core whose worker is dry turns to another of its workers: one that has waited, and
    /// can go on, or a spare one. Or it seeks work.
    pub fn change_worker(&mut self, worker: u32) -> Option<u32> {
        let core = self.core(worker);
        let is_blocked = !self.workers[worker as usize].frames.is_empty();
        let back = self.spares[core as usize].able.pop();
        if !is_blocked && back.is_none() {
            self.seek(worker);
            return None;
        }
        // If it is blocked, it has been so since just now: it is not able to go on already.
        self.worker(worker).state = State::Parked;
        let spares = &mut self.spares[core as usize];
        let next = back.or_else(|| spares.free.pop()).unwrap_or(NONE);
        if !is_blocked {
            spares.free.push(worker);
        }
        let next = match next {
            NONE => {
                self.outcome.spares += 1;
                self.workers.push(Worker::new(core));
                self.offers.add();
                self.workers.len() as u32 - 1
            }
            next => next,
        };
        self.spares[core as usize].active = next;
        self.hand_over(worker, next);
        Some(next)
    }

    /// What a worker has left is that of the worker which has its core now.
    fn hand_over(&mut self, worker: u32, next: u32) {
        let this = &mut self.workers[worker as usize];
        if this.ready() == 0 {
            return;
        }
        let mut left = this.tasks[this.bottom..].to_vec();
        this.bottom = this.tasks.len();
        left.extend(this.loot.drain(..));
        for &task in &left {
            self.tasks.get_mut(task).thief = next;
        }
        self.worker(next).loot.extend(left);
        self.note_oldest(worker);
        self.note_oldest(next);
    }
}

/// Futures, by their numbers.
#[derive(Debug, Default)]
pub struct Futures(Vec<Promise>);

#[derive(Clone, Copy, Debug)]
struct Promise {
    /// None if that has ended, or is not made.
    task: TaskId,
    /// Who waits for it.
    getter: u32,
}

impl Futures {
    const NOTHING: Promise = Promise {
        task: TaskId::NONE,
        getter: NONE,
    };

    /// A future is made.
    pub fn add(&mut self, number: u32, task: TaskId) {
        let place = number as usize;
        if self.0.len() <= place {
            self.0.resize(place + 1, Self::NOTHING);
        }
        self.0[place].task = task;
    }

    /// The task that is to end.
    fn task(&self, number: u32) -> Option<TaskId> {
        let promise = self.0.get(number as usize)?;
        Some(promise.task).filter(|&task| task != TaskId::NONE)
    }

    pub fn is_done(&self, number: u32) -> bool {
        self.task(number).is_none()
    }

    /// It has ended: who has waited for that, if anybody.
    pub fn end(&mut self, number: u32) -> Option<u32> {
        let promise = std::mem::replace(&mut self.0[number as usize], Self::NOTHING);
        Some(promise.getter).filter(|&getter| getter != NONE)
    }
}

impl<W: Workload> Simulation<'_, W> {
    /// The frame on top gets a future.
    pub fn get(&mut self, worker: u32, number: u32) {
        let Some(task) = self.futures.task(number) else {
            return;
        };
        if let Some((activation, level)) = self.start(worker, task) {
            return self.call(worker, activation, task, level);
        }
        self.futures.0[number as usize].getter = worker;
        let frame = self.worker(worker).frames.last_mut();
        frame.expect("it gets the future").waits = Wait::Future(number);
    }
}
