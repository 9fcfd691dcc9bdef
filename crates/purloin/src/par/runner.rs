//! The runner of a parallel iterator.

use crate::worker::Worker;

/// Where a parallel iterator runs: on the worker of the calling thread ([`Here`]), or on a given worker.
///
/// This trait is sealed: only Purloin implements it.
pub trait Runner: Sized + sealed::Sealed {
    /// The token of the worker that runs a part of the loop.
    type Token<'t>: for<'u> Worker<Token<'u> = Self::Token<'u>>;

    /// Calls `run` on the worker that begins the loop.
    #[doc(hidden)]
    fn on_worker<T: Send>(self, run: impl for<'t> FnOnce(Self::Token<'t>) -> T + Send) -> T;
}

/// The worker of the calling thread, if its pool has the default scheduler, or else the global pool.
#[derive(Clone, Copy, Debug, Default)]
pub struct Here;

impl<W: Worker> Runner for &mut W {
    type Token<'t> = W::Token<'t>;

    #[inline]
    fn on_worker<T: Send>(self, run: impl for<'t> FnOnce(W::Token<'t>) -> T + Send) -> T {
        self.lend(run)
    }
}

mod sealed {
    pub trait Sealed {}

    impl Sealed for super::Here {}
    impl<W: super::Worker> Sealed for &mut W {}
}
