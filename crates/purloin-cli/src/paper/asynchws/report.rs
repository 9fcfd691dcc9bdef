//! The report: tables, pictures and verdicts. Figures 9 and 10 are in `gains.rs`.

use purloin_command::Failure;
use purloin_command::format::{grouped, time};
use purloin_sim::Estimate;

use super::{
    ADAPTIVE, CHOSEN, Case, Cell, FIGURE_5, Figures, LATENCIES, Measured, NONE, PROGRAMS, QUEUE,
    RESIDUAL, Row, Simulated, TABLE, gains,
};
use crate::paper::Results;
use crate::paper::report::{Report, Verdict, with_margin};
use crate::paper::trial::Trial;
use crate::simulation::picture::{Horizontal, Line, Panel, Picture, Scale};

/// The data of all parts.
pub(super) struct Data {
    bytes: Measured<[usize; PROGRAMS.len()]>,
    latencies: Measured<Figures>,
    /// In the order of the programs.
    pub(super) measured: Vec<Measured<Figures>>,
    pub(super) simulated: Vec<Simulated>,
}

pub fn report(trial: &Trial, results: &Results) -> Result<Report, Failure> {
    let each = |what| PROGRAMS.iter().map(move |program| program.part(what));
    let data = Data {
        bytes: results.of(TABLE)?,
        latencies: results.of(FIGURE_5)?,
        measured: each("on ranks")
            .map(|part| results.of(&part))
            .collect::<Result<_, _>>()?,
        simulated: each("simulated")
            .map(|part| results.of(&part))
            .collect::<Result<_, _>>()?,
    };
    let mut report = Report::default();
    introduction(&data, &mut report);
    table(trial, &data, &mut report);
    latencies(&data, &mut report);
    profiling(&data, &mut report);
    residual(&data, &mut report);
    cut_offs(&data, &mut report);
    gains::early_steals(&data, &mut report);
    gains::together(&data, &mut report);
    Ok(report)
}

fn introduction(data: &Data, report: &mut Report) {
    report.section("Names and methods");
    let mut text = format!(
        "A steal is **early**, or asynchronous, if the thief still has work when it starts to steal. The \
         ready tasks that it then has are its **residual tasks**. The number R limits them: with 0, a thief \
         steals only when it is idle, and otherwise also when it begins a task and has fewer than R other \
         ready tasks. A **cut-off** decides when a task runs inline. *none*: never. *depth*: if it is deeper \
         than a limit. *queue*: if 36 tasks are ready. *adaptive*: if 36 tasks are ready, or the task is too \
         short to be worth stealing. Parallelism is the work divided by the span.\n\n\
         **On ranks**: `purloin-cluster figures`, the library over MPI on two ranks of this machine, \
         with an artificial latency{} on each operation on the other rank (except in Figure 5). Values \
         without ± are single runs. \
         **Simulated**: 32 nodes of two sockets of six cores, as in the paper. We record the serial elision \
         of each program. Simulated thieves try near victims first and take half of a victim's tasks. The \
         simulated *adaptive* cut-off knows the exact mean duration at each depth. Each simulated value is \
         the mean of {}.\n\n\
         The paper measures 3.7 to 5.2 *milliseconds* for a get from another node, and uses this as the \
         time of a steal between nodes. Its network, QDR InfiniBand, has a latency of microseconds, so we \
         simulate steals of 5 and 50 µs between nodes. The shortest task worth stealing is the same fraction \
         of a steal as in the paper (2 ms of 4.5 ms). Our programs are shorter than the paper's. The table of \
         Figure 9 shows what matters: the work of a core in units of a steal.\n\n\
         **Floorplan** is a branch-and-bound search. The order of visits decides which subtrees it prunes. \
         On ranks, the order changes from run to run. The simulation always prunes the subtrees that the \
         serial elision pruned.",
        latency(&data.measured),
        trials(&data.simulated)
    );
    text += &not_on_ranks(&data.measured);
    report.paragraph(&text);
}

