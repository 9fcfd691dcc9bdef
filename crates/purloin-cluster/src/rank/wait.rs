//! A rank without a task of its own to run: it steals and waits.

use std::sync::atomic::Ordering;
use std::time::Instant;

use bytemuck::{bytes_of, bytes_of_mut};

use super::Engine;
use crate::Task;
use crate::cut_off::Policy;
use crate::failure;
use crate::queue::{DONE_FLAG, Layout, MAX_TASK_BYTES, Origin};

/// The largest number of yields between two unsuccessful attempts to steal.
const MAX_YIELDS: u32 = 4;

/// Room for a result: the time that the task took, and its output.
type Words = [u64; 1 + MAX_TASK_BYTES / 8];

impl<T: Task, P: Policy> Engine<'_, T, P> {
    /// Runs the first task, on rank 0, and notifies the other ranks when it has ended.
    pub fn lead(&mut self, task: T) -> T::Output {
        failure::set_runs_tasks(true);
        let (output, _) = self.run_guarded(task, 0, false);
        self.end();
        output
    }

    /// Steals and runs tasks until rank 0 has finished the first task.
    pub fn follow(&mut self) {
        failure::set_runs_tasks(true);
        self.work_until(|engine| {
            // Acquire is not needed for any data, since the run ends with a barrier.
            engine.window.word(DONE_FLAG).load(Ordering::Acquire) != 0
        });
        self.end();
    }

    /// Notifies the next ranks of the end, and waits for operations that are under way.
    fn end(&mut self) {
        let rank = self.world().rank();
        for other in [2 * rank + 1, 2 * rank + 2] {
            if other < self.world().ranks() {
                self.writes.raise(other, DONE_FLAG);
            }
        }
        while self.thief.is_busy() || !self.writes.is_empty() {
            self.advance_steal();
            self.writes.advance();
            std::thread::yield_now();
        }
        debug_assert!(!self.thief.has_tasks() && self.stack.top() == 0);
        failure::set_runs_tasks(false);
        self.world().barrier();
    }

    /// Waits for the output of the newest task, which is stolen, and frees its slot.
    #[cold]
    pub(super) fn await_output(&mut self, slot: usize) -> T::Output {
        let output = self.await_stolen(slot);
        self.stack.free_newest(slot);
        output
    }

    /// Returns the output of a task that is not the newest, and releases its slot. Runs the task
    /// if it is not stolen.
    #[cold]
    pub(super) fn finish_in_place(&mut self, slot: usize, depth: u32) -> T::Output {
        let output = match self.stack.take_in_place(slot) {
            Some(task) => self.run_dequeued(task, depth),
            None => self.await_stolen(slot),
        };
        self.stack.release(slot);
        output
    }

    /// Waits for the output of a stolen task, and accounts for the thief's work.
    fn await_stolen(&mut self, slot: usize) -> T::Output {
        self.await_done(slot);
        let (output, work) = self.stack.output(slot);
        self.account.elsewhere += work;
        self.stats.stolen_work_nanoseconds += work;
        output
    }

    /// Waits until the result of a stolen task has arrived. Runs other tasks meanwhile.
    fn await_done(&mut self, slot: usize) {
        if self.stack.is_done(slot) {
            return;
        }
        let begin = Instant::now();
        let account = self.account;
        self.work_until(|engine| engine.stack.is_done(slot));
        // The tasks that ran meanwhile are not part of the waiting task's work.
        self.account = account;
        self.account.blocked += begin.elapsed().as_nanos() as u64;
    }

    fn work_until(&mut self, is_done: impl Fn(&Self) -> bool) {
        let mut yields = 1;
        let mut idle_since = Instant::now();
        while !is_done(self) {
            self.steal();
            if self.thief.has_tasks() {
                self.stats.idle_nanoseconds += idle_since.elapsed().as_nanos() as u64;
                self.run_stolen_tasks();
                idle_since = Instant::now();
                yields = 1;
                continue;
            }
            self.writes.advance();
            // This rank cannot run its older tasks while the newest frame is blocked, but
            // thieves can.
            self.stack.replenish_offer();
            self.world().progress();
            for _ in 0..yields {
                std::thread::yield_now();
            }
            if !self.thief.is_busy() {
                yields = (2 * yields).min(MAX_YIELDS);
            }
        }
        self.stats.idle_nanoseconds += idle_since.elapsed().as_nanos() as u64;
    }

    /// Starts a steal, or advances the one that is under way.
    fn steal(&mut self) {
        if self.may_steal() {
            self.thief.begin(&mut self.stats);
        }
        self.advance_steal();
    }

    /// Runs the tasks that the last steal has brought.
    fn run_stolen_tasks(&mut self) {
        let base = self.stack.top();
        // The stolen tasks are not part of the subtree that may be overdue here.
        let outer = std::mem::take(&mut self.overdue);
        let mut is_remote = false;
        for stolen in self.thief.take_tasks() {
            is_remote = stolen.is_remote;
            self.stack
                .push_stolen(stolen.task, stolen.depth, stolen.origin);
        }
        while self.stack.top() > base {
            self.run_newest_stolen(is_remote);
        }
        self.overdue = outer;
    }

    /// Runs the newest task, which was stolen from another rank, unless a thief has stolen it
    /// again.
    fn run_newest_stolen(&mut self, is_remote: bool) {
        let slot = self.stack.top() - 1;
        let (origin, depth) = self.stack.origin_and_depth(slot);
        self.offer_if_none();
        let Some(task) = self.stack.pop(slot) else {
            // The second thief acknowledges its copy the next time it attends to its steal.
            // Meanwhile it may be waiting for this rank. This is not a deadlock, because a waiting
            // rank keeps running tasks and advancing its own operations.
            self.work_until(|engine| engine.stack.is_done(slot));
            self.stack.free_newest(slot);
            return;
        };
        self.steal_early_if_few(depth);
        let is_serial = is_remote && self.policy.is_serial_after_remote_steal(depth);
        let (output, work) = self.run_guarded(task, depth, is_serial);
        self.send_back(origin, &task, output, work);
    }

    /// Sends the output of a stolen task to its origin.
    fn send_back(&mut self, origin: Origin, task: &T, output: T::Output, work: u64) {
        let (rank, slot) = (origin.rank as usize, origin.slot as usize);
        if rank == self.world().rank() {
            return self.stack.write_output(slot, output, work);
        }
        // The current words at the origin, and the words that shall replace them.
        let (mut before, mut values): (Words, Words) = ([0; _], [0; _]);
        let task = bytes_of(task);
        bytes_of_mut(&mut before)[8..][..task.len()].copy_from_slice(task);
        values[0] = work;
        let output = bytes_of(&output);
        bytes_of_mut(&mut values)[8..][..output.len()].copy_from_slice(output);
        for (value, before) in values.iter_mut().zip(before) {
            *value = value.wrapping_sub(before);
        }
        let values = &values[..Layout::<T>::RESULT_WORDS];
        let (result, state) = (Layout::<T>::result(slot), Layout::<T>::state(slot));
        self.writes.add_then_raise(rank, result, values, state);
    }
}
