//! The state of a task in two fields, one of them moved by test-and-set.

use super::stack::{Fields, Hold};
use crate::runtime::{Header, State, StateWord, Taken, Undecided};
use crate::sync::Ordering;

/// A slot has two fields: `taken`, on which owner and thieves exclude each
/// other by a mere test-and-set, and `alarm`, by which a thief tells the owner
/// that it has stolen the task, and when it is done.
pub struct TwoFields;

/// The two fields.
#[repr(C)]
pub struct Both {
    /// TASK or EMPTY.
    taken: StateWord,
    /// EMPTY (not stolen), STOLEN or DONE.
    alarm: StateWord,
}

impl Header for Both {
    fn empty() -> Both {
        Both {
            taken: StateWord::empty(),
            alarm: StateWord::empty(),
        }
    }

    fn outcome(&self) -> &StateWord {
        &self.alarm
    }
}

impl Fields for TwoFields {
    type Header = Both;

    #[inline(always)]
    fn offer(both: &Both) {
        // Relaxed: whoever writes the alarm has acquired the task below.
        both.alarm.set(State::EMPTY, Ordering::Relaxed);
        // Release: a thief that takes the task sees its contents, the alarm,
        // and every move of `bot` before.
        both.taken.set_among_swaps(State::TASK, Ordering::Release);
    }

    fn is_offered(both: &Both) -> bool {
        both.taken.get(Ordering::Relaxed) == State::TASK
    }

    #[inline(always)]
    fn take(both: &Both) -> bool {
        // Relaxed: the contents are the owner's own, and a thief that has backed
        // out has written nothing.
        both.taken.swap(State::EMPTY, Ordering::Relaxed) == State::TASK
    }

    fn take_back(both: &Both) -> Taken {
        let mut undecided = Undecided::default();
        loop {
            // Relaxed: whose result it is, is read from the alarm again.
            if both.alarm.get(Ordering::Relaxed) != State::EMPTY {
                return Taken::Stolen;
            }
            if both.taken.get(Ordering::Relaxed) == State::TASK && Self::take(both) {
                return Taken::Back;
            }
            undecided.pause();
        }
    }

    fn free(_: &Both) {
        // `taken` is EMPTY since it was stolen; the alarm is set at the next push.
    }

    fn hold(both: &Both) -> Hold {
        // A look first, so that thieves who find nothing do not write.
        if both.taken.get(Ordering::Relaxed) != State::TASK {
            return Hold::Nothing;
        }
        // Acquire: the contents, and the moves of `bot`.
        match both.taken.swap(State::EMPTY, Ordering::Acquire) {
            State::TASK => Hold::Held,
            _ => Hold::Lost,
        }
    }

    fn give_back(both: &Both) {
        // Release: the next thief acquires from here what we have from the owner.
        // (Under loom that is a swap, which goes on with the owner's release.)
        both.taken.set_among_swaps(State::TASK, Ordering::Release);
    }

    fn commit(both: &Both, thief: usize) {
        // Relaxed: it carries no data.
        both.alarm.set(State::stolen(thief), Ordering::Relaxed);
    }
}
