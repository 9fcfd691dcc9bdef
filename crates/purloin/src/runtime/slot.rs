//! A slot of the direct task stack: one task in place, and its state.

use std::mem::MaybeUninit;

use super::state::StateWord;
use super::{Direct, Member};
use crate::sync::UnsafeCell;

/// Runs the task in a slot that the caller has taken.
///
/// A thief calls it with the victim's slot and itself as the member, an owner
/// with its own. It never unwinds: a panic becomes part of the result.
pub(crate) type Run<S> = unsafe fn(&Slot<S>, &Member<S>);

/// Words of a slot in which a closure or a result lives in place.
pub(crate) const PAYLOAD_WORDS: usize = 6;

/// What a slot stores besides its state: how to run the task, and the task.
#[repr(C)]
pub(crate) struct Contents<S: Direct> {
    pub(crate) run: MaybeUninit<Run<S>>,
    pub(crate) payload: [MaybeUninit<u64>; PAYLOAD_WORDS],
}

/// The state of a slot as its stack's protocol needs it: at most eight bytes,
/// of which zeros are a free slot.
pub trait Header: Send + Sync {
    /// That of a free slot.
    fn empty() -> Self;

    /// Where a thief says that it has stolen the task, and when it is done.
    fn outcome(&self) -> &StateWord;
}

/// One cache line: state, code pointer, and 48 bytes for a closure and later
/// for its result.
#[repr(C, align(64))]
pub struct Slot<S: Direct> {
    pub(crate) header: S::Header,
    pub(crate) contents: UnsafeCell<Contents<S>>,
}

impl<S: Direct> Slot<S> {
    /// Copies the task in another slot to this one, bit by bit.
    ///
    /// # Safety
    ///
    /// Both are the caller's, and of the two copies only one is used.
    pub(super) unsafe fn copy_contents(&self, from: &Slot<S>) {
        from.contents.with(|from| {
            self.contents
                // SAFETY: two slots do not overlap, and nobody else touches either.
                .with_mut(|to| unsafe { to.copy_from_nonoverlapping(from, 1) });
        });
    }

    /// Marks a free slot, until something is written to it.
    ///
    /// # Safety
    ///
    /// It is the caller's.
    pub(super) unsafe fn mark(&self) {
        // SAFETY: the caller's promise.
        self.contents
            .with_mut(|contents| unsafe { (&raw mut (*contents).run).cast::<usize>().write(0) });
    }

    /// Whether nothing was written to it since it was marked.
    ///
    /// # Safety
    ///
    /// It is the caller's, and has been marked.
    pub(super) unsafe fn is_marked(&self) -> bool {
        // SAFETY: the caller's promise. No function is at address 0.
        self.contents
            .with(|contents| unsafe { (&raw const (*contents).run).cast::<usize>().read() == 0 })
    }

    /// A free slot.
    pub(crate) fn empty() -> Slot<S> {
        Slot {
            header: S::Header::empty(),
            contents: UnsafeCell::new(Contents {
                run: MaybeUninit::uninit(),
                payload: [MaybeUninit::uninit(); PAYLOAD_WORDS],
            }),
        }
    }
}
