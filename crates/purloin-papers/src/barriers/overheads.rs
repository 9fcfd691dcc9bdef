//! The report on Figures 5 and 7: what steals cost their victims.

use purloin_command::format::time;
use purloin_measure::bench::median;
use purloin_sim::Estimate;

use super::shared::{NOTHING_TO_HIDE, bars, each, in_percent, mean_remaining, percent, picture};
use super::{BARRIER_WS, BENCHMARKS, CORES, DEFAULT_WS, Data, OUTLIERS, SYSTEMS, larger_machines};
use crate::report::{Report, Verdict, or_dash, with_margin};
use crate::statistics::{all_at_once, deciding, geometric_mean, rank_correlation};
use crate::trial::Simulated;

/// Adds the section on Figures 5 and 7.
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
            or_dash(remaining(data, place), |remaining| {
                let reduction = Estimate::exact(1.0).minus(remaining);
                format!("{} %", with_margin(in_percent(reduction), 0))
            }),
            loss(place, DEFAULT_WS),
            loss(place, BARRIER_WS),
            waking(DEFAULT_WS),
            waking(BARRIER_WS),
            benchmark.overhead.to_string(),
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
        "Dynamic overhead is the share of processor time that victims lose to thieves: victims offer tasks, \
         wait for the thief (DefaultWS), and find out that a task was stolen. It excludes the time to wake \
         sleeping thieves, which has its own columns, because the paper's thieves never sleep. Waking a \
         thief is a system call. Its share differs from run to run, because the thief falls asleep when it \
         finds nothing. *Cost per steal* is the time that a victim loses per steal; the \
         table gives the median over the runs, which the simulations use, too. The reduction compares the \
         means of the runs.",
    );
    let panel = bars("% of the processor time", |place| {
        [DEFAULT_WS, BARRIER_WS]
            .map(|scheduler| overhead(place, scheduler).map(in_percent))
            .into()
    });
    report.picture(
        "figure-5",
        picture(
            "Figure 5, measured: dynamic overhead",
            &SYSTEMS,
            0.0,
            vec![panel],
        ),
    );
    larger_machines::overheads(data, report);

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
    if let Some((place, most)) = deciding(&measured, 0.0) {
        report.verdict(
            "we identify victim yields as a major source of remaining overhead",
            Verdict::Untestable,
            format!(
                "{NOTHING_TO_HIDE}, and the yield of a paper's victim lasts as long as these. For comparison: \
                 with {} workers, the victims of {} lose most, {} of the processor time (the interval is \
                 widened for {} benchmarks; paper: 11.2 % with 16 threads). With the time to wake thieves, which the paper does not have, they lose {} (interval \
                 not widened). On larger simulated machines, steals are more frequent (Figures 3 and 4). The \
                 simulations use the cost of a steal with {0} workers, so they do not show whether a steal \
                 costs more with more workers",
                data.workers,
                names[place],
                percent(most),
                names.len(),
                or_dash(with_waking(names[place]), percent)
            ),
        );
    }
    growth(data, report);
    let ratios = each(|place, _| data.overheads(place));
    if let Some(reason) = measured_reduction(&ratios) {
        report.verdict(
            "reduce the dynamic overhead by approximately half",
            Verdict::Untestable,
            reason,
        );
        report.verdict(
            "a return barrier can be used to greatly reduce this source of overhead",
            Verdict::Untestable,
            "see the previous statement".to_string(),
        );
    }
    one_by_one(data, report);
    report.verdict(
        "the dynamic overhead is dominated by introspection of the victim's stack",
        Verdict::Untestable,
        "Purloin's thieves do not walk a stack, because each slot holds the task's closure. The text above \
         Figure 5 explains where a victim's time goes"
            .to_string(),
    );
}

/// Judges whether the overheads with the barrier are around half of those without: from the overheads
/// of each benchmark with and without it, run by run. Benchmarks without overhead under one of the
/// systems have no share of it.
fn measured_reduction(overheads: &[[Vec<f64>; 2]]) -> Option<String> {
    let (ratio, benchmarks) = mean_remaining(overheads)?;
    let of = match benchmarks == BENCHMARKS.len() {
        true => "benchmarks".to_string(),
        false => format!(
            "{benchmarks} of {} benchmarks; the others had runs without overhead",
            BENCHMARKS.len()
        ),
    };
    Some(format!(
        "{NOTHING_TO_HIDE}. For comparison: the overhead with the barrier is {} of the overhead without it (the \
         geometric mean over runs and {of}). In the paper, 0.60 remains",
        with_margin(ratio, 2)
    ))
}

