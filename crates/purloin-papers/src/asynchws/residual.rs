//! Figure 7: the number of residual tasks.

use std::collections::BTreeSet;

use purloin_measure::simulation::picture::{Horizontal, Line, Panel, Picture, Scale, Style};
use purloin_sim::Estimate;

use super::data::{Data, on_two_ranks, speed_up};
use super::{ADAPTIVE, CHOSEN, LATENCIES, PROGRAMS, RESIDUAL, gains};
use crate::report::{Report, Verdict, with_margin};

/// Adds the section on Figure 7.
pub(super) fn residual(data: &Data, report: &mut Report) {
    let tried = tried(data);
    if tried.is_empty() {
        return;
    }
    report.section("Figure 7: the number of residual tasks");
    report.paragraph(
        "Simulated: speed-ups on 384 cores over the serial elision, with *adaptive*. *best* lists each R \
         whose interval overlaps with that of the fastest.",
    );
    let names: Vec<_> = tried.iter().map(|number| format!("R = {number}")).collect();
    let mut head = vec!["program", "steal time"];
    head.extend(names.iter().map(String::as_str));
    head.extend(["best", "paper: best"]);
    let (mut rows, mut undecided, mut chosen) = (Vec::new(), 0, 0);
    let mut unlike = BTreeSet::new();
    let mut slower = BTreeSet::new();
    for (program, simulated) in PROGRAMS.iter().zip(&data.simulated) {
        for latency in LATENCIES {
            let cases = tried
                .iter()
                .filter_map(|&number| simulated.case(latency, ADAPTIVE, RESIDUAL[number]));
            let speed_ups: Vec<_> = cases.map(|case| speed_up(simulated, case)).collect();
            let mut row = vec![program.name.to_owned(), format!("{latency} µs")];
            row.extend(speed_ups.iter().map(|&value| with_margin(value, 1)));
            let best: Vec<_> = best(&speed_ups).iter().map(|&place| tried[place]).collect();
            undecided += usize::from(best.len() == tried.len());
            chosen += usize::from(best.contains(&CHOSEN));
            let published = program
                .residual
                .split(" or ")
                .filter_map(|text| text.parse().ok());
            let mut simulated = published.filter(|number| tried.contains(number));
            if !simulated.any(|number| best.contains(&number)) {
                unlike.insert(program.name);
            }
            slower.extend(tried.iter().filter(|number| !best.contains(number)));
            row.push(
                best.iter()
                    .map(usize::to_string)
                    .collect::<Vec<_>>()
                    .join(", "),
            );
            row.push(program.residual.to_owned());
            rows.push(row);
        }
    }
    report.table(&head, &rows);
    let slower: Vec<_> = slower.iter().map(usize::to_string).collect();
    let slower = match &slower[..] {
        [] => String::new(),
        [one] => format!(" In the rest, R = {one} is certainly slower."),
        numbers => format!(
            " In each of the rest, at least one of these values of R is certainly slower: {}.",
            numbers.join(", ")
        ),
    };
    let explained = match gains::have_gained(data).contains(&true) {
        true => " The text below Figure 9 explains the differences.",
        false => "",
    };
    report.paragraph(&format!(
        "In {undecided} of {} rows, no R is certainly slower than the fastest.{slower} R = 2 is among the best \
         in {chosen} rows. Where values are equal, the limit for the duration of ready tasks decides when a \
         core steals early, not R. For Fibonacci and SparseLU, the paper finds R = 0 best.{explained}",
        rows.len()
    ));
    let panel = |latency: u32| Panel {
        title: format!("a steal between nodes takes {latency} µs"),
        scale: Scale::Linear,
        lines: PROGRAMS
            .iter()
            .zip(&data.simulated)
            .map(|(program, simulated)| {
                let base = simulated.case(latency, ADAPTIVE, RESIDUAL[0]);
                let points = RESIDUAL
                    .iter()
                    .enumerate()
                    .filter_map(|(number, residual)| {
                        let case = simulated.case(latency, ADAPTIVE, residual)?;
                        let gain = Estimate::of_ratio(&base?.seconds, &case.seconds);
                        Some((number as u32, gain.mean, gain.margin))
                    });
                Line {
                    name: program.name.to_owned(),
                    points: points.collect(),
                }
            })
            .collect(),
        region: Vec::new(),
    };
    report.picture(
        "residual",
        Picture {
            title: "Figure 7, simulated: speed relative to no residual tasks".to_owned(),
            horizontal: Horizontal {
                title: "residual tasks",
                scale: Scale::Linear,
            },
            style: Style::Lines,
            rows: vec![LATENCIES.map(panel).into()],
        },
    );
    if on_two_ranks(data, 7, report) {
        report.paragraph(
            "SparseLU and Strassen need blocks of the other rank, and each access to one takes the artificial \
             latency. The simulation does not charge for such accesses.",
        );
    }
    report.paragraph(
        "The paper calls it the *golden point* if the work of the residual tasks takes as long as a steal. We do \
         not test this: the simulation limits their number and the duration of all ready tasks, but does not \
         record how long the residual tasks take.",
    );
    let unlike: Vec<_> = unlike.into_iter().collect();
    report.verdict(
        "Fibonacci gets the best performance when there is no residual task … Floorplan, Nqueens and UTS get \
         the best performance when the number equals 2 or 3 … Strassen get the optimal performance when the \
         number equals 2. However, SparseLU gets the best performance when there is no residual task",
        Verdict::confirmed_if(unlike.is_empty()),
        format!(
            "we require that the column *best* of Figure 7 contains the paper's R, or one of them, for each \
             program and steal time. Programs in which the paper's R is certainly slower: {}. The column often \
             lists most values of R, so it says little about the other programs",
            match &unlike[..] {
                [] => "none".to_owned(),
                names => names.join(", "),
            }
        ),
    );
    sensitivity(data, &tried, report);
}

