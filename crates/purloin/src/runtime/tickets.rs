//! The tickets of futures on a worker's stack: see [`super::future`].

use std::cell::UnsafeCell;

use super::slot::Slot;
use super::{Direct, Member, Stack};

/// What a worker knows of a ticket on its stack.
struct Ticket<S: Direct> {
    slot: *mut Slot<S>,
    /// The live end of the stack before it.
    live: *mut Slot<S>,
    /// Whether its closure is known to be claimed.
    is_claimed: bool,
}

/// The tickets on a worker's stack, in order. Used on its own thread only.
pub(super) struct Tickets<S: Direct>(UnsafeCell<Vec<Ticket<S>>>);

impl<S: Direct> Tickets<S> {
    pub(super) fn new() -> Self {
        Tickets(UnsafeCell::new(Vec::new()))
    }

    fn with<R>(&self, f: impl FnOnce(&mut Vec<Ticket<S>>) -> R) -> R {
        // SAFETY: used on one thread, and no `f` here calls anything that
        // could come back.
        f(unsafe { &mut *self.0.get() })
    }

    /// Notes that a ticket is about to be pushed to `slot`, where the live end of
    /// the stack was `live`.
    pub(super) fn note(&self, slot: *mut Slot<S>, live: *mut Slot<S>) {
        self.with(|tickets| {
            tickets.push(Ticket {
                slot,
                live,
                is_claimed: false,
            });
        });
    }

    /// Notes that `slot` is being popped.
    pub(super) fn forget(&self, slot: *mut Slot<S>) {
        self.with(|tickets| {
            if tickets.last().is_some_and(|last| last.slot == slot) {
                tickets.pop();
            }
        });
    }

    /// The live end of the stack without the tickets at or above `base`.
    pub(super) fn live_below(&self, base: *mut Slot<S>) -> Option<*mut Slot<S>> {
        self.with(|tickets| {
            let first = tickets.partition_point(|ticket| ticket.slot < base);
            tickets.get(first).map(|ticket| ticket.live)
        })
    }
}

impl<S: Direct> Member<S> {
    /// Pops the ticket at the top. True if it is ours; if not, it is done.
    pub(super) fn pop_ticket(&self, slot: *mut Slot<S>) -> bool {
        let tasks = &self.tasks;
        let ticket = tasks.tickets.with(Vec::pop);
        let ticket = ticket.expect("the ticket at the top is noted");
        debug_assert_eq!(ticket.slot, slot);
        tasks.stack.base().set_live(ticket.live);
        tasks.resize_frame(slot.wrapping_add(1), slot);
        tasks.stack.pop_kept(slot) || self.take_back(slot)
    }

    pub(super) fn note_claimed(&self, slot: *mut Slot<S>) {
        self.tasks.tickets.with(|tickets| {
            let place = tickets.partition_point(|ticket| ticket.slot < slot);
            if let Some(ticket) = tickets.get_mut(place)
                && ticket.slot == slot
            {
                ticket.is_claimed = true;
            }
        });
    }

    /// Takes tickets for nothing off the top, down to the top of a token.
    pub(super) fn drop_claimed(&self, top: *mut Slot<S>) {
        let (tasks, base) = (&self.tasks, self.tasks.stack.base());
        let oldest = tasks.oldest_poppable(top);
        while let Some(slot) = tasks.tickets.with(|tickets| {
            let last = tickets.last()?;
            let is_top = last.slot.wrapping_add(1) == base.top();
            (is_top && last.is_claimed && last.slot.cast_const() >= oldest).then_some(last.slot)
        }) {
            if self.pop_ticket(slot) {
                // SAFETY: the ticket is ours; it finds that it is for nothing.
                unsafe { (*slot).run(self) };
            } else {
                tasks.stack.release(slot);
            }
        }
    }
}
