//! The predictions as a page.

use purloin_command::page::{Page, Section, this_machine};
use purloin_measure::simulation::picture::lines_of;
use purloin_measure::simulation::recording::{slowdown_warning, tasks_warning};

use super::report::{Limit, Report};
use super::table;

const CAPTION: &str = "Speed-up against the number of cores, both on logarithmic scales. If tasks and steals cost \
                       nothing, every schedule that keeps cores busy while there is work is inside the shaded region. \
                       The measured speed-up is from the machine of the recording.";

/// Returns the page.
pub fn page(report: &Report) -> Page {
    let figures = lines_of(&report.picture()).into_iter().map(|mut lines| {
        // The ideal, as many as there are cores.
        lines.series[0].is_guide = true;
        lines.figure(
            "Chart of the speed-up against the number of cores. The table below has the same numbers.",
            CAPTION.to_string(),
        )
    });
    let details = [
        tasks_warning(report.warning),
        report.check.to_string(),
        slowdown_warning(report.slowdown).unwrap_or_default(),
    ];
    let details = details.iter().map(|text| text.trim().replace('\n', " "));
    Page {
        command: "purloin predict",
        title: report.program.clone(),
        origin: this_machine(),
        sentence: sentence(report),
        details: details.filter(|line| !line.is_empty()).collect(),
        sections: vec![Section {
            title: format!("On {}", report.machine),
            lead: format!("{}; policy {}", table::program(report), report.policy),
            figures: figures.collect(),
            tables: vec![("Predictions".to_string(), table::table(report))],
        }],
        // A line that begins with spaces continues the line before it.
        legend: table::LEGEND.replace("\n  ", " "),
    }
}

/// Returns the result in one sentence.
fn sentence(report: &Report) -> String {
    let Some(most) = report.predictions.last() else {
        return "Nothing was predicted.".to_string();
    };
    let doubt = match report.check.trusted {
        Some(false) => "Not to be trusted: on",
        _ => "On",
    };
    let cores = if most.cores == 1 { "core" } else { "cores" };
    let limit = match most.limit {
        Limit::Cores => "limited by nothing else".to_string(),
        limit => format!("limited by {}", limit.name()),
    };
    format!(
        "{doubt} {} {cores}, the program would be {:.1} times as fast as on one, {limit}.",
        most.cores, most.speed_up
    )
}
