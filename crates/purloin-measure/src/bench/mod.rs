//! Running kernels under schedulers, interleaved, with every answer verified.

mod cell;
mod contestant;
mod measure;
mod quantiles;
mod steal_costs;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use purloin_command::{Failure, progress};
use purloin_kernels::Job;

pub use self::cell::Cell;
use self::measure::{configurations, measure, steps};
pub use self::quantiles::median;
pub use self::steal_costs::StealCosts;
use crate::schedulers::Spec;

/// Writes a line to standard error, unless an earlier call has written the same.
fn tell_once(line: String) {
    static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut told = TOLD.lock().expect("the lock is held for an insertion only");
    if told.insert(line.clone()) {
        Failure::Run(line).tell("purloin");
    }
}

/// Measures each job under each scheduler that has it, with each number of workers. A peer that
/// cannot be built, fails or takes longer than `limit` for a run is left out, with one line on
/// standard error.
pub fn measure_all(
    jobs: &[Job],
    mut schedulers: Vec<Spec>,
    workers: &[usize],
    runs: u32,
    limit: Duration,
) -> Result<Vec<Cell>, Failure> {
    // Builds the peers before the first run, so that a peer that cannot be built is named once.
    schedulers.retain(|scheduler| match scheduler.build(limit) {
        Ok(()) => true,
        Err(reason) => {
            tell_once(reason);
            false
        }
    });
    let jobs = if schedulers.is_empty() { &[] } else { jobs };
    let configurations = |job| configurations(job, &schedulers, workers);
    let steps = jobs
        .iter()
        .map(|job| steps(&configurations(job), runs))
        .sum();
    let progress = progress(steps, "runs");
    let mut cells = Vec::new();
    for job in jobs {
        let configurations = configurations(job);
        cells.extend(measure(job, &configurations, runs, limit, &progress)?);
    }
    progress.finish_and_clear();
    Ok(cells)
}
