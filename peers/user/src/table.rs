//! The table, and the progress line.

use std::io::{IsTerminal, Write, stderr};

use crate::Measured;

/// Shows what runs now, if standard error is a terminal.
pub fn progress(text: &str) {
    if stderr().is_terminal() {
        // If the terminal is gone, there is no progress to show.
        let _ = write!(stderr(), "\r\x1b[K{text}");
    }
}

/// Names of the columns.
const COLUMNS: [&str; 8] = [
    "serial", "by hand", "token", "free", "chili", "rayon", "tbb", "openmp",
];

pub fn print(measured: &[Measured]) {
    print!("{:<38}{:>8}", "median times", "workers");
    print!("{:>10}", "ideal");
    let has = |column: &&&str| {
        let mut names = measured.iter().flat_map(|row| &row.seconds);
        names.any(|(name, _)| name == *column)
    };
    let columns: Vec<&str> = COLUMNS.iter().filter(has).copied().collect();
    columns.iter().for_each(|column| print!("{column:>10}"));
    println!();
    for Measured {
        row,
        workers,
        seconds,
    } in measured
    {
        print!("{:<38}{workers:>8}", row.what);
        let ideal = row.ideal.map(|ideal| ideal(*workers));
        print!("{:>10}", ideal.map(time).unwrap_or_default());
        for &column in &columns {
            let time = seconds
                .iter()
                .find(|(name, _)| *name == column)
                .map(|(_, seconds)| time(*seconds));
            print!("{:>10}", time.unwrap_or_default());
        }
        println!();
    }
    println!("\ntoken and free are Purloin, with and without a token.");
}

/// A time with three digits.
fn time(seconds: f64) -> String {
    let (value, unit) = match seconds {
        0.0 => return "0".into(),
        s if s < 1e-6 => (s * 1e9, "ns"),
        s if s < 1e-3 => (s * 1e6, "µs"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    match value {
        v if v < 10.0 => format!("{v:.2} {unit}"),
        v if v < 100.0 => format!("{v:.1} {unit}"),
        v => format!("{v:.0} {unit}"),
    }
}
