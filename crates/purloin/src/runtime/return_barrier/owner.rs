//! The owner's slow paths at the barrier: it makes tasks public, and private again.

use super::*;

impl<S: BarrierScheduler> BarrierTasks<S> {
    /// Moves the barrier down: `slot` is the first free slot, and slots that are neither published
    /// nor below a spawn become private again.
    pub(super) fn lower(&self, slot: *mut Slot<S>) {
        let published = self.published.get().min(slot);
        self.published.set(published);
        let private = published.max(self.stack.spawn_top()).addr();
        let barrier = self.barrier.load(Ordering::Relaxed);
        if barrier & REQUESTED == 0 && barrier > private {
            // If a thief asks at this moment, the exchange fails and the request stays pending.
            // Relaxed: the owner's own pops are ordered by program order, and a forcing thief
            // starts from a request that it has read.
            let relaxed = Ordering::Relaxed;
            let _ = self
                .barrier
                .compare_exchange(barrier, private, relaxed, relaxed);
        }
    }

    /// Answers with the owner's oldest private tasks. If it has none, the request stays pending,
    /// and the next push answers it.
    #[cold]
    pub(super) fn answer(&self) -> usize {
        self.make_public(match S::BARRIER_STAYS {
            true => tunables::MAX_PUBLISHED.get() as usize,
            false => 1,
        })
    }

    /// Raises the barrier to close the slots below the newest spawn: a slot below the barrier is closed.
    /// Answers a pending request.
    pub(super) fn close_spawn(&self) -> usize {
        let spawn_top = self.stack.spawn_top().addr();
        loop {
            let barrier = self.barrier.load(Ordering::Relaxed);
            if barrier & REQUESTED != 0 {
                return self.answer();
            }
            // If a thief asks at this moment, the exchange fails and the owner answers. Relaxed:
            // the owner's own pushes and pops are ordered by program order, and a forcing thief
            // starts from a request that it has read.
            let relaxed = Ordering::Relaxed;
            if barrier >= spawn_top
                || self
                    .barrier
                    .compare_exchange(barrier, spawn_top, relaxed, relaxed)
                    .is_ok()
            {
                return 0;
            }
        }
    }

    /// Makes up to `max` private tasks public, if a thief has asked, and lowers the barrier to
    /// above them.
    pub(super) fn make_public(&self, max: usize) -> usize {
        let mut count = 0;
        loop {
            // Acquire: if a thief has forced its way in, its steal happened before what the
            // owner decides now.
            let barrier = self.barrier.load(Ordering::Acquire);
            if barrier & REQUESTED == 0 {
                return count;
            }
            let top = self.stack.top();
            let mut slot = self.published.get();
            while slot < top && count < max {
                // SAFETY: the slot is below the top, so it lies in the stack.
                let header = unsafe { &*slot }.header();
                // The first steal is the one for which the owner has stopped.
                header.set_interrupted(count == 0 || !S::BARRIER_STAYS);
                count += usize::from(offer::<S>(header.outcome()));
                slot = slot.wrapping_add(1);
            }
            if slot > self.published.get() {
                self.published.set(slot);
            }
            if count == 0 {
                return 0;
            }
            self.published_at.set(Instant::now());
            if barrier & FORCED != 0 {
                // A forcing thief keeps the barrier up until it has finished.
                return count;
            }
            // Fails if a thief asked, or forced a slot, in the meantime: the word counts
            // forced steals, so the owner notices one that came and went since the load.
            // Release: pairs with the acquiring exchange of the next request, so that a
            // forcing thief sees the states of these slots.
            let lowered = self.barrier.compare_exchange(
                barrier,
                slot.max(self.stack.spawn_top()).addr(),
                Ordering::Release,
                Ordering::Relaxed,
            );
            if lowered.is_ok() {
                return count;
            }
            if count >= max {
                // The answer is complete; the newer request stays pending.
                return count;
            }
        }
    }
}

/// Owner: offers a private task to thieves. Returns false if a forcing thief already has it.
fn offer<S: BarrierScheduler>(state: &StateWord) -> bool {
    if !S::HAS_FORCE {
        // Without force, no thief touches a private slot. Release: as below.
        debug_assert_eq!(state.get(Ordering::Relaxed), State::EMPTY);
        state.set(State::TASK, Ordering::Release);
        return true;
    }
    loop {
        // Release: a thief that takes the task sees its contents.
        match state.exchange(State::EMPTY, State::TASK, Ordering::Release) {
            Ok(()) => return true,
            // A forcing thief decides within a few instructions.
            Err(State::BUSY) => drop(state.settled()),
            Err(_) => return false,
        }
    }
}
