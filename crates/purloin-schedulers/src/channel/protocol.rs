//! The common parts of the two protocols of this folder. Both have private tasks, whose addresses a
//! victim sends, and workers look into their mailboxes at the same points.

use purloin::scheduler::{Scheduler, Slot};

/// The worker that detects when all workers are idle. It is the root of the tree of workers.
pub(super) const MANAGER: usize = 0;

/// Maximum number of tasks in one answer.
pub(super) const MAX_TASKS: usize = if cfg!(loom) { 2 } else { 256 };

/// The two requests that each worker has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Asks for any task. Workers that cannot answer it forward it.
    Any,
    /// Asks for a descendant of a stolen task. It goes only to the thief of that task.
    Leapfrog,
}

/// The state of a worker while it handles a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Situation {
    /// It runs something, and may have tasks soon.
    Running,
    /// It runs a loop, and can split it for each request.
    InLoop,
    /// It waits for a stolen task. The named worker runs that task, if it is known.
    Blocked(Option<usize>),
    /// It has nothing to run.
    Idle,
}

impl Situation {
    /// Returns the situation of a worker that handles requests. `is_splitting` says whether the worker has
    /// just pushed a part of a loop, and is cleared. That part is the share of one request; the others get
    /// their own parts.
    pub(super) fn after_push(self, is_splitting: &mut bool) -> Situation {
        match std::mem::take(is_splitting) && self == Situation::Running {
            true => Situation::InLoop,
            false => self,
        }
    }
}

/// A task that was sent to a thief.
pub(super) struct SentTask<P: Scheduler> {
    /// The address of the task.
    pub(super) slot: *mut Slot<P>,
    /// The number of the worker in whose stack the task lies.
    pub(super) owner: usize,
}

impl<P: Scheduler> Clone for SentTask<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Scheduler> Copy for SentTask<P> {}
