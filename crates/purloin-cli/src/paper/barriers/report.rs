//! The report: tables, pictures and verdicts.

use purloin_command::Failure;
use purloin_sim::Estimate;

use super::{BARRIER_WS, BENCHMARKS, Benchmark, DEFAULT_WS, Data, FORKJOIN, PURLOIN};
use crate::paper::Results;
use crate::paper::report::{Pair, Report, Verdict, clearest, mean_ratio, with_margin};
use crate::paper::trial::{Simulated, Trial};
use crate::simulation::picture::{Horizontal, Line, Panel, Picture, Scale};

/// The time of a simulated steal, in seconds.
const SIMULATED_STEAL: f64 = 1e-6;

pub fn report(trial: &Trial, results: &Results) -> Result<Report, Failure> {
    let data = Data::read(trial, results)?;
    let mut report = Report::default();
    report.section("Names and methods");
    report.paragraph(&format!(
        "**DefaultWS** is `{DEFAULT_WS}`: a thief asks its victim, and the victim offers one task and \
         waits until the thief has it. **ReturnBarrierWS** is `{BARRIER_WS}`: the victim makes up to \
         32 tasks public and goes on, and thieves take the others for free. **Purloin** is \
         `{PURLOIN}`, in which a thief may also take a task by force from a victim that does not \
         answer for 30 µs. In the paper the thief walks the victim's stack, and moves a \
         continuation. Here it moves a closure that lies ready in a slot, so there is no stack to \
         walk: what is compared is the interruption itself. Jacobi and LUD join halves and quadrants \
         recursively, and Barnes-Hut divides space without a cut-off, as in the paper. Under Java's \
         ForkJoinPool they have loops and a cut-off, so there the comparison is with ReturnBarrierWS in \
         the same form.\n\n\
         Measured values are those of {} workers, with 95 % confidence intervals (Student's t) over \
         the runs. The paper's are those of 16 threads on two Xeon E5-2450. For 4 to 16 cores we \
         simulate: the serial elision of each benchmark is recorded, and thieves on cores that share \
         memory steal its tasks, each in a microsecond.",
        data.workers
    ));
    steals(&data, &mut report);
    overheads(&data, &mut report);
    barrier(&data, &mut report);
    times(&data, &mut report);
    Ok(report)
}

/// Figures 3, 4 and 8.
fn steals(data: &Data, report: &mut Report) {
    report.section("Figures 3, 4 and 8: steal ratio, steal rate and number of steals");
    let rows: Vec<_> = each(|place, benchmark| {
        let steals = |scheduler| {
            data.cell(place, scheduler, data.workers)
                .map_or(0.0, |cell| cell.steals as f64)
        };
        let ratio = data.figure(place, DEFAULT_WS, |costs| costs.steal_ratio);
        let rate = |scheduler| data.figure(place, scheduler, |costs| Some(costs.steal_rate));
        vec![
            benchmark.name.to_string(),
            or_dash(ratio, |ratio| format!("{:.2e}", ratio.mean)),
            or_dash(rate(DEFAULT_WS), |rate| with_margin(rate, 2)),
            or_dash(rate(BARRIER_WS), |rate| with_margin(rate, 2)),
            relative(steals(BARRIER_WS), steals(DEFAULT_WS)),
        ]
    });
    report.table(
        &[
            "benchmark",
            "steals / tasks, DefaultWS",
            "steals/ms, DefaultWS",
            "steals/ms, ReturnBarrierWS",
            "steals, ReturnBarrierWS / DefaultWS",
        ],
        &rows,
    );
    report.paragraph(
        "The paper: with 16 threads Jacobi has the lowest steal ratio, 0.0004, and the highest steal \
         rate, 35 per ms. The number of steals is about the same in both systems, but for CilkSort \
         (15 % fewer with the barrier).",
    );
    let panel = |title: &str, value: fn(&Simulated) -> f64| Panel {
        title: title.to_string(),
        scale: Scale::Logarithmic,
        lines: lines(data, |_, run| value(run)),
        region: Vec::new(),
    };
    report.picture(
        "steals",
        Picture {
            title: "Figures 3 and 4, simulated".to_string(),
            horizontal: Horizontal::CORES,
            panels: vec![
                panel("steals / tasks", |run| run.steals / run.tasks as f64),
                panel("steals per ms", |run| run.steals / run.seconds / 1e3),
            ],
        },
    );
}

