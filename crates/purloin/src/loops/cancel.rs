//! Loops that stop when a flag is set: that of their scope, for example.

use std::ops::ControlFlow;

use super::{IntoIterations, Iterations};
use crate::cancel::CancelFlag;

/// An argument that only this crate can pass. A flag that left the crate could be used too late.
pub struct Internal(pub(crate) ());

/// Iterations of which none are left once the flag is set.
pub struct UntilCancelled<I> {
    iterations: I,
    flag: CancelFlag,
}

impl<I> UntilCancelled<I> {
    /// The flag must stay valid until the loop has ended: it belongs to a scope around the loop, or to the
    /// frame of the function that runs the loop, or to a closure of the loop.
    pub(crate) fn new(iterations: I, flag: CancelFlag) -> Self {
        UntilCancelled { iterations, flag }
    }

    #[inline]
    fn is_over(&self) -> bool {
        // SAFETY: whoever has called `new` keeps the flag valid until the loop has ended, and this part
        // belongs to the loop.
        unsafe { self.flag.is_set() }
    }
}

impl<I: Iterations> Iterations for UntilCancelled<I> {
    type Item = I::Item;
    type Strip<'s>
        = I::Strip<'s>
    where
        Self: 's;

    const IS_ORDERED: bool = I::IS_ORDERED;

    #[inline]
    fn may_end_early(&self) -> bool {
        self.flag != CancelFlag::NONE || self.iterations.may_end_early()
    }

    #[inline]
    fn remaining(&self) -> usize {
        match self.is_over() {
            false => self.iterations.remaining(),
            true => 0,
        }
    }

    #[inline]
    fn split_at(self, index: usize) -> (Self, Self) {
        let (front, back) = self.iterations.split_at(index);
        let flag = self.flag;
        (Self::new(front, flag), Self::new(back, flag))
    }

    #[inline]
    fn own(&self) -> usize {
        match self.is_over() {
            false => self.iterations.own(),
            true => 0,
        }
    }

    fn is_open(&self) -> bool {
        !self.is_over() && self.iterations.is_open()
    }

    #[inline]
    fn strip(&mut self, len: usize) -> Self::Strip<'_> {
        self.iterations.strip(len)
    }

    #[inline]
    fn fold_strip<A>(
        &mut self,
        len: usize,
        sum: A,
        step: impl FnMut(A, I::Item) -> ControlFlow<A, A>,
    ) -> ControlFlow<A, A> {
        self.iterations.fold_strip(len, sum, step)
    }
}

into_iterations! {
    [I: Iterations] UntilCancelled<I>,
}
