//! The report on Figures 5 and 7: what steals cost their victims.

use super::report::{each, lines, percent};
use purloin_sim::Estimate;

use super::{BARRIER_WS, BENCHMARKS, DEFAULT_WS, Data};
use crate::paper::report::{Pair, Report, Verdict, deciding, mean_ratio, or_dash, with_margin};
use crate::paper::trial::Simulated;
use crate::simulation::picture::{Horizontal, Panel, Picture, Scale};

/// The time of a simulated steal, in seconds.
const SIMULATED_STEAL: f64 = 1e-6;

/// Figures 5 and 7.
pub(super) fn overheads(data: &Data, report: &mut Report) {
    report.section("Figures 5 and 7: dynamic overhead, without and with the barrier");
    let overhead =
        |place, scheduler| data.figure(place, scheduler, |costs| Some(costs.dynamic_overhead));
    let loss = |place, scheduler| {
        let loss = data.figure(place, scheduler, |costs| costs.loss_per_steal);
        or_dash(loss, |loss| format!("{:.0} ns", loss.mean * 1e9))
    };
    let rows: Vec<_> = each(|place, benchmark| {
        let (default, barrier) = (overhead(place, DEFAULT_WS), overhead(place, BARRIER_WS));
        let waking = data.figure(place, BARRIER_WS, |costs| Some(costs.waking_cost));
        vec![
            benchmark.name.to_string(),
            or_dash(default, percent),
            or_dash(barrier, percent),
            or_dash(default.zip(barrier), |(default, barrier)| {
                reduction(default.mean, barrier.mean)
            }),
            loss(place, DEFAULT_WS),
            loss(place, BARRIER_WS),
            or_dash(waking, percent),
            benchmark
                .overhead
                .map_or("–".to_string(), |value| format!("{value} %")),
            format!("{} %", benchmark.reduction),
        ]
    });
    report.table(
        &[
            "benchmark",
            "DefaultWS",
            "ReturnBarrierWS",
            "less by",
            "a steal costs its victim, DefaultWS",
            "ReturnBarrierWS",
            "waking thieves, ReturnBarrierWS",
            "paper: DefaultWS",
            "paper: less by",
        ],
        &rows,
    );
    report.paragraph(
        "Dynamic overhead is the share of processor time that victims lose to thieves. It excludes \
         the time to wake sleeping thieves, shown in a separate column, because the paper's thieves \
         never sleep.",
    );
    if let Some(losses) = Losses::measured(data) {
        simulated_overheads(data, losses, report);
        let largest: Vec<_> = each(|place, _| overhead(place, DEFAULT_WS));
        let largest = largest.into_iter().flatten().map(|overhead| overhead.mean);
        judge_simulated(data, losses, largest.fold(0.0, f64::max), report);
    }
    let ratios = each(|place, _| data.overheads(place));
    if let Some((verdict, reason)) = reduces_by_half(&ratios) {
        report.verdict("reduces dynamic overheads by around 50%", verdict, reason);
    }
    report.verdict(
        "the dynamic overhead is dominated by introspection of the victim's stack",
        Verdict::Untestable,
        "Purloin's thieves do not walk a stack, because each slot holds the task's closure. The victim \
         loses time only while it waits until the thief has the task"
            .to_string(),
    );
}

/// Judges whether the overheads with the barrier are around half of those without: from the overheads
/// of each benchmark with and without it, run by run. Benchmarks without overhead under one of the
/// systems have no share of it.
fn reduces_by_half(overheads: &[[Vec<f64>; 2]]) -> Option<(Verdict, String)> {
    let has_overhead = |[barrier, default]: &&[Vec<f64>; 2]| {
        let all = barrier.iter().chain(default);
        !barrier.is_empty() && !default.is_empty() && all.into_iter().all(|&share| share > 0.0)
    };
    let pairs = overheads.iter().filter(has_overhead);
    let pairs: Vec<Pair> = pairs
        .map(|[barrier, default]| (&barrier[..], &default[..]))
        .collect();
    let ratio = mean_ratio(&pairs)?;
    let of = match pairs.len() == BENCHMARKS.len() {
        true => "the benchmarks".to_string(),
        false => format!(
            "{} of {} benchmarks; the others had runs without overhead",
            pairs.len(),
            BENCHMARKS.len()
        ),
    };
    let [least, most] = AROUND_HALF;
    Some((
        Verdict::within(ratio, AROUND_HALF),
        format!(
            "the overhead with the barrier is {} of the overhead without it (the geometric mean over \
             {of}; around half is {least} to {most})",
            with_margin(ratio, 2)
        ),
    ))
}

/// The ratios that are around half.
const AROUND_HALF: [f64; 2] = [0.25, 0.75];

/// The cost of a steal for its victim in the simulations, in seconds.
#[derive(Clone, Copy)]
struct Losses {
    default: Estimate,
    barrier: Estimate,
}

impl Losses {
    /// Returns the measured costs of steals, but at most the time of a simulated steal, if anything was
    /// stolen under both systems.
    fn measured(data: &Data) -> Option<Losses> {
        Some(Losses {
            default: data.loss(DEFAULT_WS, SIMULATED_STEAL)?,
            barrier: data.loss(BARRIER_WS, SIMULATED_STEAL)?,
        })
    }

