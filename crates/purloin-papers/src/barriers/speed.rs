//! The report on Figures 11 and 12: the speed of programs, and what work stealing costs them.

use purloin_measure::bench::median;
use purloin_sim::Estimate;

use super::shared::{NOTHING_TO_HIDE, bars, each, picture};
use super::{BARRIER_WS, BENCHMARKS, DEFAULT_WS, Data, FORKJOIN, PURLOIN, larger_machines};
use crate::report::{Report, Verdict, or_dash, with_margin};
use crate::statistics::{Pair, deciding, mean_ratio};

/// Adds the section on Figures 11 and 12.
pub(super) fn times(data: &Data, report: &mut Report) {
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
            benchmark.gain.to_string(),
            or_dash(on_one_worker(data, place), |ratio| with_margin(ratio, 2)),
            speed_up(DEFAULT_WS),
            speed_up(BARRIER_WS),
            speed_up(PURLOIN),
            or_dash(data.like_java(place, BARRIER_WS), |cell| {
                format!("{:.2}", 1.0 / cell.vs_serial)
            }),
            or_dash(java_speed_up(data, place), |value| format!("{value:.2}")),
        ]
    });
    report.table(
        &[
            "benchmark",
            "speed, ReturnBarrierWS / DefaultWS",
            "speed, Purloin / DefaultWS",
            "paper: ReturnBarrierWS / DefaultWS, 16 threads",
            "time / serial, ReturnBarrierWS, one worker",
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
         the serial elision, and for Java to the sequential form in Java, which each Java process also \
         times; we take the median of all these times. Other programs use the processors, too; a speed-up \
         above the number of workers can mean that they have slowed down the serial runs more than the \
         parallel ones. Habanero-Java is no longer available. In the paper, Jacobi takes 1.10 times as long \
         as the sequential program on one thread of ReturnBarrierWS, and 1.70 times in Fork-Join; Barnes-Hut \
         takes 1.30 and 1.83 times as long.\n\n\
         Runs of Jacobi, and with `--quick` also of LUD, take a few milliseconds. So their times depend on how often a worker first has to be \
         woken, or has lost its processor to other processes on this machine.",
    );
    let panel = bars("", |place| {
        [BARRIER_WS, PURLOIN]
            .map(|scheduler| gain(place, scheduler))
            .into()
    });
    let title = "Figure 11, measured: speed relative to DefaultWS";
    report.picture(
        "figure-11",
        picture(title, &["ReturnBarrierWS", "Purloin"], 1.0, vec![panel]),
    );
    sequential(data, report);
    on_one_thread(data, report);
    busy(data, report);
    larger_machines::speed_ups(data, report);
    let light = each(|place, benchmark| {
        let overhead = data.figure(place, DEFAULT_WS, |costs| Some(costs.dynamic_overhead))?;
        let seconds = |scheduler| Some(&data.cell(place, scheduler, workers)?.seconds);
        let slower = Estimate::of_ratio(seconds(BARRIER_WS)?, seconds(DEFAULT_WS)?);
        (overhead.mean < VERY_SMALL).then_some((benchmark.name, slower))
    });
    let (names, light): (Vec<_>, Vec<_>) = light.into_iter().flatten().unzip();
    if let Some((place, most)) = deciding(&light, THE_SAME) {
        report.verdict(
            "even for benchmarks with very small dynamic overhead, our approach does not negatively \
             affect performance",
            Verdict::above(most, THE_SAME).of_the_opposite(),
            format!(
                "{} benchmarks have an overhead below {:.1} %. The limiting one is {}: with the barrier, it \
                 takes {} of the time (the interval is widened for these benchmarks; up to {THE_SAME} counts \
                 as equal)",
                light.len(),
                100.0 * VERY_SMALL,
                names[place],
                with_margin(most, 3),
            ),
        );
    }
    possible_gain(data, gain, report);
    report.verdict(
        "this result is complementary to recent work addressing the sequential overheads",
        Verdict::Untestable,
        "the paper's baseline already has low sequential overheads, and its gain comes on top of that. Our two \
         systems run the same code until a thief asks, so with one worker they cannot differ"
            .to_string(),
    );
    let pairs = each(|place, _| {
        let ours = data.like_java(place, BARRIER_WS)?;
        Some([1.0 / ours.vs_serial, java_speed_up(data, place)?])
    });
    let pairs: Vec<_> = pairs.into_iter().flatten().collect();
    let statement = "It consistently performs well, and in three out of six workloads it substantially \
                     outperforms the other systems";
    let why = "the paper compares three systems on one JVM, with up to 16 threads, and Habanero-Java is no \
               longer available";
    if pairs.is_empty() && !data.measured.iter().all(Vec::is_empty) {
        report.verdict(
            statement,
            Verdict::Untestable,
            format!("{why}. Java's ForkJoinPool is not installed here"),
        );
    }
    if !pairs.is_empty() {
        let wins = wins(&pairs);
        let ratios = pairs.iter().map(|[ours, java]| ours / java);
        let least = ratios.fold(f64::INFINITY, f64::min);
        report.verdict(
            statement,
            Verdict::Untestable,
            format!(
                "{why}. Here, ReturnBarrierWS has at least {CLEARLY} times the speed-up of Java's \
                 ForkJoinPool in {wins} of {} benchmarks, and at least {least:.2} times in every benchmark. \
                 Both run Java's form, and speed-ups are relative to the sequential form in the same \
                 language",
                pairs.len()
            ),
        );
    }
}

