//! Whether there is memory for a window.

use super::World;
use crate::Error;

/// Asks, on all ranks together, whether every node has the memory that its ranks want.
///
/// MPI gets it from the system, which promises more than it has: a process would be
/// killed only when it writes there.
pub fn available(world: &World, len: usize) -> Result<(), Error> {
    let wanted: u128 = world
        .all_gather_on_node(len as u64)
        .into_iter()
        .map(u128::from)
        .sum();
    // Where the system does not say, MPI will.
    let lacks = free().is_some_and(|free| wanted > u128::from(free));
    match world
        .all_gather(lacks.into())
        .iter()
        .position(|&lacks| lacks != 0)
    {
        None => Ok(()),
        Some(rank) => Err(Error::Window {
            rank,
            bytes: len,
            reason: "its node has less memory than its ranks want".to_owned(),
        }),
    }
}

/// The memory, in bytes, that the system could give to programs.
fn free() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes << 10)
}