/// Returns the numbers of trials of the simulations in words.
fn trials(simulated: &[Simulated]) -> String {
    let cases = simulated.iter().flat_map(|program| &program.cells);
    let trials = cases.map(|case| case.seconds.len());
    let (least, most) = (trials.clone().min(), trials.max());
    match (least, most) {
        (Some(least), Some(most)) if least < most => {
            format!("{least} to {most} trials")
        }
        _ => format!("{} trials", most.unwrap_or(0)),
    }
}

/// Returns the artificial latency in words, if a program ran on ranks.
fn latency(measured: &[Measured<Figures>]) -> String {
    let latency = measured.iter().find_map(|measured| match measured {
        Measured::Done(figures) => Some(figures.latency_seconds),
        Measured::Missing(_) => None,
    });
    latency.map_or(String::new(), |latency| format!(" of {}", time(latency)))
}

/// Returns a paragraph that says which programs did not run on ranks, and why.
fn not_on_ranks(measured: &[Measured<Figures>]) -> String {
    let missing = PROGRAMS.iter().zip(measured);
    let missing = missing.filter_map(|(program, measured)| match measured {
        Measured::Missing(why) => Some((program.name, &**why)),
        Measured::Done(_) => None,
    });
    let missing: Vec<_> = missing.collect();
    let Some(&(_, first)) = missing.first() else {
        return String::new();
    };
    let is_alike = missing.iter().all(|&(_, why)| why == first);
    match is_alike && missing.len() == PROGRAMS.len() {
        true => format!("\n\n**Nothing ran on ranks**: {first}."),
        false => {
            let reasons = missing.iter().map(|(name, why)| format!("{name}: {why}"));
            let reasons: Vec<_> = reasons.collect();
            format!("\n\n**Did not run on ranks**: {}.", reasons.join("; "))
        }
    }
}

fn table(trial: &Trial, data: &Data, report: &mut Report) {
    report.section("Table I: inputs, and the bytes of a task");
    let rows: Vec<_> = PROGRAMS
        .iter()
        .zip(&data.simulated)
        .enumerate()
        .map(|(place, (program, simulated))| {
            let bytes = match &data.bytes {
                Measured::Done(bytes) => bytes[place].to_string(),
                Measured::Missing(_) => "–".to_owned(),
            };
            vec![
                program.name.to_owned(),
                program.input.to_owned(),
                format!("`{}`", program.on_ranks(trial)),
                format!("`{}`", simulated.job),
                time(simulated.work),
                grouped((simulated.work / simulated.span).round() as u64),
                bytes,
                program.bytes.to_owned(),
            ]
        })
        .collect();
    report.table(
        &[
            "program",
            "paper's input",
            "our input on ranks",
            "our input, simulated",
            "work, simulated",
            "parallelism, simulated",
            "bytes of a task",
            "paper: bytes of a task",
        ],
        &rows,
    );
}

fn latencies(data: &Data, report: &mut Report) {
    let Measured::Done(Figures {
        latencies: Some(latencies),
        ..
    }) = &data.latencies
    else {
        return;
    };
    report.section("Figure 5: the time of a get from another rank");
    let rows: Vec<_> = latencies
        .gets
        .iter()
        .map(|get| vec![grouped(get.bytes as u64), time(get.seconds)])
        .collect();
    report.table(&["bytes", "time"], &rows);
    report.paragraph(
        "Both ranks are on one node here, so a get is a copy in memory that they share. In the \
         paper, a get between nodes takes 3.7 ms (120 bytes) to 5.2 ms (1.4 kB).",
    );
}

/// Returns the row of a program in a figure that was measured.
pub(super) fn row(measured: &Measured<Figures>, figure: u32) -> Option<&Row> {
    let Measured::Done(figures) = measured else {
        return None;
    };
    let mut figures = figures.figures.iter();
    figures.find(|found| found.figure == figure)?.rows.first()
}

