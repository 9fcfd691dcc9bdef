//! The token of a task in a subtree that runs inline: [`InlineRank`].

use super::Engine;
use super::spawning::SpawningRank;
use crate::Task;
use crate::cut_off::Policy;
use crate::task::{Rank, Spawned};

/// A rank that runs a subtree in which no task is worth a place in the queue.
///
/// A spawn decrements a counter and calls the task. This is the serial elision
/// ([`Serial`](crate::Serial)) plus that counter.
pub struct InlineRank<'r, 'c, T: Task, P: Policy> {
    engine: &'r mut Engine<'c, T, P>,
    depth: u32,
}

impl<'r, 'c, T: Task, P: Policy> InlineRank<'r, 'c, T, P> {
    pub fn new(engine: &'r mut Engine<'c, T, P>, depth: u32) -> Self {
        InlineRank { engine, depth }
    }

    #[inline(always)]
    fn call(&mut self, task: T) -> T::Output {
        task.run(InlineRank::new(self.engine, self.depth + 1))
    }

    /// Counts a spawn. Returns whether a poll is due, or this task is overdue.
    #[inline(always)]
    fn must_ask(&mut self) -> bool {
        self.engine.poll_timer.count(1) || self.depth < self.engine.overdue.end()
    }

    #[cold]
    #[inline(never)]
    fn ask_and_join(&mut self, a: T, b: T) -> (T::Output, T::Output) {
        if self.engine.enqueues_overdue(self.depth) {
            SpawningRank::new(self.engine, self.depth).push_and_join(a, b)
        } else {
            (self.call(a), self.call(b))
        }
    }

    /// Spawns tasks that go into the queue because the subtree is overdue.
    #[cold]
    #[inline(never)]
    fn enqueue_all<A>(
        &mut self,
        task: T,
        rest: impl Iterator<Item = T>,
        start: A,
        combine: impl FnMut(A, T::Output) -> A,
    ) -> A {
        let tasks = std::iter::once(task).chain(rest);
        SpawningRank::new(self.engine, self.depth).spawn_rest(tasks, start, combine, true)
    }
}

impl<T: Task, P: Policy> Rank<T> for InlineRank<'_, '_, T, P> {
    #[inline(always)]
    fn join(&mut self, a: T, b: T) -> (T::Output, T::Output) {
        if self.must_ask() {
            return self.ask_and_join(a, b);
        }
        (self.call(a), self.call(b))
    }

    #[inline(always)]
    fn spawn(&mut self, task: T) -> Spawned<T> {
        if self.engine.poll_timer.count(1) {
            self.engine.poll_inline();
        }
        Spawned::done(self.call(task))
    }

    #[inline(always)]
    fn get(&mut self, spawned: Spawned<T>) -> T::Output {
        spawned.into_output()
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
            if self.must_ask() && self.engine.enqueues_overdue(self.depth) {
                return self.enqueue_all(task, tasks, sum, combine);
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
        if self.engine.poll_timer.is_due_by_clock() {
            self.engine.poll_inline();
        }
    }
}
