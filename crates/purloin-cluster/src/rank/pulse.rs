//! When to look up from the work: [`Pulse`].

use std::time::{Duration, Instant};

/// About how long it is between two looks.
pub const PERIOD: Duration = Duration::from_micros(20);

/// The most joins between two looks. They may become slow all at once.
const MOST: i32 = 1 << 12;

/// Between two looks for room in the queue, if those are wanted often.
const OFTEN: i32 = 8;

/// Counts joins, not time: a clock would cost more than a join.
pub struct Pulse {
    /// What is left of the stride.
    countdown: i32,
    stride: i32,
    /// What is left of the interval after the stride.
    left: i32,
    /// So many joins seem to take the period.
    interval: i32,
    is_hasty: bool,
    last: Instant,
    looks: u64,
}

impl Pulse {
    pub fn new() -> Pulse {
        Pulse {
            countdown: 1,
            stride: 1,
            left: 1,
            interval: 1,
            is_hasty: false,
            last: Instant::now(),
            looks: 0,
        }
    }

    /// Counts a join. True at the end of a stride.
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

    /// Begins the next stride. True if it is time to look up.
    pub fn go_on(&mut self) -> bool {
        self.left -= self.stride - self.countdown;
        let is_due = self.left <= 0;
        if is_due {
            self.looks += 1;
            let now = Instant::now();
            let taken = (now - self.last).as_nanos().max(1);
            self.last = now;
            let ideal = self.interval as u128 * PERIOD.as_nanos() / taken;
            // Slowly up, at once down.
            self.interval = (ideal as i32).clamp(1, (2 * self.interval).min(MOST));
            self.left = self.interval;
        }
        self.stride = match self.is_hasty {
            true => OFTEN.min(self.left),
            false => self.left,
        };
        self.countdown = self.stride;
        is_due
    }

    /// How often it was time to look up.
    pub fn looks(&self) -> u64 {
        self.looks
    }

    /// When that was, the last time.
    pub fn last(&self) -> Instant {
        self.last
    }

    /// Strides are short from the next on, or as usual.
    pub fn set_hasty(&mut self, is_hasty: bool) {
        self.is_hasty = is_hasty;
    }
}
