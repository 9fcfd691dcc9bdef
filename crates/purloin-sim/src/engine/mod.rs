//! The simulation itself: [`simulate`].
//!
//! A worker has a stack of activations, as a thread has, and a direct task stack. It runs
//! from one event to the next without taking time, until it computes, or has nothing to run.
//! Then an event says when that ends. So there is one event for each stretch of work, and one
//! or two for each attempt to steal; nothing is done at times at which nothing happens. Thieves
//! that turn to anyone are simulated together: `aggregate.rs`.
//!
//! Everything follows from the seed: events at the same time are in the order in which they
//! were foreseen, times are integers, and random numbers are drawn in the order of events.

mod aggregate;
mod events;
mod steal;
#[cfg(test)]
mod tests;
mod victims;
mod waiting;
mod worker;

use std::hint::black_box;

use self::aggregate::Crowd;
use self::events::{Event, Events};
use self::victims::Offers;
use self::waiting::{Futures, Spares};
use self::worker::{Frame, NONE, State, Task, TaskId, Tasks, Wait, Worker};
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
/// # Panics
///
/// If the program needs [spare workers](Workload::needs_spares), and the policy has none.
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
    assert!(
        policy.waiting == Waiting::Spare || !workload.needs_spares(),
        "under {policy} the program could wait for itself: it needs spare"
    );
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
    /// What it takes to spawn a task and to join it.
    task: Time,
    random: Random,
    now: Time,
    events: Events,
    crowd: Crowd,
    /// One for each core, then spare ones.
    workers: Vec<Worker<W::Activation>>,
    tasks: Tasks<W::Activation>,
    futures: Futures,
    offers: Offers,
    /// For each core, if workers lend theirs.
    spares: Vec<Spares>,
    is_over: bool,
    outcome: Outcome,
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
            task: machine.task().unwrap_or_else(|| workload.task()),
            random: Random::new(seed),
            now: Time::ZERO,
            events: Events::new(),
            crowd: Crowd::new(machine, policy),
            workers: (0..cores).map(Worker::new).collect(),
            tasks: Tasks::new(),
            futures: Futures::default(),
            offers: Offers::new(cores),
            spares,
            is_over: false,
            outcome: Outcome::default(),
        }
    }

    fn run(&mut self) {
        self.call(0, self.workload.root(), TaskId::NONE, 0);
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
                    let (workers, tasks, offers) = (&self.workers, &self.tasks, &self.offers);
                    let next = self.events.next(|worker| {
                        let this = &workers[worker as usize];
                        this.prefetch(tasks);
                        black_box((this.victim != NONE).then(|| offers.of(this.victim)));
                    });
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

    /// Runs a worker, or whoever gets its core, until that computes or has nothing to run.
    fn proceed(&mut self, worker: u32) {
        let mut next = Some(worker);
        while let Some(worker) = next {
            next = self.advance(worker);
        }
    }

    /// Runs a worker until it computes, or has nothing to run: who has its core then.
    fn advance(&mut self, worker: u32) -> Option<u32> {
        let this = self.worker(worker);
        (this.state, this.is_able) = (State::Busy, false);
        self.answer_mail(worker);
        while !self.is_over {
            if !self.is_ready_to_go_on(worker) {
                return self.next_of_core(worker);
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
                    self.steal_early(worker);
                    return None;
                }
                Step::Fork(activation) => {
                    self.spawn(worker, activation, NONE);
                }
                Step::Future(activation, number) => {
                    let task = self.spawn(worker, activation, number);
                    self.futures.add(number, task);
                }
                Step::Get(number) => self.get(worker, number),
                Step::Call(activation) => {
                    let level = frame.level;
                    self.call(worker, activation, TaskId::NONE, level);
                }
                Step::Join if frame.children == 0 => {}
                Step::Join => frame.waits = Wait::Newest,
                Step::End if frame.children > 0 => frame.waits = Wait::Newest,
                Step::End => self.end(worker),
            }
        }
        None
    }

    /// The frame on top spawns a task, which may be a future.
    fn spawn(&mut self, worker: u32, activation: W::Activation, future: u32) -> TaskId {
        let this = &mut self.workers[worker as usize];
        let frame = this.frames.last_mut().expect("it spawns");
        frame.children += 1;
        let level = frame.level + 1;
        let task = self.tasks.add(Task {
            activation: Some(activation),
            owner: worker,
            thief: NONE,
            level,
            future,
            is_done: false,
        });
        this.tasks.push(task);
        this.overhead += self.task;
        self.outcome.tasks += 1;
        self.note_newest(worker, level);
        task
    }

    fn call(&mut self, worker: u32, activation: W::Activation, task: TaskId, level: u32) {
        self.worker(worker).frames.push(Frame {
            activation,
            task,
            children: 0,
            level,
            waits: Wait::Nothing,
        });
    }

    /// Makes the frame on top one that can go on, by joining and by beginning tasks. False if
    /// there is nothing to run.
    fn is_ready_to_go_on(&mut self, worker: u32) -> bool {
        loop {
            let this = &mut self.workers[worker as usize];
            let Some(frame) = this.frames.last_mut() else {
                return false;
            };
            match frame.waits {
                Wait::Nothing => return true,
                Wait::Future(number) if self.futures.is_done(number) => {
                    frame.waits = Wait::Nothing;
                    return true;
                }
                Wait::Future(_) => return false,
                Wait::Newest => {}
            }
            let newest = *this.tasks.last().expect("it waits for a child");
            let is_here = this.has_newest();
            let begun = match is_here {
                true => self.start(worker, newest),
                false => None,
            };
            if begun.is_none() && !self.tasks.get(newest).is_done {
                return false;
            }
            self.worker(worker).pop_newest();
            if is_here {
                let level = self.tasks.get(newest).level;
                self.note_newest(worker, level);
            }
            let awaited = self.joined(worker, newest);
            if let Some((activation, level)) = begun {
                self.call(worker, activation, awaited, level);
                return true;
            }
        }
    }

    /// A worker begins a task: how that begins, and its level. Or nothing, if it has begun, as
    /// somebody has got it.
    fn start(&mut self, worker: u32, task: TaskId) -> Option<(W::Activation, u32)> {
        let task = self.tasks.get_mut(task);
        let activation = task.activation.take()?;
        self.workers[worker as usize].pace.tasks += 1;
        Some((activation, task.level))
    }

    /// The frame on top has joined this task, or does so by running it. Which task is to end
    /// then, if anybody else may wait for that.
    fn joined(&mut self, worker: u32, id: TaskId) -> TaskId {
        let frame = self.worker(worker).frames.last_mut();
        let frame = frame.expect("it has spawned the task");
        frame.children -= 1;
        frame.waits = Wait::Nothing;
        let task = self.tasks.get_mut(id);
        if task.is_future() {
            // Its place is not used again: who has stolen it in vain still has its number.
            task.owner = NONE;
            return id;
        }
        self.tasks.free(id);
        TaskId::NONE
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
        if task.is_future()
            && let Some(getter) = self.futures.end(task.future)
        {
            self.notify(worker, getter, true);
        }
        if owner == NONE {
            return;
        }
        let this = &self.workers[owner as usize];
        let is_able = this.state != State::Busy && this.awaits(frame.task);
        self.notify(worker, owner, is_able);
    }

    /// The core of a worker: of those that are there from the beginning, each has its own.
    fn core(&self, worker: u32) -> u32 {
        match worker < self.machine.size() {
            true => worker,
            false => self.workers[worker as usize].core,
        }
    }

    fn reach(&self, from: u32, to: u32) -> &crate::Reach {
        self.machine.reach(self.core(from), self.core(to))
    }

    /// A worker has nothing to run but what it has stolen.
    fn run_dry(&mut self, worker: u32) {
        if let Some(next) = self.next_of_core(worker) {
            self.proceed(next);
        }
    }

    /// Who is to be run on the core of a worker that has nothing to run but what it has stolen,
    /// if anybody is.
    fn next_of_core(&mut self, worker: u32) -> Option<u32> {
        let this = &self.workers[worker as usize];
        let lends = self.policy.waiting == Waiting::Spare && !this.frames.is_empty();
        while !lends && let Some(task) = self.worker(worker).loot.pop_back() {
            self.note_oldest(worker);
            if let Some((activation, level)) = self.start(worker, task) {
                self.call(worker, activation, task, level);
                return Some(worker);
            }
        }
        self.worker(worker).state = State::Dry;
        self.answer_mail(worker);
        match self.policy.waiting {
            Waiting::Spare => self.change_worker(worker),
            _ => {
                self.seek(worker);
                None
            }
        }
    }
}
