//! The simulation itself: [`simulate`].
//!
//! A worker has a stack of activations, as a thread has, and a direct task stack. It runs
//! from one event to the next without taking time, until it computes, or has nothing to run.
//! Then an event says when that ends. So there is one event for each stretch of work, and one
//! or two for each attempt to steal; nothing is done at times at which nothing happens. Thieves
//! that turn to anyone are simulated together: `crowd.rs`.
//!
//! Everything follows from the seed: events at the same time are in the order in which they
//! were foreseen, times are integers, and random numbers are drawn in the order of events.

mod crowd;
mod events;
mod offers;
mod steal;
mod tasks;
#[cfg(test)]
mod tests;
mod victims;
mod worker;

use self::crowd::Crowd;
use self::events::{Event, Events};
use self::offers::Offers;
use self::tasks::{Task, TaskId, Tasks};
use self::worker::{Attempt, Frame, NONE, State, Worker};
use crate::policy::{Waiting, Way};
use crate::{Machine, Policy, Random, Step, Time, Workload};

/// What happened in a simulated run.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Outcome {
    /// How long it took.
    pub time: Time,
    /// What all cores have worked, together.
    pub work: Time,
    /// What all cores have spent on spawning tasks and joining them, together.
    pub overhead: Time,
    /// Tasks that were spawned.
    pub tasks: u64,
    /// Attempts to steal, those in vain too. To look at some victims, and then to reach for one,
    /// is one attempt.
    pub attempts: u64,
    /// Attempts that brought something.
    pub steals: u64,
    /// Tasks that were stolen.
    pub stolen: u64,
    /// Looks at possible victims.
    pub samples: u64,
    /// Messages that were sent.
    pub messages: u64,
    /// Spare workers that were needed.
    pub spares: u64,
    /// Events that were simulated.
    pub events: u64,
}

impl Outcome {
    /// The share of the cores' time in which they had nothing to do.
    pub fn idle(&self, cores: u32) -> f64 {
        let all = self.time.seconds() * f64::from(cores);
        match all > 0.0 {
            true => 1.0 - (self.work + self.overhead).seconds() / all,
            false => 0.0,
        }
    }
}

/// Simulates a program on a machine, under a policy. The same seed gives the same run, on
/// whatever machine it is simulated.
///
/// ```
/// use purloin_sim::{Machine, Policy, Tree, simulate};
///
/// let machine = Machine::wool(64);
/// let outcome = simulate(&Tree::wool(64), &machine, Policy::default(), 1);
/// assert_eq!(outcome.tasks, 255);
/// assert!(outcome.idle(64) < 0.9);
/// ```
pub fn simulate<W: Workload>(
    workload: &W,
    machine: &Machine,
    policy: Policy,
    seed: u64,
) -> Outcome {
    let policy = match machine.is_ideal() {
        true => policy.on_ideal_machine(),
        false => policy,
    };
    let mut simulation = Simulation::new(workload, machine, policy, seed);
    simulation.run();
    simulation.outcome
}

struct Simulation<'s, W: Workload> {
    workload: &'s W,
    machine: &'s Machine,
    policy: Policy,
    seed: u64,
    random: Random,
    now: Time,
    events: Events,
    crowd: Crowd,
    /// One for each core, then spare ones.
    workers: Vec<Worker<W::Activation>>,
    tasks: Tasks<W::Activation>,
    offers: Offers,
    /// For each core, if workers lend theirs.
    spares: Vec<Spares>,
    is_over: bool,
    outcome: Outcome,
}

/// The workers of a core.
#[derive(Clone, Debug)]
struct Spares {
    active: u32,
    /// Those that have waited for what is done by now.
    able: Vec<u32>,
    /// Those that have nothing.
    free: Vec<u32>,
}

