//! The report: tables, pictures and verdicts. Figure 6 is in `profiling.rs`, Figure 7 in `residual.rs`,
//! Figure 8 in `cut_offs.rs`, and Figures 9 and 10 in `gains.rs`.

use purloin_command::Failure;
use purloin_command::format::{grouped, time};
use purloin_measure::simulation::picture::{Horizontal, Line, Panel, Picture, Scale, Style};

use super::data::Data;
use super::{
    FIGURE_5, Figures, Measured, OWN_TIMES, PROGRAMS, Simulated, TABLE, cut_offs, gains, own_times,
    profiling, residual,
};
use crate::Results;
use crate::report::Report;
use crate::trial::Trial;

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
        with_own_times: each(OWN_TIMES)
            .map(|part| results.of(&part))
            .collect::<Result<_, _>>()?,
    };
    let mut report = Report::default();
    introduction(trial, &data, &mut report);
    table(trial, &data, &mut report);
    latencies(&data, &mut report);
    profiling::profiling(&data, &mut report);
    residual::residual(&data, &mut report);
    cut_offs::cut_offs(&data, &mut report);
    gains::early_steals(&data, &mut report);
    gains::together(&data, &mut report);
    own_times::own_times(&data, &mut report);
    Ok(report)
}

fn introduction(trial: &Trial, data: &Data, report: &mut Report) {
    report.section("Names and methods");
    let on_ranks = match latency(&data.measured) {
        None => String::new(),
        Some(latency) => format!(
            "**On ranks**: `purloin-cluster figures`, the library over MPI on two ranks of this machine, with an \
             artificial latency of {latency:.0} µs on each operation on the other rank (except in Figure 5). \
             This latency lies between the paper's milliseconds and the microseconds of today's networks. \
             *queue* allows 6 ready tasks here. *adaptive* is Purloin's rule: a rank may have 512 ready tasks \
             that take at least 10 µs each, but only 4 whose duration is unknown. \
             `docs/decisions/cluster-cut-off.md` explains the rule. Values without ± are single \
             runs, or medians. On ranks, Floorplan and NQueens spawn all branches of a node at once, and \
             SparseLU nests its loops. Each depth below 64 has an estimate of its own; deeper ones share \
             theirs with all depths that differ by less than an eighth. This also holds for `--cutoff paper`, \
             so in UTS and other deep trees, it does not have the paper's estimate for each depth. Another \
             early steal starts only after the next poll, and a rank polls about every 20 µs. The runs with \
             R = 2 and *adaptive* are the same ones in Figures 6 to 10, so these figures are not independent: \
             a slow run, such as Fibonacci's only one, lowers its values in all of them.\n\n"
        ),
    };
    report.paragraph(&format!(
        "A steal is **early**, or asynchronous, if the thief still has work when it starts to steal. The \
         task that the thief begins at that moment and the ready tasks behind it are its **residual tasks**. \
         The number R limits them. With R = 0, a thief steals only when it is idle. With a larger R, it also \
         steals when it begins a task and has at most R residual tasks. A **cut-off** decides when a spawned \
         task runs inline. *none* never runs a task inline. *depth* does so if the task is deeper than a \
         limit, and *queue* if the spawning core already has three ready tasks for each core of its node. \
         *adaptive* does so if the task is too short to be worth stealing, and in the simulation also in the \
         case of *queue*. \
         Parallelism is the work divided by the span.\n\n\
         {on_ranks}**Simulated**: 32 nodes of two sockets of six cores, as in the paper, so *queue* and *adaptive* \
         allow 36 ready tasks. We record the serial elision of each program. There, Floorplan and NQueens \
         fork in pairs. Simulated thieves prefer near victims, and take half of a victim's tasks. They divide \
         their search time equally between their socket, the rest of their node, and other nodes. On ranks, \
         a thief tries each rank of its node once before it looks further. The simulated *adaptive* knows \
         the exact mean duration at each depth. As in the paper, *adaptive* creates a task only if it takes \
         at least 2/4.5 of the time of a steal, and a core does not steal early while its ready tasks take \
         more than 12/4.5 of that time in total. These are the paper's 2 ms and 12 ms, divided by 4.5 ms, \
         the middle of its times of a get. The paper's threads are help-first until their queue is two \
         thirds full, and then work-first. Simulated cores never change their strategy: they run the first \
         half of a fork at once, and push spawned tasks. They offer all their tasks, and never run a stolen \
         task serially because it is short. Each simulated value is the mean of {}; ± covers the random \
         choices of the thieves, not the recording.\n\n\
         The paper measures 3.7 to 5.2 *milliseconds* for a get from another node, and uses this as the \
         time of a steal between nodes. Its network, QDR InfiniBand, has a latency of microseconds, so we \
         simulate steals of 5 and 50 µs between nodes. In these tables, the ratio of the least task to a \
         steal is the paper's, 0.44, but neither time is. The last section has both times of the paper: \
         steals of 4.5 ms and tasks of at least 2 ms. In the column of `--cutoff paper` on ranks, the ratio is \
         10, because 2 ms are ten times the latency of 200 µs. Table I shows where our inputs are smaller.{} \
         Strassen and SparseLU have too little parallelism for 384 cores, and Fibonacci too little work. The \
         table of Figure 9 shows the work of a core in units of the steal time.\n\n\
         **Floorplan** is a branch-and-bound search. The order of visits decides which subtrees it prunes. \
         On ranks, the order changes from run to run. The simulation always prunes the subtrees that the \
         serial elision pruned.",
        trials(&data.simulated),
        trial.choose(
            " With `--quick`, most are, and we simulate R = 0, 2 and 4, and fewer depths.",
            ""
        )
    ));
    if let Some(notice) = not_on_ranks(&data.measured) {
        report.notice(notice);
    }
}

