//! The state of a task in one field, moved by compare-and-swap.

use super::stack::{Fields, Hold};
use crate::runtime::{State, StateWord, Taken};
use crate::sync::Ordering;

/// A slot has one state, which owner and thieves move by compare-and-swap.
pub struct OneField;

impl Fields for OneField {
    type Header = StateWord;

    #[inline(always)]
    fn offer(state: &StateWord) {
        // Release: a thief that takes the task sees its contents, and every
        // move of `bot` before.
        state.set(State::TASK, Ordering::Release);
    }

    fn is_offered(state: &StateWord) -> bool {
        state.get(Ordering::Relaxed) == State::TASK
    }

    #[inline(always)]
    fn take(state: &StateWord) -> bool {
        // Relaxed: the contents are the owner's own, and a thief that has backed
        // out has written nothing.
        state
            .exchange(State::TASK, State::EMPTY, Ordering::Relaxed)
            .is_ok()
    }

    fn take_back(state: &StateWord) -> Taken {
        while state.settled() == State::TASK {
            // A thief has backed out; another may come.
            if Self::take(state) {
                return Taken::Back;
            }
        }
        Taken::Stolen
    }

    fn free(state: &StateWord) {
        // Relaxed: the thief has gone, and others only take a TASK.
        state.set(State::EMPTY, Ordering::Relaxed);
    }

    fn hold(state: &StateWord) -> Hold {
        // Relaxed: the exchange acquires.
        if state.get(Ordering::Relaxed) != State::TASK {
            return Hold::Nothing;
        }
        // Acquire: the contents, and the moves of `bot`.
        match state.exchange(State::TASK, State::BUSY, Ordering::Acquire) {
            Ok(()) => Hold::Held,
            Err(_) => Hold::Lost,
        }
    }

    fn give_back(state: &StateWord) {
        // Release: the next thief acquires from here what we have from the owner.
        state.set(State::TASK, Ordering::Release);
    }

    fn commit(state: &StateWord, thief: usize) {
        // Relaxed: it carries no data.
        state.set(State::stolen(thief), Ordering::Relaxed);
    }
}
