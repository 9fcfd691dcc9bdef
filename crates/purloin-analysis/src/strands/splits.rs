//! A worker that records the joins of a loop or a sort as splits.

use super::recorder::{Recorded, RecordedSpawner};
use purloin::{Handle, Scope, Worker};

/// Maximum number of pieces into which a loop or a sort is divided, roughly.
pub(super) const PIECES: usize = 1024;

/// The worker that a loop or a sort divides its work with. The body of a loop gets the program's own worker.
pub(super) struct Splits<'r>(pub(super) Recorded<'r>);

impl<'r> Worker for Splits<'r> {
    type Token<'t> = Splits<'r>;
    type Spawner = RecordedSpawner;

    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Splits<'r>) -> RA + Send,
        B: for<'t> FnOnce(Splits<'r>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.0.record_join(None, |w| a(Splits(w)), |w| b(Splits(w)))
    }

    fn finish<'env, F, R>(&mut self, body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, RecordedSpawner>) -> R,
    {
        self.0.finish(body)
    }

    fn lend<R>(&mut self, f: impl for<'t> FnOnce(Splits<'r>) -> R) -> R {
        f(Splits(self.0.token()))
    }

    #[track_caller]
    fn future<F, T>(&mut self, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(Splits<'r>) -> T + Send + 'static,
        T: Send + 'static,
    {
        self.0.future(|w| f(Splits(w)))
    }

    fn split_hint(&mut self, _: usize) -> usize {
        0
    }

    fn sort_pieces(&self) -> usize {
        PIECES
    }
}
