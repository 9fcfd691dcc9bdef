//! A rank's own part of the window: [`Memory`].

use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::batch::Word;
use super::layout::BATCH_WORD;
use crate::transport::Window;

/// A rank's own part of a window, which other ranks also access.
pub trait Memory: Clone {
    /// Returns the number of this rank.
    fn rank(&self) -> usize;

    /// Returns whether the job has other ranks.
    fn is_shared(&self) -> bool;

    /// Returns a pointer into this rank's part.
    fn local(&self, offset: usize) -> *mut u8;

    /// Returns a word of this rank's part that other ranks change.
    fn word(&self, offset: usize) -> &AtomicU64;

    /// Adds to a word of this rank's part to which other ranks add, and returns the old word.
    fn fetch_add(&self, offset: usize, value: u64) -> u64;

    /// Makes this rank's stores visible to other ranks.
    fn sync(&self);
}

impl Memory for Rc<Window> {
    fn rank(&self) -> usize {
        self.world().rank()
    }

    fn is_shared(&self) -> bool {
        self.world().ranks() > 1
    }

    #[inline(always)]
    fn local(&self, offset: usize) -> *mut u8 {
        Window::local(self, offset)
    }

    #[inline(always)]
    fn word(&self, offset: usize) -> &AtomicU64 {
        Window::word(self, offset)
    }

    fn fetch_add(&self, offset: usize, value: u64) -> u64 {
        Window::fetch_add(self, self.world().rank(), offset, value)
    }

    fn sync(&self) {
        Window::sync(self);
    }
}

/// A rank's own batch word.
pub(super) struct OwnWord<M>(pub(super) M);

impl<M: Memory> Word for OwnWord<M> {
    #[inline(always)]
    fn load(&self) -> u64 {
        // Relaxed: the word contains nothing but numbers of slots, and only this rank writes to
        // unclaimed slots.
        self.0.word(BATCH_WORD).load(Ordering::Relaxed)
    }

    fn fetch_add(&self, value: u64) -> u64 {
        self.0.fetch_add(BATCH_WORD, value)
    }
}
