//! What was simulated, as a table.

use std::fmt::Write;

use purloin_command::format::time;

use super::report::{Cell, Report};

/// The table, and what its columns mean.
pub fn text(report: &Report) -> String {
    let trials = match report.trials {
        1 => "one trial".to_owned(),
        trials => format!("{trials} trials each"),
    };
    let Report {
        workload, machine, ..
    } = report;
    let mut text = format!("{workload} on {machine}, {trials}\n\n");
    let widest = report.cells.iter().map(|cell| cell.policy.len()).max();
    let width = widest.unwrap_or(0).max("policy".len());
    let _ = writeln!(
        text,
        "{:>8}  {:width$}  {:>10}  {:>15}  {:>12}  {:>15}  {:>5}",
        "cores", "policy", "time", "relative", "attempts", "relative", "idle"
    );
    let mut nodes = 0;
    for cell in &report.cells {
        if nodes != 0 && nodes != cell.nodes {
            text.push('\n');
        }
        nodes = cell.nodes;
        let Cell { policy, idle, .. } = cell;
        let _ = writeln!(
            text,
            "{nodes:>8}  {policy:width$}  {:>10}  {:>15}  {:>12.0}  {:>15}  {:>3.0} %",
            time(cell.time),
            ratio(cell.relative_time, cell.relative_time_margin),
            cell.steals,
            ratio(cell.relative_steals, cell.relative_steals_margin),
            100.0 * idle
        );
    }
    text.push_str(
        "\ntime: simulated time until the program has ended; attempts: to steal, those in vain \
         too.\nrelative: to the first policy; ± is the 95 % confidence interval.\nidle: the \
         share of the cores' time in which they have nothing to do.\n",
    );
    if report.trials < FEW_TRIALS {
        text.push_str("\nSo few trials say little: --trials 20 is better.\n");
    }
    if report.cells.iter().all(|cell| cell.idle > NEARLY_ALL) {
        text.push_str(
            "\nThe program is too small for so many cores, which do nearly nothing; a larger one, \
             such as\n--workload tree=+5,20us, says more about policies.\n",
        );
    }
    text
}

/// A share of the cores' time.
const NEARLY_ALL: f64 = 0.95;

/// Of fewer, nobody can tell how much they differ.
const FEW_TRIALS: u64 = 5;

/// A mean with its margin.
fn ratio(mean: Option<f64>, margin: Option<f64>) -> String {
    match (mean, margin) {
        (None, _) => "-".to_owned(),
        (Some(mean), Some(margin)) if margin > 0.0 => format!("{mean:.3} ± {margin:.3}"),
        (Some(mean), _) => format!("{mean:.3}"),
    }
}
