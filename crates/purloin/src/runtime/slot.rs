//! A task in place: in a slot of the task stack, or in memory of the thread that waits for it.
//!
//! A slot is one cache line: the state, a code pointer, and 48 bytes for a closure and later for
//! its result. Owner and thieves synchronise on the state alone. Each scheduler's page lists the
//! transitions, and the thread that makes each of them.

use std::mem::{ManuallyDrop, MaybeUninit};

use super::state::{State, StateWord};
use crate::pool::Me;
use crate::scheduler::Scheduler;
use crate::sync::{UnsafeCell, thread};

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

/// A task in memory of the thread that waits for it, usually in its frame: a closure, and the place for its result.
///
/// One thread takes the closure and leaves the result; the thread that waits takes the result. Neither is dropped with this
/// value.
pub(crate) struct InFrame<F, R> {
    closure: ManuallyDrop<F>,
    result: MaybeUninit<thread::Result<R>>,
}

impl<F, R> InFrame<F, R> {
    #[inline(always)]
    pub(crate) fn new(closure: F) -> Self {
        InFrame {
            closure: ManuallyDrop::new(closure),
            result: MaybeUninit::uninit(),
        }
    }

    /// Copies the closure, bit by bit.
    ///
    /// # Safety
    ///
    /// The caller uses only one of the two copies.
    #[inline(always)]
    pub(super) unsafe fn copy(&self) -> F {
        // SAFETY: a reference is valid. The caller guarantees the rest.
        unsafe { std::ptr::read(&*self.closure) }
    }

    /// Moves the closure out.
    ///
    /// # Safety
    ///
    /// `this` points at a task that the caller has taken. The caller calls this once.
    #[inline(always)]
    pub(crate) unsafe fn take(this: *mut Self) -> F {
        // SAFETY: the caller has taken the task, so no other thread touches the closure.
        unsafe { ManuallyDrop::take(&mut (*this).closure) }
    }

    /// Stores the result. The waiting thread reads it once it has learned that the task is done.
    ///
    /// # Safety
    ///
    /// As for [`Self::take`].
    pub(crate) unsafe fn end(this: *mut Self, result: thread::Result<R>) {
        // SAFETY: the caller has taken the task, so no other thread touches the place for the result.
        unsafe { (*this).result.write(result) };
    }

    /// Moves the result out.
    ///
    /// # Safety
    ///
    /// `this` points at a task that has [ended](Self::end). The end happens before this call. Only the
    /// waiting thread calls this, and only once.
    pub(crate) unsafe fn result(this: *const Self) -> thread::Result<R> {
        // SAFETY: by this function's contract.
        unsafe { (*this).result.assume_init_read() }
    }
}
