//! Forwarding against acknowledgements: the messages, and the time.

use purloin_command::Failure;
use serde::{Deserialize, Serialize};

use super::find;
use crate::bench::Cell;
use crate::paper::trial::Trial;

/// The workload of the slide on forwarding, which does not give its task length.
const WORKLOAD: &str = "BPC, n = 9, 10 µs";

/// The number of workers. With two there is only one to ask.
pub const WORKERS: usize = 8;

/// Both protocols, with forwarding and with acknowledgements.
const SCHEDULERS: [&str; 4] = [
    "channel:steal=one,explicit=strict",
    "channel:steal=one,explicit=strict,forward=off",
    "channel:steal=one",
    "channel:steal=one,forward=off",
];

/// The messages that the workers of a pool have sent each other in one run.
#[derive(Serialize, Deserialize)]
pub struct Messages {
    pub scheduler: String,
    /// The median time, in seconds.
    pub seconds: f64,
    pub steals: u64,
    /// Requests that thieves have sent.
    pub requests: u64,
    /// Requests that other workers have passed on or sent back.
    pub forwards: u64,
    pub idle_registrations: u64,
    pub updates: u64,
}

impl Messages {
    /// Returns the number of messages.
    pub fn total(&self) -> u64 {
        self.requests + self.forwards + self.updates
    }

    /// Returns the messages that each steal has taken.
    pub fn per_steal(&self) -> f64 {
        self.total() as f64 / self.steals.max(1) as f64
    }
}

impl From<&Cell> for Messages {
    fn from(cell: &Cell) -> Self {
        let stats = cell.stats.unwrap_or_default();
        Messages {
            scheduler: cell.scheduler.clone(),
            seconds: cell.median(),
            steals: stats.steals,
            requests: stats.steal_attempts,
            forwards: stats.forwards,
            idle_registrations: stats.idle_registrations,
            updates: stats.updates,
        }
    }
}

pub fn measure(trial: &Trial) -> Result<Vec<Messages>, Failure> {
    let job = find(WORKLOAD).job(trial);
    let cells = trial.cells(job, &SCHEDULERS, &[WORKERS], trial.choose(5, 15))?;
    Ok(cells.iter().map(Messages::from).collect())
}
