//! Thieves with random victims, simulated in aggregate: [`Aggregate`].
//!
//! A thief that tries one random victim after another has no memory. So the simulator need not
//! simulate each attempt of each thief. It is enough to simulate the next successful attempt of all
//! thieves. The time until then is exponentially distributed. Its rate is the number of thieves,
//! times the share of their victims that have tasks, divided by the mean time of an attempt. The
//! simulator draws the thief and the victim at random, with equal probabilities. When the set of
//! thieves or of victims changes, it draws the time again, which does not change its distribution.
//! The number of failed attempts follows from the total time for which thieves have tried.
//!
//! If attempts take random times and all cores are equally far from each other, the results have
//! the same distribution as with single attempts. If attempts take fixed times, the results differ
//! by a few percent on average. If some cores are nearer than others, or failed attempts take
//! less time than steals, the simulator simulates single attempts.
//!
//! Source: Gillespie, *Exact stochastic simulation of coupled chemical reactions* (1977).

use super::events::Event;
use super::worker::{Attempt, NONE, State};
use super::{Protocol, Simulation, Waiting};
use crate::policy::Victims;
use crate::{Machine, Policy, Random, Time, Workload};

/// The thieves that are simulated in aggregate, and their victims.
#[derive(Debug)]
pub struct Aggregate {
    /// Whether thieves are simulated in aggregate. Otherwise their attempts are simulated singly.
    pub is_used: bool,
    /// The mean time of an attempt, in picoseconds.
    attempt: f64,
    /// Number of possible victims of a thief: all other cores.
    others: f64,
    thieves: Members,
    /// Workers with tasks that thieves can steal.
    victims: Members,
    /// The time of the next successful attempt, if one is possible.
    next: Option<Time>,
    /// Whether `next` has to be drawn again.
    is_stale: bool,
    /// The rounding error of `next`, in picoseconds, which is added to the next time.
    rest: f64,
    /// The time for which all thieves together have tried until `until`, in picoseconds.
    tried: u128,
    until: Time,
}

/// A set of workers.
#[derive(Debug, Default)]
struct Members {
    list: Vec<u32>,
    /// The position of each worker in `list`, or [`NONE`].
    places: Vec<u32>,
}

impl Members {
    /// Adds or removes a worker. Returns whether that changed the set.
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

    /// Returns a random member.
    fn any(&self, random: &mut Random) -> u32 {
        self.list[random.below(self.list.len() as u32) as usize]
    }
}

impl Aggregate {
    pub fn new(machine: &Machine, policy: Policy) -> Aggregate {
        let is_used = policy.victims == Victims::Random
            && policy.samples == 0
            && policy.protocol == Protocol::Direct
            && policy.waiting != Waiting::Leapfrog
            && policy.residual == 0
            && machine.is_flat()
            && machine.latency(0, 0).miss == machine.latency(0, 0).steal;
        Aggregate {
            is_used,
            attempt: machine.latency(0, 0).steal.picoseconds() as f64,
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

    /// Returns the time of the next successful attempt, unless another event happens first.
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

    /// Returns the mean number of attempts that the thieves have begun until `now`, but at least
    /// the number of `steals`.
    pub fn attempts(&mut self, now: Time, steals: u64) -> u64 {
        self.try_until(now);
        let tried = match self.attempt > 0.0 {
            true => (self.tried as f64 / self.attempt).round() as u64,
            false => 0,
        };
        steals.max(tried) + self.thieves.list.len() as u64
    }

    /// Adds the time that the thieves have tried until `now`.
    fn try_until(&mut self, now: Time) {
        let time = (now - self.until).picoseconds();
        self.tried += u128::from(time) * self.thieves.list.len() as u128;
        self.until = now;
    }

    /// Adds or removes a thief.
    fn set_thief(&mut self, worker: u32, is_thief: bool, now: Time) {
        self.try_until(now);
        self.is_stale |= self.thieves.set(worker, is_thief);
    }

    /// Records whether thieves can steal tasks of a worker.
    pub fn set_victim(&mut self, worker: u32, is_victim: bool) {
        self.is_stale |= self.victims.set(worker, is_victim);
    }
}

impl<W: Workload> Simulation<'_, W> {
    /// Adds an idle worker to the thieves in aggregate.
    pub fn join_aggregate(&mut self, worker: u32) {
        self.worker(worker).attempt = Attempt::Aggregate;
        self.aggregate.set_thief(worker, true, self.now);
    }

    /// Lets a random thief steal from a random victim.
    pub fn aggregate_steal(&mut self) {
        let thief = self.aggregate.thieves.any(&mut self.random);
        let victim = self.aggregate.victims.any(&mut self.random);
        self.aggregate.set_thief(thief, false, self.now);
        self.worker(thief).attempt = Attempt::Nothing;
        self.take(thief, victim);
        self.end_attempt(thief);
    }

    /// Removes a thief from the aggregate, because the task that `owner` waits for has ended. The
    /// thief is `owner`, or the worker that has its core. It finishes its current attempt singly.
    pub fn leave_aggregate(&mut self, owner: u32) {
        let worker = self.active(owner);
        if !self.aggregate.thieves.has(worker) || self.worker(owner).state == State::Busy {
            return;
        }
        self.aggregate.set_thief(worker, false, self.now);
        self.worker(worker).attempt = Attempt::Stealing;
        self.outcome.attempts += 1;
        let victim = self.choose(worker);
        self.worker(worker).victim = victim;
        let steal = self.latency(worker, victim).steal;
        // The attempt is in progress, so only the rest of its time is left.
        let delay = self.machine.draw_rest(steal, &mut self.random);
        self.events.add(self.now + delay, worker, Event::StealDone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Estimate, Outcome, Tree};

    #[test]
    fn a_set_keeps_its_members_in_a_dense_list() {
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

    /// Runs the same simulations in aggregate and with single attempts.
    fn simulate_both_ways(policy: &str, machine: &Machine) -> [Vec<Outcome>; 2] {
        let tree = Tree::wool(machine.size());
        [true, false].map(|is_used| {
            let outcomes = (0..400).map(|seed| {
                let policy = policy.parse().unwrap();
                let mut simulation = Simulation::new(&tree, machine, policy, seed);
                simulation.aggregate.is_used = is_used;
                simulation.run();
                simulation.outcome
            });
            outcomes.collect()
        })
    }

    #[test]
    fn aggregate_and_single_attempts_have_the_same_means() {
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
            let outcomes = simulate_both_ways(policy, &machine);
            let cores = machine.size();
            let values: [fn(&Outcome) -> f64; 4] = [
                |outcome| outcome.time.seconds(),
                |outcome| outcome.attempts as f64,
                |outcome| outcome.steals as f64,
                |outcome| outcome.spares as f64,
            ];
            for value in values {
                let [aggregate, each] = outcomes.each_ref().map(|outcomes| {
                    let values: Vec<_> = outcomes.iter().map(value).collect();
                    Estimate::new(&values)
                });
                // The margin has a confidence of 99.9 %, and must be at most 7 % of the mean. Fixed
                // times may add the bias.
                let margin = 1.2 * (aggregate.margin + each.margin);
                let difference = (aggregate.mean - each.mean).abs();
                let most = margin + bias * each.mean;
                assert!(
                    difference <= most,
                    "{policy} {cores}: {aggregate:?} {each:?}"
                );
                assert!(
                    margin <= 0.07 * each.mean,
                    "{policy} {cores}: {aggregate:?}"
                );
            }
        }
    }
}
