//! The time between two polls: [`PollTimer`].

use std::time::{Duration, Instant};

/// The intended time between two polls.
pub const PERIOD: Duration = Duration::from_micros(20);

/// The largest number of joins between two polls. Joins may become slow at any moment, and then
/// the next poll must not be too far away.
const MAX_INTERVAL: i32 = 1 << 12;

/// Decides when a rank polls.
///
/// The timer counts joins instead of reading the clock, because a clock would cost more than a
/// join. It adapts the number of joins between two polls so that they take about [`PERIOD`].
pub struct PollTimer {
    /// The joins that are left until the next poll.
    countdown: i32,
    /// The estimated number of joins in one period.
    interval: i32,
    last_poll: Instant,
    polls: u64,
}

impl PollTimer {
    pub fn new() -> PollTimer {
        PollTimer {
            countdown: 1,
            interval: 1,
            last_poll: Instant::now(),
            polls: 0,
        }
    }

    /// Counts down by `joins`. Returns whether a poll is due.
    #[inline(always)]
    pub fn count(&mut self, joins: i32) -> bool {
        self.countdown -= joins;
        self.is_due()
    }

    /// Returns whether a poll is due by the count.
    #[inline(always)]
    pub fn is_due(&self) -> bool {
        self.countdown <= 0
    }

    /// Makes the next poll due at once.
    pub fn expire(&mut self) {
        self.countdown = 0;
    }

    /// Returns whether a poll is due by the clock. If so, makes it due by the count as well.
    pub fn is_due_by_clock(&mut self) -> bool {
        let is_due = self.last_poll.elapsed() >= PERIOD;
        if is_due {
            self.expire();
        }
        is_due
    }

    /// Starts the next interval, at a poll.
    pub fn restart(&mut self) {
        self.polls += 1;
        let now = Instant::now();
        let taken = (now - self.last_poll).as_nanos().max(1);
        self.last_poll = now;
        let ideal = self.interval as u128 * PERIOD.as_nanos() / taken;
        // The interval at most doubles, but shrinks at once.
        self.interval = (ideal.min(MAX_INTERVAL as u128) as i32).clamp(1, 2 * self.interval);
        self.countdown = self.interval;
    }

    /// Returns whether spawns are so rare that the next poll may be far away.
    pub fn are_spawns_rare(&self) -> bool {
        self.interval < 8
    }

    /// Returns the number of polls so far.
    pub fn polls(&self) -> u64 {
        self.polls
    }

    /// Returns the time of the last poll.
    pub fn last_poll(&self) -> Instant {
        self.last_poll
    }
}
