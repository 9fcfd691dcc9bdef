//! Blocked workers that lend their cores to spare workers, [`CoreWorkers`], and futures,
//! [`Futures`].
//!
//! The task of a future is in the task pool like every other task, and the frame that has made the
//! future joins the task when the frame ends. But any frame may get the future before that. If the
//! task has not started, the worker that gets the future runs it. An empty task then stays in the
//! pool, and a thief that steals it has stolen in vain.
//!
//! # Why programs with futures end
//!
//! A program with futures could deadlock if a blocked worker ran unrelated tasks on top of its
//! blocked frame: an unrelated task may wait for a future that the blocked frame has yet to
//! complete. So it requires that blocked workers lend their cores and run nothing themselves
//! ([`Workload::needs_spares`]). Then some task can always run:
//!
//! - Of all frames and tasks that have not ended, consider the first in the order of the serial
//!   elision. It waits for nothing.
//! - If it is a frame, no other frame is above it on its worker's stack, because a frame above
//!   would come earlier in the serial elision. So its worker runs it or is about to get its core
//!   back.
//! - If it is a task that has not started, thieves can find it, or the worker that has the core
//!   runs it: a blocked worker hands its tasks over to the worker that gets its core.

use super::Simulation;
use super::events::Event;
use super::worker::{Attempt, NONE, State, TaskId, Wait, Worker};
use crate::Workload;

/// The workers of a core, if blocked workers lend it.
#[derive(Clone, Debug)]
pub struct CoreWorkers {
    /// The worker that has the core.
    active: u32,
    /// Parked workers whose awaited task has ended.
    resumable: Vec<u32>,
    /// Parked spare workers that have no frames.
    unused: Vec<u32>,
}

impl CoreWorkers {
    pub fn new(active: u32) -> CoreWorkers {
        CoreWorkers {
            active,
            resumable: Vec::new(),
            unused: Vec::new(),
        }
    }
}

impl<W: Workload> Simulation<'_, W> {
    /// Returns the worker that has the core of `worker`.
    pub fn active(&self, worker: u32) -> u32 {
        if self.core_workers.is_empty() {
            return worker;
        }
        let core = self.core(worker);
        self.core_workers[core as usize].active
    }

    /// Tells a worker that a task has ended. `can_resume` says whether the worker waits for that
    /// task.
    pub fn notify(&mut self, from: u32, worker: u32, can_resume: bool) {
        let this = self.worker(worker);
        if can_resume && this.state != State::Busy {
            this.can_resume = true;
            if this.state == State::Parked {
                let core = this.core;
                self.core_workers[core as usize].resumable.push(worker);
            }
        }
        if self.aggregate.is_used {
            return self.leave_aggregate(worker);
        }
        if self.workers[worker as usize].state != State::Busy {
            let message = self.latency(from, worker).message;
            let delay = self.machine.draw(message, &mut self.random);
            self.events.add(self.now + delay, worker, Event::Woken);
        }
    }

    /// Handles the message that the task a worker waits for may have ended.
    pub fn on_woken(&mut self, worker: u32) {
        if self.worker(worker).state == State::Parked {
            let active = self.active(worker);
            let this = self.worker(active);
            if this.state == State::Idle && matches!(this.attempt, Attempt::Requesting { .. }) {
                // This starts the tasks that the active worker has stolen meanwhile before it
                // resumes the parked worker. Nothing else would start them.
                self.run_next_of_core(active);
            }
            return;
        }
        let this = &self.workers[worker as usize];
        let is_free = match this.attempt {
            Attempt::Nothing | Attempt::Requesting { .. } => true,
            // The attempt is in progress. Its end resumes the worker or starts the tasks that the
            // worker has stolen. With residual tasks, the worker need not wait for the end.
            Attempt::Sampling { .. } | Attempt::Looking | Attempt::Stealing => {
                self.policy.residual > 0
            }
            Attempt::Aggregate => unreachable!("workers in aggregate get no wake-up message"),
        };
        if this.state == State::Idle && is_free && this.can_resume {
            self.run_core(worker);
        }
    }

    /// Gives the core of an idle worker to another worker, and returns that worker: a worker that
    /// can resume or, if the idle worker is blocked, a spare worker. Otherwise the idle worker
    /// starts to steal.
    pub fn switch_worker(&mut self, worker: u32) -> Option<u32> {
        let core = self.core(worker);
        let is_blocked = !self.workers[worker as usize].frames.is_empty();
        let resumed = self.core_workers[core as usize].resumable.pop();
        if !is_blocked && resumed.is_none() {
            self.start_stealing(worker);
            return None;
        }
        // A blocked worker has blocked just now, so it cannot be in `resumable`.
        self.set_state(worker, State::Parked);
        let spares = &mut self.core_workers[core as usize];
        let next = resumed.or_else(|| spares.unused.pop()).unwrap_or(NONE);
        if !is_blocked {
            spares.unused.push(worker);
        }
        let next = match next {
            NONE => {
                self.outcome.spares += 1;
                self.workers.push(Worker::new(core));
                self.idle += 1;
                self.offers.add();
                self.workers.len() as u32 - 1
            }
            next => next,
        };
        self.core_workers[core as usize].active = next;
        self.hand_over_tasks(worker, next);
        Some(next)
    }

    /// Moves the ready tasks of a parked worker to the worker that gets its core.
    fn hand_over_tasks(&mut self, worker: u32, next: u32) {
        let this = &mut self.workers[worker as usize];
        if this.ready() == 0 {
            return;
        }
        let mut left = this.tasks[this.bottom..].to_vec();
        this.bottom = this.tasks.len();
        left.extend(this.stolen.drain(..));
        for &task in &left {
            self.tasks.get_mut(task).thief = next;
        }
        self.worker(next).stolen.extend(left);
        self.note_oldest(worker);
        self.note_oldest(next);
    }
}

