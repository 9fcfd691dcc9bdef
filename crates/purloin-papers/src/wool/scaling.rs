//! The report on Figures 5 and 6: how programs scale, and where the time goes.

use purloin_measure::simulation::picture::{Horizontal, Line, Panel, Picture, Scale, Style};
use purloin_sim::Estimate;

use super::{Breakdown, Profiled, Replay, Row, SIMULATED_STEAL, Selection};
use crate::report::{Report, Verdict, or_dash, with_margin};
use crate::statistics::{all_at_once, deciding, rank_correlation};
use crate::trial::Simulated;

/// Adds the section on Figure 5.
pub(super) fn speed_ups(
    profiled: &[(&Row, Profiled)],
    simulated: &[(&Row, Replay, Replay)],
    report: &mut Report,
) {
    report.section("Figure 5: speed-ups");
    report.paragraph(
        "Measured speed-ups are relative to the serial elision. Simulated ones are relative to the stretched \
         recording, and the paper's to the parallel program with one worker. Both of these bases contain the \
         overhead of tasks. This matters only for fib (section 5.2 of the paper). \
         Measured speed-ups are for the inputs of Table 1, and simulated ones for the \
         inputs shown here. The recordings of cholesky 2k and uts T3L do not fit into memory, so we never \
         simulate these two. The expected \
         speed-up is the paper's grey area: from work / (span + work / p) to work / max(span, work / p) for p \
         cores, with free steals. Measured speed-ups may exceed the number of workers, because other \
         programs use the processors, too, and not equally in all runs.",
    );
    let workers = profiled
        .first()
        .map_or(1, |(_, profile)| profile.breakdowns[1].workers);
    let rows: Vec<_> = simulated
        .iter()
        .map(|(row, replay, _)| {
            let measured = profiled
                .iter()
                .find(|(other, _)| std::ptr::eq(*other, *row));
            let measured = measured.map(|(_, profile)| &profile.breakdowns[1]);
            let mut cells = vec![
                row.paper.parameter.to_string(),
                or_dash(replay.runs.first(), |run| format!("`{}`", run.job)),
                or_dash(measured, |all| format!("{:.2}", all.speed_up)),
            ];
            for selection in Selection::ALL {
                let run = replay.largest(selection);
                cells.push(or_dash(run, |run| format!("{:.1}", run.speed_up())));
            }
            cells.push(or_dash(replay.largest(Selection::Set), |run| {
                let (low, high) = run.expected();
                format!("{low:.1} to {high:.1}")
            }));
            cells
        })
        .collect();
    let measured = format!("measured, {workers} workers");
    report.table(
        &[
            "program",
            "simulated input",
            &measured,
            "63 simulated cores, RAND",
            "63, SAMP",
            "63, SET",
            "63, SAMP+SET",
            "63, expected",
        ],
        &rows,
    );
    let runs = simulated
        .iter()
        .filter_map(|(row, replay, _)| Some((*row, replay.largest(Selection::Set)?)));
    let runs: Vec<_> = runs.collect();
    report.picture(
        "figure-5",
        Picture {
            title: "Figure 5, simulated: speed-up, and the expected region".to_string(),
            horizontal: Horizontal {
                title: "cores",
                scale: Scale::Linear,
            },
            style: Style::Lines,
            rows: figure5(simulated),
        },
    );
    // Times relative to those with 90 % of the lower bound. A program is near the bound if its time is at
    // most 1.
    let near_bound = |(_, run): &(&Row, &Simulated)| run.relative_to(0.9 * run.expected().0);
    // The parallelism with steals of 1,000 cycles, and the lower bound with it.
    let burdened = |row: &Row| {
        let mut rows = profiled.iter();
        let (_, profile) = rows.find(|(other, _)| std::ptr::eq(*other, row))?;
        Some(profile.parallelism[1])
    };
    let near_burdened_bound = |(row, run): &(&Row, &Simulated)| {
        let cores = f64::from(run.cores);
        let bound = cores / (1.0 + cores / burdened(row)?);
        Some(run.relative_to(0.9 * bound))
    };
    let names = |runs: &[(&Row, &Simulated)]| -> Vec<_> {
        runs.iter().map(|(row, _)| row.paper.parameter).collect()
    };
    let parallel = runs.iter().copied().filter(|(row, run)| {
        burdened(row).is_some_and(|parallelism| parallelism >= 10.0 * f64::from(run.cores))
    });
    let parallel: Vec<_> = parallel.collect();
    let times: Vec<_> = parallel.iter().filter_map(near_burdened_bound).collect();
    let speed_ups = parallel.iter().map(|(_, run)| {
        let seconds = run.all_seconds.iter();
        Estimate::new(
            &seconds
                .map(|seconds| run.work / seconds)
                .collect::<Vec<_>>(),
        )
    });
    let speed_ups: Vec<_> = speed_ups.collect();
    if let Some(((last, time), (_, best))) = deciding(&times, 1.0).zip(deciding(&speed_ups, 50.0)) {
        report.verdict(
            "excellent scalability (sometimes over 50 on 63 cores) whenever sufficient parallelism \
             exists",
            Verdict::not_above(time, 1.0).and(Verdict::above(best, 50.0)),
            format!(
                "we require that under SET, every program whose parallelism is at least ten times the number of \
                 cores ({}) reaches 90 % of the lower bound of the expected speed-up (both with steals of \
                 1,000 cycles), and that one speed-up on 63 simulated cores is above 50. {} of {} programs \
                 certainly reach the bound. The limiting one is {}, which takes {} of the time that 90 % of the \
                 bound allows; its cores steal and search for {:.0} % of the time. The best speed-up is {} \
                 (both intervals are widened for these programs)",
                names(&parallel).join(", "),
                reached(&all_at_once(&times)),
                times.len(),
                parallel[last].0.paper.parameter,
                with_margin(time, 3),
                100.0 * (1.0 - parallel[last].1.speed_up() / f64::from(parallel[last].1.cores)),
                with_margin(best, 1)
            ),
        );
    }
    let random = parallel.iter().filter_map(|(row, _)| {
        let mut replays = simulated.iter();
        let (_, replay, _) = replays.find(|(other, ..)| std::ptr::eq(*other, *row))?;
        near_burdened_bound(&(*row, replay.largest(Selection::Random)?))
    });
    let random: Vec<_> = random.collect();
    if !random.is_empty() {
        report.verdict(
            "random victim selection provides good load balancing",
            Verdict::most(&are_near(&random)),
            format!(
                "under RAND, {} of the same {} programs certainly reach 90 % of the same bound; we require \
                 more than half of them",
                reached(&random),
                random.len()
            ),
        );
    }
    if !runs.is_empty() {
        let times: Vec<_> = runs.iter().map(near_bound).collect();
        report.verdict(
            "most programs scale well, being primarily limited by available parallelism",
            Verdict::most(&are_near(&times)),
            format!(
                "under SET, {} of {} programs certainly reach 90 % of the lower bound of the expected speed-up \
                 on 63 simulated cores; we require more than half of them",
                reached(&times),
                runs.len()
            ),
        );
        only_multisort(
            &names(&runs),
            &times,
            &too_far(&runs, near_burdened_bound),
            report,
        );
    }
}

