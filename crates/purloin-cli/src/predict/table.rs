//! The predictions as a table with an explanation.

use std::fmt::Write;

use purloin_command::format::time;
use purloin_measure::simulation::recording::{describe_tasks, slowdown_warning, tasks_warning};

use super::report::Report;

/// The meaning of the columns.
const LEGEND: &str = "
±: the 95 % confidence interval of the simulated time
in theory: the range of speed-ups if tasks and steals cost nothing: from work / (span + work /
  cores), if the program has phases for one core and phases for all cores, to work / max(span,
  work / cores), if it is equally parallel at all times
steals: successful steals
limited by: the largest loss compared with work / cores, if the total loss is at least a tenth:
  task cost; span; imbalance (remains if steals are free); steal cost (remains if all cores are
  near); latency (of cores that are far away). If the loss is smaller: the number of cores.
";

/// Returns the table and the meaning of its columns.
pub fn text(report: &Report) -> String {
    let parallelism = report.work_seconds / report.span_seconds.max(1e-12);
    let mut text = format!(
        "{}: {}, work {}, span {}, parallelism {parallelism:.0}\n{}{}\non {}, policy {}\n\n",
        report.program,
        describe_tasks(report.tasks, report.splits, report.task_seconds),
        time(report.work_seconds),
        time(report.span_seconds),
        tasks_warning(report.warning),
        report.check,
        report.machine,
        report.policy
    );
    let _ = writeln!(
        text,
        "{:>8}  {:>10}  {:>6}  {:>8}  {:>17}  {:>10}  {:>5}  limited by",
        "cores", "time", "±", "speed-up", "in theory", "steals", "idle"
    );
    for prediction in &report.predictions {
        let region = format!(
            "{:.1} to {:.1}",
            prediction.least_speed_up, prediction.most_speed_up
        );
        let margin = match prediction.seconds_margin {
            Some(margin) if margin > 0.0 => {
                format!("{:.0} %", 100.0 * margin / prediction.seconds)
            }
            _ => "-".to_owned(),
        };
        let _ = writeln!(
            text,
            "{:>8}  {:>10}  {margin:>6}  {:>8.2}  {region:>17}  {:>10.0}  {:>3.0} %  {}",
            prediction.cores,
            time(prediction.seconds),
            prediction.speed_up,
            prediction.steals,
            100.0 * prediction.idle,
            prediction.limit.name()
        );
    }
    text.push_str(LEGEND);
    if let Some(warning) = slowdown_warning(report.slowdown) {
        let _ = write!(text, "\n{warning}");
    }
    text
}
