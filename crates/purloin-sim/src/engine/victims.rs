//! What thieves see of their victims, [`Offers`], and whom a thief turns to.

use super::Simulation;
use super::worker::{State, Walk, Worker};
use crate::policy::Victims;
use crate::{Time, Workload};

/// A set has at least so many members, and so many thieves for each of its victims.
///
/// Source: Wool, section 2.2.
const LEAST: u32 = 12;
const THIEVES: u32 = 4;

/// After so many attempts in vain a set begins elsewhere.
const MOST_FAILURES: u32 = 1000;

impl<W: Workload> Simulation<'_, W> {
    /// Whom a worker looks at, or steals from, next: the first worker of a core.
    pub fn choose(&mut self, worker: u32) -> u32 {
        match self.policy.victims {
            Victims::Random => {
                let cores = self.machine.size();
                self.any_of(worker, 0, cores)
            }
            Victims::Near => self.near(worker),
            Victims::Sets => self.of_set(worker),
        }
    }

    /// Any core of these, but not the worker's own.
    fn any_of(&mut self, worker: u32, first: u32, count: u32) -> u32 {
        let core = self.core(worker);
        let other = first + self.random.below(count - 1);
        other + u32::from(other >= core)
    }

    /// Attempts at each distance take as much time as those at any other: so there are as
    /// many more of them as they are cheaper.
    fn near(&mut self, worker: u32) -> u32 {
        let core = self.core(worker);
        let cores = self.machine.size();
        let [socket, node] = self.machine.neighbours(core);
        // What lies within a distance, and what is too near: the first core and how many.
        let (own, all) = ((core, 1), (0, cores));
        let rings = [(socket, own), (node, socket), (all, node)];
        let rates = rings.map(|(outer, inner)| match outer.1 > inner.1 {
            true => 1.0 / self.reach_of_ring(core, outer, inner).picoseconds() as f64,
            false => 0.0,
        });
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
            .expect("there are others");
        let ((first, count), (skipped, too_near)) = rings[ring];
        let other = first + self.random.below(count - too_near);
        other + if other >= skipped { too_near } else { 0 }
    }

    /// What a steal takes there.
    fn reach_of_ring(&self, core: u32, outer: (u32, u32), inner: (u32, u32)) -> Time {
        let other = match inner.0 > outer.0 {
            true => outer.0,
            false => inner.0 + inner.1,
        };
        self.machine.reach(core, other).steal
    }

    /// The next member of the worker's set.
    ///
    /// A worker's permutation of the others is one of those that go through them in equal steps:
    /// a million true ones would not fit into any memory.
    fn of_set(&mut self, worker: u32) -> u32 {
        let cores = self.machine.size();
        let others = cores - 1;
        let mut walk = self.workers[worker as usize].walk;
        if walk.stride == 0 || walk.failures >= MOST_FAILURES {
            walk = Walk {
                start: self.random.below(others),
                stride: match walk.stride {
                    0 => self.stride(others),
                    stride => stride,
                },
                ..Walk::default()
            };
        }
        if walk.asked >= others || walk.asked >= LEAST && walk.thieves >= THIEVES {
            (walk.asked, walk.thieves) = (0, 0);
        }
        let place = u64::from(walk.start) + u64::from(walk.asked) * u64::from(walk.stride);
        let place = (place % u64::from(others)) as u32;
        walk.asked += 1;
        let core = self.core(worker);
        let victim = place + u32::from(place >= core);
        walk.thieves += u32::from(self.workers[self.active(victim) as usize].state == State::Dry);
        self.worker(worker).walk = walk;
        victim
    }

    /// A step with which one comes by all of so many.
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

    /// An attempt was in vain.
    pub fn failed(&mut self, worker: u32) {
        self.worker(worker).walk.failures += 1;
    }
}

/// The level of the oldest task that each worker has to be stolen.
///
/// Workers know that themselves. But most that a thief looks at have nothing, and to see that here
/// takes one cache miss, with a million cores, instead of three.
#[derive(Debug, Default)]
pub struct Offers(Vec<u32>);

/// The level of no task.
const NOTHING: u32 = u32::MAX;

impl Offers {
    pub fn new(workers: u32) -> Offers {
        Offers(vec![NOTHING; workers as usize])
    }

    /// Another worker.
    pub fn add(&mut self) {
        self.0.push(NOTHING);
    }

    /// The level of a worker's oldest task, if it has one to be stolen.
    pub fn of(&self, worker: u32) -> Option<u32> {
        Some(self.0[worker as usize]).filter(|&level| level != NOTHING)
    }
}

impl<W: Workload> Simulation<'_, W> {
    /// A worker has spawned a task of this level, or joined its newest one.
    pub fn note_newest(&mut self, worker: u32, level: u32) {
        let this = &self.workers[worker as usize];
        if !this.loot.is_empty() {
            return self.note_oldest(worker);
        }
        let offer = self.offers.0[worker as usize];
        let has_some = this.ready() > 0;
        // Its oldest one is another, unless it is the only one.
        if has_some != (offer != NOTHING) {
            self.offer(worker, if has_some { level } else { NOTHING });
        }
    }

    /// A worker may have another oldest task than before.
    pub fn note_oldest(&mut self, worker: u32) {
        let oldest = Worker::oldest(&self.workers[worker as usize]);
        let level = oldest.map_or(NOTHING, |task| self.tasks.get(task).level);
        self.offer(worker, level);
    }

    fn offer(&mut self, worker: u32, level: u32) {
        self.offers.0[worker as usize] = level;
        if self.crowd.is_open {
            self.crowd.set_victim(worker, level != NOTHING);
        }
    }
}
