//! Parsers for arguments of `predict` and `sim`.

use std::collections::BTreeSet;

use purloin_sim::{Machine, Policy};

use crate::arguments::parse_number;

/// Parses a number of simulated cores.
pub fn parse_cores(text: &str) -> Result<u32, String> {
    parse_number("cores", text, Machine::MAX_CORES)
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
