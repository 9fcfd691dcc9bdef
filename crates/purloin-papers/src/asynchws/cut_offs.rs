//! Figure 8: cut-offs.

use purloin_command::format::grouped;
use purloin_measure::bench::median;
use purloin_measure::simulation::bars::{BarPanel, Bars};

use super::data::{Data, cell, on_two_ranks, row, speed_up};
use super::{
    ADAPTIVE, CHOSEN, Case, LATENCIES, NONE, PROGRAMS, Program, QUEUE, RESIDUAL, Simulated, gains,
};
use crate::report::{Report, Verdict, with_margin};
use crate::statistics::all_at_once;

/// Adds the section on Figure 8.
pub(super) fn cut_offs(data: &Data, report: &mut Report) {
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
                depth.map_or("–".to_owned(), |(_, depth)| grouped(u64::from(depth))),
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
    report.paragraph(&format!(
        "Simulated: speed-ups on 384 cores with R = 2, and the numbers of tasks that were created. *best \
         depth* is the best of the depths that we tried, chosen from the same trials, so its value may be \
         slightly too high.{} Fibonacci, Floorplan, NQueens and UTS fork in pairs, and a core runs the first \
         half at once. So a core's queue seldom holds more tasks than the tree has levels. Only in UTS does \
         the bound matter: its tree is so deep that the queue reaches 36 tasks, which then all lie near the \
         leaf that the core has reached. Thieves get small subtrees and soon have to steal again. *adaptive* \
         has the same bound, and also runs subtrees inline that are short on average. For the other three, \
         *queue* gives the result of *none*, except that it may reject a few of Fibonacci's tasks. In \
         SparseLU, a core that holds 36 ready tasks runs the next task of its loop inline, and offers \
         thieves no new task until that one ends. Strassen spawns seven tasks at a time, none of them short, \
         so only *depth* can cut off its tasks. SparseLU's tasks all have the same depth, so *depth* cannot \
         cut off any of them. Floorplan's subtrees of the same depth differ greatly. Where they are short on \
         average, *adaptive* runs all of them inline, even long ones, which no thief can take. NQueens' \
         subtrees of the same depth differ less.\n\n\
         In the paper, *adaptive* is best for Floorplan, NQueens, Strassen and UTS, and *depth* for Fibonacci; \
         SparseLU cannot use *depth*, and is about equally fast with the others. With *none*, the paper's \
         speed-ups stay below 1.4 for all programs except SparseLU, because creating a task is expensive \
         there. Here, creating a simulated task takes a few nanoseconds.",
        without_effect(&data.simulated)
    ));
    report.picture("cut-offs", picture(data));
    if on_two_ranks(data, 8, report) {
        let fibonacci = data.measured.first().and_then(|measured| {
            let row = row(measured, 8)?;
            Some(median(&cell(row, NONE)?.all_seconds) > row.one_rank_seconds?)
        });
        let fibonacci = match fibonacci.unwrap_or_default() {
            true => {
                " With *none*, Fibonacci is slower on two ranks than on one, as in the paper, because a task in \
                 the distributed queue costs more than an addition."
            }
            false => "",
        };
        report.paragraph(&format!(
            "`--cutoff paper` is the paper's rule: it queues tasks until the queue is two thirds full, and \
             then only those that take more than 2 ms on average. \
             `docs/decisions/cluster-cut-off.md` says why it can be slow here.{fibonacci}"
        ));
    }
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
                 and both steal times, 5 and 50 µs); we call a cut-off better above {}. {}. Without UTS, they \
                 run {} times as fast with *none*. The text below Figure 8 explains how *adaptive* can slow \
                 a program down",
                with_margin(none, 2),
                with_margin(queue, 2),
                with_margin(depth, 2),
                gains::MORE,
                gains::decided_by(&[none, queue, depth], &["*none*", "*queue*", "*depth*"], gains::MORE),
                without_uts.map_or("–".to_owned(), |none| with_margin(none, 2))
            ),
        );
    }
}

