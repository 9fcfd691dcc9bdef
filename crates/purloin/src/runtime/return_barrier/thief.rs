//! The thieves' side of the barrier: a claim of a public task, and force.

use super::*;

impl<S: BarrierScheduler> BarrierTasks<S> {
    pub(super) fn allows_force(&self) -> bool {
        S::HAS_FORCE && self.scheduler.allows_force()
    }

    /// Takes the oldest task if it is public and `may_take` allows it.
    pub(super) fn claim_public(&self, thief: usize, may_take: &impl Fn() -> bool) -> Claim<S> {
        let bottom = self.stack.bottom();
        // SAFETY: `bottom` always points into the slots.
        let state = unsafe { &*bottom }.header().outcome();
        // Relaxed: the exchange acquires.
        if state.get(Ordering::Relaxed) != State::TASK {
            return Claim::Nothing;
        }
        // Acquire: the contents, and every move of `bottom` before publication.
        if state
            .exchange(State::TASK, State::BUSY, Ordering::Acquire)
            .is_err()
        {
            return Claim::Lost;
        }
        // If `bottom` was stale, this is a task, but not the oldest. The owner set `bottom`
        // before the publication that this thief has just acquired, and while this thief holds
        // the slot `bottom` cannot move from it.
        let is_oldest = self.stack.bottom() == bottom;
        if !is_oldest || !may_take() {
            state.set(State::TASK, Ordering::Release);
            return if is_oldest { Claim::Lost } else { Claim::Stale };
        }
        self.commit(bottom, thief);
        Claim::Stolen(bottom)
    }

    /// Marks the slot at `bottom`, which the thief holds BUSY, as stolen.
    pub(super) fn commit(&self, bottom: *mut Slot<S>, thief: usize) {
        // Both relaxed: they carry no data. DONE orders the owner's later store to `bottom` after
        // this one, and another thief acquires the next task from that slot's own state.
        // SAFETY: `bottom` always points into the slots.
        unsafe { &*bottom }
            .header()
            .outcome()
            .set(State::stolen(thief), Ordering::Relaxed);
        self.stack.set_bottom(bottom.wrapping_add(1));
    }

    /// Takes the oldest task without the owner's help. Called only where [`asymmetric::available`]
    /// is true, and only after a request went unanswered.
    pub(in crate::runtime) fn force(&self, thief: usize, may_take: impl Fn() -> bool) -> Claim<S> {
        let barrier = self.barrier.load(Ordering::Relaxed);
        if barrier & REQUESTED == 0 || barrier & FORCED != 0 {
            return Claim::Lost;
        }
        // From here until this thief stores REQUESTED again, the barrier belongs to it: the owner
        // cannot lower it, and no other thief can force.
        let installed = self.barrier.compare_exchange(
            barrier,
            barrier | FORCED,
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
        if installed.is_err() {
            return Claim::Lost;
        }
        let claim = if asymmetric::heavy() {
            // From now on, either this thief sees a pop of the owner in the top, or the pop sees
            // FORCED.
            self.claim_private(thief, may_take)
        } else {
            Claim::Lost
        };
        let forced = usize::from(matches!(claim, Claim::Forced(_)));
        // Release: an owner that lowers the barrier from this value has seen the stolen slot.
        self.barrier.store(
            REQUESTED | (barrier + forced) & (FORCED - 1),
            Ordering::Release,
        );
        claim
    }

    pub(super) fn claim_private(&self, thief: usize, may_take: impl Fn() -> bool) -> Claim<S> {
        let bottom = self.stack.bottom();
        if bottom >= self.stack.top() {
            return Claim::Nothing;
        }
        // SAFETY: `bottom` always points into the slots.
        let state = unsafe { &*bottom }.header().outcome();
        if state
            .exchange(State::EMPTY, State::BUSY, Ordering::Acquire)
            .is_err()
        {
            return Claim::Lost;
        }
        // The other half of the Dekker pattern in `reclaim`.
        fence(Ordering::SeqCst);
        // Acquire: the owner wrote a live slot's contents before the top that this thief has read.
        // If the owner has pushed to this slot again since, the slot holds the new task, whose pop
        // will meet the raised barrier.
        let is_live = bottom < self.stack.acquire_top();
        if !is_live || self.stack.bottom() != bottom || !may_take() {
            state.set(State::EMPTY, Ordering::Release);
            return Claim::Lost;
        }
        self.commit(bottom, thief);
        Claim::Forced(bottom)
    }
}
