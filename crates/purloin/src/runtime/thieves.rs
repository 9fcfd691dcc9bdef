//! How thieves come by tasks: a policy of each scheduler.

use super::{Direct, Member, Slot, StateWord};
use crate::pool::Search;
use crate::sleep::{Patience, Slept};

/// What an owner owes to thieves, and what thieves do; see [`crate::sleep`] for
/// when.
pub trait Thieves<S: Direct>: 'static {
    /// Whether the scheduler knows when all workers are idle, and says so: see
    /// [`Barrier`](crate::pool::Barrier).
    const DETECTS_QUIET: bool = false;

    /// Whether blocked workers lend their processors to spare ones; so there may be
    /// more workers than the scheduler was told of.
    const LENDS: bool = true;

    // The owner's slow paths.

    /// Answers those who have asked.
    fn answer(member: &Member<S>);

    /// Closes the slots below [`Base::live`](super::Base::live), which has just
    /// moved up, and answers those who have asked.
    fn close(member: &Member<S>);

    /// How many workers without work a loop should be split for.
    fn askers(member: &Member<S>) -> usize;

    // An idle thief.

    /// Is about to look for work from outside.
    fn turns_outside(_me: &Member<S>) {}

    /// Looks for a task, once.
    fn look(search: &mut Search<'_, S>) -> Option<Stolen<S>>;

    /// Sleeps, after it has found nothing for a while.
    fn sleep(search: &mut Search<'_, S>) -> Slept;

    // A blocked one.

    /// Does what it owes to others while it waits, for this worker if that is
    /// known.
    fn attend(me: &Member<S>, holder: Option<&Member<S>>);

    /// Is about to sleep and may have tasks of its own: offers them all. Returns whether no
    /// thief needs it awake to get them.
    fn leave_tasks(me: &Member<S>) -> bool;

    /// Tries to take a task that descends from the one that `holder` has stolen,
    /// with this outcome.
    fn help(
        me: &Member<S>,
        holder: &Member<S>,
        outcome: &StateWord,
        patience: &mut Patience,
    ) -> Option<Stolen<S>>;

    /// Looks once more before it sleeps. True if it had better not.
    fn last_look_at(me: &Member<S>, holder: &Member<S>) -> bool;

    /// It does not want tasks any more, or not for a while.
    fn turns_away(_me: &Member<S>) {}

    // Around a stolen task.

    /// It is about to be run.
    fn begins(_me: &Member<S>) {}

    /// It is about to be done.
    fn ends(_me: &Member<S>, _outcome: &StateWord) {}

    // Others, on behalf of those who sleep.

    /// Asks this worker anew, and wakes a sleeper if there is something to get
    /// and nobody is searching.
    fn pass_on(member: &Member<S>);

    /// A worker that was idle has something to run.
    fn became_active(member: &Member<S>);
}

/// A stolen task, with its victim.
pub struct Stolen<S: Direct> {
    pub(super) slot: *const Slot<S>,
    pub(super) victim: usize,
    pub(super) depth: usize,
}

impl<S: Direct> Stolen<S> {
    /// The task in `slot` of `victim`.
    pub(crate) fn new(slot: *const Slot<S>, victim: &Member<S>) -> Self {
        Stolen {
            slot,
            victim: victim.index,
            depth: victim.tasks.depth_of(slot),
        }
    }
}
