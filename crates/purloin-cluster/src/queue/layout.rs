//! The layout of a rank's window: [`Layout`].

use bytemuck::{Pod, Zeroable};

use crate::Task;

/// The largest size of a task, and of its output, in bytes.
pub const MAX_TASK_BYTES: usize = 1024;

/// A handle to a slot of this rank's stack, for the output of the task that was pushed there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotHandle {
    /// The place of the slot in the stack.
    pub index: u32,
    /// The depth of the task.
    pub depth: u32,
    /// The number of the spawn, which distinguishes this use of the slot from later uses.
    pub serial: u64,
}

/// The place where a task was spawned and where its result goes.
#[derive(Clone, Copy, Pod, Zeroable, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Origin {
    /// The rank that spawned the task.
    pub rank: u32,
    /// The slot on that rank.
    pub slot: u32,
}

/// The header of a slot, before the payload.
#[derive(Clone, Copy, Pod, Zeroable, Debug)]
#[repr(C)]
pub struct Header {
    /// The place where the task's result goes.
    pub origin: Origin,
    /// The distance of the task from the first task, in spawns.
    pub depth: u64,
    /// 0 while the task waits. Greater when the result has arrived or, for another rank's task,
    /// when a thief has copied the task.
    pub state: u64,
    /// Written with the result: the time that the task took on all ranks together, in
    /// nanoseconds, or 0 if it was not measured.
    pub work: u64,
}

/// The offset of the word that describes a rank's offer.
pub const BATCH_WORD: usize = 0;

/// The offset of the word that is raised when the run has ended.
pub const DONE_FLAG: usize = 64;

/// The offset of the first slot. The two words above have a cache line each.
const SLOTS: usize = 128;

/// The largest size of a stack, in bytes.
const MAX_STACK_BYTES: usize = 16 << 20;

/// The largest number of slots in a stack.
const MAX_SLOTS: usize = 1 << 16;

/// Offsets and sizes in a window for tasks of type `T`.
pub struct Layout<T>(T);

impl<T: Task> Layout<T> {
    const TASK_WORDS: usize = size_of::<T>().div_ceil(8);
    const OUTPUT_WORDS: usize = size_of::<T::Output>().div_ceil(8);

    /// The size of a slot, in bytes.
    pub const SLOT_BYTES: usize = {
        assert!(
            size_of::<T>() <= MAX_TASK_BYTES,
            "a task has at most 1024 bytes; put larger data into a GlobalArray"
        );
        assert!(
            size_of::<T::Output>() <= MAX_TASK_BYTES,
            "a task's output has at most 1024 bytes; put larger data into a GlobalArray"
        );
        let words = if Self::TASK_WORDS > Self::OUTPUT_WORDS {
            Self::TASK_WORDS
        } else {
            Self::OUTPUT_WORDS
        };
        size_of::<Header>() + 8 * words
    };

    /// The number of words that a result takes: the time, and the output.
    pub const RESULT_WORDS: usize = 1 + Self::OUTPUT_WORDS;

    /// The part of the payload that a result overwrites, in bytes.
    pub const OUTPUT_BYTES: usize = 8 * Self::OUTPUT_WORDS;

    /// The number of slots in a stack.
    ///
    /// A full stack is not an error: further spawns run inline. But a blocked rank whose stack
    /// is full cannot steal. UTS's tree T3L is 17,844 levels deep, with up to three tasks each.
    pub const CAPACITY: usize = {
        let slots = MAX_STACK_BYTES / Self::SLOT_BYTES;
        if slots < MAX_SLOTS { slots } else { MAX_SLOTS }
    };

    /// The size of a rank's part of the window, in bytes.
    pub const WINDOW_BYTES: usize = SLOTS + Self::CAPACITY * Self::SLOT_BYTES;

    /// Returns the offset of a slot.
    #[inline(always)]
    pub fn slot(index: usize) -> usize {
        SLOTS + index * Self::SLOT_BYTES
    }

    /// Returns the offset of a slot's payload: the task, or its output.
    #[inline(always)]
    pub fn payload(index: usize) -> usize {
        Self::slot(index) + size_of::<Header>()
    }

    /// Returns the offset of a slot's state.
    #[inline(always)]
    pub fn state(index: usize) -> usize {
        Self::slot(index) + std::mem::offset_of!(Header, state)
    }

    /// Returns the offset of a slot's result, which begins with the time.
    #[inline(always)]
    pub fn result(index: usize) -> usize {
        Self::slot(index) + std::mem::offset_of!(Header, work)
    }
}
