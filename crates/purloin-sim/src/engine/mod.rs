//! The discrete-event simulation: [`simulate`].
//!
//! A worker has a stack of activations, as a thread has, and a direct task stack. Between two
//! events it runs in zero simulated time, until it either computes or has nothing to run. If it
//! computes, an event marks the end of the work. If it has nothing to run, it tries to steal. So
//! there is one event for each stretch of work, and one or two for each steal attempt. The
//! simulator spends no effort on times at which nothing happens. Thieves that choose random victims
//! are simulated in aggregate, in `aggregate.rs`.
//!
//! The seed determines the whole run: events at the same time happen in the order in which they
//! were scheduled, times are integers, and random numbers are drawn in the order of events.
//!
//! Read the files in this order: `worker.rs` (a worker's state and its tasks), this file (how a
//! worker runs), `steal.rs` and `victims.rs` (how it steals, and from which worker), `waiting.rs`
//! (spare workers and futures), `aggregate.rs`, `events.rs`.

mod aggregate;
mod events;
mod steal;
#[cfg(test)]
mod tests;
mod victims;
mod waiting;
mod worker;

use std::hint::black_box;

use self::aggregate::Aggregate;
use self::events::{Event, Events};
use self::victims::Offers;
use self::waiting::{CoreWorkers, Futures};
use self::worker::{Frame, NONE, State, Task, TaskId, Tasks, Wait, Worker};
use crate::policy::{Depth, Protocol, Waiting};
use crate::{Machine, Policy, Random, Step, Time, Workload};

/// The result of a simulated run.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Outcome {
    /// The time that the run took.
    pub time: Time,
    /// The work of all cores together.
    pub work: Time,
    /// The time that all cores together spent on spawning and joining tasks, and as victims of steals.
    pub overhead: Time,
    /// Number of tasks that were spawned.
    pub tasks: u64,
    /// Number of steal attempts, including failed ones. Sampling some victims and then stealing
    /// from one of them is one attempt.
    pub attempts: u64,
    /// Number of steal attempts that got at least one task.
    pub steals: u64,
    /// Number of tasks that were stolen.
    pub stolen: u64,
    /// Number of times a thief looked at a possible victim.
    pub samples: u64,
    /// Number of messages that were sent.
    pub messages: u64,
    /// Number of spare workers that were needed.
    pub spares: u64,
    /// Number of events that were simulated.
    pub events: u64,
}

impl Outcome {
    /// Returns the share of all cores' time in which they were idle.
    pub fn idle(&self, cores: u32) -> f64 {
        let all = self.time.seconds() * f64::from(cores);
        match all > 0.0 {
            true => 1.0 - (self.work + self.overhead).seconds() / all,
            false => 0.0,
        }
    }
}

/// Simulates a program on a machine, under a policy. The same seed gives the same run on every
/// computer.
///
/// # Panics
///
/// Panics if the program needs [spare workers](Workload::needs_spares) and the policy has none.
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
        "under {policy} the program can deadlock: its futures need the policy spare"
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
    /// The time to spawn and join a task.
    task: Time,
    /// The rates of failed attempts in a socket, in a node and between nodes, for thieves that prefer near
    /// victims.
    near_rates: [f64; 3],
    random: Random,
    now: Time,
    events: Events,
    aggregate: Aggregate,
    /// The first worker of each core, then the spare workers.
    workers: Vec<Worker<W::Activation>>,
    tasks: Tasks<W::Activation>,
    futures: Futures,
    offers: Offers,
    /// The workers of each core, if blocked workers lend their cores. Otherwise empty.
    core_workers: Vec<CoreWorkers>,
    /// Number of workers that are [idle](State::Idle).
    idle: u32,
    is_over: bool,
    outcome: Outcome,
}

impl<'s, W: Workload> Simulation<'s, W> {
    fn new(workload: &'s W, machine: &'s Machine, policy: Policy, seed: u64) -> Self {
        let cores = machine.size();
        let core_workers = match policy.waiting {
            Waiting::Spare => (0..cores).map(CoreWorkers::new).collect(),
            _ => Vec::new(),
        };
        Simulation {
            workload,
            machine,
            policy,
            seed,
            task: machine.task().unwrap_or_else(|| workload.task()),
            near_rates: machine.misses().map(|miss| 1.0 / miss.picoseconds() as f64),
            random: Random::new(seed),
            now: Time::ZERO,
            events: Events::new(),
            aggregate: Aggregate::new(machine, policy),
            workers: (0..cores).map(Worker::new).collect(),
            tasks: Tasks::new(),
            futures: Futures::default(),
            offers: Offers::new(cores),
            core_workers,
            idle: cores,
            is_over: false,
            outcome: Outcome::default(),
        }
    }

