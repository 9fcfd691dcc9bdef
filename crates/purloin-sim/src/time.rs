//! Simulated time: [`Time`].

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

/// A point in simulated time or a duration, in whole picoseconds.
///
/// Sums of integers are the same on every computer and in every order. Simulated time lasts for
/// seven months; later times become [`Time::MAX`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Time(u64);

impl Time {
    /// The beginning of simulated time, and the duration zero.
    pub const ZERO: Time = Time(0);

    /// The end of simulated time.
    pub const MAX: Time = Time(u64::MAX);

    /// Creates a time from picoseconds.
    pub const fn from_picoseconds(picoseconds: u64) -> Time {
        Time(picoseconds)
    }

    /// Creates a time from nanoseconds.
    pub const fn from_nanoseconds(nanoseconds: u64) -> Time {
        Time(nanoseconds.saturating_mul(1000))
    }

    /// Returns the time in picoseconds.
    pub const fn picoseconds(self) -> u64 {
        self.0
    }

    /// Returns the time in seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 * 1e-12
    }

    /// Multiplies the time by a number that is not negative, and rounds down.
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

/// The error of parsing a [`Time`]. `Display` writes one line.
#[derive(Clone, PartialEq, Eq)]
pub struct TimeError(String);

impl fmt::Display for TimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The text of the error: `main` and `unwrap` print errors in this form.
impl fmt::Debug for TimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for TimeError {}

/// The longest time that can be parsed, in picoseconds: one hour.
const LONGEST: f64 = 3.6e15;

impl FromStr for Time {
    type Err = TimeError;

    /// Parses a number with a unit, such as `1.5us` or `20 ns`.
    fn from_str(text: &str) -> Result<Time, TimeError> {
        let error = |why: &str| TimeError(format!("{text:?} is not a time: {why}"));
        let end = text.find(|c: char| c.is_alphabetic());
        let (number, unit) = text.split_at(end.unwrap_or(text.len()));
        let size = match unit {
            "ps" => 1.0,
            "ns" => 1e3,
            // The micro sign and the Greek letter mu.
            "us" | "\u{b5}s" | "\u{3bc}s" => 1e6,
            "ms" => 1e9,
            "s" => 1e12,
            _ => return Err(error("it needs a unit (ps, ns, us, ms or s)")),
        };
        match number.trim_end().parse::<f64>() {
            Ok(number) if number < 0.0 => Err(error("it must not be negative")),
            Ok(number) if number * size <= LONGEST => Ok(Time((number * size).round() as u64)),
            Ok(_) => Err(error("the maximum is an hour")),
            Err(_) => Err(error("it must start with a number, as in 1.5us")),
        }
    }
}

impl fmt::Display for Time {
    /// Writes the time with its unit, as in `1.5us`.
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
    fn a_time_is_parsed_back_from_its_text() {
        for text in ["7ps", "1.5ns", "200us", "15ms", "2s"] {
            assert_eq!(text.parse::<Time>().unwrap().to_string(), text);
        }
        assert_eq!("0ns".parse(), Ok(Time::ZERO));
        assert_eq!("2 ns".parse(), Ok(Time::from_nanoseconds(2)));
    }

    #[test]
    fn errors_say_why_a_text_is_not_a_time() {
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