/// Returns the numbers of trials of the simulations in words.
fn trials(simulated: &[Simulated]) -> String {
    let cases = simulated.iter().flat_map(|program| &program.cells);
    let trials = cases.map(|case| case.seconds.len());
    let (least, most) = (trials.clone().min(), trials.max());
    match (least, most) {
        (Some(least), Some(most)) if least < most => {
            format!("{least} or {most} trials")
        }
        _ => format!("{} trials", most.unwrap_or(0)),
    }
}

/// Returns the artificial latency in microseconds, if a program ran on ranks.
fn latency(measured: &[Measured<Figures>]) -> Option<f64> {
    measured.iter().find_map(|measured| match measured {
        Measured::Done(figures) => Some(1e6 * figures.latency_seconds),
        Measured::Missing(_) => None,
    })
}

/// Returns a paragraph that says which programs did not run on ranks, and why.
fn not_on_ranks(measured: &[Measured<Figures>]) -> Option<String> {
    let missing = PROGRAMS.iter().zip(measured);
    let missing = missing.filter_map(|(program, measured)| match measured {
        Measured::Missing(why) => Some((program.name, &**why)),
        Measured::Done(_) => None,
    });
    let missing: Vec<_> = missing.collect();
    let &(_, first) = missing.first()?;
    let is_alike = missing.iter().all(|&(_, why)| why == first);
    let why = match is_alike && missing.len() == PROGRAMS.len() {
        true => format!("**Nothing ran on ranks**: {first}"),
        false => {
            let reasons = missing.iter().map(|(name, why)| format!("{name}: {why}"));
            let reasons: Vec<_> = reasons.collect();
            format!("**Did not run on ranks**: {}", reasons.join("; "))
        }
    };
    Some(format!(
        "{why}. The page leaves out the tables that consist of these runs, and has dashes in the others. It \
         does not judge the statements that need these runs: those on local profiling and on overlapping \
         communication with residual tasks."
    ))
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
    let gets = latencies.gets.iter();
    let points = gets.map(|get| (get.bytes as u32, 1e9 * get.seconds, 0.0));
    report.picture(
        "figure-5",
        Picture {
            title: "Figure 5: the time of a get".to_owned(),
            horizontal: Horizontal {
                title: "bytes",
                scale: Scale::Logarithmic,
            },
            style: Style::Lines,
            rows: vec![vec![Panel {
                title: "nanoseconds".to_owned(),
                scale: Scale::Logarithmic,
                lines: vec![Line {
                    name: "get".to_owned(),
                    points: points.collect(),
                }],
                region: Vec::new(),
            }]],
        },
    );
    report.paragraph(
        "Both ranks are on one node here, so a get is a copy in memory that they share. In the \
         paper, a get between nodes takes 3.7 ms (120 bytes) to 5.2 ms (1.4 kB).",
    );
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::asynchws::parts;

    #[test]
    fn missing_data_get_no_verdict() {
        let trial = Trial::new(true);
        let results = Results::of_parts(&parts(&trial), |part| match part.rsplit_once(", ") {
            Some((_, "simulated")) => {
                json!({"job": "fib=31", "work": 1.0, "span": 0.1, "depths": [], "cells": []})
            }
            Some((_, OWN_TIMES)) => json!({"job": "fib=31", "work": 1.0, "cases": []}),
            _ => json!({"Missing": "no MPI"}),
        });
        let mut report = report(&trial, &results).unwrap();
        // This one does not depend on data.
        let untestable = "Unified Parallel C (UPC), which effectively supports non-blocking one-sided \
                          communication and facilitates the implementation";
        assert_eq!(report.statements(), [untestable]);
        report.head(&crate::asynchws::PAPER, &results);
        let text = report.text();
        assert!(text.contains("**Nothing ran on ranks**: no MPI."));
        let unmeasured = [
            "**On ranks**",
            "On two ranks,",
            "slower on two ranks",
            "artificial latency",
        ];
        assert!(
            unmeasured.iter().all(|words| !text.contains(words)),
            "{text}"
        );
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
        assert_eq!(latency(&[missing("no MPI"), done()]), Some(10.0));
        assert_eq!(latency(&[missing("no MPI")]), None);
    }

    #[test]
    fn programs_that_did_not_run_on_ranks_are_named() {
        let all = || PROGRAMS.iter();
        let none: Vec<_> = all().map(|_| missing("no MPI")).collect();
        let text = not_on_ranks(&none).unwrap();
        assert!(text.contains("**Nothing ran on ranks**: no MPI."));
        let some = all().map(|program| match program.name {
            "UTS" => missing("it failed"),
            _ => done(),
        });
        let text = not_on_ranks(&some.collect::<Vec<_>>()).unwrap();
        assert!(text.contains("**Did not run on ranks**: UTS: it failed."));
        let every: Vec<_> = all().map(|_| done()).collect();
        assert_eq!(not_on_ranks(&every), None);
    }
}