pub(super) fn cell<'r>(row: &'r Row, variant: &str) -> Option<&'r Cell> {
    row.cells.iter().find(|cell| cell.variant == variant)
}

/// Figure 6.
fn profiling(data: &Data, report: &mut Report) {
    let shares = |variant: &str| -> Vec<f64> {
        let rows = data.measured.iter().filter_map(|measured| row(measured, 6));
        rows.filter_map(|row| Some(cell(row, variant)?.profiling_percent))
            .collect()
    };
    let (local, global) = (shares("local"), shares("global"));
    if local.len() < PROGRAMS.len() || global.len() < PROGRAMS.len() {
        return;
    }
    report.section("Figure 6: the cost of profiling, in percent of the ranks' time");
    let rows: Vec<_> = PROGRAMS
        .iter()
        .zip(local.iter().zip(&global))
        .map(|(program, (local, global))| {
            vec![
                program.name.to_owned(),
                format!("{local:.2}"),
                format!("{global:.2}"),
            ]
        })
        .collect();
    report.table(&["program", "local", "global"], &rows);
    let mean = global.iter().sum::<f64>() / global.len() as f64;
    let most = local.iter().copied().fold(0.0, f64::max);
    report.paragraph("The paper, with 384 threads: local below 2, global 23.6 on average.");
    report.verdict(
        "Profiling information is collected locally to optimize task granularity and guide the \
         asynchronous work stealing",
        Verdict::confirmed_if(most < 2.0 && mean > 5.0 * most),
        format!(
            "on two ranks, local profiling costs at most {most:.2} % of the time, and global profiling \
             {mean:.1} % on average with the artificial latency; we require less than 2 %, and five times as \
             much for global (paper: below 2 % and 23.6 % on its network)"
        ),
    );
}

fn speed_up(simulated: &Simulated, case: &Case) -> Estimate {
    let values: Vec<_> = case
        .seconds
        .iter()
        .map(|seconds| simulated.work / seconds)
        .collect();
    Estimate::new(&values)
}

/// Figure 7.
fn residual(data: &Data, report: &mut Report) {
    report.section("Figure 7: the number of residual tasks");
    report.paragraph(
        "Simulated: speed-ups on 384 cores over the serial elision, with *adaptive*. *best* lists each R \
         whose interval overlaps with that of the fastest.",
    );
    let residual = RESIDUAL.map(|number| format!("R = {number}"));
    let mut head = vec!["program", "steal time"];
    head.extend(residual.iter().map(String::as_str));
    head.extend(["best", "paper: best"]);
    let (mut rows, mut undecided, mut agreeing) = (Vec::new(), 0, 0);
    for (program, simulated) in PROGRAMS.iter().zip(&data.simulated) {
        for latency in LATENCIES {
            let cases = RESIDUAL.map(|residual| simulated.case(latency, ADAPTIVE, residual));
            let speed_ups = cases.map(|case| case.map(|case| speed_up(simulated, case)));
            let mut row = vec![program.name.to_owned(), format!("{latency} µs")];
            let text = |value| with_margin(value, 1);
            row.extend(speed_ups.map(|value| value.map_or("–".to_owned(), text)));
            let speed_ups: Option<Vec<_>> = speed_ups.into_iter().collect();
            let best = speed_ups.map(|values| best(&values));
            let is_papers = |number: &usize| program.residual.contains(&number.to_string());
            match best.as_ref().map_or(0, Vec::len) {
                all if all == RESIDUAL.len() => undecided += 1,
                _ => agreeing += usize::from(best.iter().flatten().any(is_papers)),
            }
            row.push(best.map_or("–".to_owned(), |best| {
                let best: Vec<_> = best.iter().map(usize::to_string).collect();
                best.join(", ")
            }));
            row.push(program.residual.to_owned());
            rows.push(row);
        }
    }
    report.table(&head, &rows);
    report.paragraph(&format!(
        "In {undecided} of {} rows, the intervals of all numbers overlap, so that these rows do not decide. In \
         {agreeing} of the {} others, a number that the paper finds best is among ours. The text below Figure \
         9 says why Fibonacci and SparseLU differ from the paper.",
        rows.len(),
        rows.len() - undecided
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
            rows: vec![LATENCIES.map(panel).into()],
        },
    );
    on_two_ranks(data, 7, report);
}