/// Judges for each time, relative to the time that a bound allows, whether a program reaches the bound.
fn are_near(times: &[Estimate]) -> Vec<Verdict> {
    let verdicts = times.iter().map(|&time| Verdict::not_above(time, 1.0));
    verdicts.collect()
}

/// Returns how many programs certainly reach the bound.
fn reached(times: &[Estimate]) -> usize {
    let verdicts = are_near(times).into_iter();
    verdicts.filter(|&near| near == Verdict::Confirmed).count()
}

/// Returns the names of the programs that are certainly below a bound.
fn too_far<'r>(
    runs: &[(&'r Row, &'r Simulated)],
    time: impl Fn(&(&'r Row, &'r Simulated)) -> Option<Estimate>,
) -> Vec<&'r str> {
    let far = runs.iter().filter(|run| {
        time(run).is_some_and(|time| Verdict::not_above(time, 1.0) == Verdict::NotHere)
    });
    far.map(|(row, _)| row.paper.parameter).collect()
}

/// Judges whether the multisorts, and no other programs, are below the bound. `far_from_other` names those that
/// are below the bound with steals of 1,000 cycles.
fn only_multisort(
    names: &[&str],
    times: &[Estimate],
    far_from_other: &[&str],
    report: &mut Report,
) {
    let near = are_near(&all_at_once(times));
    let programs = || names.iter().copied().zip(near.iter().copied());
    let far = programs().filter(|(_, near)| *near == Verdict::NotHere);
    let far: Vec<_> = far.map(|(name, _)| name).collect();
    // Whether all of these programs reach the bound.
    let all = |are_sorts: bool| {
        let these = programs().filter(|(name, _)| name.starts_with("multisort") == are_sorts);
        these.map(|(_, near)| near).reduce(Verdict::and)
    };
    let (Some(sorts), Some(others)) = (all(true), all(false)) else {
        return;
    };
    let list = |names: &[&str]| match names {
        [] => "none".to_string(),
        names => names.join(", "),
    };
    report.verdict(
        "Only multisort deviates significantly from the theoretical prediction",
        others.and(sorts.of_the_opposite()),
        format!(
            "we require that only multisorts fall below 90 % of the lower bound. These certainly fall below: \
             {}. With steals of 1,000 cycles, the bound is lower, and these certainly fall below: {}. The paper \
             explains multisort by the caches, which the simulator does not have",
            list(&far),
            list(far_from_other)
        ),
    );
}

