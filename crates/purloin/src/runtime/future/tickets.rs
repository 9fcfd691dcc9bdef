//! The tickets on a worker's stack, and the wake-ups after a closure.

use super::*;

impl<S: Scheduler> Me<'_, S> {
    /// Claimant: wakes the threads that wait for the closure it has run.
    #[inline]
    pub(super) fn wake(self, waiters: Waiters) {
        match waiters.worker {
            WaitingWorker::None => (),
            WaitingWorker::One(worker) => self.pool().sleep.unpark(worker),
            WaitingWorker::Several => {
                for worker in self.pool().started() {
                    self.pool().sleep.unpark(worker.index());
                }
            }
        }
        waiters.watchers.wake();
    }

    /// Owner: pops the ticket at the top, in `slot`. Returns true if the owner has the ticket back.
    /// If not, a thief had it, and it is done.
    pub(super) fn pop_ticket(self, slot: *mut Slot<S>) -> bool {
        let core = self.core();
        let ticket = core.tickets.pop();
        let ticket = ticket.expect("the ticket at the top is known");
        debug_assert_eq!(ticket.slot, slot);
        self.stack().set_spawn_top(ticket.spawn_top);
        self.resize_frame(slot.wrapping_add(1), slot);
        // SAFETY: the ticket was pushed to this slot of the worker's own stack.
        self.tasks.pop(slot, true) || unsafe { S::reclaim_or_wait(self, slot) }
    }

    /// Owner: pops tickets whose closure is claimed off the top of the stack, down to a token's
    /// top.
    pub(super) fn pop_claimed_tickets(self, token_top: *mut Slot<S>) {
        while let Some(slot) = self.core().tickets.newest_claimed()
            && slot.wrapping_add(1) == self.stack().top()
            && self.may_pop(slot, token_top)
        {
            if self.pop_ticket(slot) {
                // SAFETY: the owner has the ticket back, and runs it once. The ticket finds that
                // its closure is claimed, and releases the channel.
                unsafe { (*slot).run(self) };
            } else {
                self.tasks.release(slot);
            }
        }
    }
}