    fn run(&mut self) {
        self.call(0, self.workload.root(), TaskId::NONE, 0);
        self.run_core(0);
        for worker in 1..self.workers.len() as u32 {
            self.start_stealing(worker);
        }
        while !self.is_over {
            let steal = self.aggregate.next(self.now, &mut self.random);
            match (steal, self.events.first()) {
                (Some(steal), first) if first.is_none_or(|first| steal < first) => {
                    self.now = steal;
                    self.outcome.events += 1;
                    self.aggregate_steal();
                }
                _ => {
                    let (workers, tasks, offers) = (&self.workers, &self.tasks, &self.offers);
                    let next = self.events.next(|worker| {
                        let this = &workers[worker as usize];
                        this.prefetch(tasks);
                        black_box((this.victim != NONE).then(|| offers.level(this.victim)));
                    });
                    let (time, worker, event) = next.expect("at least one worker works or steals");
                    self.now = time;
                    self.handle(worker, event);
                }
            }
        }
        self.outcome.time = self.now;
        if self.aggregate.is_used {
            self.outcome.attempts += self.aggregate.attempts(self.now, self.outcome.steals);
        }
        self.outcome.events += self.events.count();
    }

    fn handle(&mut self, worker: u32, event: Event) {
        match event {
            Event::WorkDone => self.run_core(worker),
            Event::Sampled => self.on_sampled(worker),
            Event::Looked => self.on_looked(worker),
            Event::StealDone => self.on_steal_done(worker),
            Event::TasksArrived => self.on_tasks_arrived(worker),
            Event::RequestArrived(thief) => self.on_request(worker, thief),
            Event::AnswerArrived => self.on_answer(worker),
            Event::Woken => self.on_woken(worker),
        }
    }

    fn worker(&mut self, worker: u32) -> &mut Worker<W::Activation> {
        &mut self.workers[worker as usize]
    }

    fn set_state(&mut self, worker: u32, state: State) {
        let before = std::mem::replace(&mut self.worker(worker).state, state);
        self.idle -= u32::from(before == State::Idle);
        self.idle += u32::from(state == State::Idle);
    }

    /// Runs a worker, and then each worker that gets its core, until one computes or the core has
    /// nothing to run.
    fn run_core(&mut self, worker: u32) {
        let mut next = Some(worker);
        while let Some(worker) = next {
            next = self.run_worker(worker);
        }
    }

    /// Runs a worker until it computes or has nothing to run. Returns the worker that gets its
    /// core, if the core has anything else to run.
    fn run_worker(&mut self, worker: u32) -> Option<u32> {
        self.set_state(worker, State::Busy);
        let this = self.worker(worker);
        this.can_resume = false;
        this.walk.is_searching = false;
        self.answer_requests(worker);
        while !self.is_over {
            if !self.prepare_top_frame(worker) {
                return self.next_of_core(worker);
            }
            let place = worker as usize;
            if self.policy.protocol == Protocol::Direct && self.workers[place].ready() == 0 {
                self.split_loop(worker, self.idle);
            }
            let frame = self.workers[place]
                .frames
                .last_mut()
                .expect("a frame is ready");
            match self.workload.next(&mut frame.activation, self.seed) {
                Step::Work(time) => {
                    self.outcome.work += time;
                    let overhead = std::mem::take(&mut self.workers[place].overhead);
                    self.outcome.overhead += overhead;
                    self.events
                        .add(self.now + overhead + time, worker, Event::WorkDone);
                    self.steal_early(worker);
                    return None;
                }
                Step::Fork(activation) => {
                    let level = frame.level + 1;
                    match self.may_spawn(worker) {
                        true => drop(self.spawn(worker, activation, NONE)),
                        false => self.call(worker, activation, TaskId::NONE, level),
                    }
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
                Step::Join => frame.waits = Wait::NewestChild,
                Step::End if frame.children > 0 => frame.waits = Wait::NewestChild,
                Step::End => self.end_frame(worker),
            }
        }
        None
    }

    /// Returns whether a worker has fewer ready tasks than the policy's bound.
    fn may_spawn(&self, worker: u32) -> bool {
        let bound = self.policy.bound as usize;
        bound == 0 || self.workers[worker as usize].ready() < bound
    }

    /// Spawns a task of the top frame. A future has its number in `future`.
    fn spawn(&mut self, worker: u32, activation: W::Activation, future: u32) -> TaskId {
        let this = &mut self.workers[worker as usize];
        let frame = this.frames.last_mut().expect("the top frame spawns");
        frame.children += 1;
        let level = match self.policy.depth {
            Depth::Spawns => frame.level + 1,
            Depth::Pending => this.pending_level(),
        };
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

    /// Splits the loop that the top frame of a worker runs, for this number of idle workers. Returns false
    /// if it runs none, or the loop is too short.
    fn split_loop(&mut self, worker: u32, idle: u32) -> bool {
        let Some(frame) = self.workers[worker as usize].frames.last_mut() else {
            return false;
        };
        if frame.waits != Wait::Nothing {
            return false;
        }
        let (splitting, workers) = (self.policy.splitting, self.machine.size() as usize);
        let share = |rest| splitting.share(rest, workers, idle as usize);
        let Some(back) = self.workload.split(&mut frame.activation, share) else {
            return false;
        };
        self.spawn(worker, back, NONE);
        true
    }

    /// Pushes a frame for `activation`. If `task` is given, it ends with the frame.
    fn call(&mut self, worker: u32, activation: W::Activation, task: TaskId, level: u32) {
        self.worker(worker).frames.push(Frame {
            activation,
            task,
            children: 0,
            level,
            waits: Wait::Nothing,
        });
    }

    /// Joins and starts tasks until the top frame is able to run. Returns false if the worker has
    /// nothing to run.
    fn prepare_top_frame(&mut self, worker: u32) -> bool {
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
                Wait::NewestChild => {}
            }
            let newest = *this.tasks.last().expect("the frame waits for a child");
            let is_local = this.has_newest();
            let started = match is_local {
                true => self.start_task(worker, newest),
                false => None,
            };
            if started.is_none() && !self.tasks.get(newest).is_done {
                return false;
            }
            self.worker(worker).pop_newest();
            if is_local {
                let level = self.tasks.get(newest).level;
                self.note_newest(worker, level);
            }
            let awaited = self.finish_join(worker, newest);
            if let Some((activation, level)) = started {
                self.call(worker, activation, awaited, level);
                return true;
            }
        }
    }

