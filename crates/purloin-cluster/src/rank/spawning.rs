//! Running tasks that may push others: [`Active`].

use super::Engine;
use crate::Task;
use crate::cut_off::CutOff;
use crate::queue::MOST;
use crate::task::{Promise, Rank, Spawned, not_mine};

/// A rank that asks the cut-off about each task that is spawned.
pub struct Active<'r, 'c, T: Task, C: CutOff> {
    engine: &'r mut Engine<'c, T, C>,
    /// How deep the running task is.
    level: u32,
}

impl<'r, 'c, T: Task, C: CutOff> Active<'r, 'c, T, C> {
    pub fn new(engine: &'r mut Engine<'c, T, C>, level: u32) -> Self {
        Active { engine, level }
    }

    /// The level of tasks that are spawned here.
    fn below(&self) -> u32 {
        self.level + 1
    }

    /// Whether a task that is spawned now goes into the queue.
    #[inline]
    fn creates(&mut self) -> bool {
        self.engine.beat();
        let level = self.below();
        let Engine {
            cutoff,
            stack,
            doubt,
            ..
        } = &mut *self.engine;
        if !stack.has_room_for(1 + MOST) {
            return false;
        }
        let is_doubted = self.level < doubt.end() && cutoff.refills(stack.ready());
        is_doubted || cutoff.creates(level, || stack.ready())
    }

    /// Pushes the second task, whatever the cut-off says.
    #[inline]
    pub fn push_and_join(&mut self, a: T, b: T) -> (T::Output, T::Output) {
        let level = self.below();
        let slot = self.engine.push(b, level);
        let a = self.engine.run(a, level);
        (a, self.engine.finish_newest(slot, level))
    }

    /// Spawns tasks; `creates` says whether the cut-off has been asked, and has agreed.
    pub fn spawn_rest<A>(
        &mut self,
        tasks: impl IntoIterator<Item = T>,
        start: A,
        mut combine: impl FnMut(A, T::Output) -> A,
        mut creates: bool,
    ) -> A {
        let level = self.below();
        let first = self.engine.stack.top();
        let mut sum = start;
        for task in tasks {
            let stack = &mut self.engine.stack;
            creates = match creates && stack.ready() < C::SET {
                true => stack.has_room_for(1 + MOST),
                false => self.creates(),
            };
            if creates {
                self.engine.push(task, level);
            } else {
                let output = self.engine.run(task, level);
                sum = combine(sum, output);
            }
        }
        debug_assert!(self.engine.stack.top() >= first);
        // The first is run first, as it is without queues; others come for the last.
        self.engine.stack.reverse(first);
        while self.engine.stack.top() > first {
            let newest = self.engine.stack.top() - 1;
            // Those that are leaves spawn nothing, so that the rank would not look up.
            self.engine.beat_for_task();
            self.engine.offer();
            let output = self.engine.finish_newest(newest, level);
            sum = combine(sum, output);
        }
        sum
    }
}

impl<T: Task, C: CutOff> Rank<T> for Active<'_, '_, T, C> {
    #[inline]
    fn join(&mut self, a: T, b: T) -> (T::Output, T::Output) {
        let level = self.below();
        if !self.creates() {
            let a = self.engine.run(a, level);
            return (a, self.engine.run(b, level));
        }
        self.push_and_join(a, b)
    }

    fn spawn(&mut self, task: T) -> Spawned<T> {
        let level = self.below();
        Spawned(match self.creates() {
            false => Promise::Done(self.engine.run(task, level)),
            true => {
                let slot = self.engine.push(task, level);
                Promise::Slot(self.engine.stack.promise(slot, level))
            }
        })
    }

    fn get(&mut self, spawned: Spawned<T>) -> T::Output {
        let slot = match spawned.0 {
            Promise::Done(output) => return output,
            Promise::Slot(slot) => slot,
        };
        let index = slot.index as usize;
        if slot.level != self.below() || !self.engine.stack.has(slot) {
            not_mine();
        }
        let level = self.below();
        let engine = &mut *self.engine;
        if index + 1 == engine.stack.top() && !engine.stack.is_settled(index) {
            engine.stack.forget(index);
            return engine.finish_newest(index, level);
        }
        // Not the newest: it keeps its slot until those above it are free.
        engine.finish_in_place(index, level)
    }

    fn spawn_all<A>(
        &mut self,
        tasks: impl IntoIterator<Item = T>,
        start: A,
        combine: impl FnMut(A, T::Output) -> A,
    ) -> A {
        self.spawn_rest(tasks, start, combine, false)
    }

    fn context(&self) -> &T::Context {
        self.engine.context
    }

    fn poll(&mut self) {
        if self.engine.pulse.is_due() {
            self.engine.look_up();
        }
    }
}