    /// Returns what the barrier saves.
    fn saved(self) -> Estimate {
        let Losses { default, barrier } = self;
        Estimate {
            mean: default.mean - barrier.mean,
            margin: default.margin.hypot(barrier.margin),
        }
    }
}

/// The picture of Figure 7.
fn simulated_overheads(data: &Data, losses: Losses, report: &mut Report) {
    report.paragraph(&format!(
        "The picture multiplies the simulated number of steals by the cost of a steal for its victim: \
         {} ns under DefaultWS and {} ns under ReturnBarrierWS. These are the means over the benchmarks \
         with steals. Each cost is limited to a microsecond, the time of a simulated steal: on a machine \
         with few processors, a victim may wait in vain for a thief that has lost its processor. The \
         limit understates what the barrier saves.",
        nanoseconds(losses.default),
        nanoseconds(losses.barrier)
    ));
    let panel = |title: &str, loss| Panel {
        title: title.to_string(),
        scale: Scale::Linear,
        lines: lines(data, |_, run| 100.0 * simulated_overhead(loss, run).mean),
        region: Vec::new(),
    };
    report.picture(
        "overheads",
        Picture {
            title: "Figure 7, simulated: dynamic overhead in percent".to_string(),
            horizontal: Horizontal::CORES,
            panels: vec![
                panel("DefaultWS", losses.default),
                panel("ReturnBarrierWS", losses.barrier),
            ],
        },
    );
}

fn nanoseconds(time: Estimate) -> String {
    let Estimate { mean, margin } = time;
    let time = Estimate {
        mean: 1e9 * mean,
        margin: 1e9 * margin,
    };
    with_margin(time, 0)
}

/// Judges the statements on the weight of the overhead by the largest simulated machine. `measured` is
/// the largest overhead with the workers of this one.
fn judge_simulated(data: &Data, losses: Losses, measured: f64, report: &mut Report) {
    let runs = || data.simulated.iter().filter_map(|runs| runs.last());
    let Some(cores) = runs().map(|run| run.cores).max() else {
        return;
    };
    let shares = |loss: Estimate| -> Vec<Estimate> {
        let shares = runs().map(|run| simulated_overhead(loss, run));
        shares.collect()
    };
    for (statement, loss, what, required) in [
        (
            "we identify victim yields as a major source of remaining overhead",
            losses.default,
            "victims lose at most",
            0.03,
        ),
        (
            "we improve the scalability of work-stealing applications",
            losses.saved(),
            "the barrier saves at most",
            0.01,
        ),
    ] {
        let shares = shares(loss);
        let Some((_, most)) = deciding(&shares, required) else {
            return;
        };
        report.verdict(
            statement,
            Verdict::above(most, required),
            format!(
                "on {cores} simulated cores, {what} {} of the processor time of a benchmark; we \
                 require {:.0} % (paper, 16 threads: victims lose up to 11.2 %; here, with {} workers: \
                 {:.2} %)",
                percent(most),
                100.0 * required,
                data.workers,
                100.0 * measured
            ),
        );
    }
}

/// Returns the share of the simulated processor time that victims lose, if they lose this time at
/// each steal.
fn simulated_overhead(loss: Estimate, run: &Simulated) -> Estimate {
    let rate = Estimate::of_ratio(&run.all_steals, &run.all_seconds);
    let mean = rate.mean * loss.mean / f64::from(run.cores);
    let relative = |value: Estimate| match value.margin {
        0.0 => 0.0,
        margin => margin / value.mean,
    };
    Estimate {
        mean,
        margin: mean * relative(rate).hypot(relative(loss)),
    }
}

fn reduction(before: f64, after: f64) -> String {
    match before > 0.0 {
        true => format!("{:.0} %", 100.0 * (1.0 - after / before)),
        false => "–".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_around_half_confirms_that_the_overhead_is_halved() {
        let judge = |ratios: [f64; 2]| {
            let overheads = BENCHMARKS.iter().map(|_| [ratios.to_vec(), vec![1.0; 2]]);
            reduces_by_half(&overheads.collect::<Vec<_>>()).unwrap().0
        };
        assert_eq!(judge([0.5, 0.51]), Verdict::Confirmed);
        assert_eq!(judge([0.06, 0.061]), Verdict::NotHere);
        assert_eq!(judge([0.9, 0.91]), Verdict::NotHere);
        assert_eq!(judge([0.05, 0.62]), Verdict::Undecided);
    }

    #[test]
    fn benchmarks_without_overhead_are_not_in_the_mean_and_the_reason_says_so() {
        let half = || [vec![0.5; 2], vec![1.0; 2]];
        let (_, reason) =
            reduces_by_half(&[half(), [vec![0.0, 0.5], vec![1.0; 2]], [vec![], vec![]]]).unwrap();
        assert!(reason.contains("1 of 6 benchmarks"), "{reason}");
        assert!(reduces_by_half(&[[vec![0.0; 2], vec![1.0; 2]]]).is_none());
    }
}
