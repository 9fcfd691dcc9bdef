//! Parsers for arguments of `predict` and `sim`.

use std::collections::BTreeSet;

use purloin_sim::{Machine, Policy};

/// Parses a number of simulated cores.
pub fn parse_cores(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(cores) if (1..=Machine::MAX_CORES).contains(&cores) => Ok(cores),
        _ => Err(format!(
            "cores must be a number from 1 to {}",
            Machine::MAX_CORES
        )),
    }
}

/// Parses a policy.
pub fn parse_policy(text: &str) -> Result<Policy, String> {
    text.parse::<Policy>().map_err(|error| error.to_string())
}

/// Returns the numbers of cores in ascending order, each once.
pub fn in_order(cores: &[u32]) -> Vec<u32> {
    let cores: BTreeSet<_> = cores.iter().copied().collect();
    cores.into_iter().collect()
}
