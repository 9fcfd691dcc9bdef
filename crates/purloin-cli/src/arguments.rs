//! Parsers for arguments that several commands take.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use purloin::implement::clock::nanoseconds_per_tick;
use purloin_command::format::parse_time;
use purloin_kernels::Job;

/// Parses a number from 1 to `max`. `name` is the subject of the error message.
pub fn parse_number<N>(name: &str, text: &str, max: N) -> Result<N, String>
where
    N: Copy + Display + From<u8> + FromStr + PartialOrd,
{
    match text.trim().parse() {
        Ok(number) if (N::from(1)..=max).contains(&number) => Ok(number),
        _ => Err(format!("{name} must be a number from 1 to {max}")),
    }
}

/// Parses a number of workers.
pub fn parse_workers(text: &str) -> Result<usize, String> {
    parse_number("workers", text, purloin::Builder::MAX_WORKERS)
}

/// Parses a time with its unit, such as `20us`, or a number of cycles of the processor's
/// time-stamp counter, such as `4000cycles`.
pub fn parse_time_or_cycles(text: &str) -> Option<Duration> {
    let Some(cycles) = text.strip_suffix("cycles") else {
        return parse_time(text);
    };
    let cycles = cycles.parse::<u32>().ok()?;
    let time = Duration::from_secs_f64(f64::from(cycles) * nanoseconds_per_tick() * 1e-9);
    (time <= Duration::from_secs(1)).then_some(time)
}

/// Parses a kernel with its input.
pub fn parse_job(text: &str) -> Result<Job, String> {
    Job::parse(text).map_err(|error| error.to_string())
}
