//! The report: tables, pictures and verdicts. Figures 9 and 10 are in `gains.rs`.

use std::collections::BTreeSet;

use purloin_command::Failure;
use purloin_command::format::{grouped, time};
use purloin_sim::Estimate;

use super::{
    ADAPTIVE, CHOSEN, Case, Cell, FIGURE_5, Figures, LATENCIES, Measured, NONE, PROGRAMS, Program,
    QUEUE, RESIDUAL, Row, Simulated, TABLE, gains,
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
         task that the thief begins at that moment and the ready tasks behind it are its **residual tasks**. \
         The number R limits them: with 0, a thief steals only when it is idle, and otherwise also when it \
         begins a task and has at most R residual tasks. A **cut-off** decides when a spawned task runs \
         inline. *none*: never. *depth*: if the task is deeper than a limit. *queue*: if the spawning core \
         already has three ready tasks for each core of its node. *adaptive*: in the same case, and also if \
         the task is too short to be worth stealing. Parallelism is the work divided by the span.\n\n\
         **On ranks**: `purloin-cluster figures`, the library over MPI on two ranks of this machine, \
         with an artificial latency{} on each operation on the other rank (except in Figure 5). This latency \
         lies between the paper's milliseconds and the microseconds of today's networks. *queue* allows 6 \
         ready tasks here. *adaptive* is Purloin's rule: a rank may have 512 ready tasks that take at least \
         10 µs each, but only 4 whose duration is unknown. [A decision](../decisions/cluster-cut-off.md) \
         explains the rule. Values without ± are single runs, or medians. On ranks, Floorplan and NQueens \
         spawn all branches of a node at once, and SparseLU nests its loops.\n\n\
         **Simulated**: 32 nodes of two sockets of six cores, as in the paper, so *queue* and *adaptive* \
         allow 36 ready tasks. We record the serial elision of each program. There, Floorplan and NQueens \
         fork in pairs. Simulated thieves prefer near victims and take half of a victim's tasks. The \
         simulated *adaptive* knows the exact mean duration at each depth. As in the paper, *adaptive* \
         creates a task only if it takes at least 2/4.5 of the time of a steal, and a core does not steal \
         early while its ready tasks take more than 12/4.5 of that time in total. These are the paper's 2 ms \
         and 12 ms, divided by 4.5 ms, the middle of its times of a get. The paper's threads \
         are help-first until their queue is two thirds full, and then work-first. Simulated cores run the \
         first half of a fork at once and push spawned tasks, from beginning to end. They offer all their \
         tasks, and never run a stolen task serially because it is short. Each simulated value is the mean \
         of {}; ± covers the random choices of the thieves, not the recording.\n\n\
         The paper measures 3.7 to 5.2 *milliseconds* for a get from another node, and uses this as the \
         time of a steal between nodes. Its network, QDR InfiniBand, has a latency of microseconds, so we \
         simulate steals of 5 and 50 µs between nodes. The simulated programs are shorter than the paper's: \
         Strassen and SparseLU have too little parallelism for 384 cores, and Fibonacci too little work. The \
         table of Figure 9 shows the work of a core in units of the steal time.\n\n\
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
            format!("{least} or {most} trials")
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
    latency.map_or(String::new(), |latency| {
        format!(" of {:.0} µs", 1e6 * latency)
    })
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
    report.paragraph(
        "The paper simulates this cost for 384 threads, from the depths of the programs and the numbers of \
         samples: below 2 % for local profiling, and 23.6 % on average for global profiling. We measure the \
         cost under Purloin's rule. Global profiling costs rank 0 nothing, because rank 0 holds the data, so \
         50 % is nearly the most that two ranks can lose. The share of global profiling depends on the \
         artificial latency, and falls with the length of a run, because each depth needs only a limited \
         number of samples.",
    );
    report.verdict(
        "Profiling information is collected locally to optimize task granularity and guide the \
         asynchronous work stealing",
        Verdict::confirmed_if(most < 2.0 && mean > 5.0 * most),
        format!(
            "this describes the method, and Section V.B says what it saves: “the overhead of local profiling \
             is less than 2% of the total runtime for all six applications, but global profiling is much \
             higher, 23.6% averagely”. On two ranks, local profiling costs at most {most:.2} % of the time, \
             and global profiling {mean:.1} % on average with the artificial latency; we require less than 2 \
             %, and five times as much for global"
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
    let (mut rows, mut undecided, mut slower) = (Vec::new(), 0, BTreeSet::new());
    for (program, simulated) in PROGRAMS.iter().zip(&data.simulated) {
        for latency in LATENCIES {
            let cases = RESIDUAL.map(|residual| simulated.case(latency, ADAPTIVE, residual));
            let speed_ups = cases.map(|case| case.map(|case| speed_up(simulated, case)));
            let mut row = vec![program.name.to_owned(), format!("{latency} µs")];
            let text = |value| with_margin(value, 1);
            row.extend(speed_ups.map(|value| value.map_or("–".to_owned(), text)));
            let speed_ups: Option<Vec<_>> = speed_ups.into_iter().collect();
            let best = speed_ups.map(|values| best(&values));
            if let Some(best) = &best {
                undecided += usize::from(best.len() == RESIDUAL.len());
                slower.extend((0..RESIDUAL.len()).filter(|number| !best.contains(number)));
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
    let slower = slower.iter().map(|number| format!("R = {number}"));
    report.paragraph(&format!(
        "In {undecided} of {} rows, no R is clearly slower than the fastest. Clearly slower in the other \
         rows: {}. Where values are equal, the limit for the duration of ready tasks decides when a core \
         steals early, not R. For Fibonacci and SparseLU, the paper finds R = 0 best; the text below Figure \
         9 says what is different here.",
        rows.len(),
        slower.collect::<Vec<_>>().join(", ")
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
    report.paragraph(
        "With small matrices, SparseLU and Strassen are slow on two ranks, because each access to a block of \
         the other rank takes the artificial latency.",
    );
    sensitivity(data, report);
}

/// Judges whether the number of residual tasks matters, and whether 2 is a good one.
fn sensitivity(data: &Data, report: &mut Report) {
    let (mut matters, mut is_good) = (Vec::new(), Vec::new());
    for program in &PROGRAMS {
        let gain = |from: &'static str, to: &'static str| {
            gains::gain_of(data, program.name, [(ADAPTIVE, from), (ADAPTIVE, to)])
        };
        let (none, chosen) = (RESIDUAL[0], RESIDUAL[CHOSEN]);
        let others = |number| RESIDUAL.into_iter().filter(move |&other| other != number);
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
            "on 384 simulated cores, {} of the {} programs clearly depend on R: with some R, they run more \
             than {more} times as fast or as slow as with R = 0. For {}, every R is clearly within this \
             limit. The verdict needs more than half of the programs",
            count(&matters, Verdict::Confirmed),
            PROGRAMS.len(),
            count(&matters, Verdict::NotHere),
        ),
    );
    report.verdict(
        "the residual tasks number is configured to 2 because most applications can get the optimal or \
         sub-optimal performance",
        Verdict::most(&is_good),
        format!(
            "on the same machines, R = 2 is clearly good enough for {} of the programs: no other R makes \
             them more than {more} times as fast. For {}, some R clearly does. The verdict needs more than \
             half of the programs",
            count(&is_good, Verdict::Confirmed),
            count(&is_good, Verdict::NotHere),
        ),
    );
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
                        "{} ({})",
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
        "Simulated: speed-ups on 384 cores with R = 2, and the numbers of tasks that were created. *best \
         depth* is the best of up to four depths, chosen from the same trials, so its value is slightly too \
         high. Fibonacci, Floorplan, NQueens and UTS fork in pairs, and a core runs the first half at once. \
         So a core's queue never holds more tasks than the tree has levels. Only UTS's tree is so deep that \
         the queue reaches 36 tasks, which then all lie near the leaf that the core has reached: thieves get \
         small subtrees and soon have to steal again. *adaptive* has the same bound. For the other three, \
         *queue* gives the result of *none*. In SparseLU, a core that holds 36 ready tasks runs the next \
         task of its loop inline. Strassen spawns seven tasks at a time, none of them short, so only *depth* \
         can cut off its tasks. SparseLU's tasks all have the same depth, so *depth* cannot cut off any of \
         them.\n\n\
         In the paper, *adaptive* is best for Floorplan, NQueens, Strassen and UTS, and *depth* for Fibonacci; \
         SparseLU cannot use *depth*, and is about equally fast with the others. With *none*, the paper's \
         speed-ups stay below 1.4 for all programs except SparseLU, because creating a task is expensive \
         there. Here, creating a task takes a few nanoseconds.",
    );

    on_two_ranks(data, 8, report);
    report.paragraph(
        "`--cutoff paper` is the paper's rule: it queues tasks until the queue is two thirds full, and then \
         only those that take more than 2 ms on average.",
    );
    other_cut_offs(data, report);
    let relative = |to: &dyn for<'s> Fn(&'s Simulated, u32) -> Option<&'s Case>| {
        gains::mean_gain(data, Program::has_gain, |simulated, latency| {
            let adaptive = simulated.case(latency, ADAPTIVE, RESIDUAL[CHOSEN])?;
            Some((&adaptive.seconds, &to(simulated, latency)?.seconds))
        })
    };
    let others = [
        relative(&|simulated, latency| simulated.case(latency, NONE, RESIDUAL[CHOSEN])),
        relative(&|simulated, latency| simulated.case(latency, QUEUE, RESIDUAL[CHOSEN])),
        relative(&|simulated, latency| simulated.best_depth(latency).map(|(case, _)| case)),
    ];
    let without_uts = gains::mean_gain(
        data,
        |program| program.has_gain() && program.name != "UTS",
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
                 and both steal times, 5 and 50 µs); we call a cut-off better above {}. Without UTS, they \
                 run {} times as fast with *none*. The text below Figure 8 explains why UTS is slow with \
                 *adaptive*",
                with_margin(none, 2),
                with_margin(queue, 2),
                with_margin(depth, 2),
                gains::MORE,
                without_uts.map_or("–".to_owned(), |none| with_margin(none, 2))
            ),
        );
    }
}

