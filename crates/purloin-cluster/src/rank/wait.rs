//! What a rank does that has nothing to run: it steals.

use std::sync::atomic::Ordering;
use std::time::Instant;

use bytemuck::{bytes_of, bytes_of_mut};

use super::Engine;
use crate::Task;
use crate::cut_off::CutOff;
use crate::failure;
use crate::queue::{LARGEST, Layout, OVER, Origin};

/// How many times a rank lets others run, at most, between two attempts in vain.
const MOST_PAUSES: u32 = 4;

/// Room for a result: the time that it took, and itself.
type Words = [u64; 1 + LARGEST / 8];

impl<T: Task, C: CutOff> Engine<'_, T, C> {
    /// Runs the first task, on the first rank, and tells the others when it is done.
    pub fn lead(&mut self, task: T) -> T::Output {
        failure::set_runs_tasks(true);
        let (output, _) = self.run_guarded(task, 0, false);
        self.end();
        output
    }

    /// Steals and runs, until the first rank says that all is done.
    pub fn follow(&mut self) {
        failure::set_runs_tasks(true);
        self.work_until(|engine| {
            // Acquire: nothing in particular; the end is a barrier.
            engine.window.word(OVER).load(Ordering::Acquire) != 0
        });
        self.end();
    }

    /// Passes the end on, and waits for all that is under way.
    fn end(&mut self) {
        let rank = self.world().rank();
        for other in [2 * rank + 1, 2 * rank + 2] {
            if other < self.world().ranks() {
                self.returns.raise(other, OVER);
            }
        }
        while self.thief.is_busy() || !self.returns.is_empty() {
            self.advance();
            self.returns.progress();
            std::thread::yield_now();
        }
        debug_assert!(!self.thief.has_loot() && self.stack.top() == 0);
        failure::set_runs_tasks(false);
        self.world().barrier();
    }

    /// The result of the newest task, which is stolen.
    #[cold]
    pub(super) fn await_result(&mut self, slot: usize) -> T::Output {
        self.await_done(slot);
        let (output, work) = self.stack.output(slot);
        self.account.elsewhere += work;
        self.stack.release(slot);
        output
    }

    /// The result of a task that is not the newest.
    #[cold]
    pub(super) fn finish_in_place(&mut self, slot: usize, level: u32) -> T::Output {
        let output = match self.stack.take(slot) {
            Some(task) => self.run_created(task, level),
            None => {
                self.await_done(slot);
                let (output, work) = self.stack.output(slot);
                self.account.elsewhere += work;
                output
            }
        };
        self.stack.let_go(slot);
        output
    }

    /// Waits until the result of a stolen task is there, and works meanwhile.
    fn await_done(&mut self, slot: usize) {
        if self.stack.is_done(slot) {
            return;
        }
        let begin = Instant::now();
        let account = self.account;
        self.work_until(|engine| engine.stack.is_done(slot));
        // What was run meanwhile has nothing to do with the task that waits.
        self.account = account;
        self.account.blocked += begin.elapsed().as_nanos() as u64;
    }

    fn work_until(&mut self, is_done: impl Fn(&Self) -> bool) {
        let mut pauses = 1;
        let mut idle = Instant::now();
        while !is_done(self) {
            self.steal();
            if self.thief.has_loot() {
                self.stats.idle_nanoseconds += idle.elapsed().as_nanos() as u64;
                self.run_loot();
                idle = Instant::now();
                pauses = 1;
                continue;
            }
            self.returns.progress();
            // Older tasks of this rank: they are out of its reach, not of others'.
            self.stack.share();
            self.world().poke();
            for _ in 0..pauses {
                std::thread::yield_now();
            }
            if !self.thief.is_busy() {
                pauses = (2 * pauses).min(MOST_PAUSES);
            }
        }
        self.stats.idle_nanoseconds += idle.elapsed().as_nanos() as u64;
    }

    /// Begins a steal, or goes on with it.
    fn steal(&mut self) {
        if self.may_steal() {
            self.thief.begin(&mut self.stats);
        }
        self.advance();
    }

    /// Runs what was stolen.
    fn run_loot(&mut self) {
        let base = self.stack.top();
        // Nobody has doubts about these yet.
        let outer = std::mem::take(&mut self.doubt);
        let mut is_far = false;
        for loot in self.thief.take_loot() {
            is_far = loot.is_far;
            self.stack.push_from(loot.task, loot.level, loot.origin);
        }
        while self.stack.top() > base {
            self.run_prey(is_far);
        }
        self.doubt = outer;
    }

    /// Runs the newest task, which comes from elsewhere, unless others have it by now.
    fn run_prey(&mut self, is_far: bool) {
        let slot = self.stack.top() - 1;
        let (origin, level) = self.stack.head(slot);
        self.offer();
        let Some(task) = self.stack.pop(slot) else {
            // The other has it when he next looks after his steal. He may be waiting here,
            // too, for us: waiting is working, and looking after one's own.
            self.work_until(|engine| engine.stack.is_done(slot));
            self.stack.release(slot);
            return;
        };
        self.look_ahead(level);
        let is_serial = is_far && self.cutoff.serialises_from_afar(level);
        let (output, work) = self.run_guarded(task, level, is_serial);
        self.send_back(origin, &task, output, work);
    }

    /// Returns a result to where the task was spawned.
    fn send_back(&mut self, origin: Origin, task: &T, output: T::Output, work: u64) {
        let (rank, slot) = (origin.rank as usize, origin.slot as usize);
        if rank == self.world().rank() {
            return self.stack.deliver(slot, output, work);
        }
        // What lies there, and what is to lie there.
        let (mut before, mut values): (Words, Words) = ([0; _], [0; _]);
        let task = bytes_of(task);
        bytes_of_mut(&mut before)[8..][..task.len()].copy_from_slice(task);
        values[0] = work;
        let output = bytes_of(&output);
        bytes_of_mut(&mut values)[8..][..output.len()].copy_from_slice(output);
        for (value, before) in values.iter_mut().zip(before) {
            *value = value.wrapping_sub(before);
        }
        let values = &values[..Layout::<T>::RESULT];
        let (work, state) = (Layout::<T>::work(slot), Layout::<T>::state(slot));
        self.returns.write(rank, work, values, state);
    }
}
