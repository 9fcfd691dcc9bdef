//! Steal attempts.

use purloin_schedulers::Amount;

use super::events::Event;
use super::worker::{Attempt, NONE, State, TaskId};
use super::{Protocol, Simulation, Waiting};
use crate::policy::{Share, Victims};
use crate::{Time, Workload};

impl<W: Workload> Simulation<'_, W> {
    /// Begins a steal attempt of an idle worker, unless one is in progress.
    pub fn start_stealing(&mut self, worker: u32) {
        if self.worker(worker).attempt == Attempt::Nothing {
            self.begin_attempt(worker);
        }
    }

    /// Begins a steal attempt of a worker that has just started a stretch of work, if it has fewer
    /// tasks left than the policy's residual, and the program allows it.
    pub fn steal_early(&mut self, worker: u32) {
        let this = &self.workers[worker as usize];
        let is_free = this.attempt == Attempt::Nothing && this.stolen.is_empty();
        if !is_free || this.ready() >= self.policy.residual as usize {
            return;
        }
        // No stolen task is left, so these are all ready tasks.
        let ready = this.tasks[this.bottom..].iter();
        let ready = ready.filter_map(|&task| self.tasks.get(task).activation.as_ref());
        if self.workload.may_steal_early(ready) {
            self.begin_attempt(worker);
        }
    }

    /// Begins a steal attempt: samples victims, contacts one, or joins the thieves in aggregate.
    fn begin_attempt(&mut self, worker: u32) {
        if self.machine.size() == 1 {
            return;
        }
        if self.aggregate.is_used {
            return self.join_aggregate(worker);
        }
        self.outcome.attempts += 1;
        if let Some(victim) = self.leapfrog_victim(worker) {
            return self.contact(worker, victim);
        }
        let is_new = self.begin_search(worker);
        if self.policy.samples > 0 && (is_new || !self.policy.samples_once()) {
            let left = self.policy.samples;
            self.worker(worker).attempt = Attempt::Sampling {
                left,
                best: NONE,
                level: u32::MAX,
            };
            return self.sample(worker);
        }
        let victim = self.choose(worker);
        self.contact(worker, victim);
    }

    /// Returns the worker that `worker` leapfrogs: the thief of the task that it waits for.
    /// Returns `None` if it does not leapfrog.
    fn leapfrog_victim(&self, worker: u32) -> Option<u32> {
        let this = &self.workers[worker as usize];
        if self.policy.waiting != Waiting::Leapfrog || this.frames.is_empty() {
            return None;
        }
        let awaited = this
            .tasks
            .last()
            .expect("a blocked worker waits for a task");
        Some(self.tasks.get(*awaited).thief)
    }

    /// Looks at another possible victim. A sample ends with the victim set.
    fn sample(&mut self, worker: u32) {
        let victim = match self.policy.victims {
            Victims::Sets => match self.next_of_set(worker) {
                Some(victim) => victim,
                None => return self.end_sample(worker),
            },
            _ => self.choose(worker),
        };
        self.worker(worker).victim = victim;
        self.outcome.samples += 1;
        let mean = self.latency(worker, victim).sample;
        self.after(mean, worker, Event::Sampled);
    }

    /// Handles the end of a look at a possible victim.
    pub fn on_sampled(&mut self, worker: u32) {
        let victim = self.active(self.workers[worker as usize].victim);
        let found = self.offers.level(victim);
        let Attempt::Sampling { left, best, level } = self.worker(worker).attempt else {
            unreachable!("the worker samples");
        };
        let (best, level) = match found {
            Some(found) if found < level => (victim, found),
            _ => (best, level),
        };
        let left = left - 1;
        self.worker(worker).attempt = Attempt::Sampling { left, best, level };
        // If a thief samples once in a search, an empty task pool ends the sample, because tasks are
        // rare then.
        match left > 0 && (found.is_some() || !self.policy.samples_once()) {
            true => self.sample(worker),
            false => self.end_sample(worker),
        }
    }

    /// Steals from the best victim of a sample.
    fn end_sample(&mut self, worker: u32) {
        let Attempt::Sampling { best, .. } = self.worker(worker).attempt else {
            unreachable!("the worker samples");
        };
        let victim = match best {
            NONE if self.policy.victims == Victims::Sets => self.choose(worker),
            NONE => self.workers[worker as usize].victim,
            best => best,
        };
        self.contact(worker, victim);
    }

    /// Steals from `victim` directly, or sends it a steal request.
    fn contact(&mut self, worker: u32, victim: u32) {
        self.worker(worker).victim = victim;
        if self.policy.protocol == Protocol::Direct {
            let latency = *self.latency(worker, victim);
            if latency.miss < latency.steal {
                self.worker(worker).attempt = Attempt::Looking;
                return self.after(latency.miss, worker, Event::Looked);
            }
            self.worker(worker).attempt = Attempt::Stealing;
            return self.after(latency.steal, worker, Event::StealDone);
        }
        let is_leapfrog = self.leapfrog_victim(worker).is_some();
        let left = match self.policy.protocol {
            Protocol::Forward if !is_leapfrog => self.machine.size() - 2,
            _ => 0,
        };
        self.worker(worker).attempt = Attempt::Requesting { left };
        self.send(worker, victim, Event::RequestArrived(worker));
    }

    /// Sends a message that makes `event` happen to its receiver when it arrives.
    fn send(&mut self, from: u32, to: u32, event: Event) {
        self.outcome.messages += 1;
        let mean = self.latency(from, to).message;
        self.after(mean, to, event);
    }

    /// Makes `event` happen to the worker after an operation with this mean time.
    fn after(&mut self, mean: Time, worker: u32, event: Event) {
        let delay = self.machine.draw(mean, &mut self.random);
        self.events.add(self.now + delay, worker, event);
    }

    /// Handles the end of a look at the victim of a direct steal. A look takes as long as a failed
    /// attempt. If the victim has tasks, the thief commits to them: no other thief and no join can
    /// take them any more, only the `get` of a future. The rest of the steal moves them.
    pub fn on_looked(&mut self, worker: u32) {
        let this = &self.workers[worker as usize];
        let (victim, resumes) = (this.victim, this.state == State::Idle && this.can_resume);
        if resumes || self.offers.level(self.active(victim)).is_none() {
            return self.on_steal_done(worker);
        }
        self.worker(worker).attempt = Attempt::Stealing;
        let latency = *self.latency(worker, victim);
        let victim = self.active(victim);
        self.take(worker, victim);
        self.after(latency.steal - latency.miss, worker, Event::TasksArrived);
    }

    /// Handles the arrival of the tasks that a thief has committed to. The thief runs one of them before
    /// it resumes a frame of its own, unless the policy lets it steal early to have tasks in reserve.
    /// (A thief that has sent a request instead is free until the answer arrives, so it resumes first.)
    pub fn on_tasks_arrived(&mut self, worker: u32) {
        let steals_early = self.policy.residual > 0;
        let this = self.worker(worker);
        this.attempt = Attempt::Nothing;
        if this.state == State::Idle && !steals_early {
            // The frame is looked at again when the stolen task above it has ended.
            this.can_resume = false;
        }
        self.end_attempt(worker);
    }

    /// Handles the end of a direct steal without a look, or of a look that found no task.
    pub fn on_steal_done(&mut self, worker: u32) {
        let this = self.worker(worker);
        this.attempt = Attempt::Nothing;
        let (is_idle, victim) = (this.state == State::Idle, this.victim);
        // A worker that can resume its own frame takes nothing.
        if !(is_idle && this.can_resume) {
            let victim = self.active(victim);
            let has_more = self.take(worker, victim) || self.offers.level(worker).is_some();
            if is_idle && !has_more && self.policy.waiting != Waiting::Spare {
                // The thief still has nothing to run.
                return self.begin_attempt(worker);
            }
        }
        self.end_attempt(worker);
    }

    /// Handles the arrival of a steal request of `thief`.
    pub fn on_request(&mut self, worker: u32, thief: u32) {
        let worker = self.active(worker);
        match self.worker(worker).state {
            State::Busy => self.worker(worker).requests.push(thief),
            _ => self.answer(worker, thief, 1),
        }
    }

    /// Answers the steal requests that arrived while the worker worked.
    pub fn answer_requests(&mut self, worker: u32) {
        if self.policy.protocol == Protocol::Direct || self.worker(worker).requests.is_empty() {
            return;
        }
        let requests = std::mem::take(&mut self.worker(worker).requests);
        for (number, &thief) in requests.iter().enumerate() {
            let thieves = requests.len() - number;
            self.answer(worker, thief, thieves as u32);
        }
    }

    /// Answers or forwards a steal request of `thief`, one of this number of thieves that wait for an
    /// answer. The request and an answer with tasks together take as long as a steal.
    fn answer(&mut self, worker: u32, thief: u32, thieves: u32) {
        if self.may_take(thief, worker)
            && (self.take(thief, worker)
                || self.split_loop(worker, thieves) && self.take(thief, worker))
        {
            self.outcome.messages += 1;
            let latency = *self.latency(worker, thief);
            let rest = latency.steal.max(latency.message) - latency.message;
            return self.after(latency.message.max(rest), thief, Event::AnswerArrived);
        }
        let Attempt::Requesting { left } = &mut self.worker(thief).attempt else {
            unreachable!("the thief has sent a request");
        };
        if *left == 0 {
            return self.send(worker, thief, Event::AnswerArrived);
        }
        *left -= 1;
        let next = loop {
            let next = self.random.below(self.machine.size());
            if next != self.core(thief) {
                break next;
            }
        };
        self.send(worker, next, Event::RequestArrived(thief));
    }

    /// Returns whether a thief may still get tasks of this victim. A leapfrogging thief may not if
    /// the task that it waited for has ended.
    fn may_take(&self, thief: u32, victim: u32) -> bool {
        let this = &self.workers[thief as usize];
        let waits = || this.state == State::Idle && !this.can_resume;
        self.policy.waiting != Waiting::Leapfrog
            || waits()
                && self
                    .leapfrog_victim(thief)
                    .is_none_or(|leap| leap == victim)
    }

    /// Handles the arrival of the answer to a steal request.
    pub fn on_answer(&mut self, worker: u32) {
        self.worker(worker).attempt = Attempt::Nothing;
        self.end_attempt(worker);
    }

    /// Takes tasks of a victim. Returns false if it has none.
    pub fn take(&mut self, thief: u32, victim: u32) -> bool {
        if self.offers.level(victim).is_none() {
            return false;
        }
        let ready = self.workers[victim as usize].ready();
        let amount = match self.policy.share {
            Share::One => Amount::One,
            Share::Half => Amount::Half,
            Share::Adaptive => self.workers[thief as usize].adaptive.amount(),
        };
        let count = amount.of(ready);
        for _ in 0..count {
            let task = self.worker(victim).take_oldest().expect("a ready task");
            self.tasks.get_mut(task).thief = thief;
            self.worker(thief).arriving.push(task);
        }
        self.note_oldest(victim);
        let delay = self.machine.victim();
        self.worker(victim).overhead += delay;
        self.outcome.steals += 1;
        self.outcome.stolen += count as u64;
        self.worker(thief).adaptive.count_steal();
        true
    }

    /// Ends a steal attempt, whether or not it got tasks.
    pub fn end_attempt(&mut self, worker: u32) {
        let arrived = std::mem::take(&mut self.worker(worker).arriving);
        if self.worker(worker).state == State::Parked {
            return self.deliver_to_active(worker, arrived);
        }
        self.worker(worker).stolen.extend(arrived);
        self.note_oldest(worker);
        match self.workers[worker as usize].state {
            State::Idle if self.workers[worker as usize].can_resume => self.run_core(worker),
            State::Idle => self.run_next_of_core(worker),
            // The worker may still be short of tasks.
            State::Busy => self.steal_early(worker),
            State::Parked => unreachable!("handled above"),
        }
    }

    /// Gives the stolen tasks of a worker that has lost its core meanwhile to the worker that has
    /// the core now.
    fn deliver_to_active(&mut self, worker: u32, stolen: Vec<TaskId>) {
        let active = self.active(worker);
        self.worker(active).stolen.extend(stolen);
        self.note_oldest(active);
        let this = self.worker(active);
        let is_free = matches!(this.attempt, Attempt::Nothing | Attempt::Requesting { .. });
        if this.state == State::Idle && is_free && !this.stolen.is_empty() {
            self.run_next_of_core(active);
        }
    }
}
