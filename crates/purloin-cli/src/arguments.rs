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

/// Parses a kernel with its input, whose data must fit in this machine's memory.
pub fn parse_job(text: &str) -> Result<Job, String> {
    let job = Job::parse(text).map_err(|error| error.to_string())?;
    fits(job, physical_memory().unwrap_or(u64::MAX))
}

/// Checks that the data of a job fit in a memory of this many bytes.
fn fits(job: Job, memory: u64) -> Result<Job, String> {
    if job.memory() <= memory {
        return Ok(job);
    }
    Err(format!(
        "{job} needs at least {} of memory, and this machine has {}",
        gigabytes(job.memory()),
        gigabytes(memory)
    ))
}

/// Returns the size of this machine's memory in bytes, if the system says it.
fn physical_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let mut lines = text.lines();
    let total = lines.find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = total.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes << 10)
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_is_too_large_for_the_memory_is_refused() {
        let error = |text| fits(Job::parse(text).unwrap(), 2_000_000_000).unwrap_err();
        let about_sparselu = error("sparselu=256,128");
        let expected =
            "sparselu=256,128 needs at least 4.3 GB of memory, and this machine has 2.0 GB";
        assert_eq!(about_sparselu, expected);
        for large in ["strassen=8192", "jacobi=16384", "fft=26"] {
            assert!(error(large).starts_with(large));
        }
        for small in ["fib=60", "multisort", "strassen", "sparselu", "barnes-hut"] {
            fits(Job::parse(small).unwrap(), 2_000_000_000).unwrap();
        }
    }
}
