//! Numbers for tables, and times in arguments.

use std::time::Duration;

pub use purloin_trace::format::{grouped, time};

/// Parses a time with its unit, from `0ns` to `1s`, such as `20us`.
pub fn parse_time(value: &str) -> Option<Duration> {
    let digits = value.trim_end_matches(|c: char| !c.is_ascii_digit());
    let nanoseconds = match &value[digits.len()..] {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    let time = digits.parse::<u64>().ok()?.checked_mul(nanoseconds)?;
    (time <= 1_000_000_000).then(|| Duration::from_nanos(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_arguments_have_units() {
        assert_eq!(parse_time("4000ns"), Some(Duration::from_micros(4)));
        assert_eq!(parse_time("20us"), Some(Duration::from_micros(20)));
        assert_eq!(parse_time("1s"), Some(Duration::from_secs(1)));
        for wrong in [
            "",
            "4",
            "ns",
            "-1ns",
            "2s",
            "1.5us",
            "99999999999999999999s",
        ] {
            assert_eq!(parse_time(wrong), None, "{wrong}");
        }
    }
}