/// Returns the numbers of residual tasks with which all programs were simulated.
fn tried(data: &Data) -> Vec<usize> {
    let is_tried = |number: &usize| {
        data.simulated.iter().all(|simulated| {
            let case = |latency| simulated.case(latency, ADAPTIVE, RESIDUAL[*number]);
            LATENCIES.iter().all(|&latency| case(latency).is_some())
        })
    };
    (0..RESIDUAL.len()).filter(is_tried).collect()
}

/// Judges whether the number of residual tasks matters, and whether 2 is a good one.
fn sensitivity(data: &Data, tried: &[usize], report: &mut Report) {
    let (mut matters, mut is_good) = (Vec::new(), Vec::new());
    for program in &PROGRAMS {
        let gain = |from: &'static str, to: &'static str| {
            gains::gain_of(data, program.name, [(ADAPTIVE, from), (ADAPTIVE, to)])
        };
        let (none, chosen) = (RESIDUAL[0], RESIDUAL[CHOSEN]);
        let residual = tried.iter().map(|&number| RESIDUAL[number]);
        let others = |number| residual.clone().filter(move |&other| other != number);
        let from_none = others(none).flat_map(|other| [gain(none, other), gain(other, none)]);
        let from_chosen = others(chosen).map(|other| gain(chosen, other));
        let is_some_above = |values: Option<Vec<_>>| Verdict::some_above(&values?, gains::MORE);
        matters.extend(is_some_above(from_none.collect()));
        is_good.extend(is_some_above(from_chosen.collect()).map(Verdict::of_the_opposite));
    }
    if is_good.len() < PROGRAMS.len() {
        return;
    }
    let count = |verdicts: &[Verdict], wanted| {
        let found = verdicts.iter().filter(|&&verdict| verdict == wanted);
        found.count()
    };
    let more = gains::MORE;
    report.verdict(
        "The performance of AsyncWS is sensitive to the number of residual tasks in the private region",
        Verdict::most(&matters),
        format!(
            "on 384 simulated cores, R matters for a program if some other R changes its speed by more than a \
             factor of {more} against R = 0. It certainly does in {1} of {0} programs, and certainly does not \
             in {2}. The verdict needs more than half of the programs",
            PROGRAMS.len(),
            count(&matters, Verdict::Confirmed),
            count(&matters, Verdict::NotHere),
        ),
    );
    report.verdict(
        "the residual tasks number is configured to 2 because most applications can get the optimal or \
         sub-optimal performance",
        Verdict::most(&is_good),
        format!(
            "on the same machines, R = 2 is good enough for a program if no other R makes it more than \
             {more} times as fast. It certainly is for {1} of {0} programs, and certainly is not for {2}. \
             The table's *best* requires less: it lists R = 2 if its interval overlaps with that of \
             the fastest. The verdict needs more than half of the programs",
            PROGRAMS.len(),
            count(&is_good, Verdict::Confirmed),
            count(&is_good, Verdict::NotHere),
        ),
    );
}

/// Returns the numbers of the values that are as good as the largest, as far as their intervals
/// tell.
fn best(values: &[Estimate]) -> Vec<usize> {
    let margin = |value: &Estimate| match value.margin.is_finite() {
        true => value.margin,
        false => 0.0,
    };
    let lower = |value: &Estimate| value.mean - margin(value);
    let floor = values
        .iter()
        .max_by(|a, b| a.mean.total_cmp(&b.mean))
        .map_or(0.0, lower);
    let good = values
        .iter()
        .enumerate()
        .filter(|(_, value)| value.mean + margin(value) >= floor);
    good.map(|(number, _)| number).collect()
}
