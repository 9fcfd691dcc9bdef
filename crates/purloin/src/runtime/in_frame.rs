//! A task in memory of the thread that waits for it, usually in its frame: a closure, and later its result.

use std::mem::{ManuallyDrop, MaybeUninit};

use crate::sync::thread;

/// A closure, and the place for its result. One thread takes the closure and leaves the result; the thread
/// that waits takes the result. Neither is dropped with this value.
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
