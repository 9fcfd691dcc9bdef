//! The comparison as text, as a page and as JSON.

use std::fmt::Write;

use purloin_command::format::time;
use purloin_command::page::{Dots, Page, Row, Section};
use purloin_command::table::{Column, Table};
use serde::Serialize;

use super::pairs::{Comparison, Pair, Reason, Verdict};
use super::read::Cell;

/// The files with the two reports, and the margin.
pub struct About {
    /// The file with A.
    pub a: String,
    /// The file with B.
    pub b: String,
    /// The percentage within which times count as the same.
    pub margin: f64,
}

fn name(cell: &Cell) -> String {
    let workers = if cell.workers == 1 {
        "worker"
    } else {
        "workers"
    };
    format!(
        "{} under {}, {} {workers}",
        cell.job(),
        cell.scheduler,
        cell.workers
    )
}

fn table(comparison: &Comparison) -> Table {
    let mut table = Table::new([
        Column::left("kernel", 0),
        Column::left("scheduler", 0),
        Column::right("workers", 0),
        Column::right("A", 9),
        Column::right("B", 9),
        Column::right("B/A", 5),
        Column::right("95 % interval", 14),
        Column::left("verdict", 0),
    ]);
    for pair in &comparison.pairs {
        let (a, b) = pair.medians();
        table.row([
            pair.a.job(),
            pair.a.scheduler.clone(),
            pair.a.workers.to_string(),
            time(a),
            time(b),
            format!("{:.3}", pair.ratio.ratio),
            interval(pair),
            pair.words(),
        ]);
    }
    table
}

fn interval(pair: &Pair) -> String {
    let interval = pair.ratio.interval;
    interval.map_or("–".to_string(), |(low, high)| {
        format!("{low:.3} to {high:.3}")
    })
}

fn legend(about: &About) -> String {
    format!(
        "A, B: the median of all runs\n\
         B/A: the median of the ratios of each run of B to each run of A; below 1, B is faster\n\
         95 % interval: the confidence interval of B/A, from the Mann–Whitney test\n\
         verdict: the same if the interval is within {} % of 1; otherwise faster or slower if it is below or above 1,\n\
         and apart from the interval of the kernel's serial elision\n",
        about.margin
    )
}

/// Returns the warnings, and what each file lacks.
fn notes(comparison: &Comparison) -> Vec<String> {
    let only = |cells: &[Cell], file: &str| {
        let names: Vec<_> = cells.iter().map(name).collect();
        (!names.is_empty()).then(|| format!("Only in {file}: {}.", names.join("; ")))
    };
    let (a, b) = (
        only(&comparison.only_in_a, "A"),
        only(&comparison.only_in_b, "B"),
    );
    let warnings = comparison.warnings.iter().cloned();
    warnings.chain(a).chain(b).collect()
}

/// Returns the comparison as text. Its last line is the summary.
pub fn text(about: &About, comparison: &Comparison) -> String {
    let About { a, b, .. } = about;
    let (of_a, of_b) = &comparison.machines;
    let mut text = format!(
        "A: {a} ({of_a})\nB: {b} ({of_b})\n\n{}\n{}\n",
        table(comparison).text(),
        legend(about)
    );
    for note in notes(comparison) {
        let _ = writeln!(text, "{note}\n");
    }
    text + &comparison.summary() + "\n"
}

/// Returns the comparison as a page.
pub fn page(about: &About, comparison: &Comparison) -> Page {
    let row = |pair: &Pair| Row {
        name: name(&pair.a),
        value: match pair.verdict {
            Verdict::CannotTell => "cannot tell".to_string(),
            _ => pair.words(),
        },
        dots: Vec::new(),
        middle: pair.ratio.ratio,
        interval: pair.ratio.interval,
    };
    let dots = Dots {
        rows: comparison.pairs.iter().map(row).collect(),
        reference: 1.0,
        ratios: true,
        format: |ratio| format!("{}", (ratio * 1e4).round() / 1e4),
    };
    let figure = dots.figure(
        "Chart of B/A with its interval for each cell. The table below has the same numbers.",
        "B/A of each cell, with its 95 % confidence interval. Left of the dashed line, B is faster.".into(),
    );
    Page {
        command: "purloin compare",
        title: format!("{} and {}", about.a, about.b),
        origin: vec![
            format!("A: {}", comparison.machines.0),
            format!("B: {}", comparison.machines.1),
        ],
        sentence: comparison.summary(),
        details: notes(comparison),
        sections: vec![Section {
            title: "B/A".to_string(),
            lead: String::new(),
            figures: vec![figure],
            tables: vec![("A and B".to_string(), table(comparison))],
        }],
        legend: legend(about),
    }
}

/// The comparison as JSON.
#[derive(Serialize)]
pub struct Report<'r> {
    a: &'r str,
    b: &'r str,
    confidence: f64,
    margin_percent: f64,
    cells: Vec<CellReport<'r>>,
    only_in_a: Vec<String>,
    only_in_b: Vec<String>,
    warnings: &'r [String],
    summary: Summary,
}

#[derive(Serialize)]
struct CellReport<'r> {
    kernel: &'r str,
    input: &'r str,
    scheduler: &'r str,
    workers: usize,
    a_runs: usize,
    b_runs: usize,
    a_median_seconds: f64,
    b_median_seconds: f64,
    ratio: f64,
    low: Option<f64>,
    high: Option<f64>,
    verdict: Verdict,
    /// Why the verdict cannot be told.
    reason: Option<Reason>,
}

#[derive(Serialize)]
struct Summary {
    faster: usize,
    slower: usize,
    same: usize,
    cannot_tell: usize,
    /// `None` if no cell has right answers.
    geometric_mean: Option<f64>,
}

impl<'r> Report<'r> {
    /// Reports a comparison.
    pub fn of(about: &'r About, comparison: &'r Comparison) -> Report<'r> {
        let cell = |pair: &'r Pair| CellReport {
            kernel: &pair.a.kernel,
            input: &pair.a.input,
            scheduler: &pair.a.scheduler,
            workers: pair.a.workers,
            a_runs: pair.a.seconds.len(),
            b_runs: pair.b.seconds.len(),
            a_median_seconds: pair.medians().0,
            b_median_seconds: pair.medians().1,
            ratio: pair.ratio.ratio,
            low: pair.ratio.interval.map(|(low, _)| low),
            high: pair.ratio.interval.map(|(_, high)| high),
            verdict: pair.verdict,
            reason: pair.reason(),
        };
        let names = |cells: &[Cell]| cells.iter().map(name).collect();
        Report {
            a: &about.a,
            b: &about.b,
            confidence: 0.95,
            margin_percent: about.margin,
            cells: comparison.pairs.iter().map(cell).collect(),
            only_in_a: names(&comparison.only_in_a),
            only_in_b: names(&comparison.only_in_b),
            warnings: &comparison.warnings,
            summary: Summary {
                faster: comparison.count(Verdict::Faster),
                slower: comparison.count(Verdict::Slower),
                same: comparison.count(Verdict::Same),
                cannot_tell: comparison.count(Verdict::CannotTell),
                geometric_mean: comparison.mean(),
            },
        }
    }
}
