//! How thieves come by tasks: a policy of each scheduler.

use super::{Direct, Member, Slot, StateWord};
use crate::wait::{Patience, Search};

/// What an owner owes to thieves, and what thieves do; see [`crate::wait`] for
/// when.
pub trait Thieves<S: Direct>: 'static {
    /// Whether a sleeping thief looks up now and then beside active workers.
    const DOZES: bool;

    // The owner's slow paths.

    /// Answers those who have asked.
    fn answer(member: &Member<S>);

    /// Closes the slots below [`Base::live`](super::Base::live), which has just
    /// moved up, and answers those who have asked.
    fn close(member: &Member<S>);

    /// How many workers without work a loop should be split for.
    fn askers(member: &Member<S>) -> usize;

    // An idle thief.

    /// Looks for a task, once.
    fn look(search: &mut Search<'_, S>) -> Option<Stolen<S>>;

    /// Looks once more before it sleeps. True if it had better not.
    fn last_look(me: &Member<S>) -> bool;

    // A blocked one.

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
