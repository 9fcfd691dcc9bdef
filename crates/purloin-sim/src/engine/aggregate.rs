//! Thieves that try at random, all together: [`Crowd`].
//!
//! A thief that turns to anyone, again and again, remembers nothing. So it makes no difference
//! whether each attempt of each thief is simulated, or only the next one of all that brings
//! something: that comes after a time that is exponentially distributed, whose rate is the
//! number of thieves, times the share of their victims that have tasks, by the mean time of
//! an attempt; and thief and victim are any of them, with equal probability. When a thief
//! comes or goes, or a victim, the time is drawn anew, which makes no difference either. How
//! many attempts were in vain follows from how long thieves have tried.
//!
//! If times are random, and all cores equally far from one another, this is the same as attempts
//! one by one. If times are fixed, it is nearly so: on average, thieves find out within some
//! percent of the same time. Where some cores are nearer than others, thieves try one by one.
//!
//! Source: Gillespie, *Exact stochastic simulation of coupled chemical reactions* (1977).

use super::events::Event;
use super::worker::{Attempt, NONE, State};
use super::{Simulation, Waiting, Way};
use crate::policy::Victims;
use crate::{Machine, Policy, Random, Time, Workload};

/// Thieves and their victims.
#[derive(Debug)]
pub struct Crowd {
    /// Whether thieves come here, or try one by one.
    pub is_open: bool,
    /// What an attempt takes on average, in picoseconds.
    attempt: f64,
    /// Whom a thief may turn to: all others.
    others: f64,
    thieves: Members,
    /// Workers that have tasks to be stolen.
    victims: Members,
    /// When the next attempt brings something, if any may.
    next: Option<Time>,
    /// Whether that has to be drawn anew.
    is_stale: bool,
    /// What was rounded off, in picoseconds.
    rest: f64,
    /// For how long all thieves have tried together, in picoseconds, and until when.
    tried: u128,
    until: Time,
}

/// Some of the workers.
#[derive(Debug, Default)]
struct Members {
    list: Vec<u32>,
    /// Where each worker is in the list.
    places: Vec<u32>,
}

impl Members {
    /// Adds a worker or removes it. False if that was done before.
    fn set(&mut self, worker: u32, is_member: bool) -> bool {
        if self.places.len() <= worker as usize {
            self.places.resize(worker as usize + 1, NONE);
        }
        let place = self.places[worker as usize];
        if is_member == (place != NONE) {
            return false;
        }
        if is_member {
            self.places[worker as usize] = self.list.len() as u32;
            self.list.push(worker);
            return true;
        }
        self.list.swap_remove(place as usize);
        if let Some(&moved) = self.list.get(place as usize) {
            self.places[moved as usize] = place;
        }
        self.places[worker as usize] = NONE;
        true
    }

    fn has(&self, worker: u32) -> bool {
        let place = self.places.get(worker as usize);
        place.is_some_and(|&place| place != NONE)
    }

    fn any(&self, random: &mut Random) -> u32 {
        self.list[random.below(self.list.len() as u32) as usize]
    }
}

impl Crowd {
    pub fn new(machine: &Machine, policy: Policy) -> Crowd {
        let is_open = policy.victims == Victims::Random
            && policy.samples == 0
            && policy.way == Way::Direct
            && policy.waiting != Waiting::Leapfrog
            && policy.residual == 0
            && machine.is_flat();
        Crowd {
            is_open,
            attempt: machine.reach(0, 0).steal.picoseconds() as f64,
            others: f64::from(machine.size() - 1),
            thieves: Members::default(),
            victims: Members::default(),
            next: None,
            is_stale: false,
            rest: 0.0,
            tried: 0,
            until: Time::ZERO,
        }
    }

    /// When the next attempt brings something, unless anything happens before.
    pub fn next(&mut self, now: Time, random: &mut Random) -> Option<Time> {
        if self.is_stale {
            let pairs = self.thieves.list.len() as f64 * self.victims.list.len() as f64;
            self.next = (pairs > 0.0).then(|| {
                let mean = self.attempt * self.others / pairs;
                let wait = random.exponential() * mean + self.rest;
                self.rest = wait.fract();
                now + Time::from_picoseconds(wait as u64)
            });
            self.is_stale = false;
        }
        self.next
    }

    /// How many attempts have been begun here that have ended here, or have not ended. That is
    /// their mean; so it is not less than the steals.
    pub fn attempts(&mut self, now: Time, steals: u64) -> u64 {
        self.try_until(now);
        let tried = match self.attempt > 0.0 {
            true => (self.tried as f64 / self.attempt).round() as u64,
            false => 0,
        };
        steals.max(tried) + self.thieves.list.len() as u64
    }

