//! The results as JSON.

use serde::Serialize;

use super::Cell;
use super::measure::Dynamics;
use purloin_command::Machine;

/// The whole report.
#[derive(Serialize)]
pub struct Report<'r> {
    machine: Machine,
    cells: Vec<CellReport<'r>>,
}

#[derive(Serialize)]
struct CellReport<'r> {
    kernel: &'r str,
    input: &'r str,
    scheduler: &'r str,
    workers: usize,
    seconds: &'r [f64],
    median_seconds: f64,
    vs_serial: f64,
    spread: f64,
    answer: &'r str,
    verified: bool,
    stats: StatsReport,
}

/// Counters of schedulers that do not count are left out.
#[derive(Serialize)]
struct StatsReport {
    tasks: u64,
    #[serde(flatten)]
    counted: Option<CountedReport>,
    #[serde(flatten)]
    dynamics: Option<Dynamics>,
}

#[derive(Serialize)]
struct CountedReport {
    steals: u64,
    steal_attempts: u64,
    free_steals: u64,
    forced_steals: u64,
    back_outs: u64,
    leapfrogs: u64,
    publications: u64,
    sleeps: u64,
    handoffs: u64,
    spare_tasks: u64,
    spare_workers: u64,
    spare_failures: u64,
}

impl<'r> From<&'r Cell> for CellReport<'r> {
    fn from(cell: &'r Cell) -> Self {
        CellReport {
            kernel: cell.kernel,
            input: &cell.input,
            scheduler: &cell.scheduler,
            workers: cell.workers,
            seconds: &cell.seconds,
            median_seconds: cell.median(),
            vs_serial: cell.vs_serial(),
            spread: cell.spread(),
            answer: &cell.answer,
            verified: cell.verified,
            stats: StatsReport {
                tasks: cell.tasks,
                counted: cell.stats.map(|stats| CountedReport {
                    steals: stats.steals,
                    steal_attempts: stats.steal_attempts,
                    free_steals: stats.free_steals,
                    forced_steals: stats.forced_steals,
                    back_outs: stats.back_outs,
                    leapfrogs: stats.leapfrogs,
                    publications: stats.publications,
                    sleeps: stats.sleeps,
                    handoffs: stats.handoffs,
                    spare_tasks: stats.spare_tasks,
                    spare_workers: stats.spare_workers,
                    spare_failures: stats.spare_failures,
                }),
                dynamics: cell.dynamics,
            },
        }
    }
}

impl<'r> Report<'r> {
    pub fn of(cells: &'r [Cell]) -> Self {
        Report {
            machine: Machine::this(),
            cells: cells.iter().map(CellReport::from).collect(),
        }
    }
}
