//! The events that workers count, and their counters.

use crate::sync::plain::{AtomicU64, Ordering};

/// One worker's counters.
#[derive(Default)]
pub(crate) struct Counters([AtomicU64; COUNTS]);

impl Counters {
    /// Counts an event. Called on the worker's own thread only, so no atomic addition is needed.
    pub(crate) fn add(&self, count: Count) {
        let counter = &self.0[count as usize];
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self, count: Count) -> u64 {
        self.0[count as usize].load(Ordering::Relaxed)
    }
}

/// Defines [`Count`] and [`Stats`] from one list of events.
macro_rules! counted {
    (
        $($(#[$doc:meta])* $Event:ident => $field:ident,)*
        ;
        $($(#[$pool_doc:meta])* $pool_field:ident,)*
    ) => {
        /// An event that a worker counts.
        #[derive(Clone, Copy)]
        pub enum Count {
            $($(#[$doc])* $Event,)*
        }

        const COUNTS: usize = [$(Count::$Event),*].len();

        /// The counters of all workers of a pool, from [`Pool::stats`](crate::Pool::stats).
        ///
        /// To measure a part of a program, take the counters before and after it, and subtract:
        ///
        /// ```
        /// # use purloin::{Pool, Worker};
        /// # let pool = Pool::new()?;
        /// let before = pool.stats();
        /// pool.run(|mut w| w.join(|_| (), |_| ()));
        /// let during = pool.stats() - before;
        /// assert!(during.steals <= 1);
        /// # Ok::<(), purloin::BuildError>(())
        /// ```
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Stats {
            $($(#[$doc])* pub $field: u64,)*
            $($(#[$pool_doc])* pub $pool_field: u64,)*
        }

        impl Counters {
            /// Returns all counters, by the names of the fields of [`Stats`].
            pub(crate) fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($field), self.get(Count::$Event)),)*].into_iter()
            }
        }

        impl Stats {
            pub(crate) fn add(&mut self, counters: &Counters) {
                $(self.$field += counters.get(Count::$Event);)*
            }
        }

        sums!(Stats: $($field,)* $($pool_field,)*);
    };
}

counted! {
    /// Tasks that thieves have stolen.
    Steals => steals,
    /// Attempts to take tasks from a victim. One attempt may get several tasks.
    StealAttempts => steal_attempts,
    /// Steals for which no request has interrupted the victim: of the tasks that a victim offers at
    /// once, the first steal is not free, and the others are (Return barrier, section 5.6).
    FreeSteals => free_steals,
    /// Steals from a victim that did not answer.
    ForcedSteals => forced_steals,
    /// Tasks that a thief held and gave back, because they were not the victim's oldest (Wool,
    /// section 3).
    BackOuts => back_outs,
    /// Steals by a worker that was blocked in a join, in a finish or on a future.
    Leapfrogs => leapfrogs,
    /// Requests that a worker has answered with tasks.
    Publications => publications,
    /// Steal requests that a worker without tasks has passed on to another worker, or has sent back
    /// (Channel).
    Forwards => forwards,
    /// Steal requests that a thief has sent before it began a stolen task, to have its next task in time
    /// (Channel).
    EarlyRequests => early_requests,
    /// Times that the manager has counted a worker as idle (Channel).
    IdleRegistrations => idle_registrations,
    /// Messages that a worker counted as idle is about to get tasks (Channel).
    Updates => updates,
    /// Messages that are neither steal requests nor answers: updates to the manager, messages about work
    /// from outside, and withdrawals of leapfrog requests (Channel).
    ControlMessages => control_messages,
    /// Times that a worker has gone to sleep.
    Sleeps => sleeps,
    /// Times that a blocked worker has handed off its processor, whether or not a spare worker has
    /// used it.
    Handoffs => handoffs,
    /// Tasks that spare workers have run: tasks stolen while they were not blocked, and work from
    /// outside.
    SpareTasks => spare_tasks,
    ;
    /// Spare workers whose threads were started.
    spare_workers,
    /// Number of failed attempts to start the thread of a spare worker. The pool tries again while tasks
    /// wait for the worker.
    spare_failures,
}
