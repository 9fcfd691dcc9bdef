//! The cells as JSON: [`Report`].

use purloin_command::Machine;
use purloin_measure::bench::Cell;
use purloin_measure::bench::StealCosts;
use serde::Serialize;

/// The report of all cells.
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
    /// Whether `vs_serial` compares with a sequential form in another language.
    own_baseline: bool,
    spread: f64,
    answer: &'r str,
    verified: bool,
    stats: StatsReport,
}

/// The counters; only `tasks` for schedulers that do not count.
#[derive(Serialize)]
struct StatsReport {
    tasks: u64,
    #[serde(flatten)]
    counted: Option<CountedReport>,
    #[serde(flatten)]
    steal_costs: Option<StealCosts>,
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
    forwards: u64,
    early_requests: u64,
    idle_registrations: u64,
    updates: u64,
    control_messages: u64,
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
            own_baseline: cell.has_own_baseline,
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
                    forwards: stats.forwards,
                    early_requests: stats.early_requests,
                    idle_registrations: stats.idle_registrations,
                    updates: stats.updates,
                    control_messages: stats.control_messages,
                    sleeps: stats.sleeps,
                    handoffs: stats.handoffs,
                    spare_tasks: stats.spare_tasks,
                    spare_workers: stats.spare_workers,
                    spare_failures: stats.spare_failures,
                }),
                steal_costs: cell.steal_costs(),
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
