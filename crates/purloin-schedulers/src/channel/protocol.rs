//! The seam between the two protocols of this folder. Both have private tasks, whose addresses a victim
//! sends, and workers look into their mailboxes on the same occasions.

use purloin::scheduler::{
    Backoff, Scheduler, Search, Slept, Slot, StateWord, Stolen, WorkerThread,
};

use super::tasks::ChannelTasks;

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

/// How workers exchange messages. Each method is called on the worker's own thread; the hooks of
/// [`purloin::scheduler::TaskPool`] with the same names say when.
pub trait Protocol: Scheduler<Header = StateWord, TaskPool = ChannelTasks<Self>> {
    /// A worker's mailbox, its requests, and the state that it keeps between messages.
    type Channels: Send + Sync + 'static;

    /// Handles the messages in the worker's mailbox.
    fn check_mailbox(me: &WorkerThread<Self>, situation: Situation);

    /// Handles the messages in the mailbox of a worker that runs a loop. Returns for how many
    /// thieves it should split the loop.
    fn check_mailbox_in_loop(me: &WorkerThread<Self>) -> usize;

    fn before_outside_work(me: &WorkerThread<Self>);

    fn became_active(me: &WorkerThread<Self>);

    fn look(search: &mut Search<'_, Self>) -> Option<Stolen<Self>>;

    fn sleep(search: &mut Search<'_, Self>) -> Slept;

    fn leapfrog(
        me: &WorkerThread<Self>,
        holder: &WorkerThread<Self>,
        outcome: &StateWord,
        backoff: &mut Backoff,
    ) -> Option<Stolen<Self>>;

    /// Returns whether a blocked worker has received an answer.
    fn has_leapfrog_answer(me: &WorkerThread<Self>) -> bool;

    fn stop_leapfrogging(me: &WorkerThread<Self>);

    fn begin_stolen(me: &WorkerThread<Self>);

    fn end_stolen(me: &WorkerThread<Self>, outcome: &StateWord);
}
