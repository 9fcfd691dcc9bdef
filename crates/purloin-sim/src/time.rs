//! Simulated time: [`Time`].

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

/// A point in simulated time, or a stretch of it, in whole picoseconds.
///
/// Integers add up to the same on every machine, in any order. It lasts for seven months.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Time(u64);

impl Time {
    /// The beginning, and no time at all.
    pub const ZERO: Time = Time(0);

    /// So many picoseconds.
    pub const fn from_picoseconds(picoseconds: u64) -> Time {
        Time(picoseconds)
    }

    /// So many nanoseconds.
    pub const fn from_nanoseconds(nanoseconds: u64) -> Time {
        Time(nanoseconds * 1000)
    }

    /// In picoseconds.
    pub const fn picoseconds(self) -> u64 {
        self.0
    }

    /// In seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 * 1e-12
    }

    /// This times a number that is not negative, rounded down.
    pub fn scaled(self, factor: f64) -> Time {
        Time((self.0 as f64 * factor) as u64)
    }
}

impl Add for Time {
    type Output = Time;

    fn add(self, other: Time) -> Time {
        Time(self.0 + other.0)
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Time) {
        self.0 += other.0;
    }
}

impl Sub for Time {
    type Output = Time;

    fn sub(self, other: Time) -> Time {
        Time(self.0 - other.0)
    }
}

impl Sum for Time {
    fn sum<I: Iterator<Item = Time>>(times: I) -> Time {
        times.fold(Time::ZERO, Add::add)
    }
}

impl fmt::Display for Time {
    /// With its unit, as in `1.5us`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [
            (1_000_000_000_000, "s"),
            (1_000_000_000, "ms"),
            (1_000_000, "us"),
            (1000, "ns"),
        ];
        let unit = units.into_iter().find(|(size, _)| self.0 >= *size);
        let (size, unit) = unit.unwrap_or((1, "ps"));
        write!(f, "{}{unit}", self.0 as f64 / size as f64)
    }
}