impl Spares {
    fn new(active: u32) -> Spares {
        Spares {
            active,
            able: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<'s, W: Workload> Simulation<'s, W> {
    fn new(workload: &'s W, machine: &'s Machine, policy: Policy, seed: u64) -> Self {
        let cores = machine.size();
        let spares = match policy.waiting {
            Waiting::Spare => (0..cores).map(Spares::new).collect(),
            _ => Vec::new(),
        };
        Simulation {
            workload,
            machine,
            policy,
            seed,
            random: Random::new(seed),
            now: Time::ZERO,
            events: Events::new(),
            crowd: Crowd::new(machine, policy),
            workers: (0..cores).map(Worker::new).collect(),
            tasks: Tasks::new(),
            offers: Offers::new(cores),
            spares,
            is_over: false,
            outcome: Outcome::default(),
        }
    }

    fn run(&mut self) {
        self.workers[0].frames.push(Frame {
            activation: self.workload.root(),
            task: TaskId::NONE,
            children: 0,
            level: 0,
            is_joining: false,
        });
        self.proceed(0);
        for worker in 1..self.workers.len() as u32 {
            self.seek(worker);
        }
        while !self.is_over {
            let raid = self.crowd.next(self.now, &mut self.random);
            match (raid, self.events.first()) {
                (Some(raid), first) if first.is_none_or(|first| raid < first) => {
                    self.now = raid;
                    self.outcome.events += 1;
                    self.raid();
                }
                _ => {
                    let next = self.events.next();
                    let (time, worker, event) = next.expect("somebody works or seeks work");
                    self.now = time;
                    self.happen(worker, event);
                }
            }
        }
        self.outcome.time = self.now;
        if self.crowd.is_open {
            self.outcome.attempts += self.crowd.attempts(self.now, self.outcome.steals);
        }
        self.outcome.events += self.events.count();
    }

    fn happen(&mut self, worker: u32, event: Event) {
        match event {
            Event::Worked => self.proceed(worker),
            Event::Sampled => self.sampled(worker),
            Event::Reached => self.reached(worker),
            Event::Asked(thief) => self.asked(worker, thief),
            Event::Answered => self.answered(worker),
            Event::Woken => self.woken(worker),
        }
    }

    fn worker(&mut self, worker: u32) -> &mut Worker<W::Activation> {
        &mut self.workers[worker as usize]
    }

    /// The worker that has the core of this one.
    fn active(&self, worker: u32) -> u32 {
        if self.spares.is_empty() {
            return worker;
        }
        let core = self.workers[worker as usize].core;
        self.spares[core as usize].active
    }

    /// Runs a worker until it computes, or has nothing to run.
    fn proceed(&mut self, worker: u32) {
        self.worker(worker).state = State::Busy;
        self.answer_mail(worker);
        while !self.is_over {
            if !self.is_ready_to_go_on(worker) {
                return self.run_dry(worker);
            }
            let place = worker as usize;
            let frame = self.workers[place].frames.last_mut().expect("to go on");
            match self.workload.next(&mut frame.activation, self.seed) {
                Step::Work(time) => {
                    self.outcome.work += time;
                    let overhead = std::mem::take(&mut self.workers[place].overhead);
                    self.outcome.overhead += overhead;
                    self.events
                        .add(self.now + overhead + time, worker, Event::Worked);
                    return self.steal_early(worker);
                }
                Step::Fork(activation) => {
                    frame.children += 1;
                    let level = frame.level + 1;
                    let task = self.tasks.add(Task {
                        activation: Some(activation),
                        owner: worker,
                        thief: NONE,
                        level,
                        is_done: false,
                    });
                    let this = &mut self.workers[place];
                    this.tasks.push(task);
                    this.overhead += self.machine.task();
                    self.outcome.tasks += 1;
                    self.note_newest(worker, level);
                }
                Step::Call(activation) => {
                    let level = frame.level;
                    self.call(worker, activation, TaskId::NONE, level);
                }
                Step::Join => frame.is_joining = true,
                Step::End if frame.children > 0 => frame.is_joining = true,
                Step::End => self.end(worker),
            }
        }
    }

    fn call(&mut self, worker: u32, activation: W::Activation, task: TaskId, level: u32) {
        self.worker(worker).frames.push(Frame {
            activation,
            task,
            children: 0,
            level,
            is_joining: false,
        });
    }

    /// Makes the frame on top one that can go on, by joining and by beginning tasks. False if
    /// there is nothing to run.
    fn is_ready_to_go_on(&mut self, worker: u32) -> bool {
        loop {
            let this = &mut self.workers[worker as usize];
            let is_joining = this.frames.last().is_none_or(|frame| frame.is_joining);
            if !is_joining {
                return true;
            }
            let Some(&newest) = this.tasks.last() else {
                return false;
            };
            if this.pop_newest() {
                let level = self.tasks.get(newest).level;
                self.note_newest(worker, level);
                let (activation, level) = self.start(worker, newest);
                self.joined(worker, newest);
                self.call(worker, activation, TaskId::NONE, level);
                return true;
            }
            if !self.tasks.get(newest).is_done {
                return false;
            }
            this.pop_stolen();
            self.joined(worker, newest);
        }
    }

    /// A worker begins a task: how that begins, and its level.
    fn start(&mut self, worker: u32, task: TaskId) -> (W::Activation, u32) {
        self.worker(worker).pace.tasks += 1;
        let task = self.tasks.get_mut(task);
        let activation = task.activation.take();
        (activation.expect("nobody has begun it"), task.level)
    }

    /// The frame on top has joined this task.
    fn joined(&mut self, worker: u32, task: TaskId) {
        self.tasks.free(task);
        let frame = self.worker(worker).frames.last_mut();
        let frame = frame.expect("it has spawned the task");
        frame.children -= 1;
        frame.is_joining = false;
    }

    /// The activation on top has ended.
    fn end(&mut self, worker: u32) {
        let frame = self.worker(worker).frames.pop().expect("it has ended");
        if frame.task == TaskId::NONE {
            self.is_over = worker == 0 && self.workers[0].frames.is_empty();
            return;
        }
        let task = self.tasks.get_mut(frame.task);
        task.is_done = true;
        let owner = task.owner;
        let this = &self.workers[owner as usize];
        if this.state == State::Parked && this.tasks.last() == Some(&frame.task) {
            let core = this.core;
            self.spares[core as usize].able.push(owner);
        }
        if self.crowd.is_open {
            return self.leave_crowd(owner);
        }
        if self.workers[owner as usize].state != State::Busy {
            let reach = self.reach(worker, owner).message;
            let delay = self.machine.draw(reach, &mut self.random);
            self.events.add(self.now + delay, owner, Event::Woken);
        }
    }

    fn reach(&self, from: u32, to: u32) -> &crate::Reach {
        let core = |worker: u32| self.workers[worker as usize].core;
        self.machine.reach(core(from), core(to))
    }

    /// A worker has nothing to run.
    fn run_dry(&mut self, worker: u32) {
        if let Some(task) = self.worker(worker).loot.pop_back() {
            self.note_oldest(worker);
            let (activation, level) = self.start(worker, task);
            self.call(worker, activation, task, level);
            return self.proceed(worker);
        }
        self.worker(worker).state = State::Dry;
        self.answer_mail(worker);
        match self.policy.waiting {
            Waiting::Spare => self.change_worker(worker),
            _ => self.seek(worker),
        }
    }

    /// A worker may be able to go on, as what it waits for is done.
    fn woken(&mut self, worker: u32) {
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
        if this.state == State::Dry && is_free && self.can_join(worker) {
            self.proceed(worker);
        }
    }

    /// Whether the worker waits for a task that is done by now.
    fn can_join(&self, worker: u32) -> bool {
        let this = &self.workers[worker as usize];
        let newest = this.tasks.last().map(|&task| self.tasks.get(task));
        !this.frames.is_empty() && newest.is_some_and(|task| task.is_done)
    }

    /// A core whose worker is dry turns to another of its workers: one that has waited, and
    /// can go on, or a spare one.
    fn change_worker(&mut self, worker: u32) {
        let core = self.workers[worker as usize].core;
        let is_blocked = !self.workers[worker as usize].frames.is_empty();
        let back = self.spares[core as usize].able.pop();
        if !is_blocked && back.is_none() {
            return self.seek(worker);
        }
        debug_assert!(self.workers[worker as usize].loot.is_empty(), "it is lost");
        self.worker(worker).state = State::Parked;
        let is_able = self.can_join(worker);
        let spares = &mut self.spares[core as usize];
        let next = back.or_else(|| spares.free.pop()).unwrap_or(NONE);
        match is_blocked {
            true if is_able => spares.able.push(worker),
            true => {}
            false => spares.free.push(worker),
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
        self.proceed(next);
    }
}
