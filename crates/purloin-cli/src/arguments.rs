//! Parsers for arguments that several commands take.

use purloin_kernels::Job;

/// Parses a number of workers.
pub fn parse_workers(text: &str) -> Result<usize, String> {
    let max = purloin::Builder::MAX_WORKERS;
    match text.trim().parse() {
        Ok(workers) if (1..=max).contains(&workers) => Ok(workers),
        _ => Err(format!("workers must be a number from 1 to {max}")),
    }
}

/// Parses a kernel with its input.
pub fn parse_job(text: &str) -> Result<Job, String> {
    Job::parse(text).map_err(|error| error.to_string())
}
