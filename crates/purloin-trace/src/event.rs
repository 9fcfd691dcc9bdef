//! Events.

/// What a worker does, as its stopwatch counts it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activity {
    /// Runs the program.
    Application,
    /// Steals. Only the stopwatch's totals have this: a steal is one [`What::Steal`].
    Stealing,
    /// Looks for work, or sleeps.
    Searching,
    /// Is blocked, and runs descendants of the awaited task.
    ApplicationInJoin,
    /// Is blocked, and steals a descendant of the awaited task.
    StealingInJoin,
    /// Is blocked, and waits.
    SearchingInJoin,
}

impl Activity {
    /// All activities, in the order of their numbers.
    pub const ALL: [Activity; 6] = [
        Activity::Application,
        Activity::Stealing,
        Activity::Searching,
        Activity::ApplicationInJoin,
        Activity::StealingInJoin,
        Activity::SearchingInJoin,
    ];

    /// Returns whether the worker is blocked.
    pub fn is_blocked(self) -> bool {
        self as usize >= Activity::ApplicationInJoin as usize
    }
}

/// Something that has happened on a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// When it happened, in nanoseconds since the trace began.
    pub time: u64,
    /// What has happened.
    pub what: What,
}

/// What has happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// The worker begins this activity.
    Begins(Activity),
    /// The worker has stolen a task, and is about to run it.
    Steal {
        /// The worker that had the task.
        victim: u32,
        /// The depth of the task in the program's tree, extrapolated from the branch that the victim ran.
        depth: u32,
        /// When the attempt began.
        since: u64,
    },
    /// The newest stolen task has ended.
    TaskEnd,
    /// The thread goes to sleep.
    Asleep,
    /// The thread has woken up.
    Awake,
    /// The blocked worker has its processor again.
    HandoffEnd,
    /// The thread wakes a worker of the pool with this number.
    Wake {
        /// The number of the pool, modulo 2³².
        pool: u32,
        /// The worker.
        worker: u32,
    },
    /// A span of the program begins.
    SpanBegin(&'static str),
    /// The newest span has ended.
    SpanEnd,
    /// A counter of the pool's statistics has been increased. This is its name.
    Counted(&'static str),
}

/// The name of the counter of hand-offs: the blocked worker has handed off its processor.
pub(crate) const HANDOFFS: &str = "handoffs";
/// The name of the counter of forced steals: the steal that follows has not waited for the victim.
pub(crate) const FORCED: &str = "forced_steals";
/// The name of the counter of publications.
pub(crate) const PUBLICATIONS: &str = "publications";
