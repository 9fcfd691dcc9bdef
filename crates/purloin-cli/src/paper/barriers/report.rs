//! The report: tables, pictures and verdicts.

use purloin_command::Failure;
use purloin_sim::Estimate;

use super::{BARRIER_WS, BENCHMARKS, Benchmark, DEFAULT_WS, Data, FORKJOIN, PURLOIN};
use crate::paper::Results;
use crate::paper::report::{Report, Verdict, geometric_mean, with_margin};
use crate::paper::trial::{Simulated, Trial};
use crate::simulation::picture::{Horizontal, Line, Panel, Picture, Scale};

/// The time of a simulated steal, in seconds.
const SIMULATED_STEAL: f64 = 1e-6;

pub fn report(trial: &Trial, results: &Results) -> Result<Report, Failure> {
    let data = Data::read(trial, results)?;
    let mut report = Report::default();
    report.section("What stands for what");
    report.paragraph(&format!(
        "**DefaultWS** is `{DEFAULT_WS}`: a thief asks its victim, and the victim offers one task and \
         waits until the thief has it. **ReturnBarrierWS** is `{BARRIER_WS}`: the victim makes up to \
         32 tasks public and goes on, and thieves take the others for free. **Purloin** is \
         `{PURLOIN}`, in which a thief may also take a task by force from a victim that does not \
         answer for 30 µs. In the paper the thief walks the victim's stack, and moves a \
         continuation. Here it moves a closure that lies ready in a slot, so there is no stack to \
         walk: what is compared is the interruption itself. Jacobi and LUD join halves and quadrants \
         recursively, and Barnes-Hut divides space without a cut-off, as in the paper. Under Java's \
         ForkJoinPool they have loops and a cut-off.\n\n\
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
        let ratio = data.figure(place, DEFAULT_WS, |costs| costs.steal_ratio.unwrap_or(0.0));
        vec![
            benchmark.name.to_string(),
            match ratio.mean > 0.0 {
                true => format!("{:.2e}", ratio.mean),
                false => "loops only".to_string(),
            },
            with_margin(data.figure(place, DEFAULT_WS, |costs| costs.steal_rate), 2),
            with_margin(data.figure(place, BARRIER_WS, |costs| costs.steal_rate), 2),
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
    let overhead = |place, scheduler| data.figure(place, scheduler, |costs| costs.dynamic_overhead);
    let loss = |place, scheduler| data.figure(place, scheduler, |costs| costs.loss_per_steal);
    let rows: Vec<_> = each(|place, benchmark| {
        let (default, barrier) = (overhead(place, DEFAULT_WS), overhead(place, BARRIER_WS));
        vec![
            benchmark.name.to_string(),
            percent(default),
            percent(barrier),
            reduction(default.mean, barrier.mean),
            format!("{:.0} ns", loss(place, DEFAULT_WS).mean * 1e9),
            format!("{:.0} ns", loss(place, BARRIER_WS).mean * 1e9),
            percent(data.figure(place, BARRIER_WS, |costs| costs.waking_cost)),
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
        "Dynamic overhead is the share of the processor time used that victims lose to thieves. It does \
         not contain the time in which victims wake thieves that sleep, which is shown beside it: the \
         paper's thieves never sleep. The picture multiplies \
         the simulated number of steals by what a steal costs its victim here, but at most a \
         microsecond, the time of a simulated steal: with two workers, a victim often waits in vain \
         for a thief that has fallen asleep.",
    );
    let panel = |title: &str, scheduler: &'static str| Panel {
        title: title.to_string(),
        scale: Scale::Linear,
        lines: lines(data, |place, run| {
            100.0 * simulated_overhead(data, place, scheduler, run)
        }),
        region: Vec::new(),
    };
    report.picture(
        "overheads",
        Picture {
            title: "Figure 7, simulated: dynamic overhead in percent".to_string(),
            horizontal: Horizontal::CORES,
            panels: vec![
                panel("DefaultWS", DEFAULT_WS),
                panel("ReturnBarrierWS", BARRIER_WS),
            ],
        },
    );

    let ratios =
        each(|place, _| overhead(place, BARRIER_WS).mean / overhead(place, DEFAULT_WS).mean);
    let ratio = geometric_mean(&ratios);
    let largest = each(|place, _| overhead(place, DEFAULT_WS).mean);
    let largest = 100.0 * largest.into_iter().fold(0.0, f64::max);
    report.verdict(
        "we identify victim yields as a major source of remaining overhead",
        Verdict::confirmed_if(largest >= 3.0),
        format!(
            "with {} workers victims lose at most {largest:.2} % of the processor time (paper: 11.2 \
             % with 16 threads)",
            data.workers
        ),
    );
    report.verdict(
        "reduces dynamic overheads by around 50%",
        Verdict::confirmed_if(ratio <= 0.6),
        format!(
            "with the barrier, the dynamic overhead is {ratio:.2} of that without, the geometric mean \
             over the six benchmarks"
        ),
    );
    report.verdict(
        "the dynamic overhead is dominated by introspection of the victim's stack",
        Verdict::NotHere,
        "Purloin's thieves do not look at a stack: a task lies in a slot with its closure. What \
         remains of a victim's loss is the wait until the thief has the task"
            .to_string(),
    );
}

/// Figures 9 and 10.
fn barrier(data: &Data, report: &mut Report) {
    report.section("Figures 9 and 10: the barrier's own cost, and free steals");
    let free = |place| data.figure(place, BARRIER_WS, |costs| costs.free_steal_share);
    let rows: Vec<_> = each(|place, benchmark| {
        let cost = data.figure(place, BARRIER_WS, |costs| costs.barrier_cost);
        vec![
            benchmark.name.to_string(),
            percent(cost),
            percent(free(place)),
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
        "The paper: the barrier costs 0.04 % (UTS) to 0.95 % (Jacobi) of the time with 16 threads, \
         and at most 1.1 % (Barnes-Hut).",
    );
    let shares = each(|place, _| free(place).mean);
    report.verdict(
        "allows a thief to steal from a victim's stack without requiring the victim to yield in the \
         common case",
        Verdict::confirmed_if(mean(shares.clone()) > 0.5),
        format!(
            "{} % of the steals are free, on average over the benchmarks (paper: 1.5 to 30 %)",
            (100.0 * mean(shares)).round()
        ),
    );
}

/// Figures 11 and 12.
fn times(data: &Data, report: &mut Report) {
    report.section("Figures 11 and 12: times relative to DefaultWS, and speed-ups");
    let workers = data.workers;
    let median = |place, scheduler, workers| {
        data.cell(place, scheduler, workers)
            .map_or(f64::NAN, |cell| cell.median)
    };
    let gain = |place, scheduler| {
        let cell = |scheduler| data.cell(place, scheduler, workers);
        let pair = cell(DEFAULT_WS).zip(cell(scheduler));
        pair.map(|(default, other)| Estimate::of_ratio(&default.seconds, &other.seconds))
    };
    let rows: Vec<_> = each(|place, benchmark| {
        let speed_up = |scheduler| {
            let cell = data.cell(place, scheduler, workers);
            cell.map_or("–".to_string(), |cell| {
                format!("{:.2}", 1.0 / cell.vs_serial)
            })
        };
        let gains = [BARRIER_WS, PURLOIN].map(|scheduler| {
            gain(place, scheduler).map_or("–".to_string(), |gain| with_margin(gain, 3))
        });
        let [barrier, purloin] = gains;
        vec![
            benchmark.name.to_string(),
            barrier,
            purloin,
            format!("{:.2}", 1.0 + benchmark.gain / 100.0),
            speed_up(DEFAULT_WS),
            speed_up(BARRIER_WS),
            speed_up(PURLOIN),
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
            "Java's ForkJoinPool",
        ],
        &rows,
    );
    report.paragraph(
        "Speed-ups are relative to the serial elision, and for Java to the sequential form in Java. \
         A dash stands for a peer that was left out, because it is not installed. Habanero-Java is \
         not to be had any more.",
    );

    let gains = each(|place, _| gain(place, BARRIER_WS).map_or(1.0, |gain| gain.mean));
    let best = gains.into_iter().fold(f64::NEG_INFINITY, f64::max);
    report.verdict(
        "resulting in total performance improvements of as much as 20%",
        Verdict::confirmed_if(best >= 1.1),
        format!(
            "the largest gain in speed of a benchmark is {:.1} % with {workers} workers",
            100.0 * (best - 1.0)
        ),
    );
    let alone = each(|place, _| median(place, DEFAULT_WS, 1) / median(place, BARRIER_WS, 1));
    let alone = mean(alone);
    report.verdict(
        "this result is complementary to recent work addressing the sequential overheads",
        Verdict::confirmed_if((alone - 1.0).abs() < 0.02),
        format!(
            "the time of one worker, which nobody steals from, without the barrier is {alone:.3} of \
             that with it, on average"
        ),
    );
    let predicted = |place: usize, scheduler| {
        let run = data.simulated[place].last();
        run.map_or(0.0, |run| simulated_overhead(data, place, scheduler, run))
    };
    let saved = each(|place, _| predicted(place, DEFAULT_WS) - predicted(place, BARRIER_WS));
    let saved = 100.0 * saved.into_iter().fold(f64::NEG_INFINITY, f64::max);
    report.verdict(
        "we improve the scalability of work-stealing applications",
        Verdict::confirmed_if(saved >= 1.0),
        format!(
            "on 16 simulated cores the barrier saves at most {saved:.2} % of the processor time of a \
             benchmark"
        ),
    );
    let is_java_here = data.cell(0, FORKJOIN, workers).is_some();
    let slower = each(|place, _| {
        let cells = [FORKJOIN, BARRIER_WS].map(|scheduler| data.cell(place, scheduler, workers));
        cells.map(|cell| cell.map_or(0.0, |cell| 1.0 / cell.vs_serial))
    });
    let slower = slower.iter().filter(|[java, ours]| java < ours).count();
    report.verdict(
        "our system … consistently performs well, and in three out of six workloads it substantially \
         outperforms the other systems",
        Verdict::confirmed_if(is_java_here && slower >= 3),
        match is_java_here {
            true => format!("ReturnBarrierWS has the higher speed-up in {slower} of six benchmarks"),
            false => "no JDK was found".to_string(),
        },
    );
}

/// Returns the share of the simulated processor time that victims lose: the simulated number of
/// steals times what a steal costs its victim here, but at most the time of a simulated steal.
fn simulated_overhead(data: &Data, place: usize, scheduler: &str, run: &Simulated) -> f64 {
    let loss = data.figure(place, scheduler, |costs| costs.loss_per_steal);
    run.steals * loss.mean.min(SIMULATED_STEAL) / run.seconds / f64::from(run.cores)
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

fn mean(values: Vec<f64>) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
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
