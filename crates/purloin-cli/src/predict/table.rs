//! The predictions as a table with an explanation.

use std::fmt::Write;

use purloin_command::format::time;
use purloin_command::table::{Column, Table};
use purloin_measure::simulation::recording::{describe_tasks, slowdown_warning, tasks_warning};

use super::report::Report;

/// The meaning of the columns.
pub const LEGEND: &str = "\
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
    let mut text = format!(
        "{}: {}\n{}{}\non {}, policy {}\n\n{}\n{LEGEND}",
        report.program,
        program(report),
        tasks_warning(report.warning),
        report.check,
        report.machine,
        report.policy,
        table(report).text()
    );
    if let Some(warning) = slowdown_warning(report.slowdown) {
        let _ = write!(text, "\n{warning}");
    }
    text
}

/// Returns the tasks, work and span of the program.
pub fn program(report: &Report) -> String {
    let parallelism = report.work_seconds / report.span_seconds.max(1e-12);
    format!(
        "{}, work {}, span {}, parallelism {parallelism:.0}",
        describe_tasks(report.tasks, report.splits, report.task_seconds),
        time(report.work_seconds),
        time(report.span_seconds)
    )
}

/// Returns the predictions as a table.
pub fn table(report: &Report) -> Table {
    let mut table = Table::new([
        Column::right("cores", 6),
        Column::right("time", 10),
        Column::right("±", 6),
        Column::right("speed-up", 8),
        Column::right("in theory", 17),
        Column::right("steals", 10),
        Column::right("idle", 5),
        Column::left("limited by", 0),
    ]);
    for prediction in &report.predictions {
        table.row([
            prediction.cores.to_string(),
            time(prediction.seconds),
            match prediction.seconds_margin {
                Some(margin) if margin > 0.0 => {
                    format!("{:.0} %", 100.0 * margin / prediction.seconds)
                }
                _ => "-".to_owned(),
            },
            format!("{:.2}", prediction.speed_up),
            format!(
                "{:.1} to {:.1}",
                prediction.least_speed_up, prediction.most_speed_up
            ),
            format!("{:.0}", prediction.steals),
            format!("{:.0} %", 100.0 * prediction.idle),
            prediction.limit.name().to_string(),
        ]);
    }
    table
}
