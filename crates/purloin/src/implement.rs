//! For implementors of [`Worker`](crate::Worker), which are measuring instruments and adapters to other
//! runtimes, and for other libraries' interfaces over Purloin, such as that of rayon-core.
//!
//! Programs do not need this module. A program is generic over its `Worker` and is compiled for
//! each implementation. The crate `purloin-analysis` has two implementations: one counts tasks, the
//! other measures strands for profiles and recordings.

pub use crate::cancel::CancelState;
pub use crate::loops::{in_order, in_pieces};
pub use crate::pool::Batch;
pub use crate::stats::clock;
#[cfg(loom)]
pub use crate::sync::model_builder;
pub use crate::this_thread::pause;
pub use crate::token_free::{join_context_or, join_or};
pub use crate::tracing::CallersSpan;
pub use crate::tracing::watch_spans;
pub use crate::tunables::{Tunable, all as tunables};

use std::sync::Weak;

use crate::handle::Handle;
use crate::pool::Pool;
use crate::runtime::Token;
use crate::scheduler::Scheduler;
use crate::scope::{Scope, Spawner};
use crate::unwind::catch;

/// Returns a scope around the state of a finish.
///
/// [`Worker::finish`](crate::Worker::finish) must wait for all spawned tasks before it drops
/// the scope.
pub fn scope<'scope, 'env, S: Spawner>(finish: S::Finish) -> Scope<'scope, 'env, S> {
    Scope::new(finish)
}

/// Returns whether the code with this token runs on top of another task, which waits: it is a
/// broadcast on a blocked worker, for example.
pub fn is_on_top<S: Scheduler>(token: &Token<'_, S>) -> bool {
    token.thread().runs_on_top()
}

/// Returns whether this thread is a worker of any pool.
pub fn is_worker() -> bool {
    crate::this_thread::is_worker()
}

/// Returns the state of the finish that a scope belongs to.
pub fn finish_of<'s, S: Spawner>(scope: &'s Scope<'_, '_, S>) -> &'s S::Finish {
    scope.finish()
}

/// Runs `f` at once, and returns a handle to its result. A panic surfaces at
/// [`Handle::get`]; if the handle is dropped instead, the panic continues there.
pub fn ready<T>(f: impl FnOnce() -> T) -> Handle<T> {
    Handle::at_once(catch(f), Weak::new())
}

/// Runs `f` at once, and returns a handle to its result. [`Handle::get`] calls `got` first. So does
/// each [`SharedHandle::get`](crate::SharedHandle::get), and each task that begins
/// [after](Scope::after) this one.
pub fn watched<T>(f: impl FnOnce() -> T, got: impl Fn() + Send + Sync + 'static) -> Handle<T> {
    Handle::watched(catch(f), Box::new(got))
}

/// Hands a job to an idle worker, as [`Pool::spawn`] does, but [`Pool::wait`] does not wait for it. A panic of the
/// job goes where that of a spawned job goes.
pub fn spawn_uncounted<F>(pool: &Pool, f: F)
where
    F: for<'t> FnOnce(Token<'t>) + Send + 'static,
{
    pool.shared().spawn_uncounted(f);
}

/// Runs `f`, a program that is being measured. Meanwhile this thread is not a worker of any pool.
///
/// # Panics
///
/// Panics if `f` uses a pool on this thread, also by a function without a token: a measuring worker
/// does not see tasks that do not go through its token.
pub fn measured<R>(f: impl FnOnce() -> R) -> R {
    crate::this_thread::measured(f)
}