/// Returns which part of a benchmark's overhead remains with the barrier.
fn remaining(data: &Data, place: usize) -> Option<Estimate> {
    let [barrier, default] = data.overheads(place);
    let is_known = barrier.len() == default.len() && default.iter().sum::<f64>() > 0.0;
    is_known.then(|| Estimate::of_ratio(&barrier, &default))
}

/// Judges what the paper says about the overheads of the benchmarks one by one.
fn one_by_one(data: &Data, report: &mut Report) {
    let remaining = each(|place, benchmark| {
        let remaining = remaining(data, place).filter(|_| !OUTLIERS.contains(&benchmark.name));
        Some((benchmark.name, remaining?))
    });
    let (names, remaining): (Vec<_>, Vec<_>) = remaining.into_iter().flatten().unzip();
    // The benchmark that decides is the one with the largest remaining part.
    if let Some((place, most)) = deciding(&remaining, 1.0) {
        report.verdict(
            "consistently reduces the dynamic overhead in all other benchmarks",
            Verdict::Untestable,
            format!(
                "{NOTHING_TO_HIDE}. For comparison: the benchmark in which most of the overhead remains is {}. \
                 With the barrier, its overhead is {} of that without it (the interval is widened for {} \
                 benchmarks; like the paper, we exclude {})",
                names[place],
                with_margin(most, 2),
                names.len(),
                OUTLIERS.join(" and ")
            ),
        );
    }
    let values = each(|place, _| {
        let rate = data.figure(place, DEFAULT_WS, |costs| Some(costs.steal_rate))?;
        let overhead = data.figure(place, DEFAULT_WS, |costs| Some(costs.dynamic_overhead))?;
        Some((rate.mean, overhead.mean))
    });
    let pairs: Vec<_> = values.into_iter().flatten().collect();
    let correlation = rank_correlation(&pairs).filter(|_| pairs.len() == BENCHMARKS.len());
    if let Some(correlation) = correlation {
        report.verdict(
            "higher steal rates correlate with higher overheads",
            Verdict::confirmed_if(correlation > CORRELATED - 0.001),
            format!(
                "Spearman's rank correlation of the steal rates and overheads of the benchmarks, under \
                 DefaultWS with {} workers, is {correlation:.2}; values of at least {CORRELATED} are \
                 significant (one-sided, 5 %). The overhead is the steal rate times the cost per steal, and the \
                 costs differ much less than the rates, so the result is to be expected",
                data.workers
            ),
        );
    }
}

/// The least rank correlation of six pairs that is significant (one-sided, 5 %): 29/35, rounded up.
const CORRELATED: f64 = 0.829;

/// Judges whether victims are interrupted more often on larger machines.
fn growth(data: &Data, report: &mut Report) {
    let rates = |run: &Simulated| -> Vec<f64> {
        let trials = run.all_steals.iter().zip(&run.all_seconds);
        let rates = trials.map(|(steals, seconds)| steals / seconds / f64::from(run.cores));
        rates.collect()
    };
    let factors = data.simulated.iter().filter_map(|[default, _]| {
        let mut parallel = default.runs.iter().filter(|run| run.cores > 1);
        let (small, large) = (rates(parallel.next()?), rates(parallel.next_back()?));
        (small.iter().sum::<f64>() > 0.0).then(|| Estimate::of_ratio(&large, &small))
    });
    let factors: Vec<_> = factors.collect();
    if factors.len() < BENCHMARKS.len() {
        return;
    }
    let growing = all_at_once(&factors)
        .into_iter()
        .filter(|&factor| Verdict::above(factor, 1.0) == Verdict::Confirmed);
    let means: Vec<_> = factors.iter().map(|factor| factor.mean).collect();
    report.verdict(
        "the overheads that grow as parallelism grows",
        Verdict::Untestable,
        format!(
            "the simulation takes the cost of a steal as the same on all machines, and each program has the \
             same input, so its overheads grow by construction if steals become more frequent. For comparison: \
             the steals per core and ms grow from {} to {} cores in {} of {} benchmarks ({} times in the \
             geometric mean)",
            CORES[1],
            CORES[CORES.len() - 1],
            growing.count(),
            factors.len(),
            or_dash(geometric_mean(&means), |factor| format!("{:.1}", factor.mean))
        ),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn benchmarks_without_overhead_are_not_in_the_mean_and_the_reason_says_so() {
        let half = || [vec![0.5; 2], vec![1.0; 2]];
        let others = [[vec![0.0, 0.5], vec![1.0; 2]], [vec![], vec![]]];
        let [with_zero, without_runs] = others;
        let reason = measured_reduction(&[half(), with_zero, without_runs]).unwrap();
        assert!(reason.contains("1 of 6 benchmarks"), "{reason}");
        assert!(measured_reduction(&[[vec![0.0; 2], vec![1.0; 2]]]).is_none());
    }
}
