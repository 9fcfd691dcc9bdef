//! A slot of the direct task stack: one task in place, and its state.

use std::mem::MaybeUninit;

use super::Member;
use crate::sync::{AtomicUsize, Ordering, UnsafeCell, spin_loop, yield_now};

/// Runs the task in a slot that the caller has taken.
///
/// A thief calls it with the victim's slot and itself as the member, an owner
/// with its own. It never unwinds: a panic becomes part of the result.
pub(crate) type Run = unsafe fn(&Slot, &Member);

/// Words of a slot in which a closure or a result lives in place.
pub(crate) const PAYLOAD_WORDS: usize = 6;

/// What a slot stores besides its state: how to run the task, and the task.
#[repr(C)]
pub(crate) struct Contents {
    pub(crate) run: MaybeUninit<Run>,
    pub(crate) payload: [MaybeUninit<u64>; PAYLOAD_WORDS],
}

impl Contents {
    #[cfg(any(loom, miri, not(unix)))]
    pub(crate) fn empty() -> Contents {
        Contents {
            run: MaybeUninit::uninit(),
            payload: [MaybeUninit::uninit(); PAYLOAD_WORDS],
        }
    }
}

/// The state of a slot, packed in a word. See the module's page for who may
/// move it where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct State(usize);

impl State {
    /// Private to the owner, or free. Also what zeroed memory says.
    pub(crate) const EMPTY: State = State(0);
    /// Public: whoever swaps it away has the task.
    pub(crate) const TASK: State = State(1);
    /// A thief has the task but may still give it back.
    pub(crate) const BUSY: State = State(2);
    /// Stolen and finished; the result is in the payload.
    pub(crate) const DONE: State = State(3);

    const WAITED_FOR: usize = 1 << 2;
    const FIRST_THIEF: usize = 1 << 3;

    /// Stolen by the worker with this index.
    pub(crate) fn stolen(thief: usize) -> State {
        State((thief + 1) * Self::FIRST_THIEF)
    }

    /// The worker that runs the task, if it is stolen and not done.
    pub(crate) fn thief(self) -> Option<usize> {
        (self.0 / Self::FIRST_THIEF).checked_sub(1)
    }

    fn waited_for(self) -> State {
        State(self.0 | Self::WAITED_FOR)
    }

    pub(crate) fn is_waited_for(self) -> bool {
        self.0 & Self::WAITED_FOR != 0
    }
}

/// One cache line: state, code pointer, and 48 bytes for a closure and later
/// for its result.
#[repr(C, align(64))]
pub(crate) struct Slot {
    state: AtomicUsize,
    pub(crate) contents: UnsafeCell<Contents>,
}

impl Slot {
    #[cfg(any(loom, miri, not(unix)))]
    pub(crate) fn empty() -> Slot {
        Slot {
            state: AtomicUsize::new(State::EMPTY.0),
            contents: UnsafeCell::new(Contents::empty()),
        }
    }

    pub(crate) fn state(&self, order: Ordering) -> State {
        State(self.state.load(order))
    }

    /// Sets the state without looking; only for who has the slot to himself.
    pub(crate) fn set_state(&self, state: State, order: Ordering) {
        self.state.store(state.0, order);
    }

    /// One attempt to move the state; acquires what the last writer released.
    pub(crate) fn exchange(&self, from: State, to: State, order: Ordering) -> Result<(), State> {
        self.state
            .compare_exchange(from.0, to.0, order, Ordering::Acquire)
            .map(drop)
            .map_err(State)
    }

    /// Owner: offers a private task to thieves. False if a thief that forced
    /// its way in has it already.
    pub(crate) fn publish(&self) -> bool {
        loop {
            // Release: a thief that takes the task sees its contents.
            match self.exchange(State::EMPTY, State::TASK, Ordering::Release) {
                Ok(()) => return true,
                // A forcing thief decides within a few instructions.
                Err(State::BUSY) => drop(self.settled()),
                Err(_) => return false,
            }
        }
    }

    /// Waits until no thief is undecided about this slot.
    pub(crate) fn settled(&self) -> State {
        let mut tries = 0;
        loop {
            let state = self.state(Ordering::Acquire);
            if state != State::BUSY {
                return state;
            }
            // The thief needs a handful of instructions, unless its thread has
            // lost the processor: then give it ours.
            tries += 1;
            if tries < 64 {
                spin_loop();
            } else {
                yield_now();
            }
        }
    }

    /// Owner: asks to be woken when the stolen task is done. False if it is.
    pub(crate) fn wait_for(&self) -> bool {
        let state = self.state(Ordering::Acquire);
        if state == State::DONE {
            return false;
        }
        if state.is_waited_for() {
            return true;
        }
        // Relaxed on success: only the bit travels, and the thief's swap to
        // DONE reads it in the state's modification order.
        self.exchange(state, state.waited_for(), Ordering::Relaxed)
            .is_ok()
    }

    /// Thief: the task is finished. True if the owner sleeps until then.
    pub(crate) fn finish_stolen(&self) -> bool {
        // Release: the owner sees the result. The slot must not be touched
        // after this: its owner may reuse it at once.
        State(self.state.swap(State::DONE.0, Ordering::Release)).is_waited_for()
    }
}
