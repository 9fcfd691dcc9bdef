//! Futures that are got by their numbers: [`Futures`].
//!
//! The task of a future lies where all tasks lie, and is joined as they are, when the frame
//! ends that has made it. But it may be got before, by anyone: who gets it runs it, if nobody
//! has begun it. Then the task stays behind, without anything to run, wherever it is by
//! then, and whoever steals it has done so in vain.
//!
//! A program can wait for itself that way, if blocked workers run what has nothing to do with
//! what they wait for: that may wait for what it buries. So they lend their cores, and
//! nothing else ([`Workload::needs_spares`]). Then there is an end to each program: of all that
//! is begun or spawned and has not ended, take what comes first in the serial elision. It waits
//! for nothing. If it is begun, nothing lies on it, as that would come before it; so its worker
//! runs it, or is about to get its core back. If it is not, it is where thieves find it, or
//! the worker that has the core: what a blocked worker has left goes to that.

use super::tasks::TaskId;
use super::worker::{NONE, Wait};
use super::{Simulation, Workload};

/// Futures, by their numbers.
#[derive(Debug, Default)]
pub struct Futures(Vec<Promise>);

#[derive(Clone, Copy, Debug)]
struct Promise {
    /// None if that has ended, or is not made.
    task: TaskId,
    /// Who waits for it.
    getter: u32,
}

impl Futures {
    const NOTHING: Promise = Promise {
        task: TaskId::NONE,
        getter: NONE,
    };

    /// A future is made.
    pub fn add(&mut self, number: u32, task: TaskId) {
        let place = number as usize;
        if self.0.len() <= place {
            self.0.resize(place + 1, Self::NOTHING);
        }
        self.0[place].task = task;
    }

    /// The task that is to end.
    fn task(&self, number: u32) -> Option<TaskId> {
        let promise = self.0.get(number as usize)?;
        Some(promise.task).filter(|&task| task != TaskId::NONE)
    }

    pub fn is_done(&self, number: u32) -> bool {
        self.task(number).is_none()
    }

    /// It has ended: who has waited for that, if anybody.
    pub fn end(&mut self, number: u32) -> Option<u32> {
        let promise = std::mem::replace(&mut self.0[number as usize], Self::NOTHING);
        Some(promise.getter).filter(|&getter| getter != NONE)
    }
}

impl<W: Workload> Simulation<'_, W> {
    /// The frame on top gets a future.
    pub fn get(&mut self, worker: u32, number: u32) {
        let Some(task) = self.futures.task(number) else {
            return;
        };
        if let Some((activation, level)) = self.start(worker, task) {
            return self.call(worker, activation, task, level);
        }
        self.futures.0[number as usize].getter = worker;
        let frame = self.worker(worker).frames.last_mut();
        frame.expect("it gets the future").waits = Wait::Future(number);
    }
}
