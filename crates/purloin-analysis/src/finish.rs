//! A finish around a finish: what the measuring workers share.
//!
//! A worker that wraps another one opens a finish of the other, and gives the program a scope of
//! its own around it. The tasks of that scope run in the inner finish, and find the wrapper's
//! context there.

use std::cell::OnceCell;
use std::ptr;

use purloin::{Scope, Spawner, Worker, implement};

/// The state of a finish that wraps one with the state `F`, and its context of type `C`.
pub struct Wrapped<F, C> {
    inner: *const F,
    context: *const C,
}

// SAFETY: it gives out shared references only, and `F` and `C` may be shared.
unsafe impl<F: Sync, C: Sync> Sync for Wrapped<F, C> {}

impl<F, C> Wrapped<F, C> {
    /// The state of the inner finish.
    pub(crate) fn inner(&self) -> &F {
        // SAFETY: only `finish` makes a `Wrapped`. The inner finish ends before `finish` returns,
        // and no task of it and no reference to the scope outlives it.
        unsafe { &*self.inner }
    }

    /// The context that was passed to [`finish`].
    pub(crate) fn context(&self) -> &C {
        // SAFETY: `finish` borrows the context until it returns, and no task of the finish and no
        // reference to the scope outlives that.
        unsafe { &*self.context }
    }

    /// The context, for tokens of tasks. The lifetimes of these have no name here.
    ///
    /// # Safety
    ///
    /// Only tasks and closures that end before the finish does use the reference.
    pub(crate) unsafe fn context_for_tokens<'t>(&self) -> &'t C {
        // SAFETY: `finish` borrows the context until it returns, which is after the finish has
        // ended, and the caller promises not to use the reference after that.
        unsafe { &*self.context }
    }
}

/// Runs `body` in a finish of `worker`. The scope that `body` gets is the wrapper's, with
/// `context` in it.
pub(crate) fn finish<'env, W, C, S, F, R>(worker: &mut W, context: &C, body: F) -> R
where
    W: Worker,
    C: Sync,
    S: Spawner<Finish = Wrapped<<W::Spawner as Spawner>::Finish, C>>,
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, S>) -> R,
{
    // Declared outside the inner finish, because its tasks use the scope until that ends.
    let scope = OnceCell::new();
    worker.finish(|inner| {
        let wrapped = Wrapped {
            inner: ptr::from_ref(implement::finish_of(inner)),
            context: ptr::from_ref(context),
        };
        body(scope.get_or_init(|| implement::scope(wrapped)))
    })
}