/// Returns how many times as long ReturnBarrierWS takes with one worker as the serial elision.
fn on_one_worker(data: &Data, place: usize) -> Option<Estimate> {
    let cell = data.cell(place, BARRIER_WS, 1)?;
    (!cell.baseline.is_empty()).then(|| Estimate::of_ratio(&cell.seconds, &cell.baseline))
}

/// Returns the median speed-up of Java's ForkJoinPool over its sequential form in all processes.
fn java_speed_up(data: &Data, place: usize) -> Option<f64> {
    let cell = data.cell(place, FORKJOIN, data.workers)?;
    let all = data.measured[place].iter();
    let java = all.filter(|cell| cell.scheduler == FORKJOIN);
    let sequential: Vec<_> = java.flat_map(|cell| cell.baseline.clone()).collect();
    (!sequential.is_empty()).then(|| median(&sequential) / cell.median)
}

/// The share of the processor time above which a run has spent much on waking thieves.
const MUCH_WAKING: f64 = 0.02;

/// Counts the runs of a benchmark that have spent much on waking thieves.
fn much_waking(data: &Data, place: usize, scheduler: &str) -> String {
    let costs = data.costs(place, scheduler, |costs| Some(costs.waking_cost));
    let much = costs.iter().filter(|&&cost| cost > MUCH_WAKING).count();
    format!("{much} of {}", costs.len())
}

/// The share of the processor time below which an overhead is very small.
const VERY_SMALL: f64 = 0.001;

/// The ratio of times up to which they are the same.
pub(super) const THE_SAME: f64 = 1.03;

