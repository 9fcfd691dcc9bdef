//! When to look up from the work: [`Pulse`].

use std::time::{Duration, Instant};

/// About how long it is between two looks.
pub const PERIOD: Duration = Duration::from_micros(20);

/// The most joins between two looks. They may become slow all at once.
const MOST: i32 = 1 << 12;

/// Counts joins, not time: a clock would cost more than a join.
pub struct Pulse {
    /// What is left of the interval.
    countdown: i32,
    /// So many joins seem to take the period.
    interval: i32,
    last: Instant,
    looks: u64,
}

impl Pulse {
    pub fn new() -> Pulse {
        Pulse {
            countdown: 1,
            interval: 1,
            last: Instant::now(),
            looks: 0,
        }
    }

    /// Counts a join. True at the end of an interval: then it is time to look up.
    #[inline(always)]
    pub fn beat(&mut self) -> bool {
        self.beats(1)
    }

    /// Counts what is worth so many joins.
    #[inline(always)]
    pub fn beats(&mut self, joins: i32) -> bool {
        self.countdown -= joins;
        self.countdown <= 0
    }

    /// Begins the next interval.
    pub fn go_on(&mut self) {
        self.looks += 1;
        let now = Instant::now();
        let taken = (now - self.last).as_nanos().max(1);
        self.last = now;
        let ideal = self.interval as u128 * PERIOD.as_nanos() / taken;
        // Slowly up, at once down.
        self.interval = (ideal.min(MOST as u128) as i32).clamp(1, 2 * self.interval);
        self.countdown = self.interval;
    }

    /// The interval is over, whatever the count says.
    pub fn expire(&mut self) {
        self.countdown = 0;
    }

    /// Whether it is time to look up, by the clock.
    pub fn is_due(&mut self) -> bool {
        let is_due = self.last.elapsed() >= PERIOD;
        if is_due {
            self.expire();
        }
        is_due
    }

    /// Whether it is time to look up.
    pub fn is_over(&self) -> bool {
        self.countdown <= 0
    }

    /// Whether spawns are so rare that the next look is far away.
    pub fn is_slow(&self) -> bool {
        self.interval < 8
    }

    /// How often it was time to look up.
    pub fn looks(&self) -> u64 {
        self.looks
    }

    /// When that was, the last time.
    pub fn last(&self) -> Instant {
        self.last
    }
}
