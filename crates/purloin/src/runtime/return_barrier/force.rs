//! Force: a thief takes a private task of an owner that does not answer.

use super::tasks::BarrierTasks;
use super::{BarrierScheduler, FORCED, REQUESTED};
use crate::runtime::slot::Header;
use crate::runtime::state::State;
use crate::runtime::steal::Claim;
use crate::sync::{Ordering, asymmetric, fence};

impl<S: BarrierScheduler> BarrierTasks<S> {
    pub(super) fn allows_force(&self) -> bool {
        S::HAS_FORCE && self.scheduler.allows_force()
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
