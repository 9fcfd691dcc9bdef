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

/// Parses a kernel with its input, whose data must fit in the memory that this process may use.
pub fn parse_job(text: &str) -> Result<Job, String> {
    let job = Job::parse(text).map_err(|error| error.to_string())?;
    fits(job, usable_memory())
}

/// Checks that the data of a job fit in a memory of this many bytes.
fn fits(job: Job, memory: u64) -> Result<Job, String> {
    if job.memory() <= memory {
        return Ok(job);
    }
    Err(format!(
        "{job} needs at least {} of memory, and this process may use {}",
        gigabytes(job.memory()),
        gigabytes(memory)
    ))
}

/// Returns how many bytes of memory this process may use, as far as the system says it: the machine
/// has, the control group allows, or half of what `ulimit -v` allows. Stacks and libraries need the
/// other half.
fn usable_memory() -> u64 {
    let line = |file: &str, head: &str| -> Option<String> {
        let text = std::fs::read_to_string(file).ok()?;
        let mut lines = text.lines().filter_map(|line| line.strip_prefix(head));
        lines.next()?.split_whitespace().next().map(str::to_owned)
    };
    let limits = [
        (line("/proc/meminfo", "MemTotal:"), 1024.0),
        (line("/sys/fs/cgroup/memory.max", ""), 1.0),
        (line("/proc/self/limits", "Max address space"), 0.5),
    ];
    // A limit that does not exist is a word, not a number.
    let limits = limits
        .into_iter()
        .filter_map(|(text, unit)| Some((text?.parse::<u64>().ok()? as f64 * unit) as u64));
    limits.min().unwrap_or(u64::MAX)
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
            "sparselu=256,128 needs at least 4.3 GB of memory, and this process may use 2.0 GB";
        assert_eq!(about_sparselu, expected);
        for large in ["strassen=8192", "jacobi=16384", "fft=26"] {
            assert!(error(large).starts_with(large));
        }
        for small in ["fib=60", "multisort", "strassen", "sparselu", "barnes-hut"] {
            fits(Job::parse(small).unwrap(), 2_000_000_000).unwrap();
        }
    }
}
