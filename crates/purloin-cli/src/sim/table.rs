//! The results of the simulations as a table with an explanation.

use std::fmt::Write;

use purloin_command::format::time;
use purloin_command::table::{Column, Table};

use super::report::Report;

/// The idle share above which the program is too small for the machine.
const NEARLY_ALL: f64 = 0.95;

/// With fewer trials the confidence intervals are too wide to compare policies.
const FEW_TRIALS: u64 = 5;

/// The meaning of the columns.
pub const LEGEND: &str = "\
time: simulated time from the start to the end of the program
attempts: steal attempts, successful or not
relative: divided by the value of the first policy; ± is the 95 % confidence interval
idle: share of the cores' time without work
";

/// Returns the table and the meaning of its columns.
pub fn text(report: &Report) -> String {
    let mut text = format!("{}\n\n{}\n{LEGEND}", title(report), table(report).text());
    for warning in warnings(report) {
        let _ = write!(text, "\n{warning}\n");
    }
    text
}

/// Returns what is simulated.
pub fn title(report: &Report) -> String {
    let trials = match report.trials {
        1 => "one trial".to_owned(),
        trials => format!("{trials} trials each"),
    };
    format!("{} on {}, {trials}", report.workload, report.machine)
}

/// Returns the cells as a table.
pub fn table(report: &Report) -> Table {
    let mut table = Table::new([
        Column::right("cores", 6),
        Column::left("policy", 0),
        Column::right("time", 10),
        Column::right("relative", 15),
        Column::right("attempts", 12),
        Column::right("relative", 15),
        Column::right("idle", 5),
    ]);
    for cells in report.cells.chunk_by(|a, b| a.cores == b.cores) {
        if !table.is_empty() {
            table.separate();
        }
        for cell in cells {
            table.row([
                cell.cores.to_string(),
                cell.policy.clone(),
                time(cell.time),
                ratio(cell.relative_time, cell.relative_time_margin),
                format!("{:.0}", cell.attempts),
                ratio(cell.relative_attempts, cell.relative_attempts_margin),
                format!("{:.0} %", 100.0 * cell.idle),
            ]);
        }
    }
    table
}

/// Returns reasons to doubt the result.
pub fn warnings(report: &Report) -> impl Iterator<Item = &'static str> {
    let few = (report.trials < FEW_TRIALS)
        .then_some("Few trials make wide confidence intervals; try --trials 20.");
    let small = report
        .cells
        .iter()
        .all(|cell| cell.idle > NEARLY_ALL)
        .then_some(
            "The program is too small for this machine: the cores are idle nearly all the time. \
         A larger\nprogram, such as --workload tree=+5,20us, says more about policies.",
        );
    few.into_iter().chain(small)
}

/// Formats a ratio with its margin.
pub fn ratio(mean: Option<f64>, margin: Option<f64>) -> String {
    match (mean, margin) {
        (None, _) => "-".to_owned(),
        (Some(mean), Some(margin)) if margin > 0.0 => format!("{mean:.3} ± {margin:.3}"),
        (Some(mean), _) => format!("{mean:.3}"),
    }
}
