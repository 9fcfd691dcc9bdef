//! The options of a running pool.

use std::sync::Arc;

use crate::loops::Splitting;
use crate::unwind::Panic;
use crate::victim::Selection;

/// The options of a [`Builder`](crate::Builder) that the pool needs while it runs.
#[derive(Clone)]
pub(crate) struct Options {
    pub(super) victims: Arc<dyn Selection>,
    pub(crate) splitting: Splitting,
    pub(super) timed: bool,
    /// Number of events that the pool keeps for each worker; 0 if the builder does not ask for a trace.
    pub(super) traced: usize,
    pub(super) handlers: Handlers,
    /// See [`Builder::ends_alone`](crate::Builder::ends_alone).
    pub(super) ends_alone: bool,
    /// See [`Builder::run_anything_while_blocked`](crate::Builder::run_anything_while_blocked).
    pub(super) runs_anything: bool,
    /// See [`Builder::rescue_calls`](crate::Builder::rescue_calls).
    pub(super) rescues_calls: bool,
}

/// Gets the number of the thread's worker.
pub(super) type ThreadHandler = Arc<dyn Fn(usize) + Send + Sync>;

pub(super) type PanicHandler = Arc<dyn Fn(Panic) + Send + Sync>;

/// The program's functions that the pool calls; `None` if not set.
#[derive(Clone, Default)]
pub(super) struct Handlers {
    pub(super) start: Option<ThreadHandler>,
    pub(super) exit: Option<ThreadHandler>,
    pub(super) panic: Option<PanicHandler>,
}
