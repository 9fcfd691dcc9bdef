//! What a worker does on its slow paths.

use super::spawn;
use super::{Direct, Header, Member, Slot, Stack, StateWord, Taken, Thieves};
use crate::stats::Count;
use crate::sync::{Ordering, asymmetric};

impl<S: Direct> Member<S> {
    /// Answers those who have asked.
    #[cold]
    #[inline(never)]
    pub(super) fn answer(&self) {
        S::Thieves::answer(self);
    }

    /// How many of a loop's `rest` iterations to make a task of: none if
    /// nobody asks, or if there are older tasks to answer with.
    #[cold]
    #[inline(never)]
    pub(super) fn share_of(&self, rest: usize) -> usize {
        let stack = &self.tasks.stack;
        self.answer();
        if rest < 2 || !stack.is_asked() || stack.base().is_full() {
            return 0;
        }
        self.pool().share_of(rest, S::Thieves::askers(self))
    }

    /// Makes the task that was just pushed one that stays, and offers it where
    /// somebody has asked.
    pub(super) fn keep(&self) {
        let stack = &self.tasks.stack;
        stack.base().set_live(stack.base().top());
        // With the heavy side of a thief that is falling asleep: see `finds_anything`.
        asymmetric::light();
        S::Thieves::close(self);
    }

    /// After a pop that failed: true if the task in `slot` is ours again. If
    /// not, it was stolen, and is done when this returns.
    pub(super) fn take_back(&self, slot: *mut Slot<S>) -> bool {
        let stack = &self.tasks.stack;
        if stack.base().live() > slot.wrapping_add(1) {
            self.end_futures_above(slot);
            if stack.pop(slot) {
                return true;
            }
        }
        let begin = self.timer().attempt();
        let taken = stack.take_back(slot);
        self.timer().crossed(begin);
        match taken {
            Taken::Back => {
                self.answer();
                true
            }
            Taken::Stolen => {
                // SAFETY: a slot of our own stack, live until it is released.
                self.await_stolen(unsafe { &*slot }.header.outcome(), || true);
                false
            }
        }
    }

    /// The first closure of the join whose task is in `slot` has left futures
    /// behind, and the pop of that slot has gone below their tickets.
    #[cold]
    fn end_futures_above(&self, slot: *mut Slot<S>) {
        let (base, bottom) = (self.tasks.stack.base(), slot.wrapping_add(1));
        let live = self.tasks.tickets.live_below(bottom);
        let live = live.expect("a join leaves nothing alive but futures");
        // Release: as the push has.
        base.set_top(base.live(), Ordering::Release);
        spawn::drain(self, bottom, live);
    }

    /// Blocks until the stolen task with this outcome is done, running its
    /// descendants, if the thief has nothing but those to offer (`may_help`).
    pub(super) fn await_stolen(&self, outcome: &StateWord, may_help: impl Fn() -> bool) {
        let holder = match outcome.get(Ordering::Acquire).thief() {
            Some(thief) => &self.pool().members[thief],
            None => return,
        };
        self.pool().await_done(
            self,
            holder,
            || outcome.is_done(),
            || {
                S::Thieves::attend(self, Some(holder));
                self.tasks.stack.offers_nothing() && self.tasks.may_help() && may_help()
            },
            |patience| {
                let stolen = S::Thieves::help(self, holder, outcome, patience)?;
                self.count(Count::Leapfrogs);
                Some(stolen)
            },
            || outcome.wait_for(),
        );
        S::Thieves::turns_away(self);
    }
}