/// Returns the panels of Figure 5.
fn figure5(simulated: &[(&Row, Replay, Replay)]) -> Vec<Vec<Panel>> {
    let panel = |row: &Row, replay: &Replay| {
        let lines = Selection::ALL.map(|selection| Line {
            name: selection.name().to_string(),
            points: replay
                .with(selection)
                .map(|run| (run.cores, run.speed_up(), 0.0))
                .collect(),
        });
        let expected = replay.with(Selection::Set).map(|run| {
            let (low, high) = run.expected();
            (run.cores, low, high)
        });
        Panel {
            title: row.paper.parameter.to_string(),
            scale: Scale::Linear,
            lines: lines.into(),
            region: expected.collect(),
        }
    };
    by_program(simulated, panel)
}

/// Returns a row of panels for each program, with granularities that increase from left to right, and a
/// row for the programs that have only one.
fn by_program(
    simulated: &[(&Row, Replay, Replay)],
    panel: impl Fn(&Row, &Replay) -> Panel,
) -> Vec<Vec<Panel>> {
    let program = |row: &Row| row.paper.parameter.split(' ').next();
    let programs = simulated.chunk_by(|(a, ..), (b, ..)| program(a) == program(b));
    let rows = programs.map(|rows| -> Vec<_> {
        let panels = rows.iter().map(|(row, replay, _)| panel(row, replay));
        panels.collect()
    });
    let (mut rows, single): (Vec<_>, Vec<_>) = rows.partition(|row| row.len() > 1);
    rows.push(single.into_iter().flatten().collect());
    rows
}

