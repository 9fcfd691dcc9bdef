//! What thieves see of their victims: [`Offers`].

use super::Simulation;
use super::worker::Worker;
use crate::Workload;

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
