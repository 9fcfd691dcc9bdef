//! Thread indices: a number below the number of regular workers for each worker that runs, including
//! spare workers.
//!
//! Programs index arrays with the index of a thread, so two running threads must not have the same
//! index. A regular worker has its own number. A spare worker runs in place of a blocked worker, and
//! has no index until the program asks for one
//! ([`Token::thread_index`](crate::Token::thread_index)). Then the pool **binds** the spare worker to
//! an index that no other worker uses. The spare worker stays bound until it has ended the task or job
//! that it took, because the program may have stored the index.
//!
//! Several workers may be bound to one index, but at most one of them **uses** it:
//!
//! - A worker that hands off its processor, because it is blocked, stops using its index. When it
//!   resumes, it uses the index again. If another worker uses it at that time, the resuming worker
//!   waits, and its processor stays handed off.
//! - A blocked worker that looks for a task to run meanwhile uses its index while it looks. If another
//!   worker uses the index, it does not look: a task that it has taken would wait for the index with
//!   it, and no other worker could run that task.
//! - If a regular worker in the reserve has mail, it needs its index to leave. So each worker that frees
//!   an index unparks the regular worker with this index.
//! - An idle regular worker uses its index, but does not need it. If the worker is asleep or in the
//!   reserve, another worker may use the index at once; the idle worker stays in the reserve until the
//!   index is free again. If the worker is searching, it gives up its index when another worker waits
//!   for one ([`Sleep::yield_thread_index`]).
//! - A spare worker that asks for an index waits until one is free.
//!
//! The lock of the sleepers protects all of this state.
//!
//! # Limit
//!
//! A worker that waits in a way that the pool does not see, in a lock for example, keeps using its
//! index. Suppose a task asks for its index, and then waits for a lock. If a blocked task that holds
//! the lock is bound to the same index, neither task can go on.

use super::protocol::Sleep;
use super::sleepers::Sleepers;
use crate::sync::{Ordering, fence};

impl Sleep {
    /// Returns the thread index of the calling worker. Binds a spare worker to an index if it is not
    /// bound yet, and waits until one is free.
    pub(crate) fn thread_index(&self, worker: usize) -> usize {
        let mut sleepers = self.lock();
        if let Some(index) = sleepers.indices.of(worker) {
            return index;
        }
        let mut found = 0;
        sleepers = self.wait_for_thread_index(sleepers, worker, |sleep, sleepers| {
            let all = 0..sleepers.indices.users.len();
            let free = all.into_iter().find(|&index| sleep.vacate(sleepers, index));
            found = free.unwrap_or(0);
            free.is_some()
        });
        sleepers.indices.bound.push((worker, found));
        sleepers.indices.use_own(worker);
        // Relaxed: only the worker's own thread reads it.
        self.parkers[worker]
            .has_thread_index
            .store(1, Ordering::Relaxed);
        self.rebalance(&mut sleepers);
        found
    }

    /// Returns whether an index is free. If an idle worker uses it, moves the worker to the reserve
    /// and frees the index.
    fn vacate(&self, sleepers: &mut Sleepers, index: usize) -> bool {
        let Sleepers {
            list,
            processors,
            indices,
        } = sleepers;
        match indices.users[index] {
            None => return true,
            // A spare worker runs.
            Some(user) if user != index => return false,
            Some(_) => (),
        }
        let idle = list
            .iter()
            .position(|sleeper| sleeper.worker == index && sleeper.until.is_none());
        if let Some(place) = idle {
            list.swap_remove(place);
            self.asleep.fetch_sub(1, Ordering::Relaxed);
            processors.enter_reserve(index);
        }
        let is_idle = processors.is_in_reserve(index);
        if is_idle {
            indices.users[index] = None;
        }
        is_idle
    }

    /// Frees the index of `worker` if an idle worker uses it. Returns whether the index is free of other
    /// workers.
    fn vacate_for(&self, sleepers: &mut Sleepers, worker: usize) -> bool {
        match sleepers.indices.of(worker) {
            Some(index) if !sleepers.indices.may_run(worker) => self.vacate(sleepers, index),
            _ => true,
        }
    }

