//! A finish around a finish: the common part of the measuring workers.
//!
//! A worker that wraps another worker opens a finish of the inner worker, and gives the program a
//! scope of its own around it. The tasks of that scope run in the inner finish, and find the
//! wrapper's context there.

use std::cell::OnceCell;
use std::ptr;

use purloin::{Scope, Spawner, Worker, implement};

/// The state of a finish that wraps an inner finish with the state `F`, and the wrapper's context
/// of type `C`.
pub struct Wrapped<F, C> {
    inner: *const F,
    context: *const C,
}

// SAFETY: a `Wrapped` gives out shared references only, and `F` and `C` are `Sync`.
unsafe impl<F: Sync, C: Sync> Sync for Wrapped<F, C> {}

impl<F, C> Wrapped<F, C> {
    /// Returns the state of the inner finish.
    pub(crate) fn inner(&self) -> &F {
        // SAFETY: only `finish` makes a `Wrapped`. The inner finish ends before `finish` returns,
        // and no task of it and no reference to the scope outlives it.
        unsafe { &*self.inner }
    }

    /// Returns the context that was passed to [`finish`].
    pub(crate) fn context(&self) -> &C {
        // SAFETY: `finish` borrows the context until it returns, and no task of the finish and no
        // reference to the scope outlives that call.
        unsafe { &*self.context }
    }

    /// Returns the context, for tokens of tasks. Their lifetimes have no name here.
    ///
    /// # Safety
    ///
    /// Only tasks and closures that end before the finish use the reference.
    pub(crate) unsafe fn context_for_tokens<'t>(&self) -> &'t C {
        // SAFETY: `finish` borrows the context until it returns, which is after the finish has
        // ended. The caller guarantees that the reference is not used after the end of the finish.
        unsafe { &*self.context }
    }
}

/// Runs `body` in a finish of `worker`. `body` gets a scope of the wrapper, which holds `context`.
pub(crate) fn finish<'env, W, C, S, F, R>(worker: &mut W, context: &C, body: F) -> R
where
    W: Worker,
    C: Sync,
    S: Spawner<Finish = Wrapped<<W::Spawner as Spawner>::Finish, C>>,
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, S>) -> R,
{
    // Declared outside the inner finish, because its tasks use the scope until the inner finish
    // ends.
    let scope = OnceCell::new();
    worker.finish(|inner| {
        let wrapped = Wrapped {
            inner: ptr::from_ref(implement::finish_of(inner)),
            context: ptr::from_ref(context),
        };
        body(scope.get_or_init(|| implement::scope(wrapped)))
    })
}
