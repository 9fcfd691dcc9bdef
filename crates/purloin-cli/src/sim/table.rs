//! The results of the simulations as a table with an explanation.

use std::fmt::Write;

use purloin_command::format::time;

use super::report::{Cell, Report};

/// The idle share above which the program is too small for the machine.
const NEARLY_ALL: f64 = 0.95;

/// With fewer trials the confidence intervals are too wide to compare policies.
const FEW_TRIALS: u64 = 5;

/// Returns the table and the meaning of its columns.
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
    let mut last_cores = None;
    for cell in &report.cells {
        if last_cores.is_some_and(|cores| cores != cell.cores) {
            text.push('\n');
        }
        last_cores = Some(cell.cores);
        let Cell {
            cores,
            policy,
            attempts,
            ..
        } = cell;
        let _ = writeln!(
            text,
            "{cores:>8}  {policy:width$}  {:>10}  {:>15}  {attempts:>12.0}  {:>15}  {:>3.0} %",
            time(cell.time),
            ratio(cell.relative_time, cell.relative_time_margin),
            ratio(cell.relative_attempts, cell.relative_attempts_margin),
            100.0 * cell.idle
        );
    }
    text.push_str(
        "\ntime: simulated time from the start to the end of the program\n\
         attempts: steal attempts, successful or not\n\
         relative: divided by the value of the first policy; ± is the 95 % confidence interval\n\
         idle: share of the cores' time without work\n",
    );
    if report.trials < FEW_TRIALS {
        text.push_str("\nFew trials make wide confidence intervals; try --trials 20.\n");
    }
    if report.cells.iter().all(|cell| cell.idle > NEARLY_ALL) {
        text.push_str(
            "\nThe program is too small for this machine: the cores are idle nearly all the time. \
             A larger\nprogram, such as --workload tree=+5,20us, says more about policies.\n",
        );
    }
    text
}

/// Formats a ratio with its margin.
fn ratio(mean: Option<f64>, margin: Option<f64>) -> String {
    match (mean, margin) {
        (None, _) => "-".to_owned(),
        (Some(mean), Some(margin)) if margin > 0.0 => format!("{mean:.3} ± {margin:.3}"),
        (Some(mean), _) => format!("{mean:.3}"),
    }
}
