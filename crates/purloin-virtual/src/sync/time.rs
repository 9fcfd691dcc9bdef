//! Clocks.

use std::ops::{Add, Sub};
use std::sync::OnceLock;
use std::time::Duration;

use crate::engine;

/// Converts a time to picoseconds.
pub(super) fn picoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().saturating_mul(1000)).unwrap_or(u64::MAX)
}

/// A point in virtual time; outside of a run, in real time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Instant(u64);

fn real_picoseconds() -> u64 {
    static START: OnceLock<std::time::Instant> = OnceLock::new();
    picoseconds(START.get_or_init(std::time::Instant::now).elapsed())
}

impl Instant {
    /// Looks at the clock.
    pub fn now() -> Instant {
        Instant(engine::at(engine::Engine::look_at_clock).unwrap_or_else(real_picoseconds))
    }

    /// Returns the time since this point.
    pub fn elapsed(self) -> Duration {
        Instant::now() - self
    }

    /// Returns the time since an earlier point, or zero.
    pub fn saturating_duration_since(self, earlier: Instant) -> Duration {
        self - earlier
    }

    /// Returns the time since an earlier point, or zero.
    pub fn duration_since(self, earlier: Instant) -> Duration {
        self - earlier
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Instant) -> Duration {
        duration(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, time: Duration) -> Instant {
        Instant(self.0.saturating_add(picoseconds(time)))
    }
}

/// Reads the clock of the processor, in nanoseconds.
pub fn ticks() -> u64 {
    engine::at(engine::Engine::look_at_clock).unwrap_or_else(real_picoseconds) / 1000
}

/// Returns a duration of this many picoseconds.
fn duration(picoseconds: u64) -> Duration {
    Duration::from_nanos(picoseconds / 1000)
}