/// Figures 5 and 7.
fn overheads(data: &Data, report: &mut Report) {
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
    if let Some(losses) = losses(data) {
        simulated_overheads(data, losses, report);
    }

    let largest: Vec<_> = each(|place, _| overhead(place, DEFAULT_WS));
    let largest: Vec<_> = largest.into_iter().flatten().collect();
    if let Some(verdict) = Verdict::some_above(&largest, 0.03) {
        let most = largest.iter().map(|overhead| overhead.mean);
        report.verdict(
            "we identify victim yields as a major source of remaining overhead",
            verdict,
            format!(
                "with {} workers victims lose at most {:.2} % of the processor time (paper: 11.2 % \
                 with 16 threads)",
                data.workers,
                100.0 * most.fold(0.0, f64::max)
            ),
        );
    }
    let ratios = each(|place, _| data.overheads(place));
    if let Some((verdict, reason)) = reduces_by_half(&ratios) {
        report.verdict("reduces dynamic overheads by around 50%", verdict, reason);
    }
    report.verdict(
        "the dynamic overhead is dominated by introspection of the victim's stack",
        Verdict::NotHere,
        "the claim does not apply. Purloin's thieves do not walk a stack, because each slot holds \
         the task's closure. The victim loses time only while it waits until the thief has the task"
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
    let (low, high) = (ratio.mean - ratio.margin, ratio.mean + ratio.margin);
    let verdict = match AROUND_HALF {
        [least, most] if low > least && high < most => Verdict::Confirmed,
        [least, most] if low >= most || high <= least => Verdict::NotHere,
        _ => Verdict::Undecided,
    };
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
        verdict,
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
    default: f64,
    barrier: f64,
}

/// Returns the measured costs of steals, but at most the time of a simulated steal, if anything was
/// stolen under both systems.
fn losses(data: &Data) -> Option<Losses> {
    Some(Losses {
        default: data.loss(DEFAULT_WS)?.min(SIMULATED_STEAL),
        barrier: data.loss(BARRIER_WS)?.min(SIMULATED_STEAL),
    })
}

/// The picture of Figure 7.
fn simulated_overheads(data: &Data, losses: Losses, report: &mut Report) {
    report.paragraph(&format!(
        "The picture multiplies the simulated number of steals by the cost of a steal for its victim: \
         {:.0} ns under DefaultWS and {:.0} ns under ReturnBarrierWS. These are the medians over the \
         benchmarks with steals, as a single benchmark may have only a few. They are limited to a \
         microsecond, the time of a simulated steal: on a machine with few processors, a victim may \
         wait in vain for a thief that has fallen asleep.",
        1e9 * losses.default,
        1e9 * losses.barrier
    ));
    let panel = |title: &str, loss: f64| Panel {
        title: title.to_string(),
        scale: Scale::Linear,
        lines: lines(data, |_, run| 100.0 * simulated_overhead(loss, run)),
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

/// Figures 9 and 10.
fn barrier(data: &Data, report: &mut Report) {
    report.section("Figures 9 and 10: the barrier's own cost, and free steals");
    let free = |place| data.figure(place, BARRIER_WS, |costs| costs.free_steal_share);
    let rows: Vec<_> = each(|place, benchmark| {
        let cost = data.figure(place, BARRIER_WS, |costs| Some(costs.barrier_cost));
        vec![
            benchmark.name.to_string(),
            or_dash(cost, percent),
            or_dash(free(place), percent),
            format!("{} %", benchmark.free),
        ]
    });
    report.table(
        &[
            "benchmark",
            "cost of the barrier",
            "free steals",
            "paper: free steals",
        ],
        &rows,
    );
    report.paragraph(
        "In the paper, the barrier costs 0.04 % (UTS) to 0.95 % (Jacobi) of the time with 16 threads. \
         Over all numbers of threads, the most is 1.1 % (Barnes-Hut).",
    );
    let shares = each(|place, _| free(place)).into_iter().flatten();
    let shares: Vec<_> = shares.map(|share| share.mean).collect();
    if let Some(share) = mean(&shares) {
        report.verdict(
            "allows a thief to steal from a victim's stack without requiring the victim to yield in \
             the common case",
            Verdict::confirmed_if(share > 0.5),
            format!(
                "{:.0} % of the steals are free, on average over the {} benchmarks with steals \
                 (paper: 1.5 to 30 %)",
                100.0 * share,
                shares.len()
            ),
        );
    }
}

/// Figures 11 and 12.
fn times(data: &Data, report: &mut Report) {
    report.section("Figures 11 and 12: times relative to DefaultWS, and speed-ups");
    let workers = data.workers;
    let gain = |place, scheduler| {
        let cell = |scheduler| data.cell(place, scheduler, workers);
        let (default, other) = (cell(DEFAULT_WS)?, cell(scheduler)?);
        Some(Estimate::of_ratio(&default.seconds, &other.seconds))
    };
    let rows: Vec<_> = each(|place, benchmark| {
        let speed_up = |scheduler| {
            let cell = data.cell(place, scheduler, workers);
            or_dash(cell, |cell| format!("{:.2}", 1.0 / cell.vs_serial))
        };
        let gains = [BARRIER_WS, PURLOIN]
            .map(|scheduler| or_dash(gain(place, scheduler), |gain| with_margin(gain, 3)));
        let [barrier, purloin] = gains;
        vec![
            benchmark.name.to_string(),
            barrier,
            purloin,
            format!("{:.2}", 1.0 + benchmark.gain / 100.0),
            speed_up(DEFAULT_WS),
            speed_up(BARRIER_WS),
            speed_up(PURLOIN),
            or_dash(data.like_java(place, BARRIER_WS), |cell| {
                format!("{:.2}", 1.0 / cell.vs_serial)
            }),
            speed_up(FORKJOIN),
        ]
    });
    report.table(
        &[
            "benchmark",
            "speed of ReturnBarrierWS / DefaultWS",
            "of Purloin / DefaultWS",
            "paper, 16 threads",
            "speed-up, DefaultWS",
            "ReturnBarrierWS",
            "Purloin",
            "ReturnBarrierWS, Java's form",
            "Java's ForkJoinPool",
        ],
        &rows,
    );
    report.paragraph(
        "Speed-ups are relative to the serial elision, and for Java to the sequential form in Java. \
         A dash means: peer not installed, no value in the paper, or no steals to compare. \
         Habanero-Java is no longer available.",
    );

    let is_noisy = |place| {
        let cell = data.cell(place, BARRIER_WS, workers);
        cell.is_some_and(|cell| 1.0 / cell.vs_serial > 1.1 * workers as f64)
    };
    let noisy = each(|place, benchmark| is_noisy(place).then_some(benchmark.name));
    let noisy: Vec<_> = noisy.into_iter().flatten().collect();
    if !noisy.is_empty() {
        report.paragraph(&format!(
            "A speed-up above {workers} is noise ({}): on a machine that is shared with others, the \
             same run takes up to twice as long in another minute, and runs of some milliseconds fall \
             into one or the other.",
            noisy.join(" and ")
        ));
    }
    let gains = each(|place, benchmark| Some((benchmark.name, gain(place, BARRIER_WS)?)));
    let gains: Vec<_> = gains.into_iter().flatten().collect();
    let estimates: Vec<_> = gains.iter().map(|&(_, gain)| gain).collect();
    let verdict = Verdict::some_above(&estimates, 1.1);
    if let Some((verdict, (name, gain))) = verdict.zip(clearest(&gains)) {
        report.verdict(
            "resulting in total performance improvements of as much as 20%",
            verdict,
            format!(
                "the clearest gain is that of {name}, which runs {} times as fast with {workers} \
                 workers; we require 1.1",
                with_margin(*gain, 3)
            ),
        );
    }
    let alone = each(|place, _| {
        let cells = [DEFAULT_WS, BARRIER_WS].map(|scheduler| data.cell(place, scheduler, 1));
        let [default, barrier] = cells;
        Some(default?.median / barrier?.median)
    });
    let alone: Vec<_> = alone.into_iter().flatten().collect();
    if let Some(alone) = mean(&alone) {
        report.verdict(
            "this result is complementary to recent work addressing the sequential overheads",
            Verdict::confirmed_if((alone - 1.0).abs() < 0.02),
            format!(
                "with one worker, so without steals, the run without the barrier takes {alone:.3} \
                 times as long as the run with it"
            ),
        );
    }
    if let Some(saved) = losses(data).and_then(|losses| most_saved(data, losses)) {
        report.verdict(
            "we improve the scalability of work-stealing applications",
            Verdict::confirmed_if(saved >= 0.01),
            format!(
                "on 16 simulated cores the barrier saves at most {:.2} % of the processor time of a \
                 benchmark; we require 1 %",
                100.0 * saved
            ),
        );
    }
    let pairs = each(|place, _| {
        let java = data.cell(place, FORKJOIN, workers)?;
        let ours = data.like_java(place, BARRIER_WS)?;
        Some([1.0 / ours.vs_serial, 1.0 / java.vs_serial])
    });
    let pairs: Vec<_> = pairs.into_iter().flatten().collect();
    if !pairs.is_empty() {
        let wins = wins(&pairs);
        report.verdict(
            "our system … consistently performs well, and in three out of six workloads it \
             substantially outperforms the other systems",
            Verdict::confirmed_if(wins >= 3),
            format!(
                "the speed-up of ReturnBarrierWS is at least {CLEARLY} times as high as that of \
                 Java's ForkJoinPool, in the same form, in {wins} of {} benchmarks",
                pairs.len()
            ),
        );
    }
}

/// The ratio above which a speed-up is substantially higher than another.
const CLEARLY: f64 = 1.1;

/// Returns in how many pairs the first speed-up is substantially higher than the second.
fn wins(pairs: &[[f64; 2]]) -> usize {
    let wins = pairs.iter().filter(|[ours, java]| *ours >= CLEARLY * java);
    wins.count()
}

/// Returns the largest share of the processor time that the barrier saves a benchmark on the largest
/// simulated machine.
fn most_saved(data: &Data, losses: Losses) -> Option<f64> {
    let runs = data.simulated.iter().filter_map(|runs| runs.last());
    let saved = runs.map(|run| {
        simulated_overhead(losses.default, run) - simulated_overhead(losses.barrier, run)
    });
    saved.max_by(f64::total_cmp)
}

/// Returns the share of the simulated processor time that victims lose, if they lose this time at
/// each steal.
fn simulated_overhead(loss: f64, run: &Simulated) -> f64 {
    run.steals * loss / run.seconds / f64::from(run.cores)
}

/// Returns a line of simulated values for each benchmark.
fn lines(data: &Data, value: impl Fn(usize, &Simulated) -> f64) -> Vec<Line> {
    each(|place, benchmark| Line {
        name: benchmark.name.to_string(),
        points: data.simulated[place]
            .iter()
            .filter(|run| run.cores > 1)
            .map(|run| (run.cores, value(place, run), 0.0))
            .collect(),
    })
}

fn each<T>(row: impl Fn(usize, &Benchmark) -> T) -> Vec<T> {
    let benchmarks = BENCHMARKS.iter().enumerate();
    benchmarks
        .map(|(place, benchmark)| row(place, benchmark))
        .collect()
}

fn mean(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    (!values.is_empty()).then(|| sum / values.len() as f64)
}

/// Formats a value, or its absence.
fn or_dash<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> String {
    value.map_or("–".to_string(), text)
}

fn percent(share: Estimate) -> String {
    let share = Estimate {
        mean: 100.0 * share.mean,
        margin: 100.0 * share.margin,
    };
    format!("{} %", with_margin(share, 2))
}

fn relative(value: f64, base: f64) -> String {
    match base > 0.0 {
        true => format!("{:.2}", value / base),
        false => "–".to_string(),
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
    use serde_json::{Value, json};

    use super::*;
    use crate::paper::barriers::{PAPER, parts};

    #[test]
    fn missing_data_get_no_verdict() {
        let trial = Trial::new(true);
        let results = Results::of_parts(&parts(&trial), |_| json!([]));
        let report = report(&trial, &results).unwrap();
        // This one does not depend on data.
        let stack = "the dynamic overhead is dominated by introspection of the victim's stack";
        assert_eq!(report.statements(), [stack]);
    }

    /// Returns the data of a benchmark: nothing was stolen under DefaultWS, and no JDK is there.
    fn measured(workers: usize) -> Value {
        let run = |scheduler: &str, workers: usize, steals: bool| {
            let loss = steals.then_some(3e-7);
            let costs = json!({
                "steal_ratio": 0.0, "steal_rate": 0.0, "dynamic_overhead": 0.0,
                "barrier_cost": 0.0, "waking_cost": 0.0, "loss_per_steal": loss,
                "free_steal_share": loss.map(|_| 0.75),
            });
            json!({
                "job": "fft=18", "scheduler": scheduler, "workers": workers,
                "seconds": [1.0, 1.01], "median": 1.005, "vs_serial": 0.5, "tasks": 9,
                "steals": 0, "costs": [costs, costs],
            })
        };
        json!([
            run(DEFAULT_WS, 1, false),
            run(BARRIER_WS, 1, false),
            run(DEFAULT_WS, workers, false),
            run(BARRIER_WS, workers, true),
        ])
    }

    #[test]
    fn without_steals_the_tables_have_dashes_and_no_cost_is_simulated() {
        let trial = Trial::new(true);
        let results = Results::of_parts(&parts(&trial), |part| match part.ends_with("simulated") {
            true => json!([{
                "job": "fft=18", "policy": "random", "cores": 16, "seconds": 1.0, "work": 8.0,
                "span": 0.1, "tasks": 9, "steals": 100.0, "samples": 0.0,
                "all_seconds": [1.0], "all_steals": [100.0],
            }]),
            false => measured(trial.most_workers()),
        });
        let mut report = report(&trial, &results).unwrap();
        let statements = report.statements();
        for missing in [
            "reduces dynamic overheads by around 50%",
            "we improve the scalability of work-stealing applications",
        ] {
            assert!(!statements.contains(&missing), "{missing}");
        }
        report.head(&PAPER, &results);
        let text = report.text();
        assert!(text.contains("| – | 300 ns |"), "{text}");
        assert!(text.contains("75 % of the steals are free"), "{text}");
    }

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

    #[test]
    fn a_win_needs_a_clear_margin() {
        assert_eq!(wins(&[[1.05, 1.0], [1.2, 1.0], [0.9, 1.0]]), 1);
    }
}