/// Adds the speed-ups of a figure on two ranks, relative to one rank.
fn on_two_ranks(data: &Data, figure: u32, report: &mut Report) {
    let of_programs = PROGRAMS.iter().zip(&data.measured);
    let measured = of_programs.filter_map(|(program, measured)| {
        let row = row(measured, figure)?;
        Some((program, row, row.one_rank_seconds?))
    });
    let measured: Vec<_> = measured.collect();
    let Some((_, first, _)) = measured.first() else {
        return;
    };
    let mut head = vec!["program"];
    head.extend(first.cells.iter().map(|cell| match &*cell.variant {
        "paper" => "adaptive, with `--cutoff paper`",
        variant => variant,
    }));
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
    report.paragraph("On two ranks: speed-ups over one rank.");
    report.table(&head, &rows);
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

/// Figure 8.
fn cut_offs(data: &Data, report: &mut Report) {
    report.section("Figure 8: cut-offs");
    let mut rows = Vec::new();
    for (program, simulated) in PROGRAMS.iter().zip(&data.simulated) {
        for latency in LATENCIES {
            let chosen = RESIDUAL[CHOSEN];
            let of = |cut_off| simulated.case(latency, cut_off, chosen);
            let text = |case: Option<&Case>| {
                case.map_or("–".to_owned(), |case| {
                    format!(
                        "{} ({} tasks)",
                        with_margin(speed_up(simulated, case), 1),
                        grouped(case.tasks)
                    )
                })
            };
            let depth = simulated.best_depth(latency);
            rows.push(vec![
                program.name.to_owned(),
                format!("{latency} µs"),
                text(of(NONE)),
                text(of(QUEUE)),
                text(depth.map(|(case, _)| case)),
                depth.map_or("–".to_owned(), |(_, depth)| depth.to_string()),
                text(of(ADAPTIVE)),
            ]);
        }
    }
    report.table(
        &[
            "program",
            "steal time",
            "none: speed-up (tasks)",
            "queue: speed-up (tasks)",
            "best depth: speed-up (tasks)",
            "best depth",
            "adaptive: speed-up (tasks)",
        ],
        &rows,
    );
    report.paragraph(
        "Simulated: speed-ups on 384 cores with two residual tasks. *best depth* is the best of up to four depths. The \
         task counts of *queue* ignore the bound of 36. Four of the programs fork in pairs, and a core runs \
         the first half at once. So its queue is never longer than the tree is deep. It seldom reaches 36, \
         and *queue* gives the results of *none*. In the paper, a thread queues all tasks that it creates \
         until the queue is two thirds full. In the paper, *adaptive* is best for Floorplan, NQueens, Strassen \
         and UTS, and *depth* for Fibonacci; SparseLU is equally fast with all cut-offs except *depth*. With \
         *none*, the paper's speed-ups stay below 1.4 for all programs except SparseLU, because creating a \
         task is expensive there. Here, creating a task takes a few nanoseconds. The bound of 36 tasks also \
         belongs to *adaptive*. It slows down UTS and SparseLU, which have tasks with many children: a core \
         that holds 36 ready tasks runs the next child itself.",
    );

    on_two_ranks(data, 8, report);
    report.paragraph(
        "On ranks, *adaptive* is Purloin's rule. `--cutoff paper` is the paper's: it queues tasks until the \
         queue is two thirds full, and then only those that take more than 2 ms on average.",
    );
    let relative = |to: &dyn for<'s> Fn(&'s Simulated, u32) -> Option<&'s Case>| {
        gains::mean_gain(
            data,
            |program| program.has_gain,
            |simulated, latency| {
                let adaptive = simulated.case(latency, ADAPTIVE, RESIDUAL[CHOSEN])?;
                Some((&adaptive.seconds, &to(simulated, latency)?.seconds))
            },
        )
    };
    let others = [
        relative(&|simulated, latency| simulated.case(latency, NONE, RESIDUAL[CHOSEN])),
        relative(&|simulated, latency| simulated.case(latency, QUEUE, RESIDUAL[CHOSEN])),
        relative(&|simulated, latency| simulated.best_depth(latency).map(|(case, _)| case)),
    ];
    let without_uts = gains::mean_gain(
        data,
        |program| program.has_gain && program.name != "UTS",
        |simulated, latency| {
            let adaptive = simulated.case(latency, ADAPTIVE, RESIDUAL[CHOSEN])?;
            let none = simulated.case(latency, NONE, RESIDUAL[CHOSEN])?;
            Some((&adaptive.seconds, &none.seconds))
        },
    );
    if let [Some(none), Some(queue), Some(depth)] = others {
        let faster = Verdict::some_above(&[none, queue, depth], gains::MORE);
        let verdict = faster.expect("there are three values").of_the_opposite();
        report.verdict(
            "Floorplan, Nqueens, UTS and Strassen get the best performance when AsyncWS is combined \
             with the adaptive cut-off",
            verdict,
            format!(
                "relative to *adaptive*, on 384 simulated cores these programs run {} times as fast with \
                 *none*, {} with *queue*, and {} with the best *depth* (the geometric mean over the programs \
                 and both times of a steal); a better cut-off has more than {}. UTS makes the difference: \
                 *adaptive* holds at most 36 ready tasks. Without UTS, *none* runs {} times as fast",
                with_margin(none, 2),
                with_margin(queue, 2),
                with_margin(depth, 2),
                gains::MORE,
                without_uts.map_or("–".to_owned(), |none| with_margin(none, 2))
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::paper::asynchws::parts;

    #[test]
    fn missing_data_get_no_verdict() {
        let trial = Trial::new(true);
        let results = Results::of_parts(&parts(&trial), |part| match part.ends_with("simulated") {
            true => json!({"job": "fib=31", "work": 1.0, "span": 0.1, "cells": []}),
            false => json!({"Missing": "no MPI"}),
        });
        let report = report(&trial, &results).unwrap();
        assert!(report.statements().is_empty());
        assert!(report.text().contains("**Nothing ran on ranks**: no MPI."));
    }

    fn done() -> Measured<Figures> {
        Measured::Done(Figures {
            ranks: 2,
            latency_seconds: 1e-5,
            latencies: None,
            figures: Vec::new(),
        })
    }

    fn missing(why: &str) -> Measured<Figures> {
        Measured::Missing(why.to_owned())
    }

    #[test]
    fn the_introduction_names_the_latency_of_the_ranks() {
        assert_eq!(latency(&[missing("no MPI"), done()]), " of 10.00 µs");
        assert_eq!(latency(&[missing("no MPI")]), "");
    }

    #[test]
    fn programs_that_did_not_run_on_ranks_are_named() {
        let all = || PROGRAMS.iter();
        let none: Vec<_> = all().map(|_| missing("no MPI")).collect();
        assert!(not_on_ranks(&none).contains("**Nothing ran on ranks**: no MPI."));
        let some = all().map(|program| match program.name {
            "UTS" => missing("it failed"),
            _ => done(),
        });
        let text = not_on_ranks(&some.collect::<Vec<_>>());
        assert!(text.contains("**Did not run on ranks**: UTS: it failed."));
        let every: Vec<_> = all().map(|_| done()).collect();
        assert_eq!(not_on_ranks(&every), "");
    }
}
