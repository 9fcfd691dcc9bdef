//! Running tasks without asking: [`Quick`].

use super::Engine;
use super::spawning::Active;
use crate::Task;
use crate::cut_off::CutOff;
use crate::task::{Promise, Rank, Spawned, not_mine};

/// A rank that runs a subtree in which nothing is worth being created.
///
/// A spawn decrements a counter, and is a call.
pub struct Quick<'r, 'c, T: Task, C: CutOff> {
    engine: &'r mut Engine<'c, T, C>,
    level: u32,
}

impl<'r, 'c, T: Task, C: CutOff> Quick<'r, 'c, T, C> {
    pub fn new(engine: &'r mut Engine<'c, T, C>, level: u32) -> Self {
        Quick { engine, level }
    }

    #[inline(always)]
    fn call(&mut self, task: T) -> T::Output {
        task.run(Quick::new(self.engine, self.level + 1))
    }

    /// Whether it is time to look up, or this task is in doubt.
    #[inline(always)]
    fn has_to_ask(&mut self) -> bool {
        self.engine.pulse.beat() || self.level < self.engine.doubt.end()
    }

    #[cold]
    #[inline(never)]
    fn ask_and_join(&mut self, a: T, b: T) -> (T::Output, T::Output) {
        if self.engine.ask(self.level) {
            Active::new(self.engine, self.level).push_and_join(a, b)
        } else {
            (self.call(a), self.call(b))
        }
    }

    /// Runs tasks that go into the queue, after all.
    #[cold]
    #[inline(never)]
    fn create_all<A>(
        &mut self,
        task: T,
        rest: impl Iterator<Item = T>,
        start: A,
        combine: impl FnMut(A, T::Output) -> A,
    ) -> A {
        let tasks = std::iter::once(task).chain(rest);
        Active::new(self.engine, self.level).spawn_rest(tasks, start, combine, true)
    }
}

impl<T: Task, C: CutOff> Rank<T> for Quick<'_, '_, T, C> {
    #[inline(always)]
    fn join(&mut self, a: T, b: T) -> (T::Output, T::Output) {
        if self.has_to_ask() {
            return self.ask_and_join(a, b);
        }
        (self.call(a), self.call(b))
    }

    #[inline(always)]
    fn spawn(&mut self, task: T) -> Spawned<T> {
        if self.engine.pulse.beat() {
            self.engine.ask(self.level);
        }
        Spawned(Promise::Done(self.call(task)))
    }

    #[inline(always)]
    fn get(&mut self, spawned: Spawned<T>) -> T::Output {
        match spawned.0 {
            Promise::Done(output) => output,
            Promise::Slot(_) => not_mine(),
        }
    }

    #[inline(always)]
    fn spawn_all<A>(
        &mut self,
        tasks: impl IntoIterator<Item = T>,
        start: A,
        mut combine: impl FnMut(A, T::Output) -> A,
    ) -> A {
        let mut sum = start;
        let mut tasks = tasks.into_iter();
        while let Some(task) = tasks.next() {
            if self.has_to_ask() && self.engine.ask(self.level) {
                return self.create_all(task, tasks, sum, combine);
            }
            sum = combine(sum, self.call(task));
        }
        sum
    }

    #[inline(always)]
    fn context(&self) -> &T::Context {
        self.engine.context
    }

    #[inline]
    fn poll(&mut self) {
        if self.engine.pulse.is_due() {
            self.engine.ask(self.level);
        }
    }
}
