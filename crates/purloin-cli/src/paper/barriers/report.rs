//! The report: tables, pictures and verdicts. `overheads.rs` has those on the overheads of steals.

use purloin_command::Failure;
use purloin_command::format::grouped;
use purloin_sim::Estimate;

use super::{BARRIER_WS, BENCHMARKS, Benchmark, DEFAULT_WS, Data, FORKJOIN, PURLOIN, overheads};
use crate::paper::Results;
use crate::paper::report::{Report, Verdict, deciding, mean_ratio, or_dash, with_margin};
use crate::paper::trial::{Simulated, Trial};
use crate::simulation::picture::{Horizontal, Line, Panel, Picture, Scale};

pub fn report(trial: &Trial, results: &Results) -> Result<Report, Failure> {
    let data = Data::read(trial, results)?;
    let mut report = Report::default();
    report.section("Names and methods");
    report.paragraph(&format!(
        "**DefaultWS** is `{DEFAULT_WS}`: a thief asks its victim, and the victim offers one task and \
         waits until the thief has it. **ReturnBarrierWS** is `{BARRIER_WS}`: the victim makes up to \
         32 tasks public and goes on. Thieves take all but the first of them without interrupting it: these \
         steals are *free*. **Purloin** is `{PURLOIN}`, in which a thief may also take a task by force from \
         a victim that does not answer for 30 µs. In the paper, the thief walks the victim's stack, and moves \
         a continuation. Here it moves a closure that lies ready in a slot, so there is no stack to walk. We \
         compare only the cost of the interruption.\n\n\
         Jacobi and LUD join halves and quadrants recursively. FFT and Barnes-Hut divide their data down to \
         single points and bodies, and CilkSort down to three values. The Java versions have loops and \
         cut-offs. We compare them with ReturnBarrierWS in that form (column *Java's form*). The simulated \
         CilkSort has the cut-off, too, because a recording of all its tasks does not fit into memory.\n\n\
         Measured values are those of {} workers, with 95 % confidence intervals (Student's t) over \
         the runs. The paper's are those of up to 16 threads on two Xeon E5-2450, over 20 invocations of \
         15 iterations; its FFT has 2²⁰ points, CilkSort 10 million values, Barnes-Hut 100,000 bodies and \
         LUD a matrix of 1,024. For 2 to 16 cores, we record the serial elision of each benchmark, and \
         simulate thieves on cores that share memory. A simulated steal takes 1 µs. A dash means: no peer \
         installed, no value in the paper, or no steals to compare.",
        data.workers
    ));
    steals(trial, &data, &mut report);
    overheads::overheads(&data, &mut report);
    barrier(&data, &mut report);
    times(&data, &mut report);
    Ok(report)
}

/// Figures 3, 4 and 8.
fn steals(trial: &Trial, data: &Data, report: &mut Report) {
    report.section("Figures 3, 4 and 8: steal ratio, steal rate and number of steals");
    let rows: Vec<_> = each(|place, benchmark| {
        // The tasks are the same under both systems, so this is the ratio of their steals.
        let ratios = |scheduler| {
            let cell = data.cell(place, scheduler, data.workers)?;
            Some(cell.costs(|costs| costs.steal_ratio))
        };
        let relative = ratios(BARRIER_WS).zip(ratios(DEFAULT_WS));
        let relative = relative.filter(|(barrier, default)| {
            barrier.len() == default.len() && default.iter().sum::<f64>() > 0.0
        });
        let relative = relative.map(|(barrier, default)| Estimate::of_ratio(&barrier, &default));
        let ratio = data.figure(place, DEFAULT_WS, |costs| costs.steal_ratio);
        let rate = |scheduler| data.figure(place, scheduler, |costs| Some(costs.steal_rate));
        let simulated = data.simulated[place].last();
        vec![
            benchmark.name.to_string(),
            format!("`{}`", benchmark.job(trial)),
            or_dash(ratio, |ratio| per_million(ratio.mean)),
            or_dash(rate(DEFAULT_WS), |rate| with_margin(rate, 2)),
            or_dash(rate(BARRIER_WS), |rate| with_margin(rate, 2)),
            or_dash(relative, |relative| with_margin(relative, 2)),
            or_dash(simulated, |run| {
                grouped((run.steals / run.seconds / 1e3).round() as u64)
            }),
        ]
    });
    report.table(
        &[
            "benchmark",
            "our input",
            "steals per million tasks, DefaultWS",
            "steals/ms, DefaultWS",
            "steals/ms, ReturnBarrierWS",
            "steals, ReturnBarrierWS / DefaultWS",
            "steals/ms, 16 simulated cores",
        ],
        &rows,
    );
    report.paragraph(
        "In the paper, with 16 threads, Jacobi has a steal ratio as low as 0.0004, that is 400 steals per \
         million tasks, and the highest steal rate, 35 per ms. The number of steals is about the same in both systems, except for CilkSort \
         (15 % fewer with the barrier) and Barnes-Hut with few threads.",
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
            rows: vec![vec![
                panel("steals / tasks", |run| run.steals / run.tasks as f64),
                panel("steals per ms", |run| run.steals / run.seconds / 1e3),
            ]],
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
            "cost of the barrier, share of processor time",
            "free steals",
            "paper: free steals",
        ],
        &rows,
    );
    report.paragraph(
        "The barrier is the boundary between public and private tasks. Its cost is the time in which owners \
         return to public tasks, and a part of the overhead above. In the paper, it costs 0.04 % (UTS) to 0.95 % (Jacobi) of the time with 16 threads. \
         Over all numbers of threads, the most is 1.1 % (Barnes-Hut).",
    );
    report.paragraph(
        "With two workers, there is one thief. In most benchmarks, it seldom comes back before the owner \
         has used up the public tasks, so few steals are free. What the barrier saves there is the wait \
         until the thief has the task.",
    );
    let shares = each(|place, _| free(place)).into_iter().flatten();
    let shares: Vec<_> = shares.collect();
    if !shares.is_empty() {
        let common = shares.iter().filter(|share| share.mean > 0.5).count();
        report.verdict(
            "allows a thief to steal from a victim's stack without requiring the victim to yield in \
             the common case",
            Verdict::confirmed_if(2 * common > shares.len()),
            format!(
                "in {common} of {} benchmarks, more than half of the steals are free; we require more than half \
                 of the benchmarks. With two workers, there is one thief, which rarely finds a public task. In \
                 the paper, 1.5 to 30 % are free, also less than half",
                shares.len()
            ),
        );
    }
}