/// Judges what the paper says about the other cut-offs, except that *adaptive* is the best.
fn other_cut_offs(data: &Data, report: &mut Report) {
    let chosen = RESIDUAL[CHOSEN];
    let fine = || {
        let programs = PROGRAMS.iter().zip(&data.simulated);
        programs.filter(|(program, _)| program.name != "SparseLU")
    };
    let none = fine().flat_map(|(_, simulated)| {
        LATENCIES.map(|latency| {
            let case = simulated.case(latency, NONE, chosen)?;
            Some(speed_up(simulated, case))
        })
    });
    if let Some(none) = none.collect::<Option<Vec<_>>>() {
        let fast = Verdict::some_above(&none, 1.4).expect("there are several programs");
        let means = || none.iter().map(|speed_up| speed_up.mean);
        report.verdict(
            "When there is no cut-off all the applications except for SparseLU get speedup less than 1.4",
            fast.of_the_opposite(),
            format!(
                "on 384 simulated cores, their speed-ups with *none* are {:.1} to {:.1}, because a task costs \
                 a few nanoseconds",
                means().fold(f64::INFINITY, f64::min),
                means().fold(0.0, f64::max),
            ),
        );
    }
    let relative = |name: &str, to: &dyn for<'s> Fn(&'s Simulated, u32) -> Option<&'s Case>| {
        [ADAPTIVE, QUEUE, NONE].map(|cut_off| {
            let is_meant = |program: &Program| program.name == name;
            gains::mean_gain(data, is_meant, |simulated, latency| {
                let base = to(simulated, latency)?;
                Some((
                    &base.seconds,
                    &simulated.case(latency, cut_off, chosen)?.seconds,
                ))
            })
        })
    };
    let fibonacci = relative("Fibonacci", &|simulated, latency| {
        simulated.best_depth(latency).map(|(case, _)| case)
    });
    if let [Some(adaptive), Some(queue), Some(none)] = fibonacci {
        let faster = Verdict::some_above(&[adaptive, queue, none], gains::MORE);
        report.verdict(
            "Fibonacci gets the best performance using tree-depth based cut-off while adaptive cut-off is a \
             little worse",
            faster.expect("there are three values").of_the_opposite(),
            format!(
                "on the same machines, Fibonacci runs {} times as fast with *adaptive* as with the best depth, \
                 {} times with *queue*, and {} times with *none* (the geometric means over both steal \
                 times); we call a cut-off better above {}",
                with_margin(adaptive, 2),
                with_margin(queue, 2),
                with_margin(none, 2),
                gains::MORE
            ),
        );
    }
    let sparselu = relative("SparseLU", &|simulated, latency| {
        simulated.case(latency, ADAPTIVE, chosen)
    });
    if let [_, Some(queue), Some(none)] = sparselu {
        let differs = Verdict::some_above(&[queue, none], 1.1);
        report.verdict(
            "it cannot use tree-depth based cut-off and other three strategies get similar speedup",
            differs.expect("there are two values").of_the_opposite(),
            format!(
                "on the same machines, SparseLU runs {} times as fast with *queue* as with *adaptive*, and {} \
                 times with *none*; more than 1.1 is not similar",
                with_margin(queue, 2),
                with_margin(none, 2)
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
        // This one does not depend on data.
        let untestable = "Unified Parallel C (UPC), which effectively supports non-blocking one-sided \
                          communication and facilitates the implementation";
        assert_eq!(report.statements(), [untestable]);
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
        assert_eq!(latency(&[missing("no MPI"), done()]), " of 10 µs");
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
