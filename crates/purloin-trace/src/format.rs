//! Numbers and times for tables.

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

/// Formats a parallelism.
pub fn parallelism(parallelism: f64) -> String {
    match parallelism {
        p if p >= 1000.0 => grouped(p.round() as u64),
        p => format!("{p:.1}"),
    }
}

/// Formats a number of nanoseconds as [`time`] does.
pub(crate) fn with_unit(nanoseconds: u64) -> String {
    time(nanoseconds as f64 * 1e-9)
}

/// Returns a number of workers, in words.
pub fn workers(number: usize) -> String {
    match number {
        1 => "1 worker".into(),
        number => format!("{number} workers"),
    }
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
}