/// The futures that frames get by number.
#[derive(Debug, Default)]
pub struct Futures(Vec<Promise>);

#[derive(Clone, Debug)]
struct Promise {
    /// The task of the future. [`TaskId::NONE`] if the future is not made or has ended.
    task: TaskId,
    /// The workers that wait for the future.
    waiters: Vec<u32>,
}

impl Promise {
    const NONE: Promise = Promise {
        task: TaskId::NONE,
        waiters: Vec::new(),
    };
}

impl Futures {
    /// Adds a future with this number and task.
    pub fn add(&mut self, number: u32, task: TaskId) {
        let place = number as usize;
        if self.0.len() <= place {
            self.0.resize(place + 1, Promise::NONE);
        }
        self.0[place].task = task;
    }

    /// Returns the task of a future that has not ended.
    fn task(&self, number: u32) -> Option<TaskId> {
        let promise = self.0.get(number as usize)?;
        Some(promise.task).filter(|&task| task != TaskId::NONE)
    }

    pub fn is_done(&self, number: u32) -> bool {
        self.task(number).is_none()
    }

    /// Marks a future as ended. Returns the workers that wait for it.
    pub fn end(&mut self, number: u32) -> Vec<u32> {
        std::mem::replace(&mut self.0[number as usize], Promise::NONE).waiters
    }
}

impl<W: Workload> Simulation<'_, W> {
    /// Gets a future in the top frame of `worker`: runs its task if it has not started, or else
    /// makes the frame wait for it.
    pub fn get(&mut self, worker: u32, number: u32) {
        let Some(task) = self.futures.task(number) else {
            return;
        };
        if let Some((activation, level)) = self.start_task(worker, task) {
            return self.call(worker, activation, task, level);
        }
        self.futures.0[number as usize].waiters.push(worker);
        let frame = self.worker(worker).frames.last_mut();
        frame.expect("the frame that gets the future").waits = Wait::Future(number);
    }
}
