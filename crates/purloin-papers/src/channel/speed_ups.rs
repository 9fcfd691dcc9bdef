//! Speed-ups with all workers.

use crate::trial::{Measured, Trial};

/// Returns the run of a scheduler with all workers.
pub(super) fn with_all<'c>(
    trial: &Trial,
    cells: &'c [Measured],
    scheduler: &str,
) -> Option<&'c Measured> {
    let most = trial.most_workers();
    let mut cells = cells.iter();
    cells.find(|cell| cell.scheduler == scheduler && cell.workers == most)
}

/// Returns the speed-up of a scheduler with all workers.
pub(super) fn speed_up(trial: &Trial, cells: &[Measured], scheduler: &str) -> Option<f64> {
    with_all(trial, cells, scheduler).map(|cell| 1.0 / cell.vs_serial)
}
