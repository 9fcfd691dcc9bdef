//! Attempts to steal.

use super::events::Event;
use super::worker::{Attempt, NONE, State, TaskId};
use super::{Simulation, Waiting, Way};
use crate::Workload;
use crate::policy::Share;

/// After so many steals it is looked whether one or half is to be taken.
///
/// Source: Channel (adaptive stealing).
const STEALS: u32 = 25;

impl<W: Workload> Simulation<'_, W> {
    /// A dry worker begins to steal, unless it is at it.
    pub fn seek(&mut self, worker: u32) {
        if self.worker(worker).attempt == Attempt::Nothing {
            self.begin(worker);
        }
    }

    /// A worker that has begun a stretch of work steals if few tasks are left.
    pub fn steal_early(&mut self, worker: u32) {
        let this = &self.workers[worker as usize];
        let is_free = this.attempt == Attempt::Nothing && this.loot.is_empty();
        if is_free && this.ready() < self.policy.residual as usize {
            self.begin(worker);
        }
    }

    fn begin(&mut self, worker: u32) {
        if self.machine.size() == 1 {
            return;
        }
        if self.crowd.is_open {
            return self.join_crowd(worker);
        }
        self.outcome.attempts += 1;
        if let Some(victim) = self.victim_of_leap(worker) {
            return self.reach_out(worker, victim);
        }
        if self.policy.samples > 0 {
            let left = self.policy.samples;
            self.worker(worker).attempt = Attempt::Sampling {
                left,
                best: NONE,
                level: u32::MAX,
            };
            return self.sample(worker);
        }
        let victim = self.choose(worker);
        self.reach_out(worker, victim);
    }

    /// Whom a worker leapfrogs, if that is what it does now.
    fn victim_of_leap(&self, worker: u32) -> Option<u32> {
        let this = &self.workers[worker as usize];
        if self.policy.waiting != Waiting::Leapfrog || this.frames.is_empty() {
            return None;
        }
        let awaited = this.tasks.last().expect("it is blocked");
        Some(self.tasks.get(*awaited).thief)
    }

    fn sample(&mut self, worker: u32) {
        let victim = self.choose(worker);
        self.worker(worker).victim = victim;
        let mean = self.reach(worker, victim).sample;
        let delay = self.machine.draw(mean, &mut self.random);
        self.outcome.samples += 1;
        self.events.add(self.now + delay, worker, Event::Sampled);
    }

    /// A worker has looked at a possible victim.
    pub fn sampled(&mut self, worker: u32) {
        let victim = self.active(self.workers[worker as usize].victim);
        let found = self.offers.of(victim);
        let Attempt::Sampling { left, best, level } = self.worker(worker).attempt else {
            unreachable!("it samples");
        };
        let (best, level) = match found {
            Some(found) if found < level => (victim, found),
            _ => (best, level),
        };
        if left > 1 {
            let left = left - 1;
            self.worker(worker).attempt = Attempt::Sampling { left, best, level };
            return self.sample(worker);
        }
        let victim = if best == NONE { victim } else { best };
        self.reach_out(worker, victim);
    }

    fn reach_out(&mut self, worker: u32, victim: u32) {
        self.worker(worker).victim = victim;
        if self.policy.way == Way::Direct {
            self.worker(worker).attempt = Attempt::Reaching;
            let mean = self.reach(worker, victim).steal;
            let delay = self.machine.draw(mean, &mut self.random);
            self.events.add(self.now + delay, worker, Event::Reached);
            return;
        }
        let is_leap = self.victim_of_leap(worker).is_some();
        let left = match self.policy.way {
            Way::Forward if !is_leap => self.machine.size() - 2,
            _ => 0,
        };
        self.worker(worker).attempt = Attempt::Asking { left };
        self.send(worker, victim, victim, Event::Asked(worker));
    }

    /// A message that something is to happen to a worker.
    fn send(&mut self, from: u32, to: u32, worker: u32, event: Event) {
        let mean = self.reach(from, to).message;
        let delay = self.machine.draw(mean, &mut self.random);
        self.outcome.messages += 1;
        self.events.add(self.now + delay, worker, event);
    }

    /// A worker reaches into its victim.
    pub fn reached(&mut self, worker: u32) {
        let this = self.worker(worker);
        this.attempt = Attempt::Nothing;
        let (is_dry, victim) = (this.state == State::Dry, this.victim);
        // If it is able to, it would rather go on with its own.
        if !(is_dry && this.is_able) {
            let victim = self.active(victim);
            let has_more = self.take(worker, victim) || self.offers.of(worker).is_some();
            if is_dry && !has_more && self.policy.waiting != Waiting::Spare {
                // It still has nothing.
                return self.begin(worker);
            }
        }
        self.attempted(worker);
    }

    /// A request of `thief` arrives.
    pub fn asked(&mut self, worker: u32, thief: u32) {
        let worker = self.active(worker);
        match self.worker(worker).state {
            State::Busy => self.worker(worker).mail.push(thief),
            _ => self.answer(worker, thief),
        }
    }

    /// Answers those who have asked meanwhile.
    pub fn answer_mail(&mut self, worker: u32) {
        if self.policy.way == Way::Direct || self.worker(worker).mail.is_empty() {
            return;
        }
        for thief in std::mem::take(&mut self.worker(worker).mail) {
            self.answer(worker, thief);
        }
    }

    fn answer(&mut self, worker: u32, thief: u32) {
        if self.still_wants(thief, worker) && self.take(thief, worker) {
            return self.send(worker, thief, thief, Event::Answered);
        }
        let Attempt::Asking { left } = &mut self.worker(thief).attempt else {
            unreachable!("it has asked");
        };
        if *left == 0 {
            return self.send(worker, thief, thief, Event::Answered);
        }
        *left -= 1;
        let next = loop {
            let next = self.random.below(self.machine.size());
            if next != self.core(thief) {
                break next;
            }
        };
        self.send(worker, next, next, Event::Asked(thief));
    }

    /// Whether a thief may have what it has asked this victim for. Who leapfrogs may not, if what
    /// it waited for has ended.
    fn still_wants(&self, thief: u32, victim: u32) -> bool {
        let this = &self.workers[thief as usize];
        let waits = || this.state == State::Dry && !this.is_able;
        self.policy.waiting != Waiting::Leapfrog
            || waits() && self.victim_of_leap(thief).is_none_or(|leap| leap == victim)
    }

    /// The answer has arrived.
    pub fn answered(&mut self, worker: u32) {
        self.worker(worker).attempt = Attempt::Nothing;
        self.attempted(worker);
    }

    /// Takes tasks of a victim, if it has some.
    pub fn take(&mut self, thief: u32, victim: u32) -> bool {
        if self.offers.of(victim).is_none() {
            self.failed(thief);
            return false;
        }
        let ready = self.workers[victim as usize].ready();
        let count = match self.takes_half(thief) {
            true => ready.div_ceil(2),
            false => 1,
        };
        for _ in 0..count {
            let task = self.worker(victim).take_oldest().expect("it is ready");
            self.tasks.get_mut(task).thief = thief;
            self.worker(thief).arriving.push(task);
        }
        self.note_oldest(victim);
        self.outcome.steals += 1;
        self.outcome.stolen += count as u64;
        self.worker(thief).walk.failures = 0;
        true
    }

    fn takes_half(&mut self, thief: u32) -> bool {
        match self.policy.share {
            Share::One => false,
            Share::Half => true,
            Share::Adaptive => {
                let pace = &mut self.worker(thief).pace;
                pace.steals += 1;
                if pace.steals == STEALS {
                    // Few tasks for each steal: those that come are leaves, many at a time.
                    pace.takes_half = pace.tasks < 2 * STEALS;
                    (pace.steals, pace.tasks) = (0, 0);
                }
                pace.takes_half
            }
        }
    }

    /// An attempt is over, with loot or without.
    pub fn attempted(&mut self, worker: u32) {
        let arrived = std::mem::take(&mut self.worker(worker).arriving);
        if self.worker(worker).state == State::Parked {
            return self.pass_on(worker, arrived);
        }
        self.worker(worker).loot.extend(arrived);
        self.note_oldest(worker);
        match self.workers[worker as usize].state {
            State::Dry if self.workers[worker as usize].is_able => self.proceed(worker),
            State::Dry => self.run_dry(worker),
            // It goes on at once, as it is short of tasks.
            State::Busy => self.steal_early(worker),
            State::Parked => unreachable!("see above"),
        }
    }

    /// What a worker has stolen that has lost its core meanwhile is that of the worker
    /// which has the core.
    fn pass_on(&mut self, worker: u32, loot: Vec<TaskId>) {
        let active = self.active(worker);
        self.worker(active).loot.extend(loot);
        self.note_oldest(active);
        let this = self.worker(active);
        let is_free = matches!(this.attempt, Attempt::Nothing | Attempt::Asking { .. });
        if this.state == State::Dry && is_free && !this.loot.is_empty() {
            self.run_dry(active);
        }
    }
}
