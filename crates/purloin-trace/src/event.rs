//! Events.

/// The activity of a worker, as its stopwatch counts it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Activity {
    /// Runs the program.
    Application,
    /// Steals. Only the stopwatch's totals have this: a steal is one [`What::Stole`].
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
    /// The kind of the event.
    pub what: What,
}

/// A kind of event. `Name` stands for the name of a span.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum What<Name = &'static str> {
    /// The worker begins this activity. The thread of a worker begins with this event.
    Begins(Activity),
    /// The thread of the worker ends.
    ThreadEnd,
    /// The worker has stolen a task, after an attempt that began at this time.
    Stole {
        /// When the attempt began.
        since: u64,
    },
    /// The victim of the next [`Steal`](Self::Steal) did not answer, so the thief has taken a private task.
    Forced,
    /// The worker begins the stolen task.
    Steal {
        /// The worker that had the task.
        victim: u32,
        /// The depth of the task in the program's tree, extrapolated from the branch that the victim ran.
        depth: u32,
    },
    /// The newest stolen task has ended.
    TaskEnd,
    /// The idle worker begins a call or a job from outside of the pool.
    Call,
    /// The thread goes to sleep.
    Asleep,
    /// The thread has woken up.
    Awake,
    /// The blocked worker hands off its processor.
    HandoffBegin,
    /// The worker has its processor again.
    HandoffEnd,
    /// The worker has made tasks public.
    Published,
    /// The thread wakes a worker of the pool with this number.
    Wake {
        /// The number of the pool, modulo 2³².
        pool: u32,
        /// The worker.
        worker: u32,
    },
    /// A span of the program begins.
    SpanBegin(Name),
    /// The newest span has ended.
    SpanEnd,
}
