//! The data beneath the report, and what several of its sections say about them.

use purloin_sim::Estimate;

use super::{Case, Cell, Figures, Measured, OwnTimes, PROGRAMS, Row, Simulated};
use crate::report::{Report, with_margin};

/// The data of all parts.
pub(super) struct Data {
    pub(super) bytes: Measured<[usize; PROGRAMS.len()]>,
    pub(super) latencies: Measured<Figures>,
    /// The measurements on ranks of each of the [`PROGRAMS`].
    pub(super) measured: Vec<Measured<Figures>>,
    pub(super) simulated: Vec<Simulated>,
    pub(super) with_own_times: Vec<OwnTimes>,
}

/// Returns the row of a program in a figure that was measured.
pub(super) fn row(measured: &Measured<Figures>, figure: u32) -> Option<&Row> {
    let Measured::Done(figures) = measured else {
        return None;
    };
    let mut figures = figures.figures.iter();
    figures.find(|found| found.figure == figure)?.rows.first()
}

/// Returns a variant's cell of a row.
pub(super) fn cell<'r>(row: &'r Row, variant: &str) -> Option<&'r Cell> {
    row.cells.iter().find(|cell| cell.variant == variant)
}

/// Returns the speed-ups of a simulated case.
pub(super) fn speed_up(simulated: &Simulated, case: &Case) -> Estimate {
    let values: Vec<_> = case
        .seconds
        .iter()
        .map(|seconds| simulated.work / seconds)
        .collect();
    Estimate::new(&values)
}

/// Adds the speed-ups of a figure on two ranks, relative to one rank.
/// Returns whether there are any.
pub(super) fn on_two_ranks(data: &Data, figure: u32, report: &mut Report) -> bool {
    let of_programs = PROGRAMS.iter().zip(&data.measured);
    let measured = of_programs.filter_map(|(program, measured)| {
        let row = row(measured, figure)?;
        Some((program, row, row.one_rank_seconds?))
    });
    let measured: Vec<_> = measured.collect();
    let Some((_, first, _)) = measured.first() else {
        return false;
    };
    let mut head = vec!["program".to_owned()];
    head.extend(first.cells.iter().map(|cell| match &*cell.variant {
        "paper" => "adaptive, with `--cutoff paper`".to_owned(),
        variant if figure == 7 => format!("R = {variant}"),
        variant => variant.to_owned(),
    }));
    let head: Vec<_> = head.iter().map(String::as_str).collect();
    let rows = measured.iter().map(|(program, row, one_rank)| {
        let mut cells = vec![program.name.to_owned()];
        cells.extend(row.cells.iter().map(|cell| {
            let seconds = cell.all_seconds.iter();
            let speed_ups: Vec<_> = seconds.map(|seconds| one_rank / seconds).collect();
            with_margin(Estimate::new(&speed_ups), 2)
        }));
        cells
    });
    let rows: Vec<_> = rows.collect();
    report.paragraph(
        "On two ranks: speed-ups over one rank. A speed-up may exceed 2, because other programs use the \
         processors, too, and not equally in all runs.",
    );
    report.table(&head, &rows);
    true
}
