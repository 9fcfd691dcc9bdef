//! The placement of threads on cores, which an operating system decides.
//!
//! A woken thread goes to the core on which it ran last if that core is idle, else to the nearest idle core. A new thread
//! goes to a cluster with as few busy cores as possible. If no core is idle, the thread queues for its last core; a core
//! that has nothing to run takes the first thread of the longest queue. Threads that share a core take turns of one time
//! slice. A woken thread comes before those that wait for their next turn, and takes the core from a thread that has run for a
//! quarter of a slice, as Linux prefers threads that have slept.

use std::collections::VecDeque;

use super::Engine;
use super::turns::{NEVER, Time};
use crate::machine::Topology;

#[derive(Default)]
pub(crate) struct Core {
    pub(crate) running: Option<usize>,
    pub(crate) queue: VecDeque<usize>,
    /// When the running fibre has used up its time slice.
    pub(crate) slice_end: Time,
    /// When the newest store reaches its cache line.
    pub(crate) stored_at: Time,
}

impl Core {
    /// Returns the time at which the running fibre must leave the core to another one.
    pub(crate) fn end_of_slice(&self) -> Time {
        match self.queue.is_empty() {
            true => NEVER,
            false => self.slice_end,
        }
    }
}

pub(crate) struct Placement {
    cluster: usize,
    socket: usize,
    /// Number of fibres that wait for a core.
    queued: usize,
}

impl Placement {
    pub(crate) fn new(topology: &Topology) -> Placement {
        Placement {
            cluster: topology.cluster,
            socket: topology.socket,
            queued: 0,
        }
    }
}

impl Engine {
    /// Gives a fibre that is ready a core.
    pub(crate) fn place(&mut self, fibre: usize, time: Time) {
        let last = self.fibres[fibre].core;
        let core = match last {
            usize::MAX => self.idlest_core(),
            _ => self.nearest_idle_core(last),
        };
        let core = core.unwrap_or(match last {
            usize::MAX => self.shortest_queue(),
            last => last,
        });
        self.fibres[fibre].set_running();
        self.fibres[fibre].core = core;
        match self.cores[core].running {
            None => self.start_on(core, fibre, time + self.costs.wake_latency),
            Some(_) => {
                match last {
                    usize::MAX => self.queue_on(core, fibre),
                    _ => self.queue_woken_on(core, fibre, time),
                }
                if core == self.core {
                    self.limit = self.limit.min(self.cores[core].slice_end);
                }
            }
        }
    }

    /// Lets a fibre wait for a core.
    pub(crate) fn queue_on(&mut self, core: usize, fibre: usize) {
        self.placement.queued += 1;
        self.cores[core].queue.push_back(fibre);
    }

    /// Lets a woken fibre wait for a core, before others.
    fn queue_woken_on(&mut self, core: usize, fibre: usize, time: Time) {
        self.placement.queued += 1;
        let rest = self.costs.slice - self.costs.slice / 4;
        let core = &mut self.cores[core];
        core.queue.push_front(fibre);
        let quarter = core.slice_end.saturating_sub(rest);
        core.slice_end = core.slice_end.min(quarter.max(time));
    }

    fn start_on(&mut self, core: usize, fibre: usize, time: Time) {
        self.cores[core].running = Some(fibre);
        self.cores[core].slice_end = time + self.costs.slice;
        self.fibres[fibre].core = core;
        self.turns.set(core, time);
        self.limit = self.limit.min(time);
    }

    /// The running fibre of a core waits, has ended, or has used up its time slice: lets the next one run.
    pub(crate) fn free_core(&mut self, core: usize, time: Time) {
        self.cores[core].running = None;
        if self.placement.queued == 0 {
            return;
        }
        let longest = (0..self.cores.len()).max_by_key(|&other| {
            let len = self.cores[other].queue.len();
            (other == core && len > 0, len)
        });
        let queue = longest.map(|longest| &mut self.cores[longest].queue);
        if let Some(fibre) = queue.and_then(VecDeque::pop_front) {
            self.placement.queued -= 1;
            self.start_on(core, fibre, time + self.costs.switch);
        }
    }

    fn is_idle(&self, core: usize) -> bool {
        self.cores[core].running.is_none()
    }

    fn nearest_idle_core(&self, from: usize) -> Option<usize> {
        if self.is_idle(from) {
            return Some(from);
        }
        let Placement {
            cluster, socket, ..
        } = self.placement;
        let distance = |core: usize| match core {
            _ if core / cluster == from / cluster => 0,
            _ if core / socket == from / socket => 1,
            _ => 2,
        };
        let idle = (0..self.cores.len()).filter(|&core| self.is_idle(core));
        idle.min_by_key(|&core| (distance(core), core))
    }

    /// Returns an idle core of the cluster with the fewest busy cores.
    fn idlest_core(&self) -> Option<usize> {
        let cluster = self.placement.cluster;
        let busy = |core: usize| {
            let first = core / cluster * cluster;
            let cores = first..(first + cluster).min(self.cores.len());
            cores.filter(|&core| !self.is_idle(core)).count()
        };
        let idle = (0..self.cores.len()).filter(|&core| self.is_idle(core));
        idle.min_by_key(|&core| (busy(core), core))
    }

    fn shortest_queue(&self) -> usize {
        let shortest = (0..self.cores.len()).min_by_key(|&core| self.cores[core].queue.len());
        shortest.expect("a machine has a core")
    }
}
