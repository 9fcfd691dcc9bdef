//! The tickets on a worker's stack, and the wake-ups after a closure.

use super::*;
use crate::runtime::frame::end_above;
use crate::unwind::abort;

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
    #[inline]
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

    /// Owner: removes the ticket in `slot`, which is being popped, from the bookkeeping if it is one.
    #[inline(always)]
    pub(in crate::runtime) fn forget_ticket(self, slot: *mut Slot<S>) {
        #[cold]
        #[inline(never)]
        fn forget<S: Scheduler>(me: Me<'_, S>, slot: *mut Slot<S>) {
            me.core().tickets.remove(slot);
            me.innermost().lower(slot);
        }

        if !self.core().tickets.is_empty() {
            forget(self, slot);
        }
    }

    /// Owner: pops tickets whose closure is claimed off the top of the stack, down to a token's
    /// top.
    #[inline]
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

/// A worker's record of a ticket on its stack.
pub(super) struct Ticket<S: Scheduler> {
    pub(super) slot: *mut Slot<S>,
    /// [`TaskStack::spawn_top`](crate::runtime::TaskStack::spawn_top) before the ticket was pushed.
    pub(super) spawn_top: *mut Slot<S>,
    /// Whether the owner knows that the ticket's closure is claimed.
    pub(super) is_claimed: bool,
}

/// The tickets on a worker's stack, oldest first.
pub(crate) struct Tickets<S: Scheduler>(UnsafeCell<Vec<Ticket<S>>>);

impl<S: Scheduler> Default for Tickets<S> {
    fn default() -> Self {
        Tickets(UnsafeCell::new(Vec::new()))
    }
}

impl<S: Scheduler> Tickets<S> {
    fn with<R>(&self, f: impl FnOnce(&mut Vec<Ticket<S>>) -> R) -> R {
        // SAFETY: only `Me` gives access, so this is the worker's own thread, and no `f` in this file calls
        // `with` again.
        f(unsafe { &mut *self.0.get() })
    }

    fn is_empty(&self) -> bool {
        self.with(|tickets| tickets.is_empty())
    }

    /// Adds the ticket that is about to be pushed to `slot`.
    pub(super) fn add(&self, slot: *mut Slot<S>, spawn_top: *mut Slot<S>) {
        self.with(|tickets| {
            tickets.push(Ticket {
                slot,
                spawn_top,
                is_claimed: false,
            });
        });
    }

    /// Removes and returns the newest ticket.
    pub(super) fn pop(&self) -> Option<Ticket<S>> {
        self.with(Vec::pop)
    }

    /// Removes the newest ticket if it lies in `slot`, which is being popped.
    fn remove(&self, slot: *mut Slot<S>) {
        self.with(|tickets| {
            if tickets.last().is_some_and(|last| last.slot == slot) {
                tickets.pop();
            }
        });
    }

    /// Marks the closure of the ticket in `slot` as claimed, if the ticket is on this stack.
    pub(super) fn set_claimed(&self, slot: *mut Slot<S>) {
        self.with(|tickets| {
            let place = tickets.partition_point(|ticket| ticket.slot < slot);
            if let Some(ticket) = tickets.get_mut(place)
                && ticket.slot == slot
            {
                ticket.is_claimed = true;
            }
        });
    }

    /// Returns the slot of the newest ticket, if its closure is claimed.
    pub(super) fn newest_claimed(&self) -> Option<*mut Slot<S>> {
        self.with(|tickets| {
            let last = tickets.last()?;
            last.is_claimed.then_some(last.slot)
        })
    }

    /// Returns the stack's `spawn_top` as it was before the oldest ticket at or above `base`.
    pub(in crate::runtime) fn spawn_top_below(&self, base: *mut Slot<S>) -> Option<*mut Slot<S>> {
        self.with(|tickets| {
            let first = tickets.partition_point(|ticket| ticket.slot < base);
            tickets.get(first).map(|ticket| ticket.spawn_top)
        })
    }
}

impl<S: Scheduler> Me<'_, S> {
    /// Owner: ends the futures that the first closure of the join in `slot` has left behind. The
    /// pop of that slot has moved the top below their tickets.
    #[cold]
    pub(in crate::runtime) fn end_futures_above(self, slot: *mut Slot<S>) {
        let (stack, bottom) = (self.stack(), slot.wrapping_add(1));
        let spawn_top = self.core().tickets.spawn_top_below(bottom);
        let Some(spawn_top) = spawn_top else {
            // A panic would unwind the join's frame, which a thief may still use.
            abort("the first closure of a join has left a task on the stack that is not a future");
        };
        // Release: like the push of those tickets.
        stack.set_top(stack.spawn_top(), Ordering::Release);
        end_above(self, bottom, spawn_top);
    }
}
