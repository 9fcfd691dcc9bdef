//! Simulated time: [`Time`].

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

/// A point in simulated time, or a stretch of it, in whole picoseconds.
///
/// Integers add up to the same on every machine, in any order. It lasts for seven months: what
/// would be later is [`Time::MAX`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Time(u64);

impl Time {
    /// The beginning, and no time at all.
    pub const ZERO: Time = Time(0);

    /// The end of all simulated time.
    pub const MAX: Time = Time(u64::MAX);

    /// So many picoseconds.
    pub const fn from_picoseconds(picoseconds: u64) -> Time {
        Time(picoseconds)
    }

    /// So many nanoseconds.
    pub const fn from_nanoseconds(nanoseconds: u64) -> Time {
        Time(nanoseconds.saturating_mul(1000))
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
        Time(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Time) {
        *self = *self + other;
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

/// What a text says that is no time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoTime(String);

impl fmt::Display for NoTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoTime {}

/// The longest time in a text, in picoseconds: an hour.
const LONGEST: f64 = 3.6e15;

impl FromStr for Time {
    type Err = NoTime;

    /// A number with its unit, such as `1.5us` or `20 ns`.
    fn from_str(text: &str) -> Result<Time, NoTime> {
        let no_time = |why: &str| NoTime(format!("{text:?} is no time: {why}"));
        let end = text.find(|c: char| c.is_alphabetic());
        let (number, unit) = text.split_at(end.unwrap_or(text.len()));
        let size = match unit {
            "ps" => 1.0,
            "ns" => 1e3,
            // The sign for micro, and the Greek letter.
            "us" | "\u{b5}s" | "\u{3bc}s" => 1e6,
            "ms" => 1e9,
            "s" => 1e12,
            _ => return Err(no_time("it needs a unit: ps, ns, us, ms or s")),
        };
        match number.trim_end().parse::<f64>() {
            Ok(number) if number < 0.0 => Err(no_time("it is negative")),
            Ok(number) if number * size <= LONGEST => Ok(Time((number * size).round() as u64)),
            Ok(_) => Err(no_time("it is longer than an hour")),
            Err(_) => Err(no_time("it begins with a number, as in 1.5us")),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_written() {
        for text in ["7ps", "1.5ns", "200us", "15ms", "2s"] {
            assert_eq!(text.parse::<Time>().unwrap().to_string(), text);
        }
        assert_eq!("0ns".parse(), Ok(Time::ZERO));
        assert_eq!("2 ns".parse(), Ok(Time::from_nanoseconds(2)));
    }

    #[test]
    fn what_is_no_time_is_told_why() {
        for (text, why) in [
            ("", "unit"),
            ("7", "unit"),
            ("7 parsec", "unit"),
            ("ns", "number"),
            ("-1ns", "negative"),
            ("NaNus", "unit"),
            ("1e9s", "unit"),
            ("3601s", "an hour"),
        ] {
            let error = text.parse::<Time>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
