//! How thieves choose victims, and the tasks that victims offer: [`Offers`].

use purloin::scheduler::SetStep;

use super::Simulation;
use super::worker::{State, Walk, Worker};
use crate::Workload;
use crate::policy::Victims;

/// Minimum number of members of a victim set.
///
/// Source: Wool, section 2.2.
const MIN_MEMBERS: usize = 12;

/// Number of thieves that a set has before it ends, so that on average this number of thieves tries
/// each victim.
///
/// Source: Wool, section 2.2.
const THIEVES_PER_VICTIM: usize = 4;

impl<W: Workload> Simulation<'_, W> {
    /// Chooses the next victim to look at or to steal from. Returns the first worker of its core.
    pub fn choose(&mut self, worker: u32) -> u32 {
        match self.policy.victims {
            Victims::Random => {
                let cores = self.machine.size();
                self.random_core(worker, 0, cores)
            }
            Victims::Near => self.near_core(worker),
            Victims::Sets => loop {
                if let Some(victim) = self.next_of_set(worker) {
                    break victim;
                }
            },
        }
    }

    /// Returns a random core out of `count` cores from `first` on, except the worker's own.
    fn random_core(&mut self, worker: u32, first: u32, count: u32) -> u32 {
        let core = self.core(worker);
        let other = first + self.random.below(count - 1);
        other + u32::from(other >= core)
    }

    /// Chooses a random core, nearer ones more often, so that a thief spends the same time on
    /// attempts at each distance: the rate of attempts is inverse to their duration.
    fn near_core(&mut self, worker: u32) -> u32 {
        let core = self.core(worker);
        let cores = self.machine.size();
        let [socket, node] = self.machine.neighbours(core);
        // Each ring is the cores of an outer group without the cores of an inner group. A group is
        // its first core and its number of cores.
        let (own, all) = ((core, 1), (0, cores));
        let rings = [(socket, own), (node, socket), (all, node)];
        let mut rates = self.near_rates;
        for (rate, (outer, inner)) in rates.iter_mut().zip(rings) {
            if outer.1 == inner.1 {
                *rate = 0.0;
            }
        }
        let mut place = self.random.unit() * rates.iter().sum::<f64>();
        let is_at = |rate: &f64| {
            place -= rate;
            place < 0.0 && *rate > 0.0
        };
        let last = rates.iter().rposition(|&rate| rate > 0.0);
        let ring = rates
            .iter()
            .position(is_at)
            .or(last)
            .expect("another core exists");
        let ((first, count), (skipped, too_near)) = rings[ring];
        let other = first + self.random.below(count - too_near);
        other + if other >= skipped { too_near } else { 0 }
    }

    /// Returns the next member of the worker's victim set, or `None` at the end of a round.
    ///
    /// A set is a part of the worker's permutation of all other cores. The simulator uses a
    /// permutation that visits the cores in equal strides, because a million arbitrary permutations
    /// would not fit into memory.
    pub fn next_of_set(&mut self, worker: u32) -> Option<u32> {
        let others = self.machine.size() - 1;
        let mut walk = self.workers[worker as usize].walk;
        let visited = walk.round.visited();
        let step = walk
            .round
            .step(MIN_MEMBERS, THIEVES_PER_VICTIM, others as usize);
        if step != SetStep::Next {
            if step == SetStep::Move {
                walk.start = self.random.below(others);
            }
            self.worker(worker).walk = walk;
            return None;
        }
        let place = u64::from(walk.start) + u64::from(visited) * u64::from(walk.stride);
        let place = (place % u64::from(others)) as u32;
        let core = self.core(worker);
        let victim = place + u32::from(place >= core);
        if self.workers[self.active(victim) as usize].state == State::Idle {
            walk.round.met_thief();
        }
        self.worker(worker).walk = walk;
        Some(victim)
    }

    /// Begins a search of a worker, unless one is in progress: chooses the first member of its
    /// victim set. Returns whether a search begins.
    pub fn begin_search(&mut self, worker: u32) -> bool {
        let walk = self.workers[worker as usize].walk;
        if walk.is_searching {
            return false;
        }
        let mut next = Walk {
            is_searching: true,
            ..Walk::default()
        };
        if self.policy.victims == Victims::Sets {
            let others = self.machine.size() - 1;
            next.start = self.random.below(others);
            next.stride = match walk.stride {
                0 => self.stride(others),
                stride => stride,
            };
        }
        self.worker(worker).walk = next;
        true
    }

    /// Returns a random stride that visits all of `others` cores: the stride and `others` have no
    /// common divisor.
    fn stride(&mut self, others: u32) -> u32 {
        let has_common_divisor = |mut a: u32, mut b: u32| {
            while b > 0 {
                (a, b) = (b, a % b);
            }
            a > 1
        };
        loop {
            let stride = 1 + self.random.below(others);
            if !has_common_divisor(stride, others) {
                return stride;
            }
        }
    }
}

/// The level of the oldest task that thieves can steal from each worker.
///
/// The state of the worker has the same information. But most victims have no task, and with a
/// million cores it takes one cache miss to see that here, instead of three.
#[derive(Debug, Default)]
pub struct Offers(Vec<u32>);

/// The entry of a worker without tasks.
const NO_TASK: u32 = u32::MAX;

impl Offers {
    pub fn new(workers: u32) -> Offers {
        Offers(vec![NO_TASK; workers as usize])
    }

    /// Adds a worker without tasks.
    pub fn add(&mut self) {
        self.0.push(NO_TASK);
    }

    /// Returns the level of the oldest task that thieves can steal from `worker`, if there is one.
    pub fn level(&self, worker: u32) -> Option<u32> {
        Some(self.0[worker as usize]).filter(|&level| level != NO_TASK)
    }
}

impl<W: Workload> Simulation<'_, W> {
    /// Updates the offer of a worker that has spawned a task of this level or joined its newest
    /// one.
    pub fn note_newest(&mut self, worker: u32, level: u32) {
        let this = &self.workers[worker as usize];
        if !this.stolen.is_empty() {
            return self.note_oldest(worker);
        }
        let offer = self.offers.0[worker as usize];
        let has_some = this.ready() > 0;
        // The newest task is also the oldest one only if it is the only one.
        if has_some != (offer != NO_TASK) {
            self.offer(worker, if has_some { level } else { NO_TASK });
        }
    }

    /// Updates the offer of a worker whose oldest task may have changed.
    pub fn note_oldest(&mut self, worker: u32) {
        let oldest = Worker::oldest(&self.workers[worker as usize]);
        let level = oldest.map_or(NO_TASK, |task| self.tasks.get(task).level);
        self.offer(worker, level);
    }

    /// Sets the level of the oldest task that thieves can steal from `worker`.
    fn offer(&mut self, worker: u32, level: u32) {
        self.offers.0[worker as usize] = level;
        if self.aggregate.is_used {
            self.aggregate.set_victim(worker, level != NO_TASK);
        }
    }
}
