//! The report on Figures 5 and 7: what steals cost their victims.

use super::report::{each, lines, percent};
use purloin_command::format::{grouped, time};

use super::{BARRIER_WS, BENCHMARKS, CORES, DEFAULT_WS, Data};
use crate::bench::median;
use crate::paper::report::{
    Pair, Report, Verdict, deciding, geometric_mean, mean_ratio, or_dash, with_margin,
};
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
        let loss = data.costs(place, scheduler, |costs| costs.loss_per_steal);
        match loss.is_empty() {
            true => "–".to_string(),
            false => time(median(&loss)),
        }
    };
    let rows: Vec<_> = each(|place, benchmark| {
        let (default, barrier) = (overhead(place, DEFAULT_WS), overhead(place, BARRIER_WS));
        let waking = |scheduler| {
            let waking = data.figure(place, scheduler, |costs| Some(costs.waking_cost));
            or_dash(waking, percent)
        };
        vec![
            benchmark.name.to_string(),
            or_dash(default, percent),
            or_dash(barrier, percent),
            or_dash(default.zip(barrier), |(default, barrier)| {
                reduction(default.mean, barrier.mean)
            }),
            loss(place, DEFAULT_WS),
            loss(place, BARRIER_WS),
            waking(DEFAULT_WS),
            waking(BARRIER_WS),
            benchmark
                .overhead
                .map_or("–".to_string(), |value| format!("{value} %")),
            format!("{} %", benchmark.reduction),
        ]
    });
    report.table(
        &[
            "benchmark",
            "overhead, DefaultWS",
            "overhead, ReturnBarrierWS",
            "reduction",
            "cost per steal, DefaultWS",
            "cost per steal, ReturnBarrierWS",
            "waking, DefaultWS",
            "waking, ReturnBarrierWS",
            "paper: overhead, DefaultWS",
            "paper: reduction",
        ],
        &rows,
    );
    report.paragraph(
        "Dynamic overhead is the share of processor time that victims lose to thieves. It excludes \
         the time to wake sleeping thieves, which has its own columns, because the paper's thieves never \
         sleep. Cost per steal is the time that the victim loses; it is the median over the runs. The \
         reduction compares the means of the runs.",
    );
    simulated_overheads(data, report);

    let with_waking = |name| {
        let place = BENCHMARKS
            .iter()
            .position(|benchmark| benchmark.name == name)?;
        data.figure(place, DEFAULT_WS, |costs| {
            Some(costs.dynamic_overhead + costs.waking_cost)
        })
    };
    let measured = each(|place, benchmark| Some((benchmark.name, overhead(place, DEFAULT_WS)?)));
    let (names, measured): (Vec<_>, Vec<_>) = measured.into_iter().flatten().unzip();
    if let Some((place, most)) = deciding(&measured, MAJOR) {
        report.verdict(
            "we identify victim yields as a major source of remaining overhead",
            Verdict::above(most, MAJOR),
            format!(
                "with {} workers, the victims of {} lose most: {} of the processor time (the interval is \
                 widened for {} benchmarks; paper: 11.2 % with 16 threads); a major source costs more than \
                 {:.0} %. With the time to wake thieves, which the paper does not have, they lose {}",
                data.workers,
                names[place],
                percent(most),
                names.len(),
                100.0 * MAJOR,
                or_dash(with_waking(names[place]), percent)
            ),
        );
    }
    for statement in [
        "we improve the scalability of work-stealing applications",
        "The extremely low dynamic overhead should enable increasing speedups with the increasing \
         parallelism",
        "substantially relieves work-stealing of the increasing pressure due to increasing intra-node \
         hardware parallelism",
    ] {
        let reason =
            "this machine has only two processors, and simulated steals cost their victims nothing";
        report.verdict(statement, Verdict::Untestable, reason.to_string());
    }
    growth(data, report);
    let ratios = each(|place, _| data.overheads(place));
    if let Some((verdict, reason)) = reduces_by_half(&ratios) {
        report.verdict("reduces dynamic overheads by around 50%", verdict, reason);
        report.verdict(
            "a return barrier can be used to greatly reduce this source of overhead",
            verdict,
            "see the statement before, with the same limits".to_string(),
        );
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
            "the overhead with the barrier is {} of the overhead without it (the ratios run by run, and \
             the geometric mean over {of}; around half is {least} to {most}). The paper's six reductions \
             give 0.60",
            with_margin(ratio, 2)
        ),
    ))
}

/// Judges whether victims are interrupted more often on larger machines.
fn growth(data: &Data, report: &mut Report) {
    let rate = |run: &Simulated| run.steals / run.seconds / 1e3 / f64::from(run.cores);
    let rates = data.simulated.iter().filter_map(|runs| {
        let mut parallel = runs.iter().filter(|run| run.cores > 1);
        Some([rate(parallel.next()?), rate(parallel.next_back()?)])
    });
    let rates: Vec<_> = rates.collect();
    if rates.len() < BENCHMARKS.len() {
        return;
    }
    let growing = rates.iter().filter(|[small, large]| large > small).count();
    let factors: Vec<_> = rates.iter().map(|[small, large]| large / small).collect();
    report.verdict(
        "the overheads that grow as parallelism grows",
        Verdict::confirmed_if(growing == rates.len()),
        format!(
            "in the simulation, the steals per core and ms, which stand for the overhead here, grow from {} \
             to {} cores in {growing} of {} benchmarks ({} times in the geometric mean); we require growth in \
             every benchmark",
            CORES[1],
            CORES[CORES.len() - 1],
            rates.len(),
            or_dash(geometric_mean(&factors), |factor| format!("{:.1}", factor.mean))
        ),
    );
}

/// The share of the processor time above which an overhead is major.
const MAJOR: f64 = 0.03;

/// The ratios that are around half.
const AROUND_HALF: [f64; 2] = [0.25, 0.75];

/// The picture of Figure 7.
fn simulated_overheads(data: &Data, report: &mut Report) {
    let runs = data.simulated.iter().filter_map(|runs| runs.last());
    let rates = runs.map(|run| run.steals / run.seconds / 1e3);
    let Some(most) = rates.max_by(f64::total_cmp) else {
        return;
    };
    report.paragraph(&format!(
        "The picture multiplies the simulated number of steals by the measured cost per steal. We cap this \
         cost at 1 µs, the time of a simulated steal: on this machine, a victim may wait for a thief that has \
         lost its processor. On the largest simulated machine, there are up to {} steals per ms (paper: 35), \
         and runs last milliseconds. So the values cannot be compared with the paper's.",
        grouped(most.round() as u64)
    ));
    let panel = |title: &str, scheduler: &str| Panel {
        title: title.to_string(),
        scale: Scale::Linear,
        lines: lines(data, |place, run| {
            let losses = data.costs(place, scheduler, |costs| costs.loss_per_steal);
            let losses = losses.iter().map(|loss| loss.min(SIMULATED_STEAL));
            let loss = losses.clone().sum::<f64>() / losses.count().max(1) as f64;
            100.0 * run.steals * loss / run.seconds / f64::from(run.cores)
        }),
        region: Vec::new(),
    };
    report.picture(
        "overheads",
        Picture {
            title: "Figure 7, simulated: dynamic overhead in percent".to_string(),
            horizontal: Horizontal::CORES,
            rows: vec![vec![
                panel("DefaultWS", DEFAULT_WS),
                panel("ReturnBarrierWS", BARRIER_WS),
            ]],
        },
    );
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
