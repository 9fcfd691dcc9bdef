//! The cells as a page.

use std::collections::BTreeSet;

use purloin_command::format::time;
use purloin_command::page::{Dots, Figure, Lines, Page, Row, Scale, Section, Series, this_machine};
use purloin_measure::bench::Cell;

use super::table;

/// Returns the page.
pub fn page(cells: &[Cell]) -> Page {
    let mut sections: Vec<_> = table::kernels(cells)
        .zip(table::tables(cells))
        .map(|(cells, kernel)| Section {
            title: kernel.job,
            lead: kernel.facts.join(" · "),
            figures: [Some(times(cells)), speed_ups(cells)]
                .into_iter()
                .flatten()
                .collect(),
            tables: vec![("Medians of all runs".to_string(), kernel.table)],
        })
        .collect();
    let mut legend = table::legend(cells);
    let costs = table::cost_tables(cells);
    if !costs.is_empty() {
        legend.push_str(table::COSTS_LEGEND);
        sections.push(Section {
            title: "Cost of steals".to_string(),
            lead: "Medians of all runs".to_string(),
            tables: costs,
            ..Section::default()
        });
    }
    let kernels = table::kernels(cells).map(|cells| cells[0].kernel);
    let kernels: BTreeSet<_> = kernels.collect();
    Page {
        command: "purloin bench",
        title: match kernels.len() {
            0 => "bench".to_string(),
            1..4 => kernels.into_iter().collect::<Vec<_>>().join(", "),
            many => format!("{many} kernels"),
        },
        origin: this_machine(),
        sentence: sentence(cells),
        details: details(cells),
        sections,
        legend,
    }
}

/// Returns the result in one sentence: the scheduler with the lowest times, on the most workers.
fn sentence(cells: &[Cell]) -> String {
    let wrong = cells.iter().filter(|cell| !cell.verified).count();
    match (cells.len(), wrong) {
        (0, _) => return "Every scheduler was left out.".to_string(),
        (_, 1..) => return format!("{wrong} of {} cells gave a wrong answer.", cells.len()),
        _ => {}
    }
    let means = means(cells);
    let Some((scheduler, mean)) = means.first() else {
        return "Every answer was right.".to_string();
    };
    let (workers, kernels) = (most_workers(cells), table::kernels(cells).count());
    let over = match kernels {
        1 => String::new(),
        kernels => format!(", the geometric mean over {kernels} kernels"),
    };
    let takes = if means.len() > 1 {
        "has the lowest times:"
    } else {
        "takes"
    };
    format!(
        "{} {scheduler} {takes} {mean:.2} times the serial time{over}.",
        on(workers)
    )
}

/// Returns the other schedulers in one sentence each, and reasons to doubt the times.
fn details(cells: &[Cell]) -> Vec<String> {
    let means = means(cells);
    let others = means.iter().skip(1);
    let others =
        others.map(|(scheduler, mean)| format!("{scheduler}: {mean:.2} times the serial time"));
    others
        .chain(table::warnings(cells).map(String::from))
        .collect()
}

fn on(workers: usize) -> String {
    match workers {
        1 => "On one worker,".to_string(),
        workers => format!("On {workers} workers,"),
    }
}

fn most_workers(cells: &[Cell]) -> usize {
    cells.iter().map(|cell| cell.workers).max().unwrap_or(1)
}

/// Returns the geometric mean of × serial of each scheduler that has all kernels, on the most workers; the lowest
/// first.
fn means(cells: &[Cell]) -> Vec<(&str, f64)> {
    let workers = most_workers(cells);
    let kernels = table::kernels(cells).count();
    let at_most = |cell: &&Cell| cell.workers == workers && cell.scheduler != "serial";
    let schedulers: BTreeSet<_> = cells
        .iter()
        .filter(at_most)
        .map(|cell| &cell.scheduler[..])
        .collect();
    let mut means: Vec<_> = schedulers
        .into_iter()
        .filter_map(|scheduler| {
            let cells = cells.iter().filter(at_most);
            let cells = cells.filter(|cell| cell.scheduler == scheduler);
            let ratios: Vec<_> = cells.map(|cell| cell.vs_serial().ln()).collect();
            let mean = (ratios.iter().sum::<f64>() / ratios.len() as f64).exp();
            (ratios.len() == kernels).then_some((scheduler, mean))
        })
        .collect();
    means.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    means
}

/// Draws the time of every run.
fn times(cells: &[Cell]) -> Figure {
    let row = |cell: &Cell| Row {
        name: match cell.scheduler.as_str() {
            "serial" => "serial elision".to_string(),
            scheduler => format!("{scheduler}, {}", workers(cell.workers)),
        },
        value: time(cell.median()),
        dots: cell.seconds.clone(),
        middle: cell.median(),
        interval: None,
    };
    let dots = Dots {
        rows: cells.iter().map(row).collect(),
        reference: cells[0].serial,
        ratios: false,
        format: short_time,
    };
    dots.figure(
        "Chart of the time of each run. The table below has the medians and spreads.",
        "Time of each run. The stroke is the median; the dashed line is the serial elision.".into(),
    )
}

fn workers(number: usize) -> String {
    match number {
        1 => "1 worker".to_string(),
        number => format!("{number} workers"),
    }
}

/// Formats a round time without decimals that say nothing.
fn short_time(seconds: f64) -> String {
    let text = time(seconds);
    match text.split_once(' ') {
        _ if seconds == 0.0 => "0".to_string(),
        Some((number, unit)) if number.contains('.') => {
            let number = number.trim_end_matches('0').trim_end_matches('.');
            format!("{number} {unit}")
        }
        _ => text,
    }
}

/// Draws the serial time divided by the time, against the number of workers, if there are several numbers.
fn speed_ups(cells: &[Cell]) -> Option<Figure> {
    let numbers: BTreeSet<_> = cells.iter().map(|cell| cell.workers).collect();
    let mut names: Vec<&str> = Vec::new();
    for cell in cells.iter().filter(|cell| cell.scheduler != "serial") {
        if !names.contains(&&cell.scheduler[..]) {
            names.push(&cell.scheduler);
        }
    }
    if numbers.len() < 2 || names.is_empty() {
        return None;
    }
    let ideal = numbers
        .iter()
        .map(|&number| (number as f64, number as f64, 0.0));
    let mut series = vec![Series {
        name: "ideal".to_string(),
        points: ideal.collect(),
        is_guide: true,
    }];
    series.extend(names.into_iter().map(|name| {
        Series {
            name: name.to_string(),
            points: (cells.iter())
                .filter(|cell| cell.scheduler == name)
                .map(|cell| (cell.workers as f64, 1.0 / cell.vs_serial(), 0.0))
                .collect(),
            is_guide: false,
        }
    }));
    let lines = Lines {
        vertical: "serial time / time".to_string(),
        horizontal: "workers",
        scale: Scale::Logarithmic,
        series,
        region: None,
    };
    Some(lines.figure(
        "Chart of the serial time divided by the time, against the number of workers. The table below has the inverse \
         as × serial.",
        "Serial time divided by the time, against the number of workers, both on logarithmic scales.".into(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_without_cells_has_a_title() {
        let page = page(&[]);
        assert_eq!(page.title, "bench");
        assert_eq!(page.sentence, "Every scheduler was left out.");
    }
}
