//! The breakdown of a worker's time.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;
use std::time::Duration;

use purloin_trace::format;

use super::Activity;
use super::clock::{ticks, to_time};
use crate::sync::plain::{AtomicU64, AtomicUsize, Ordering, fence};
use crate::sync::runs_program;
use crate::tracing::buffer::{Buffer, Record};

const ACTIVITIES: usize = Activity::ALL.len();

/// One worker's stopwatch, which is off or runs for one of the activities.
///
/// Only its own worker writes to it, when it switches from one activity to another. All switches
/// are off the fast path. Other threads may read it at any time.
pub(crate) struct Timer {
    is_on: bool,
    /// Odd while the worker is writing.
    version: AtomicUsize,
    activity: AtomicUsize,
    /// Start of the current activity, or of the part of it that is not in the total yet, in ticks.
    since: AtomicU64,
    totals: [AtomicU64; ACTIVITIES],
    /// Parts of the totals, in ticks: see [`Times::serving`], [`Times::waking`] and
    /// [`Times::crossing`].
    serving: AtomicU64,
    waking: AtomicU64,
    crossing: AtomicU64,
    /// Gets the worker's events, if the pool is traced. The stopwatch is on then.
    trace: Option<Arc<Buffer>>,
}

impl Timer {
    pub(crate) fn new(is_on: bool, trace: Option<Arc<Buffer>>) -> Timer {
        Timer {
            is_on: is_on || trace.is_some(),
            version: AtomicUsize::new(0),
            activity: AtomicUsize::new(Activity::Searching as usize),
            since: AtomicU64::new(ticks()),
            totals: Default::default(),
            serving: AtomicU64::new(0),
            waking: AtomicU64::new(0),
            crossing: AtomicU64::new(0),
            trace,
        }
    }

    /// Returns the buffer for the worker's events, if the pool is traced.
    pub(crate) fn trace(&self) -> Option<&Arc<Buffer>> {
        self.trace.as_ref()
    }

    /// Switches to another activity, and returns the previous one.
    pub(crate) fn switch_to(&self, to: Activity) -> Activity {
        let last = self.activity();
        let _ = runs_program(matches!(
            to,
            Activity::Application | Activity::ApplicationInJoin
        ));
        if cfg!(purloin_virtual) && !self.is_on {
            // For the switch back.
            self.activity.store(to as usize, Ordering::Relaxed);
        }
        if self.is_on {
            let now = ticks();
            self.write(|| {
                self.add(last, now);
                self.activity.store(to as usize, Ordering::Relaxed);
            });
            if let Some(trace) = &self.trace {
                trace.push_at(now, Record::Begins(to));
            }
        }
        last
    }

    /// Switches to running the program, and returns the previous activity. A blocked worker stays
    /// blocked.
    pub(crate) fn switch_to_application(&self) -> Activity {
        match self.activity() {
            Activity::SearchingInJoin => self.switch_to(Activity::ApplicationInJoin),
            activity => self.switch_to(match activity {
                Activity::ApplicationInJoin => activity,
                _ => Activity::Application,
            }),
        }
    }

    /// Returns the time, or 0 if the timer is off.
    pub(crate) fn now(&self) -> u64 {
        if self.is_on { ticks() } else { 0 }
    }

    /// Records that the worker has answered a thief since `begin`.
    pub(crate) fn served(&self, begin: u64) {
        self.lose(&self.serving, begin);
    }

    /// Records that the worker has woken a thief since `begin`.
    pub(crate) fn woke(&self, begin: u64) {
        self.lose(&self.waking, begin);
    }

    /// Records that since `begin` the worker has reclaimed a task that thieves could take.
    pub(crate) fn crossed(&self, begin: u64) {
        self.lose(&self.crossing, begin);
    }

    fn lose(&self, total: &AtomicU64, begin: u64) {
        if self.is_on {
            let lost = ticks().saturating_sub(begin);
            total.store(total.load(Ordering::Relaxed) + lost, Ordering::Relaxed);
        }
    }

    /// Records that the attempt begun at `begin` was a steal. The time before `begin` was spent
    /// searching.
    pub(crate) fn stolen(&self, begin: u64) {
        if !self.is_on {
            return;
        }
        let searching = self.activity();
        let stealing = match searching {
            Activity::SearchingInJoin => Activity::StealingInJoin,
            _ => Activity::Stealing,
        };
        self.write(|| {
            self.add(searching, begin);
            self.add(stealing, ticks());
        });
        if let Some(trace) = &self.trace {
            trace.push(Record::Stole { since: begin });
        }
    }

    /// Returns the current activity, and for how long it has been going on if the timer is on. The two may belong to different
    /// moments.
    pub(crate) fn current(&self) -> (Activity, Option<Duration>) {
        let since = self.since.load(Ordering::Relaxed);
        let time = self
            .is_on
            .then(|| to_time(ticks().saturating_sub(since) as f64));
        (self.activity(), time)
    }

    fn activity(&self) -> Activity {
        Activity::ALL[self.activity.load(Ordering::Relaxed)]
    }