/// Judges the gain in time, from the time that victims lose without the barrier.
fn possible_gain(
    data: &Data,
    gain: impl Fn(usize, &'static str) -> Option<Estimate>,
    report: &mut Report,
) {
    let possible = each(|place, benchmark| {
        let overhead = data.figure(place, DEFAULT_WS, |costs| Some(costs.dynamic_overhead))?;
        let left = 1.0 - overhead.mean;
        let possible = Estimate {
            mean: 1.0 / left,
            margin: overhead.margin / left.powi(2),
            ..overhead
        };
        Some(((place, benchmark.name, gain(place, BARRIER_WS)?), possible))
    });
    let (measured, possible): (Vec<_>, Vec<_>) = possible.into_iter().flatten().unzip();
    let Some((place, most)) = deciding(&possible, 1.0) else {
        return;
    };
    let (place, name, measured) = measured[place];
    report.verdict(
        "resulting in total performance improvements of as much as 20%",
        Verdict::Untestable,
        format!(
            "{NOTHING_TO_HIDE}. For comparison: with {} workers, {name} could gain most. If its victims lost no \
             time, it would run {} times as fast (the interval is widened for {} benchmarks). The measured \
             ratio of ReturnBarrierWS to DefaultWS is {}; it \
             depends on wake-ups, too. Waking thieves takes more than {:.0} % of the processor time in {} \
             runs of ReturnBarrierWS and in {} of DefaultWS. In the paper, FFT's overhead of 3.5 % falls by \
             40 %, that is, by 1.4 points, yet FFT gains 20 %",
            data.workers,
            with_margin(most, 3),
            possible.len(),
            with_margin(measured, 2),
            100.0 * MUCH_WAKING,
            much_waking(data, place, BARRIER_WS),
            much_waking(data, place, DEFAULT_WS)
        ),
    );
}

/// The ratio above which a speed-up is substantially higher than another.
const CLEARLY: f64 = 1.5;

/// Returns in how many pairs the first speed-up is substantially higher than the second.
fn wins(pairs: &[[f64; 2]]) -> usize {
    let wins = pairs.iter().filter(|[ours, java]| *ours >= CLEARLY * java);
    wins.count()
}

/// The time relative to the serial elision to which earlier work reduced the sequential overheads.
const JUST: f64 = 1.15;

/// Judges what the paper says about work stealing before its own contribution: what it costs with one worker,
/// and whether it keeps several workers busy.
fn sequential(data: &Data, report: &mut Report) {
    let cells = each(|place, benchmark| {
        let cell = data.cell(place, BARRIER_WS, 1)?;
        let pair: Pair = (&cell.seconds, &cell.baseline);
        Some(((benchmark.name, on_one_worker(data, place)?), pair))
    });
    let (ratios, pairs): (Vec<_>, Vec<_>) = cells.into_iter().flatten().unzip();
    let (names, each_ratio): (Vec<_>, Vec<_>) = ratios.into_iter().unzip();
    let Some(((place, most), mean)) = deciding(&each_ratio, JUST).zip(mean_ratio(&pairs)) else {
        return;
    };
    report.verdict(
        "work-stealing comes with substantial overheads",
        Verdict::above(most, JUST),
        format!(
            "the limiting benchmark is {}: with one worker, ReturnBarrierWS takes {} times as long as the \
             serial elision (the interval is widened for {} benchmarks). We call an overhead above {:.0} % \
             substantial: this is what the earlier work of the paper's authors left. The dynamic overheads \
             have verdicts of their own",
            names[place],
            with_margin(most, 2),
            names.len(),
            100.0 * (JUST - 1.0)
        ),
    );
    report.verdict(
        "That work was able to reduce sequential overheads to just 15%",
        Verdict::Untestable,
        format!(
            "the statement is about another system, an earlier one of the same authors. For comparison: with \
             one worker, our ReturnBarrierWS takes {} times as long as the serial elision (the geometric mean \
             over {} benchmarks)",
            with_margin(mean, 3),
            names.len()
        ),
    );
}

/// The benchmarks that one thread of the paper's ReturnBarrierWS slows down, and their times relative to the
/// sequential program (section 6.5).
const SLOWED_DOWN: [(&str, f64); 2] = [("Barnes-Hut", 1.3), ("Jacobi", 1.1)];

/// The least ratio of times that is a slow-down.
const SLOWER: f64 = 1.05;

/// Judges what one worker costs in the benchmarks that the paper names.
fn on_one_thread(data: &Data, report: &mut Report) {
    let place_of = |name| {
        BENCHMARKS
            .iter()
            .position(|benchmark| benchmark.name == name)
    };
    let ratios = SLOWED_DOWN.map(|(name, _)| on_one_worker(data, place_of(name)?));
    let [Some(barnes_hut), Some(jacobi)] = ratios else {
        return;
    };
    let java = SLOWED_DOWN.map(|(name, _)| {
        let cell = place_of(name).and_then(|place| data.cell(place, FORKJOIN, 1));
        or_dash(cell, |cell| format!("{:.2}", cell.vs_serial))
    });
    let [paper_barnes_hut, paper_jacobi] = SLOWED_DOWN.map(|(_, ratio)| ratio);
    let slower = Verdict::all_above(&[barnes_hut, jacobi], SLOWER);
    report.verdict(
        "single threaded Barnes-Hut is … 30% slower in ReturnBarrierWS. Similarly, Jacobi is … 10% slower in \
         ReturnBarrierWS",
        slower.expect("there are two values"),
        format!(
            "with one worker, Barnes-Hut takes {} times as long as the serial elision (paper: {paper_barnes_hut}), \
             and Jacobi {} times (paper: {paper_jacobi}); we require more than {SLOWER} for both. Java's \
             ForkJoinPool with one worker takes {} and {} times as long as the sequential form in Java (paper: \
             1.83 and 1.7). Our Barnes-Hut and Java's Jacobi are loops with few tasks",
            with_margin(barnes_hut, 2),
            with_margin(jacobi, 2),
            java[0],
            java[1]
        ),
    );
}

/// The least share of their time in which workers are busy.
const BUSY: f64 = 0.75;

/// Judges whether all workers are busy.
fn busy(data: &Data, report: &mut Report) {
    let times = each(|place, benchmark| {
        let [one, all] = [1, data.workers].map(|workers| data.cell(place, BARRIER_WS, workers));
        let time = Estimate::of_ratio(&all?.seconds, &one?.seconds);
        Some((benchmark.name, time))
    });
    let (names, times): (Vec<_>, Vec<_>) = times.into_iter().flatten().unzip();
    if data.workers == 1 {
        return;
    }
    let limit = 1.0 / (BUSY * data.workers as f64);
    if let Some((place, most)) = deciding(&times, limit) {
        report.verdict(
            "Work-stealing is a promising scheduling strategy that a runtime may use to keep otherwise idle \
             hardware busy",
            Verdict::not_above(most, limit),
            format!(
                "the limiting benchmark is {}: under ReturnBarrierWS, it takes {} times as long with {} workers \
                 as with one (a ratio of means; the interval is widened for {} benchmarks). We require at most \
                 {limit:.2} for every benchmark, which means that the workers use {:.0} % of their time. Two \
                 virtual processors may share one core of the machine, so not all of the rest is idleness",
                names[place],
                with_margin(most, 2),
                data.workers,
                names.len(),
                100.0 * BUSY
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_win_needs_a_clear_margin() {
        assert_eq!(wins(&[[1.4, 1.0], [1.6, 1.0], [0.9, 1.0]]), 1);
    }
}
