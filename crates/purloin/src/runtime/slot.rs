//! A slot of the task stack: one task in place, and its state.
//!
//! A slot is one cache line: the state, a code pointer, and 48 bytes for a closure and later for
//! its result. Owner and thieves synchronise on the state alone. Each scheduler's page lists the
//! transitions, and the thread that makes each of them.

use std::mem::MaybeUninit;

use crate::pool::Me;
use crate::scheduler::Scheduler;
use crate::sync::{AtomicU32, Ordering, UnsafeCell, spin_loop, yield_now};

/// Runs the task in a slot.
///
/// A thief calls it with the victim's slot and its own thread; an owner calls it with its own slot.
/// It never unwinds: a panic becomes part of the result.
pub(super) type Run<S> = unsafe fn(&Slot<S>, Me<'_, S>);

/// Words of a slot that hold a closure or a result.
const PAYLOAD_WORDS: usize = 6;

/// A task, and the function that runs it.
#[repr(C)]
struct Contents<S: Scheduler> {
    run: MaybeUninit<Run<S>>,
    payload: [MaybeUninit<u64>; PAYLOAD_WORDS],
}

/// A place for one task in a [`TaskStack`](super::TaskStack).
#[repr(C, align(64))]
pub struct Slot<S: Scheduler> {
    header: S::Header,
    contents: UnsafeCell<Contents<S>>,
}

/// Returns whether a value of type `T` fits a slot's payload.
pub(super) const fn fits<T>() -> bool {
    size_of::<T>() <= size_of::<[u64; PAYLOAD_WORDS]>() && align_of::<T>() <= align_of::<u64>()
}

impl<S: Scheduler> Slot<S> {
    /// Returns a free slot.
    pub(super) fn empty() -> Slot<S> {
        Slot {
            header: S::Header::empty(),
            contents: UnsafeCell::new(Contents {
                run: MaybeUninit::uninit(),
                payload: [MaybeUninit::uninit(); PAYLOAD_WORDS],
            }),
        }
    }

    /// Returns the state, in the form that the scheduler uses.
    #[inline(always)]
    pub fn header(&self) -> &S::Header {
        &self.header
    }

    /// Writes a task and the function that runs it.
    ///
    /// # Safety
    ///
    /// The caller owns the slot, the slot is free or private, and `T` [`fits`].
    #[inline(always)]
    pub(super) unsafe fn write<T>(&self, run: Run<S>, task: T) {
        debug_assert!(fits::<T>());
        self.contents.with_mut(|contents| {
            // SAFETY: the caller owns the slot, and no other thread touches the contents of a free
            // or private slot. By the caller's guarantee a `T` fits the payload in size and
            // alignment.
            unsafe {
                (*contents).run.write(run);
                (&raw mut (*contents).payload).cast::<T>().write(task);
            }
        });
    }

    /// Replaces the payload, where a task has left its result.
    ///
    /// # Safety
    ///
    /// The caller has taken the slot's task and moved it out, and `T` [`fits`].
    pub(super) unsafe fn write_result<T>(&self, result: T) {
        debug_assert!(fits::<T>());
        self.contents.with_mut(|contents| {
            // SAFETY: the caller has taken the task, so no other thread touches the contents. By
            // the caller's guarantee a `T` fits the payload.
            unsafe { (&raw mut (*contents).payload).cast::<T>().write(result) }
        });
    }

    /// Moves a value out of the payload.
    ///
    /// # Safety
    ///
    /// The caller has taken the slot's task or result, and the last value written to the
    /// payload is a `T`, or begins with one.
    #[inline(always)]
    pub(super) unsafe fn read<T>(&self) -> T {
        self.contents.with(|contents| {
            // SAFETY: the caller has taken the task or result, so no other thread touches the
            // payload, and it guarantees that the last value written there is or begins with a `T`.
            unsafe { (&raw const (*contents).payload).cast::<T>().read() }
        })
    }

    /// Runs the task.
    ///
    /// # Safety
    ///
    /// The caller has taken the task, and calls this once. `thread` runs on this thread. The innermost
    /// frame was begun for the task, or, if the task is a spawn, is as in [`Me::begin_task`]. (A ticket that
    /// runs its closure begins a frame of its own.)
    pub(super) unsafe fn run(&self, thread: Me<'_, S>) {
        // SAFETY: `write` stored `run` together with the task.
        unsafe {
            let run = self.contents.with(|contents| (*contents).run.assume_init());
            run(self, thread);
        }
    }

    /// Copies the task in another slot to this slot, bit by bit.
    ///
    /// # Safety
    ///
    /// The caller owns both slots, and uses only one of the two copies.
    pub(super) unsafe fn copy_contents(&self, from: &Slot<S>) {
        from.contents.with(|from| {
            self.contents
                // SAFETY: the caller owns both slots, so no other thread touches either. Two slots
                // do not overlap.
                .with_mut(|to| unsafe { to.copy_from_nonoverlapping(from, 1) });
        });
    }

    /// Marks a free slot as unused. A task that is pushed to the slot clears the mark.
    ///
    /// # Safety
    ///
    /// The slot is the top of the calling worker's own stack, so it is open, and free.
    pub unsafe fn mark(&self) {
        // SAFETY: the caller owns the free slot, so no other thread touches its contents.
        self.contents
            .with_mut(|contents| unsafe { (&raw mut (*contents).run).cast::<usize>().write(0) });
    }

    /// Returns whether no task has been pushed to the slot since [`mark`](Self::mark).
    ///
    /// # Safety
    ///
    /// The slot is the top of the calling worker's own stack, and the worker has marked it.
    pub unsafe fn is_marked(&self) -> bool {
        // SAFETY: the caller owns the slot, so no other thread touches its contents, and the word
        // was initialised by `mark` or `write`. No function lies at address 0.
        self.contents
            .with(|contents| unsafe { (&raw const (*contents).run).cast::<usize>().read() == 0 })
    }
}

/// The state of a slot, in the form that a scheduler needs.
///
/// # Safety
///
/// The type is at most eight bytes large, and the value for a free slot is all zeros, because fresh
/// stacks are zeroed memory. A new stack may also get slots that an earlier pool of the same scheduler has used,
/// and whose tasks are gone. As in one stack, these are free, whatever their headers.
pub unsafe trait Header: Send + Sync + 'static {
    /// Returns the state of a free slot.
    fn empty() -> Self;

    /// Returns the word that the thief sets when it has stolen the task, and again when the task is
    /// done.
    fn outcome(&self) -> &StateWord;

    /// Returns whether a request has interrupted the owner, so that it has offered this task. If
    /// not, the steal of the task is a free steal.
    fn has_interrupted(&self) -> bool {
        false
    }
}

// SAFETY: a `StateWord` is four bytes large, and `State::EMPTY` is zero.
unsafe impl Header for StateWord {
    fn empty() -> StateWord {
        StateWord::new(State::EMPTY)
    }

    fn outcome(&self) -> &StateWord {
        self
    }
}

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
#[derive(Debug)]
pub struct StateWord(AtomicU32);

impl StateWord {
    /// Returns a word in this state.
    #[inline]
    pub fn new(state: State) -> StateWord {
        StateWord(AtomicU32::new(state.0))
    }

    /// Loads the state.
    pub fn get(&self, order: Ordering) -> State {
        State(self.0.load(order))
    }

    /// Stores a state. Only for a thread with exclusive use of the slot.
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
    pub fn exchange(&self, from: State, to: State, order: Ordering) -> Result<(), State> {
        self.0
            .compare_exchange(from.0, to.0, order, Ordering::Acquire)
            .map(drop)
            .map_err(State)
    }

    /// Stores a state and returns the previous one.
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