    fn add(&self, activity: Activity, until: u64) {
        let since = self.since.load(Ordering::Relaxed);
        let total = &self.totals[activity as usize];
        // Saturating: the counters of two cores may differ a little.
        let sum = total.load(Ordering::Relaxed) + until.saturating_sub(since);
        total.store(sum, Ordering::Relaxed);
        self.since.store(until, Ordering::Relaxed);
    }

    fn write(&self, change: impl FnOnce()) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version + 1, Ordering::Relaxed);
        // Release: a reader that sees any part of the change sees the odd version.
        fence(Ordering::Release);
        change();
        self.version.store(version + 2, Ordering::Release);
    }

    /// Reads the totals, with the current activity up to now.
    pub(crate) fn read(&self) -> Times {
        for attempt in 1_u32.. {
            let version = self.version.load(Ordering::Acquire);
            let mut ticks_of = [0; ACTIVITIES];
            for (ticks, total) in ticks_of.iter_mut().zip(&self.totals) {
                *ticks = total.load(Ordering::Relaxed);
            }
            if self.is_on {
                let since = self.since.load(Ordering::Relaxed);
                ticks_of[self.activity() as usize] += ticks().saturating_sub(since);
            }
            // Acquire: orders the loads above before the second load of the version.
            fence(Ordering::Acquire);
            if version.is_multiple_of(2) && version == self.version.load(Ordering::Relaxed) {
                let time = |activity: Activity| to_time(ticks_of[activity as usize] as f64);
                return Times {
                    application: time(Activity::Application),
                    stealing: time(Activity::Stealing),
                    searching: time(Activity::Searching),
                    application_in_join: time(Activity::ApplicationInJoin),
                    stealing_in_join: time(Activity::StealingInJoin),
                    searching_in_join: time(Activity::SearchingInJoin),
                    waking: to_time(self.waking.load(Ordering::Relaxed) as f64),
                    serving: to_time(self.serving.load(Ordering::Relaxed) as f64),
                    crossing: to_time(self.crossing.load(Ordering::Relaxed) as f64),
                };
            }
            // The worker may have lost its processor in the middle of a change.
            match attempt % 100 {
                0 => crate::sync::thread::yield_now(),
                _ => crate::sync::spin_loop(),
            }
        }
        unreachable!("the worker ends each change")
    }
}

/// The breakdown of a worker's time, from [`Pool::times`](crate::Pool::times).
///
/// Each kind of time comes twice: for a worker that is not blocked, and for a worker that
/// is blocked because it waits in a join, at the end of a finish, for a future or for
/// another pool.
///
/// Source: Wool, section 5.3 (Figure 6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Times {
    /// Running the program.
    pub application: Duration,
    /// Steals that succeeded, with the samples taken before them.
    pub stealing: Duration,
    /// Looking for work without success, and sleeping.
    pub searching: Duration,
    /// Blocked: running descendants of the awaited task (leapfrogging).
    pub application_in_join: Duration,
    /// Blocked: steals of descendants of the awaited task.
    pub stealing_in_join: Duration,
    /// Blocked: waiting.
    pub searching_in_join: Duration,
    /// Part of the times above: answering thieves, or waiting for a thief to take the offered task
    /// (Return barrier, section 4.2).
    pub serving: Duration,
    /// Part of the times above: waking a thief that sleeps, or starting the thread of a spare worker,
    /// by a system call. Under the schedulers whose thieves send messages, waking is a part of
    /// `serving`.
    pub waking: Duration,
    /// Part of the times above: returning to public tasks, and finding out which thread has them
    /// (Return barrier, section 6: the barrier's own cost).
    pub crossing: Duration,
}

// All fields.
sums! {
    Times:
    application, stealing, searching, application_in_join, stealing_in_join, searching_in_join,
    serving, waking, crossing,
}

impl Times {
    /// Returns the worker's lifetime: the sum of the first six fields.
    pub fn total(&self) -> Duration {
        self.application
            + self.stealing
            + self.searching
            + self.application_in_join
            + self.stealing_in_join
            + self.searching_in_join
    }
}

/// Prints each kind of time, with its share of the lifetime.
///
/// ```
/// # use purloin::{Pool, Worker};
/// let pool = Pool::builder().workers(1).timed(true).build()?;
/// pool.run(|mut w| w.join(|_| (), |_| ()));
/// let times = pool.times()[0].to_string();
/// assert!(times.starts_with("application ") && times.contains(" %), stealing "));
/// # Ok::<(), purloin::BuildError>(())
/// ```
impl Display for Times {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let whole = self.total().as_secs_f64().max(f64::MIN_POSITIVE);
        let kinds = [
            ("application", self.application),
            (", stealing", self.stealing),
            (", searching", self.searching),
            ("; in joins: application", self.application_in_join),
            (", stealing", self.stealing_in_join),
            (", searching", self.searching_in_join),
        ];
        for (name, kind) in kinds {
            let seconds = kind.as_secs_f64();
            let share = 100.0 * seconds / whole;
            write!(f, "{name} {} ({share:.1} %)", format::time(seconds))?;
        }
        Ok(())
    }
}