/// Names the depths that cut off no task, because no task is deeper.
fn without_effect(simulated: &[Simulated]) -> String {
    let deepest = |program: &Simulated| program.depths.len().saturating_sub(1);
    let cases = PROGRAMS
        .iter()
        .zip(simulated)
        .flat_map(|(program, simulated)| {
            let depths = simulated.with_depths(LATENCIES[0]).map(|(_, depth)| depth);
            let useless = depths.filter(|&depth| depth as usize >= deepest(simulated));
            useless.map(|depth| format!("{} in {}", grouped(depth.into()), program.name))
        });
    let cases: Vec<_> = cases.collect();
    match cases.is_empty() {
        true => String::new(),
        false => format!(" These depths cut off no task: {}.", cases.join(", ")),
    }
}

/// Returns the picture of Figure 8.
fn picture(data: &Data) -> Bars {
    let panel = |latency: u32| BarPanel {
        title: format!("a steal between nodes takes {latency} µs"),
        values: data
            .simulated
            .iter()
            .map(|simulated| {
                let of = |cut_off| simulated.case(latency, cut_off, RESIDUAL[CHOSEN]);
                let depth = simulated.best_depth(latency).map(|(case, _)| case);
                let cases = [of(NONE), of(QUEUE), depth, of(ADAPTIVE)];
                cases.map(|case| Some(speed_up(simulated, case?))).to_vec()
            })
            .collect(),
    };
    Bars {
        title: "Figure 8, simulated: speed-ups on 384 cores".to_owned(),
        names: PROGRAMS.iter().map(|program| program.name).collect(),
        series: [NONE, QUEUE, "best depth", ADAPTIVE]
            .map(str::to_owned)
            .into(),
        base: 0.0,
        panels: LATENCIES.map(panel).into(),
    }
}

/// The ratio of speeds from which a program is only a little slower.
const A_LITTLE: f64 = 0.75;

/// The ratios of speeds that are similar.
const SIMILAR: [f64; 2] = [0.9, 1.1];

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
                "on 384 simulated cores, their speed-ups with *none* are {:.1} to {:.1}, because a simulated \
                 task costs a few nanoseconds",
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
        let values = [adaptive, queue, none];
        let faster = Verdict::some_above(&values, gains::MORE);
        let little = Verdict::above(adaptive, A_LITTLE);
        let decided_by = match little {
            Verdict::Confirmed => {
                let names = ["*adaptive*", "*queue*", "*none*"];
                gains::decided_by(&values, &names, gains::MORE)
            }
            _ => "*adaptive* decides".to_string(),
        };
        report.verdict(
            "Fibonacci gets the best performance using tree-depth based cut-off while adaptive cut-off is a \
             little worse",
            faster
                .expect("there are three values")
                .of_the_opposite()
                .and(little),
            format!(
                "on the same machines, Fibonacci runs {} times as fast with *adaptive* as with the best depth, \
                 {} times with *queue*, and {} times with *none* (the geometric means over both steal \
                 times); a ratio above {} counts as better, and one from {A_LITTLE} to 1 as a little worse. \
                 {decided_by}",
                with_margin(adaptive, 2),
                with_margin(queue, 2),
                with_margin(none, 2),
                gains::MORE,
            ),
        );
    }
    let sparselu = relative("SparseLU", &|simulated, latency| {
        simulated.case(latency, ADAPTIVE, chosen)
    });
    if let [_, Some(queue), Some(none)] = sparselu {
        let similar = all_at_once(&[queue, none]).into_iter();
        let similar = similar.map(|value| Verdict::within(value, SIMILAR));
        report.verdict(
            "it cannot use tree-depth based cut-off and other three strategies get similar speedup",
            similar.fold(Verdict::Confirmed, Verdict::and),
            format!(
                "on the same machines, SparseLU runs {} times as fast with *queue* as with *adaptive*, and {} \
                 times with *none*; we call 0.9 to 1.1 similar",
                with_margin(queue, 2),
                with_margin(none, 2)
            ),
        );
    }
}