    fn try_until(&mut self, now: Time) {
        let time = (now - self.until).picoseconds();
        self.tried += u128::from(time) * self.thieves.list.len() as u128;
        self.until = now;
    }

    fn set_thief(&mut self, worker: u32, is_thief: bool, now: Time) {
        self.try_until(now);
        self.is_stale |= self.thieves.set(worker, is_thief);
    }

    /// A worker has tasks to be stolen, or none.
    pub fn set_victim(&mut self, worker: u32, is_victim: bool) {
        self.is_stale |= self.victims.set(worker, is_victim);
    }
}

impl<W: Workload> Simulation<'_, W> {
    /// A dry worker begins to steal, with all others.
    pub fn join_crowd(&mut self, worker: u32) {
        self.worker(worker).attempt = Attempt::Crowd;
        self.crowd.set_thief(worker, true, self.now);
    }

    /// One of the thieves steals.
    pub fn raid(&mut self) {
        let thief = self.crowd.thieves.any(&mut self.random);
        let victim = self.crowd.victims.any(&mut self.random);
        self.crowd.set_thief(thief, false, self.now);
        self.worker(thief).attempt = Attempt::Nothing;
        self.take(thief, victim);
        self.attempted(thief);
    }

    /// A worker that waits for a task that is done by now, or one that has its core, makes
    /// its last attempt, if it is in the crowd.
    pub fn leave_crowd(&mut self, owner: u32) {
        let worker = self.active(owner);
        if !self.crowd.thieves.has(worker) || self.worker(owner).state == State::Busy {
            return;
        }
        self.crowd.set_thief(worker, false, self.now);
        self.worker(worker).attempt = Attempt::Reaching;
        self.outcome.attempts += 1;
        let victim = self.choose(worker);
        self.worker(worker).victim = victim;
        let steal = self.reach(worker, victim).steal;
        // What is left of it.
        let delay = self.machine.draw_rest(steal, &mut self.random);
        self.events.add(self.now + delay, worker, Event::Reached);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Estimate, Outcome, Tree};

    #[test]
    fn members_come_and_go() {
        let mut members = Members::default();
        for worker in [3, 0, 5] {
            assert!(members.set(worker, true));
        }
        assert!(!members.set(5, true) && !members.set(7, false));
        assert!(members.set(3, false));
        assert_eq!(members.list, [5, 0]);
        assert_eq!(
            [0, 3, 5, 9].map(|worker| members.has(worker)),
            [true, false, true, false]
        );
        assert!(members.set(0, false) && members.set(5, false));
        assert_eq!(members.list, []);
    }

    /// The same simulations with a crowd and one by one.
    fn both_ways(policy: &str, machine: &Machine) -> [Vec<Outcome>; 2] {
        let tree = Tree::wool(machine.size());
        [true, false].map(|is_open| {
            let outcomes = (0..400).map(|seed| {
                let policy = policy.parse().unwrap();
                let mut simulation = Simulation::new(&tree, machine, policy, seed);
                simulation.crowd.is_open = is_open;
                simulation.run();
                simulation.outcome
            });
            outcomes.collect()
        })
    }

    #[test]
    fn a_crowd_does_as_its_thieves_would_do_one_by_one() {
        let (random, fixed) = (Machine::wool, Machine::shared_memory);
        for (policy, machine, bias) in [
            ("random", random(16), 0.0),
            ("random", random(64), 0.0),
            ("half+spare", random(32), 0.0),
            ("spare", fixed(8), 0.1),
            ("spare", fixed(16), 0.1),
            ("random", fixed(64), 0.1),
            ("half+spare", fixed(32), 0.1),
        ] {
            let outcomes = both_ways(policy, &machine);
            let cores = machine.size();
            let values: [fn(&Outcome) -> f64; 4] = [
                |outcome| outcome.time.seconds(),
                |outcome| outcome.attempts as f64,
                |outcome| outcome.steals as f64,
                |outcome| outcome.spares as f64,
            ];
            for value in values {
                let [crowd, each] = outcomes.each_ref().map(|outcomes| {
                    let values: Vec<_> = outcomes.iter().map(value).collect();
                    Estimate::new(&values)
                });
                // Sure to 99.9 %, and no further apart than 7 % then, and what fixed times add.
                let margin = 1.2 * (crowd.margin + each.margin);
                let difference = (crowd.mean - each.mean).abs();
                let most = margin + bias * each.mean;
                assert!(difference <= most, "{policy} {cores}: {crowd:?} {each:?}");
                assert!(margin <= 0.07 * each.mean, "{policy} {cores}: {crowd:?}");
            }
        }
    }
}
