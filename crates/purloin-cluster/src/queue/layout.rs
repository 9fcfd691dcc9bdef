//! What lies where in a rank's window: [`Layout`].

use bytemuck::{Pod, Zeroable};

use crate::Task;

/// The most bytes that a task may take, and that its result may take.
pub const LARGEST: usize = 1024;

/// A slot of this rank's stack, told apart from what was there before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// Its place in the stack.
    pub index: u32,
    /// The level of the task that lies there.
    pub level: u32,
    /// The number of the spawn.
    pub serial: u64,
}

/// Where a task was spawned, and its result goes.
#[derive(Clone, Copy, Pod, Zeroable, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Origin {
    /// On this rank,
    pub rank: u32,
    /// in this slot.
    pub slot: u32,
}

/// What lies before the task in a slot.
#[derive(Clone, Copy, Pod, Zeroable, Debug)]
#[repr(C)]
pub struct Head {
    /// Where the result goes.
    pub origin: Origin,
    /// How deep the task is in the tree of all tasks.
    pub level: u64,
    /// 0 while it waits; more when there is a result or, if it is another rank's, when it
    /// has been copied.
    pub state: u64,
    /// With the result: what its computation took on all ranks, in nanoseconds, or 0.
    pub work: u64,
}

/// Offset of the word that says what a rank offers.
pub const SHARE: usize = 0;

/// Offset of the word that says that all is over.
pub const OVER: usize = 64;

/// Offset of the first slot. Each of the words above has a cache line of its own.
const SLOTS: usize = 128;

/// The most memory of a stack, in bytes.
const MOST_BYTES: usize = 16 << 20;

/// Places and sizes, by the type of the tasks.
pub struct Layout<T>(T);

impl<T: Task> Layout<T> {
    /// The words of a task, and of its result.
    const TASK: usize = size_of::<T>().div_ceil(8);
    const OUTPUT: usize = size_of::<T::Output>().div_ceil(8);

    /// The bytes of a slot.
    pub const SLOT: usize = {
        assert!(
            size_of::<T>() <= LARGEST,
            "a task may take 1024 bytes; put more into a GlobalArray"
        );
        assert!(
            size_of::<T::Output>() <= LARGEST,
            "a task's output may take 1024 bytes; put more into a GlobalArray"
        );
        let words = if Self::TASK > Self::OUTPUT {
            Self::TASK
        } else {
            Self::OUTPUT
        };
        size_of::<Head>() + 8 * words
    };

    /// The words that a result is written to: the time that it took, and itself.
    pub const RESULT: usize = 1 + Self::OUTPUT;

    /// The bytes of a payload that a result is written to, to whole words.
    pub const RESULT_END: usize = 8 * (Self::RESULT - 1);

    /// How many slots a stack has.
    ///
    /// A stack that is full is no error: tasks are run where they are spawned. But a
    /// rank whose stack is full cannot steal while it is blocked. UTS's tree T3L is 17,844
    /// levels deep, with up to three tasks each.
    pub const CAPACITY: usize = {
        let slots = MOST_BYTES / Self::SLOT;
        if slots < 1 << 16 { slots } else { 1 << 16 }
    };

    /// The bytes of a window.
    pub const WINDOW: usize = SLOTS + Self::CAPACITY * Self::SLOT;

    /// Offset of a slot.
    #[inline(always)]
    pub fn slot(index: usize) -> usize {
        SLOTS + index * Self::SLOT
    }

    /// Offset of the task, or of its result.
    #[inline(always)]
    pub fn payload(index: usize) -> usize {
        Self::slot(index) + size_of::<Head>()
    }

    /// Offset of the state.
    #[inline(always)]
    pub fn state(index: usize) -> usize {
        Self::slot(index) + std::mem::offset_of!(Head, state)
    }

    /// Offset of the time with which a result begins.
    #[inline(always)]
    pub fn work(index: usize) -> usize {
        Self::slot(index) + std::mem::offset_of!(Head, work)
    }
}
