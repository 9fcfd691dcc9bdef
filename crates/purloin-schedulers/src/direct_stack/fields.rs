//! The two published forms of a slot's state.

use purloin::scheduler::sync::Ordering;
use purloin::scheduler::{Header, Reclaimed, ShortSpin, State, StateWord};

use super::{Fields, Hold};

/// A slot has one state, which owner and thieves move by compare-and-swap.
pub struct OneField;

// SAFETY: owner and thieves take the task by a compare-and-swap from TASK, and exactly one
// succeeds.
unsafe impl Fields for OneField {
    type Header = StateWord;

    #[inline(always)]
    fn offer(state: &StateWord) {
        // Release: a thief that takes the task sees its contents, and every earlier move of
        // `bottom`.
        state.set(State::TASK, Ordering::Release);
    }

    fn is_offered(state: &StateWord) -> bool {
        state.get(Ordering::Relaxed) == State::TASK
    }

    #[inline(always)]
    fn take(state: &StateWord) -> bool {
        // Relaxed: the contents are the owner's own, and a thief that has given the task back
        // has written nothing.
        state
            .exchange(State::TASK, State::EMPTY, Ordering::Relaxed)
            .is_ok()
    }

    fn settle(state: &StateWord) -> Reclaimed {
        while state.settled() == State::TASK {
            // A thief has given the task back. Another thief may claim it first.
            if Self::take(state) {
                return Reclaimed::Owned;
            }
        }
        Reclaimed::Stolen
    }

    fn free(state: &StateWord) {
        // Relaxed: the thief has finished with the slot, and other thieves only claim a TASK.
        state.set(State::EMPTY, Ordering::Relaxed);
    }

    fn hold(state: &StateWord) -> Hold {
        // Relaxed: the exchange acquires.
        if state.get(Ordering::Relaxed) != State::TASK {
            return Hold::Nothing;
        }
        // Acquire: the contents, and the moves of `bottom`.
        match state.exchange(State::TASK, State::BUSY, Ordering::Acquire) {
            Ok(()) => Hold::Held,
            Err(_) => Hold::Lost,
        }
    }

    fn give_back(state: &StateWord) {
        // Release: the next thief acquires from here what this one has acquired from the owner.
        state.set(State::TASK, Ordering::Release);
    }

    fn commit(state: &StateWord, thief: usize) {
        // Relaxed: no data depends on it.
        state.set(State::stolen(thief), Ordering::Relaxed);
    }
}

/// A slot has two fields: `taken`, on which owner and thieves exclude each other by a mere
/// test-and-set, and `alarm`, by which a thief tells the owner that it has stolen the task, and
/// when the task is done.
pub struct TwoFields;

/// The two fields of [`TwoFields`].
#[repr(C)]
pub struct Both {
    /// TASK or EMPTY.
    taken: StateWord,
    /// EMPTY (not stolen), STOLEN or DONE.
    alarm: StateWord,
}

// SAFETY: the type is eight bytes large, and two empty words are zeros.
unsafe impl Header for Both {
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

// SAFETY: owner and thieves take the task by a swap with EMPTY, and exactly one swap gets TASK.
unsafe impl Fields for TwoFields {
    type Header = Both;

    #[inline(always)]
    fn offer(both: &Both) {
        // Relaxed: the store below publishes this one to any thread that writes the alarm.
        both.alarm.set(State::EMPTY, Ordering::Relaxed);
        // Release: a thief that takes the task sees its contents, the alarm, and every earlier
        // move of `bottom`.
        both.taken.set_among_swaps(State::TASK, Ordering::Release);
    }

    fn is_offered(both: &Both) -> bool {
        both.taken.get(Ordering::Relaxed) == State::TASK
    }

    #[inline(always)]
    fn take(both: &Both) -> bool {
        // Relaxed: the contents are the owner's own, and a thief that has given the task back
        // has written nothing.
        both.taken.swap(State::EMPTY, Ordering::Relaxed) == State::TASK
    }

    fn settle(both: &Both) -> Reclaimed {
        let mut spin = ShortSpin::default();
        loop {
            // Relaxed: the owner acquires the alarm before it reads the result.
            if both.alarm.get(Ordering::Relaxed) != State::EMPTY {
                return Reclaimed::Stolen;
            }
            if both.taken.get(Ordering::Relaxed) == State::TASK && Self::take(both) {
                return Reclaimed::Owned;
            }
            spin.pause();
        }
    }

    fn free(_: &Both) {
        // `taken` is EMPTY since the steal; the next push sets the alarm.
    }

    fn hold(both: &Both) -> Hold {
        // Checks first, so that thieves that find no task do not write.
        if both.taken.get(Ordering::Relaxed) != State::TASK {
            return Hold::Nothing;
        }
        // Acquire: the contents, and the moves of `bottom`.
        match both.taken.swap(State::EMPTY, Ordering::Acquire) {
            State::TASK => Hold::Held,
            _ => Hold::Lost,
        }
    }

    fn give_back(both: &Both) {
        // Release: the next thief acquires from this store the owner's writes, which this thief has
        // acquired. (Under loom the store is a swap, which continues the owner's release sequence.)
        both.taken.set_among_swaps(State::TASK, Ordering::Release);
    }

    fn commit(both: &Both, thief: usize) {
        // Relaxed: no data depends on it.
        both.alarm.set(State::stolen(thief), Ordering::Relaxed);
    }
}
