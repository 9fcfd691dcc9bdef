//! Numbers for tables, and times in arguments.

use std::time::Duration;

/// Formats a time with its unit: nanoseconds from ten on without decimals, and the others with two or
/// three.
pub fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.3} s"),
        s if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s if s >= 1e-6 => format!("{:.2} µs", s * 1e6),
        s if s >= 9.995e-9 => format!("{:.0} ns", s * 1e9),
        s => format!("{:.2} ns", s * 1e9),
    }
}

/// Formats a number with commas between groups of three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

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
    fn numbers_are_grouped_and_times_have_units() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(165_580_140), "165,580,140");
        assert_eq!(time(1.5), "1.500 s");
        assert_eq!(time(0.0315), "31.50 ms");
        assert_eq!(time(2e-6), "2.00 µs");
        assert_eq!(time(3.155e-7), "316 ns");
        assert_eq!(time(2e-9), "2.00 ns");
    }

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
