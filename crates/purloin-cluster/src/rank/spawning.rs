//! The token of a task whose spawns may enter the queue: [`SpawningRank`].

use super::Engine;
use crate::Task;
use crate::cut_off::Policy;
use crate::queue::MAX_STEAL;
use crate::task::{Rank, Spawned, SpawnedState, spawned_by_another_task};

/// A rank that asks the cut-off about each spawned task.
pub struct SpawningRank<'r, 'c, T: Task, P: Policy> {
    engine: &'r mut Engine<'c, T, P>,
    /// The depth of the running task.
    depth: u32,
}

impl<'r, 'c, T: Task, P: Policy> SpawningRank<'r, 'c, T, P> {
    pub fn new(engine: &'r mut Engine<'c, T, P>, depth: u32) -> Self {
        SpawningRank { engine, depth }
    }

    /// Returns the depth of tasks that the running task spawns.
    fn child_depth(&self) -> u32 {
        self.depth + 1
    }

    /// Counts a spawn. Returns whether the spawned task enters the queue.
    #[inline]
    fn enqueues(&mut self) -> bool {
        self.engine.count_spawn();
        let depth = self.child_depth();
        let Engine {
            policy,
            stack,
            overdue,
            ..
        } = &mut *self.engine;
        if !stack.has_room_for(1 + MAX_STEAL) {
            return false;
        }
        let is_overdue = self.depth < overdue.end() && policy.refills(stack.ready());
        is_overdue || policy.enqueues(depth, || stack.ready())
    }

    /// Joins two tasks, the second through the queue. Does not ask the cut-off.
    #[inline]
    pub fn push_and_join(&mut self, a: T, b: T) -> (T::Output, T::Output) {
        let depth = self.child_depth();
        let slot = self.engine.push(b, depth);
        let a = self.engine.run_inline(a, depth);
        (a, self.engine.finish_newest(slot, depth))
    }

    /// Spawns tasks and folds their outputs. `enqueues` says whether the cut-off has already
    /// let the first of them into the queue.
    pub fn spawn_rest<A>(
        &mut self,
        tasks: impl IntoIterator<Item = T>,
        start: A,
        mut combine: impl FnMut(A, T::Output) -> A,
        mut enqueues: bool,
    ) -> A {
        let depth = self.child_depth();
        let first = self.engine.stack.top();
        let mut sum = start;
        // A task that runs inline when its siblings wait in the queue.
        let mut eager = None;
        for task in tasks {
            let stack = &mut self.engine.stack;
            enqueues = if enqueues && stack.ready() < P::GROUP {
                stack.has_room_for(1 + MAX_STEAL)
            } else if eager.is_some() && self.engine.leaves_siblings(depth) {
                true
            } else {
                self.enqueues()
            };
            if enqueues {
                self.engine.push(task, depth);
            } else if eager.is_none() && self.engine.leaves_siblings(depth) {
                eager = Some(task);
            } else {
                let output = self.engine.run_inline(task, depth);
                sum = combine(sum, output);
            }
        }
        debug_assert!(self.engine.stack.top() >= first);
        if let Some(task) = eager {
            self.engine.offer_if_none();
            let output = self.engine.run_inline(task, depth);
            sum = combine(sum, output);
        }
        // The owner pops the newest task. After the reversal, it runs the tasks in the order of
        // their spawns, as the serial elision does, and thieves take the last ones.
        self.engine.stack.reverse(first);
        while self.engine.stack.top() > first {
            let newest = self.engine.stack.top() - 1;
            // Tasks that are leaves spawn nothing, and so do not count down to a poll.
            self.engine.count_task();
            self.engine.offer_if_none();
            let output = self.engine.finish_newest(newest, depth);
            sum = combine(sum, output);
        }
        sum
    }
}

impl<T: Task, P: Policy> Rank<T> for SpawningRank<'_, '_, T, P> {
    #[inline]
    fn join(&mut self, a: T, b: T) -> (T::Output, T::Output) {
        let depth = self.child_depth();
        if self.enqueues() || self.engine.leaves_siblings(depth) {
            return self.push_and_join(a, b);
        }
        let a = self.engine.run_inline(a, depth);
        (a, self.engine.run_inline(b, depth))
    }

    fn spawn(&mut self, task: T) -> Spawned<T> {
        let depth = self.child_depth();
        if !self.enqueues() {
            return Spawned::done(self.engine.run_inline(task, depth));
        }
        let slot = self.engine.push(task, depth);
        Spawned(SpawnedState::Queued(self.engine.stack.handle(slot, depth)))
    }

    fn get(&mut self, spawned: Spawned<T>) -> T::Output {
        let handle = match spawned.0 {
            SpawnedState::Done(output) => return output,
            SpawnedState::Queued(handle) => handle,
        };
        let slot = handle.index as usize;
        let depth = self.child_depth();
        if handle.depth != depth || !self.engine.stack.is_valid(handle) {
            spawned_by_another_task();
        }
        let engine = &mut *self.engine;
        if slot + 1 == engine.stack.top() && !engine.stack.is_settled(slot) {
            engine.stack.invalidate_handle(slot);
            return engine.finish_newest(slot, depth);
        }
        // Newer tasks lie above this task, so it keeps its slot until their slots are free.
        engine.finish_in_place(slot, depth)
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
        if self.engine.poll_timer.is_due_by_clock() {
            self.engine.poll();
        }
    }
}