/// Adds the section on Figure 6.
pub(super) fn breakdown(
    profiled: &[(&Row, Profiled)],
    simulated: &[(&Row, Replay, Replay)],
    report: &mut Report,
) {
    report.section("Figure 6: where the time goes");
    report.paragraph(
        "The time of all workers together, divided by the application time of one worker, which neither \
         steals nor searches. In each pair, the first number is the time outside blocked joins, and the second the \
         time inside them. The simulated rows use SET, and give only the sum of the two. The simulator has no \
         caches, so the application time does not grow with the number of cores. Measured application times \
         vary because other programs use the processors, too.",
    );
    let (mut rows, mut searches) = (Vec::new(), Vec::new());
    let mut stealing_simulated: Vec<(f64, &str)> = Vec::new();
    for (row, profile) in profiled {
        let unit: f64 = profile.breakdowns[0].application.iter().sum();
        let breakdown = &profile.breakdowns[1];
        let pair = |times: [f64; 2]| format!("{:.3} + {:.3}", times[0] / unit, times[1] / unit);
        rows.push(vec![
            row.paper.parameter.to_string(),
            breakdown.workers.to_string(),
            pair(breakdown.application),
            pair(breakdown.stealing),
            pair(breakdown.searching),
        ]);
        let mut replays = simulated.iter();
        let replay = replays.find(|(other, ..)| std::ptr::eq(*other, *row));
        let replay = replay.map(|(_, replay, _)| replay);
        if let Some((replay, run)) =
            replay.and_then(|replay| Some((replay, replay.largest(Selection::Set)?)))
        {
            let [_, stealing, searching] = times_of_all(replay, run);
            let all = f64::from(run.cores) / run.speed_up();
            stealing_simulated.push((stealing / all, row.paper.parameter));
            searches.push((profile.parallelism[1], searching));
            rows.push(vec![
                row.paper.parameter.to_string(),
                format!("{} simulated", run.cores),
                "1.000".to_string(),
                format!("{stealing:.3}"),
                format!("{searching:.3}"),
            ]);
        }
    }
    report.table(
        &["program", "workers", "application", "stealing", "searching"],
        &rows,
    );
    report.picture(
        "figure-6",
        Picture {
            title: "Figure 6, simulated under SET: time of all cores, relative to the work"
                .to_string(),
            horizontal: Horizontal {
                title: "cores",
                scale: Scale::Linear,
            },
            style: Style::Areas,
            rows: figure6(simulated),
        },
    );
    let shares = profiled.iter().map(|(_, profile)| {
        let Breakdown {
            application,
            stealing,
            searching,
            ..
        } = &profile.breakdowns[1];
        let all = application.iter().chain(stealing).chain(searching);
        stealing.iter().sum::<f64>() / all.sum::<f64>()
    });
    let simulated = stealing_simulated
        .into_iter()
        .max_by(|a, b| a.0.total_cmp(&b.0));
    if let Some(measured) = shares.max_by(f64::total_cmp) {
        // The simulated share grows with the time that we assume for a steal.
        let of_hundreds = |share: f64| HUNDREDS.map(|cycles| share * cycles / SIMULATED_STEAL);
        let [least, most] = simulated.map_or([0.0; 2], |(share, _)| of_hundreds(share));
        let is_minor = |share: f64| share.max(measured) < MINOR;
        let verdict = match (is_minor(least), is_minor(most)) {
            (true, true) => Verdict::Confirmed,
            (true, false) => Verdict::Undecided,
            (false, _) => Verdict::NotHere,
        };
        let mut reason = format!(
            "with {} workers, they take at most {:.1} % of the time of all workers",
            profiled[0].1.breakdowns[1].workers,
            100.0 * measured
        );
        if let Some((share, program)) = simulated {
            let percent = 100.0 * share;
            reason.push_str(&format!(
                "; we allow {:.0} %. On 63 simulated cores, they take at most {percent:.1} % ({program}) if a \
                 steal takes the {SIMULATED_STEAL} cycles that we assume. The paper says only that a steal \
                 takes hundreds of cycles, and with {} to {} cycles the share is {:.0} to {:.0} %",
                100.0 * MINOR,
                HUNDREDS[0],
                HUNDREDS[1],
                100.0 * least,
                100.0 * most
            ));
        }
        report.verdict(
            "In all cases, the overhead of successful steals form a minor part of the execution time",
            verdict,
            reason,
        );
    }
    if let Some(correlation) = rank_correlation(&searches) {
        report.verdict(
            "large search times are correlated with insufficient parallelism",
            Verdict::confirmed_if(correlation < -0.5),
            format!(
                "on 63 simulated cores, the rank correlation of search time and parallelism (with steals \
                 of 1,000 cycles) is {correlation:.2}; we require less than -0.5"
            ),
        );
    }
}

/// The largest share of the time that is a minor part.
const MINOR: f64 = 0.1;

/// The range of what the paper calls hundreds of cycles.
const HUNDREDS: [f64; 2] = [100.0, 900.0];

/// Returns the time that the cores of a simulated machine spend on application work, on steals and on
/// searches, relative to the work.
fn times_of_all(replay: &Replay, run: &Simulated) -> [f64; 3] {
    let stealing = run.steals * SIMULATED_STEAL / replay.cycles(run.work);
    let all = f64::from(run.cores) / run.speed_up();
    [1.0, stealing, all - 1.0 - stealing]
}

/// Returns the panels of Figure 6.
fn figure6(simulated: &[(&Row, Replay, Replay)]) -> Vec<Vec<Panel>> {
    by_program(simulated, |row, replay| {
        let names = ["application", "stealing", "searching"];
        let lines = names.iter().enumerate().map(|(number, name)| Line {
            name: name.to_string(),
            points: replay
                .with(Selection::Set)
                .map(|run| (run.cores, times_of_all(replay, run)[number], 0.0))
                .collect(),
        });
        Panel {
            title: row.paper.parameter.to_string(),
            scale: Scale::Linear,
            lines: lines.collect(),
            region: Vec::new(),
        }
    })
}