    /// Starts a task on a worker. Returns the first activation of the task and its level. Returns
    /// `None` if the task has already started, because a `get` of the future has run it.
    fn start_task(&mut self, worker: u32, task: TaskId) -> Option<(W::Activation, u32)> {
        let task = self.tasks.get_mut(task);
        let activation = task.activation.take()?;
        self.workers[worker as usize].adaptive.count_tasks(1);
        Some((activation, task.level))
    }

    /// Removes a task from the children of the top frame, which has joined it or is about to run
    /// it. Returns the task if another frame may wait for its end, or [`TaskId::NONE`].
    fn finish_join(&mut self, worker: u32, id: TaskId) -> TaskId {
        let frame = self.worker(worker).frames.last_mut();
        let frame = frame.expect("the frame that has spawned the task");
        frame.children -= 1;
        frame.waits = Wait::Nothing;
        let task = self.tasks.get_mut(id);
        if task.is_future() {
            // Do not reuse the id: a thief that has stolen the task in vain still holds the id.
            task.owner = NONE;
            return id;
        }
        self.tasks.free(id);
        TaskId::NONE
    }

    /// Ends the top frame and the task that it belongs to.
    fn end_frame(&mut self, worker: u32) {
        let frame = self
            .worker(worker)
            .frames
            .pop()
            .expect("the frame that ends");
        self.worker(worker).end_frame();
        if frame.task == TaskId::NONE {
            self.is_over = worker == 0 && self.workers[0].frames.is_empty();
            return;
        }
        let task = self.tasks.get_mut(frame.task);
        task.is_done = true;
        let owner = task.owner;
        if task.is_future() {
            for waiter in self.futures.end(task.future) {
                self.notify(worker, waiter, true);
            }
        }
        if owner == NONE {
            return;
        }
        let this = &self.workers[owner as usize];
        let can_resume = this.state != State::Busy && this.awaits(frame.task);
        self.notify(worker, owner, can_resume);
    }

    /// Returns the core of a worker. The first worker of each core has the number of the core.
    fn core(&self, worker: u32) -> u32 {
        match worker < self.machine.size() {
            true => worker,
            false => self.workers[worker as usize].core,
        }
    }

    fn latency(&self, from: u32, to: u32) -> &crate::Latency {
        self.machine.latency(self.core(from), self.core(to))
    }

    /// Runs the next worker of a core whose worker has nothing to run but stolen tasks.
    fn run_next_of_core(&mut self, worker: u32) {
        if let Some(next) = self.next_of_core(worker) {
            self.run_core(next);
        }
    }

    /// Chooses the next worker to run on the core of a worker that has nothing to run but stolen
    /// tasks. Returns `None` if there is none; the core then tries to steal.
    fn next_of_core(&mut self, worker: u32) -> Option<u32> {
        let this = &self.workers[worker as usize];
        let lends = self.policy.waiting == Waiting::Spare && !this.frames.is_empty();
        while !lends && let Some(task) = self.worker(worker).stolen.pop_back() {
            self.note_oldest(worker);
            if let Some((activation, level)) = self.start_task(worker, task) {
                if self.policy.depth == Depth::Pending {
                    self.worker(worker).begin_stolen(level);
                }
                self.call(worker, activation, task, level);
                return Some(worker);
            }
        }
        self.set_state(worker, State::Idle);
        self.answer_requests(worker);
        match self.policy.waiting {
            Waiting::Spare => self.switch_worker(worker),
            _ => {
                self.start_stealing(worker);
                None
            }
        }
    }
}