    /// Blocks `worker` until `take` returns true.
    fn wait_for_thread_index<'s>(
        &'s self,
        mut sleepers: crate::sync::MutexGuard<'s, Sleepers>,
        worker: usize,
        mut take: impl FnMut(&Sleep, &mut Sleepers) -> bool,
    ) -> crate::sync::MutexGuard<'s, Sleepers> {
        while !take(self, &mut sleepers) {
            sleepers.indices.waiting.push(worker);
            self.waiting_for_index.fetch_add(1, Ordering::Relaxed);
            drop(sleepers);
            self.parkers[worker].park();
            sleepers = self.lock();
            sleepers.indices.waiting.retain(|&other| other != worker);
            self.waiting_for_index.fetch_sub(1, Ordering::Relaxed);
        }
        sleepers
    }

    /// Waits until a worker that resumes may use its index, and marks the index as used. Does nothing
    /// for a worker that is not bound.
    pub(super) fn reclaim_thread_index(
        &self,
        worker: usize,
    ) -> crate::sync::MutexGuard<'_, Sleepers> {
        let sleepers = self.lock();
        let mut sleepers = self.wait_for_thread_index(sleepers, worker, |sleep, sleepers| {
            sleep.vacate_for(sleepers, worker)
        });
        sleepers.indices.use_own(worker);
        sleepers
    }

    /// Marks the index of a blocked worker as used, unless another worker uses it. Returns whether the
    /// blocked worker may run something now.
    pub(crate) fn try_reclaim_thread_index(&self, worker: usize) -> bool {
        let mut sleepers = self.lock();
        let may_run = self.vacate_for(&mut sleepers, worker);
        if may_run {
            sleepers.indices.use_own(worker);
            self.rebalance(&mut sleepers);
        }
        may_run
    }

    /// Frees the index of a worker that stays blocked. The caller must now look for work, as after
    /// [`Self::hand_off`]: a worker in the reserve may have become an idle worker that is asleep.
    pub(crate) fn free_thread_index(&self, worker: usize) {
        let mut sleepers = self.lock();
        sleepers.indices.free(worker);
        self.rebalance(&mut sleepers);
        let waiting = sleepers.indices.waiting_for(worker);
        drop(sleepers);
        // Orders the registration of a sleeper before the caller's look for tasks.
        fence(Ordering::SeqCst);
        self.wake_waiting(waiting);
    }

    /// Unbinds a spare worker that has ended the task or job that it took.
    pub(crate) fn release_thread_index(&self, worker: usize) {
        // Relaxed: this thread has set it.
        if self.parkers[worker]
            .has_thread_index
            .load(Ordering::Relaxed)
            == 0
        {
            return;
        }
        self.parkers[worker]
            .has_thread_index
            .store(0, Ordering::Relaxed);
        let mut sleepers = self.lock();
        sleepers.indices.free(worker);
        let waiting = sleepers.indices.waiting_for(worker);
        sleepers.indices.bound.retain(|(bound, _)| *bound != worker);
        self.rebalance(&mut sleepers);
        drop(sleepers);
        self.wake_waiting(waiting);
    }

    /// Frees the index of a worker that ends, for spare workers that still run.
    pub(crate) fn end_with_thread_index(&self, worker: usize) {
        self.release_thread_index(worker);
        let mut sleepers = self.lock();
        sleepers.indices.free(worker);
        let waiting = sleepers.indices.waiting.clone();
        drop(sleepers);
        self.wake_waiting(waiting);
    }

    /// Moves a searching regular worker to the reserve if another worker waits for its index. If this
    /// returns true, the worker must pass on, as after [`Self::enter_reserve`].
    pub(crate) fn yield_thread_index(&self, worker: usize) -> bool {
        // Relaxed: this is only a hint. The check under the lock decides.
        if self.waiting_for_index.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let mut sleepers = self.lock();
        let indices = &sleepers.indices;
        let wants_it = |other: &usize| indices.of(*other).is_none_or(|index| index == worker);
        let is_regular = worker < indices.users.len();
        let is_wanted = is_regular && indices.waiting.iter().any(wants_it);
        if !is_wanted || sleepers.processors.is_stopped {
            return false;
        }
        sleepers.processors.enter_reserve(worker);
        sleepers.indices.free(worker);
        // The waiting worker that uses the index next rebalances.
        let waiting = sleepers.indices.waiting.clone();
        drop(sleepers);
        self.stop_searching();
        self.wake_waiting(waiting);
        true
    }

    /// Wakes workers that wait for an index: one may be free.
    pub(super) fn wake_waiting(&self, waiting: Vec<usize>) {
        for worker in waiting {
            self.unpark(worker);
        }
    }
}
