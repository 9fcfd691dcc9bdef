//! The results of the simulations as a page.

use purloin_command::format::time;
use purloin_command::page::{Page, Section};
use purloin_measure::simulation::picture::lines_of;

use super::report::{Cell, Report};
use super::table;

/// Returns the page.
pub fn page(report: &Report) -> Page {
    let intervals = match report.trials {
        1 => "",
        _ => ", with 95 % confidence intervals",
    };
    let figures = lines_of(&report.picture()).into_iter().map(|lines| {
        let title = lines.vertical.clone();
        lines.figure(
            &format!("Chart of {title}. The table below has the same numbers."),
            format!("Against the number of cores: {title}{intervals}."),
        )
    });
    Page {
        command: "purloin sim",
        title: table::title(report),
        origin: Vec::new(),
        sentence: sentence(report),
        details: table::warnings(report).map(String::from).collect(),
        sections: vec![Section {
            title: "Policies".to_string(),
            lead: format!("The seed of the first trial is {}.", report.seed),
            figures: figures.collect(),
            tables: vec![("Means of all trials".to_string(), table::table(report))],
        }],
        legend: table::LEGEND.to_string(),
    }
}

/// Returns the result in one sentence: the best policy on the most cores.
fn sentence(report: &Report) -> String {
    let cores = report.cells.iter().map(|cell| cell.cores).max();
    let cells = report.cells.iter().filter(|cell| Some(cell.cores) == cores);
    let cells: Vec<&Cell> = cells.collect();
    let Some(first) = cells.first() else {
        return "Nothing was simulated.".to_string();
    };
    let on = match first.cores {
        1 => "On one core,".to_string(),
        cores => format!("On {cores} cores,"),
    };
    if cells.len() == 1 {
        let (policy, idle) = (&first.policy, 100.0 * first.idle);
        let time = time(first.time);
        return format!(
            "{on} the program takes {time} with the policy {policy}; {idle:.0} % of it is idle."
        );
    }
    if report.trials == 1 {
        return "One trial has no confidence interval: no policy can be called faster.".to_string();
    }
    // A policy is better if its whole interval is below 1.
    let high = |cell: &Cell| Some(cell.relative_time? + cell.relative_time_margin?);
    let better = cells[1..]
        .iter()
        .filter(|cell| high(cell).is_some_and(|high| high < 1.0));
    match better.min_by(|a, b| a.time.total_cmp(&b.time)) {
        Some(best) => format!(
            "{on} {} is fastest: it takes {} times the time of {}.",
            best.policy,
            table::ratio(best.relative_time, best.relative_time_margin),
            first.policy
        ),
        None => format!(
            "{on} no policy is faster than {} by more than its confidence interval.",
            first.policy
        ),
    }
}
