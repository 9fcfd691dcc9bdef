//! Whom a thief turns to.

use super::Simulation;
use super::worker::{State, Walk};
use crate::Workload;
use crate::policy::Victims;

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
        let core = self.workers[worker as usize].core;
        let other = first + self.random.below(count - 1);
        other + u32::from(other >= core)
    }

    fn near(&mut self, worker: u32) -> u32 {
        let core = self.workers[worker as usize].core;
        let [socket, node] = self.machine.neighbours(core);
        let all = self.machine.size();
        let walk = &mut self.worker(worker).walk;
        if walk.near > 0 {
            walk.near -= 1;
            return self.any_of(worker, socket.0, socket.1);
        }
        walk.near = socket.1 - 1;
        if walk.middle > 0 {
            walk.middle -= 1;
            return self.any_of(worker, node.0, node.1);
        }
        walk.middle = if node.1 > socket.1 { node.1 - 1 } else { 0 };
        self.any_of(worker, 0, all)
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
        let core = self.workers[worker as usize].core;
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
