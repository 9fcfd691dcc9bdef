//! The predictions as a page.

use purloin_command::page::{Page, Section};
use purloin_measure::simulation::picture::lines_of;
use purloin_measure::simulation::recording::{slowdown_warning, tasks_warning};

use super::report::{Limit, Report};
use super::table;

const CAPTION: &str = "Speed-up against the number of cores, both on logarithmic scales. The shaded region \
                       holds every schedule that leaves no core idle while there is work, if tasks and steals cost \
                       nothing. The measured speed-up is from the machine of the recording.";

/// Returns the page.
pub fn page(report: &Report) -> Page {
    let figures = lines_of(&report.picture()).into_iter().map(|mut lines| {
        // The first line is the ideal speed-up.
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
        origin: vec![format!(
            "Recorded on a machine with {}",
            cores(report.check.cores)
        )],
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
    let limit = match most.limit {
        Limit::Cores => "limited by nothing else".to_string(),
        limit => format!("limited by {}", limit.name()),
    };
    format!(
        "{doubt} {}, the program would be {:.1} times as fast as on one, {limit}.",
        cores(most.cores),
        most.speed_up
    )
}

fn cores(number: u32) -> String {
    match number {
        1 => "1 core".to_string(),
        number => format!("{number} cores"),
    }
}
