//! How a thief takes the oldest public task where the state is one word.

use super::{Base, Claim, Direct, State, StateWord};
use crate::sync::Ordering;

/// Takes the oldest task in `base` if it is public and `may_take` allows it.
pub(crate) fn claim_public<S: Direct<Header = StateWord>>(
    base: &Base<S>,
    thief: usize,
    may_take: &impl Fn() -> bool,
) -> Claim<S> {
    let bot = base.bot();
    // SAFETY: `bot` always points into the slots.
    let state = unsafe { &(*bot).header };
    // Relaxed: the exchange acquires.
    if state.get(Ordering::Relaxed) != State::TASK {
        return Claim::Nothing;
    }
    // Acquire: the contents, and every move of `bot` before publication.
    if state
        .exchange(State::TASK, State::BUSY, Ordering::Acquire)
        .is_err()
    {
        return Claim::Lost;
    }
    // A stale `bot`: this is a task, but not the oldest. The owner set `bot`
    // before it published what we have just acquired, and while we hold the
    // slot `bot` cannot move from it.
    let is_oldest = base.bot() == bot;
    if !is_oldest || !may_take() {
        state.set(State::TASK, Ordering::Release);
        return if is_oldest { Claim::Lost } else { Claim::Stale };
    }
    commit(base, bot, thief);
    Claim::Stolen(bot)
}

/// Marks the slot at `bot`, which is held BUSY, as stolen.
pub(crate) fn commit<S: Direct<Header = StateWord>>(
    base: &Base<S>,
    bot: *mut super::Slot<S>,
    thief: usize,
) {
    // Relaxed, both: they carry no data. The owner's later store to `bot` is
    // ordered after ours by DONE, and what another thief takes next it
    // acquires from that slot's own state.
    // SAFETY: `bot` always points into the slots.
    unsafe { &(*bot).header }.set(State::stolen(thief), Ordering::Relaxed);
    base.set_bot(bot.wrapping_add(1));
}
