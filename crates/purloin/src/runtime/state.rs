//! The state of a slot, in one word.

use super::slot::Header;
use crate::sync::{AtomicU32, Ordering, spin_loop, yield_now};

/// A state. Each scheduler's page says who may move it where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct State(u32);

impl State {
    /// Free, or private to the owner. Also what zeroed memory says.
    pub(crate) const EMPTY: State = State(0);
    /// Public: whoever swaps it away has the task.
    pub(crate) const TASK: State = State(1);
    /// A thief has the task but may still give it back.
    pub(crate) const BUSY: State = State(2);
    /// Stolen and finished; the result is in the payload.
    pub(crate) const DONE: State = State(3);

    /// A worker sleeps until the task is done.
    const WAITED_FOR: u32 = 1 << 2;
    /// A thread outside of the pool does.
    const WAITED_FOR_OUTSIDE: u32 = 1 << 3;
    const FIRST_THIEF: u32 = 1 << 4;

    /// Stolen by the worker with this index.
    pub(crate) fn stolen(thief: usize) -> State {
        // There are at most `Builder::MAX_WORKERS`, and as many spare ones.
        State((thief as u32 + 1) * Self::FIRST_THIEF)
    }

    /// The worker that runs the task, if it is stolen and not done.
    pub(crate) fn thief(self) -> Option<usize> {
        (self.0 / Self::FIRST_THIEF)
            .checked_sub(1)
            .map(|thief| thief as usize)
    }

    fn with(self, bit: u32) -> State {
        State(self.0 | bit)
    }

    fn has(self, bit: u32) -> bool {
        self.0 & bit != 0
    }

    /// The same state, with a thread outside that waits.
    pub(super) fn waited_for_outside(self) -> State {
        self.with(Self::WAITED_FOR_OUTSIDE)
    }

    /// Whether a worker waits for the task.
    pub(super) fn is_waited_for(self) -> bool {
        self.has(Self::WAITED_FOR)
    }

    /// Whether a thread outside does.
    pub(super) fn is_waited_for_outside(self) -> bool {
        self.has(Self::WAITED_FOR_OUTSIDE)
    }
}

/// A state that several threads move.
#[derive(Debug)]
pub struct StateWord(AtomicU32);

impl StateWord {
    pub(crate) fn new(state: State) -> StateWord {
        StateWord(AtomicU32::new(state.0))
    }

    pub(crate) fn get(&self, order: Ordering) -> State {
        State(self.0.load(order))
    }

    /// Sets the state without looking; only for who has the slot to himself.
    pub(crate) fn set(&self, state: State, order: Ordering) {
        self.0.store(state.0, order);
    }

    /// The same where others swap meanwhile. What they have swapped away from
    /// is older than this: any swap that has read an older value precedes this
    /// store in the modification order, as nothing comes between a
    /// read-modify-write and what it has read.
    #[inline(always)]
    pub(crate) fn set_among_swaps(&self, state: State, order: Ordering) {
        #[cfg(not(loom))]
        self.set(state, order);
        // Loom does not know that rule, and would have the store overtaken by
        // such a swap. It knows it of two swaps.
        #[cfg(loom)]
        self.swap(state, order);
    }

    /// One attempt to move the state; acquires what the last writer released.
    pub(crate) fn exchange(&self, from: State, to: State, order: Ordering) -> Result<(), State> {
        self.0
            .compare_exchange(from.0, to.0, order, Ordering::Acquire)
            .map(drop)
            .map_err(State)
    }

    /// Test and set: moves the state and says what it was.
    pub(crate) fn swap(&self, to: State, order: Ordering) -> State {
        State(self.0.swap(to.0, order))
    }

    /// Waits until no thief is undecided about this slot.
    pub(crate) fn settled(&self) -> State {
        let mut undecided = Undecided::default();
        loop {
            let state = self.get(Ordering::Acquire);
            if state != State::BUSY {
                return state;
            }
            undecided.pause();
        }
    }
}

impl Header for StateWord {
    fn empty() -> StateWord {
        StateWord::new(State::EMPTY)
    }

    fn outcome(&self) -> &StateWord {
        self
    }
}

/// What becomes of a stolen task, between its thief and its owner.
impl StateWord {
    pub(crate) fn is_done(&self) -> bool {
        // Acquire: with DONE comes the result.
        self.get(Ordering::Acquire) == State::DONE
    }

    /// Owner: asks to be woken when the stolen task is done. False if it is, or if the
    /// state has just moved.
    pub(crate) fn wait_for(&self) -> bool {
        self.wait_with(State::WAITED_FOR)
    }

    /// A thread outside: the same.
    pub(super) fn wait_for_outside(&self) -> bool {
        self.wait_with(State::WAITED_FOR_OUTSIDE)
    }

    fn wait_with(&self, bit: u32) -> bool {
        let state = self.get(Ordering::Acquire);
        if state == State::DONE {
            return false;
        }
        if state.has(bit) {
            return true;
        }
        // Release: with the bit goes who waits, where that is not known anyway.
        self.exchange(state, state.with(bit), Ordering::Release)
            .is_ok()
    }

    /// Thief: the task is finished. True if the owner sleeps until then.
    pub(crate) fn finish_stolen(&self) -> bool {
        self.finish().is_waited_for()
    }

    /// The same. Returns the last state, which says what waits.
    pub(super) fn finish(&self) -> State {
        // Release: the owner sees the result. The slot must not be touched
        // after this: its owner may reuse it at once. Acquire: who waits.
        self.swap(State::DONE, Ordering::AcqRel)
    }
}

/// The patience of an owner with a thief that needs a handful of instructions
/// to decide, unless its thread has lost the processor.
#[derive(Default)]
pub(crate) struct Undecided {
    tries: u32,
}

impl Undecided {
    pub(crate) fn pause(&mut self) {
        self.tries += 1;
        if self.tries < 64 {
            spin_loop();
        } else {
            yield_now();
        }
    }
}
