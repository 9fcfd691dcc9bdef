//! The state of a task that several threads know: a slot's, or a future's.

use crate::sync::{AtomicU32, Ordering, spin_loop, yield_now};

/// One state of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct State(u32);

impl State {
    /// The slot is free, or its task is private to the owner. Zeroed memory has this state.
    pub const EMPTY: State = State(0);
    /// The task is public: the thread that swaps this state away has the task.
    pub const TASK: State = State(1);
    /// A thief holds the task, and may still give it back.
    pub const BUSY: State = State(2);
    /// A thief has run the task, and the result is in the payload.
    pub const DONE: State = State(3);

    /// A worker sleeps until the task is done.
    const WAITED_FOR: u32 = 1 << 2;
    /// A future has a watcher, which its end wakes.
    const WATCHED: u32 = 1 << 3;
    const FIRST_THIEF: u32 = 1 << 4;

    /// A thread that claims a future and is no worker. No worker has this index.
    pub(crate) const NOBODY: usize = (u32::MAX / Self::FIRST_THIEF - 1) as usize;

    /// Returns the state of a task that this worker has stolen.
    pub fn stolen(thief: usize) -> State {
        // Worker indices are small: see `MAX_WORKERS`.
        State((thief as u32 + 1) * Self::FIRST_THIEF)
    }

    /// Returns the thief that runs the task, if the task is stolen and not done.
    pub fn thief(self) -> Option<usize> {
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

    /// Returns this state with the bit set that says that there is a watcher.
    pub(crate) fn watched(self) -> State {
        self.with(Self::WATCHED)
    }

    /// Returns whether a worker waits for the task.
    pub(crate) fn is_waited_for(self) -> bool {
        self.has(Self::WAITED_FOR)
    }

    /// Returns whether there is a watcher.
    pub(crate) fn is_watched(self) -> bool {
        self.has(Self::WATCHED)
    }
}

/// A [`State`] that several threads change.
///
/// The short operations are inlined. As separate functions, each would branch on the ordering at run time.
#[derive(Debug)]
pub struct StateWord(AtomicU32);

impl StateWord {
    /// Returns a word in this state.
    #[inline]
    pub fn new(state: State) -> StateWord {
        StateWord(AtomicU32::new(state.0))
    }

    /// Loads the state.
    #[inline]
    pub fn get(&self, order: Ordering) -> State {
        State(self.0.load(order))
    }

    /// Stores a state. Only for a thread with exclusive use of the slot.
    #[inline]
    pub fn set(&self, state: State, order: Ordering) {
        self.0.store(state.0, order);
    }

    /// Stores a state while other threads may swap it.
    ///
    /// A swap that has read an older value precedes this store in the modification order,
    /// because nothing comes between a read-modify-write and the value that it has read.
    #[inline(always)]
    pub fn set_among_swaps(&self, state: State, order: Ordering) {
        #[cfg(not(loom))]
        self.set(state, order);
        // Loom does not know that rule, and would let such a swap overtake the store. It
        // knows the rule for two swaps.
        #[cfg(loom)]
        self.swap(state, order);
    }

    /// Tries once to change the state from `from` to `to`.
    ///
    /// # Errors
    ///
    /// Returns the current state if it is not `from`, after acquiring the writes that its writer
    /// released.
    #[inline]
    pub fn exchange(&self, from: State, to: State, order: Ordering) -> Result<(), State> {
        self.0
            .compare_exchange(from.0, to.0, order, Ordering::Acquire)
            .map(drop)
            .map_err(State)
    }

    /// Stores a state and returns the previous one.
    #[inline]
    pub fn swap(&self, to: State, order: Ordering) -> State {
        State(self.0.swap(to.0, order))
    }

    /// Waits until no thief holds the task BUSY, that is, undecided whether to keep it. Returns the
    /// state.
    pub fn settled(&self) -> State {
        let mut spin = ShortSpin::default();
        loop {
            let state = self.get(Ordering::Acquire);
            if state != State::BUSY {
                return state;
            }
            spin.pause();
        }
    }

    /// Returns whether the task is done. If so, its result is visible.
    #[inline]
    pub fn is_done(&self) -> bool {
        // Acquire: a thread that sees DONE sees the result.
        self.get(Ordering::Acquire) == State::DONE
    }

    /// Owner: asks the thief for a wake-up at the end of the stolen task. Returns false if the task
    /// is done, or if the state has just changed.
    pub(crate) fn wait_for(&self) -> bool {
        self.wait_with(State::WAITED_FOR)
    }

    /// A future: asks the thief to wake the watcher, as [`wait_for`](Self::wait_for) does.
    pub(crate) fn watch(&self) -> bool {
        self.wait_with(State::WATCHED)
    }

    fn wait_with(&self, bit: u32) -> bool {
        let state = self.get(Ordering::Acquire);
        if state == State::DONE {
            return false;
        }
        state.has(bit) || self.set_bit(state, bit)
    }

    /// A worker: asks for a wake-up, as [`wait_for`](Self::wait_for) does, and publishes what it has
    /// written even if another worker has asked already.
    pub(crate) fn wait_for_anew(&self) -> bool {
        let state = self.get(Ordering::Acquire);
        state != State::DONE && self.set_bit(state, State::WAITED_FOR)
    }

    fn set_bit(&self, state: State, bit: u32) -> bool {
        // Release: the bit publishes the identity of the waiting thread, where the thief does not
        // know it otherwise.
        self.exchange(state, state.with(bit), Ordering::Release)
            .is_ok()
    }

    /// Thief: marks the task done. Returns whether the owner sleeps and waits for it.
    pub fn finish_stolen(&self) -> bool {
        self.finish().is_waited_for()
    }

    /// Thief: marks the task done. Returns the previous state, which says which threads wait.
    pub(crate) fn finish(&self) -> State {
        // Release: the owner sees the result. The thief must not touch the slot after this,
        // because the owner may reuse it at once. Acquire: the identity of a waiting thread.
        self.swap(State::DONE, Ordering::AcqRel)
    }
}

/// A short wait for a thief that is a handful of instructions away from its decision. The wait is
/// longer only if the system has taken the thief's processor away.
#[derive(Default)]
pub struct ShortSpin {
    tries: u32,
}

impl ShortSpin {
    /// Spins for a moment, or yields if the thief takes too long.
    pub fn pause(&mut self) {
        self.tries += 1;
        if self.tries < 64 {
            spin_loop();
        } else {
            yield_now();
        }
    }
}