/// Figures 11 and 12.
fn times(data: &Data, report: &mut Report) {
    report.section("Figures 11 and 12: speed relative to DefaultWS, and speed-ups");
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
            .map(|scheduler| or_dash(gain(place, scheduler), |gain| with_margin(gain, 2)));
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
            "speed, ReturnBarrierWS / DefaultWS",
            "speed, Purloin / DefaultWS",
            "paper: ReturnBarrierWS / DefaultWS, 16 threads",
            "speed-up, DefaultWS",
            "speed-up, ReturnBarrierWS",
            "speed-up, Purloin",
            "speed-up, ReturnBarrierWS, Java's form",
            "speed-up, Java's ForkJoinPool",
        ],
        &rows,
    );
    report.paragraph(
        "The ratios compare means, as in the paper, and the speed-ups medians. Speed-ups are relative to \
         the serial elision, and for Java to the sequential form in Java. Habanero-Java is no longer \
         available.",
    );

    report.paragraph(
        "Runs of some milliseconds fall into two groups, one about twice as long as the other: on a machine \
         that is shared with others, the second worker sometimes has no processor. Their medians depend on \
         the sizes of the groups, and may exceed the number of workers.",
    );
    let light = each(|place, _| {
        let overhead = data.figure(place, DEFAULT_WS, |costs| Some(costs.dynamic_overhead))?;
        let cell = |scheduler| data.cell(place, scheduler, workers);
        let (default, barrier) = (cell(DEFAULT_WS)?, cell(BARRIER_WS)?);
        (overhead.mean < VERY_SMALL).then_some((&barrier.seconds[..], &default.seconds[..]))
    });
    let light: Vec<_> = light.into_iter().flatten().collect();
    if let Some(ratio) = mean_ratio(&light) {
        report.verdict(
            "even for benchmarks with very small dynamic overhead, our approach does not negatively \
             affect performance",
            Verdict::not_above(ratio, THE_SAME[1]),
            format!(
                "{} benchmarks have an overhead below {:.1} %; with the barrier, they take {} of the time \
                 (the geometric mean; up to {} counts as equal)",
                light.len(),
                100.0 * VERY_SMALL,
                with_margin(ratio, 3),
                THE_SAME[1]
            ),
        );
    }
    let gains = each(|place, benchmark| Some((benchmark.name, gain(place, BARRIER_WS)?)));
    let (names, gains): (Vec<_>, Vec<_>) = gains.into_iter().flatten().unzip();
    if let Some((place, gain)) = deciding(&gains, 1.1) {
        report.verdict(
            "resulting in total performance improvements of as much as 20%",
            Verdict::above(gain, 1.1),
            format!(
                "{} decides: with the barrier, it runs {} times as fast with {workers} workers (means; the \
                 interval is widened for {} benchmarks); we require 1.1",
                names[place],
                with_margin(gain, 2),
                gains.len()
            ),
        );
    }
    let alone = each(|place, _| {
        let cells = [DEFAULT_WS, BARRIER_WS].map(|scheduler| data.cell(place, scheduler, 1));
        let [default, barrier] = cells;
        Some((&default?.seconds[..], &barrier?.seconds[..]))
    });
    let alone: Vec<_> = alone.into_iter().flatten().collect();
    if let Some(alone) = mean_ratio(&alone) {
        report.verdict(
            "this result is complementary to recent work addressing the sequential overheads",
            Verdict::within(alone, THE_SAME),
            format!(
                "with one worker, nothing is stolen, so a difference would be sequential overhead of the \
                 barrier. DefaultWS takes {} times as long as ReturnBarrierWS (the geometric mean over {} \
                 benchmarks; {} to {} counts as equal)",
                with_margin(alone, 3),
                names.len(),
                THE_SAME[0],
                THE_SAME[1]
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
        let ratios = pairs.iter().map(|[ours, java]| ours / java);
        let least = ratios.fold(f64::INFINITY, f64::min);
        report.verdict(
            "It consistently performs well, and in three out of six workloads it substantially \
             outperforms the other systems",
            Verdict::Untestable,
            format!(
                "the paper compares three systems on one JVM, with up to 16 threads, and Habanero-Java is no \
                 longer available. Here, ReturnBarrierWS has at least {CLEARLY} times the speed-up of Java's \
                 ForkJoinPool in {wins} of {} benchmarks, and never less than {least:.2} times. Both run the \
                 same form, and speed-ups are relative to the sequential form in the same language",
                pairs.len()
            ),
        );
    }
}

/// The share of the processor time below which an overhead is very small.
const VERY_SMALL: f64 = 0.001;

/// The ratios of times that are the same.
const THE_SAME: [f64; 2] = [0.97, 1.03];

/// The ratio above which a speed-up is substantially higher than another.
const CLEARLY: f64 = 1.5;

/// Returns in how many pairs the first speed-up is substantially higher than the second.
fn wins(pairs: &[[f64; 2]]) -> usize {
    let wins = pairs.iter().filter(|[ours, java]| *ours >= CLEARLY * java);
    wins.count()
}

/// Returns a line of simulated values for each benchmark.
pub(super) fn lines(data: &Data, value: impl Fn(usize, &Simulated) -> f64) -> Vec<Line> {
    each(|place, benchmark| Line {
        name: benchmark.name.to_string(),
        points: data.simulated[place]
            .iter()
            .filter(|run| run.cores > 1)
            .map(|run| (run.cores, value(place, run), 0.0))
            .collect(),
    })
}

pub(super) fn each<T>(row: impl Fn(usize, &Benchmark) -> T) -> Vec<T> {
    let benchmarks = BENCHMARKS.iter().enumerate();
    benchmarks
        .map(|(place, benchmark)| row(place, benchmark))
        .collect()
}

/// Formats a ratio of steals to tasks as a number of steals.
fn per_million(ratio: f64) -> String {
    match 1e6 * ratio {
        few if few < 99.5 => format!("{few:.1}"),
        many => grouped(many.round() as u64),
    }
}

pub(super) fn percent(share: Estimate) -> String {
    let share = Estimate {
        mean: 100.0 * share.mean,
        margin: 100.0 * share.margin,
    };
    // A small margin has a digit that is not zero.
    let digits = match share.margin {
        small if small > 0.0 && small < 0.01 => (-small.log10()).ceil() as usize,
        _ => 2,
    };
    format!("{} %", with_margin(share, digits))
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
        // These do not depend on data.
        let untestable = [
            "we improve the scalability of work-stealing applications",
            "The extremely low dynamic overhead should enable increasing speedups with the increasing \
             parallelism",
            "substantially relieves work-stealing of the increasing pressure due to increasing \
             intra-node hardware parallelism",
            "the dynamic overhead is dominated by introspection of the victim's stack",
        ];
        assert_eq!(report.statements(), untestable);
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
        let missing = "reduces dynamic overheads by around 50%";
        assert!(!statements.contains(&missing));
        report.head(&PAPER, &results);
        let text = report.text();
        assert!(text.contains("| – | 300 ns |"), "{text}");
        assert!(text.contains("in 6 of 6 benchmarks, more than half"));
    }

    #[test]
    fn a_small_margin_has_a_digit_that_is_not_zero() {
        let share = |mean, margin| percent(Estimate { mean, margin });
        assert_eq!(share(1.4e-5, 3e-6), "0.0014 ± 0.0003 %");
        assert_eq!(share(0.0044, 0.0015), "0.44 ± 0.15 %");
        assert_eq!(share(0.0, 0.0), "0.00 ± 0.00 %");
        assert_eq!(per_million(1e-7), "0.1");
        assert_eq!(per_million(0.0031), "3 100");
    }

    #[test]
    fn a_win_needs_a_clear_margin() {
        assert_eq!(wins(&[[1.4, 1.0], [1.6, 1.0], [0.9, 1.0]]), 1);
    }
}
