//! The report on Figures 4, 7 and 8: what sampling and victim sets gain.

use purloin_command::format::grouped;
use purloin_measure::simulation::bars::{BarPanel, Bars};
use purloin_measure::simulation::picture::{Horizontal, Line, Panel, Picture, Scale, Style};
use purloin_sim::Estimate;

use super::{DELAY, LOOK, Replay, Row, SIMULATED_STEAL, Sampled, Selection};
use crate::report::{Report, Verdict, with_margin};
use crate::statistics::{geometric_mean, mean_ratio};
use crate::trial::Simulated;

/// Adds the section on Figure 4.
pub(super) fn sampling(sampled: &[Sampled], report: &mut Report) {
    report.section("Figure 4: does sampling pay? (simulated)");
    report.paragraph(
        "A thief that samples looks at several victims, and steals from the one whose oldest task is \
         the largest. The program is a balanced tree with four leaves for each core. A leaf \
         takes as long as a steal on average; looking at a victim takes half as long. The paper plots \
         this figure without numbers. Its text says that sampling makes the program slower below 128 cores, \
         and saves almost a third of the steals with 1,024. The paper varies the sample size, so we take one \
         look as the base. The ratios are relative to thieves that look at one victim before they steal from \
         it, and to thieves that do not look.",
    );
    let rows: Vec<_> = sampled
        .iter()
        .filter(|cell| cell.samples == 2)
        .map(|cell| {
            let text = |(mean, margin): (f64, f64)| format!("{mean:.3} ± {margin:.3}");
            vec![
                cell.cores.to_string(),
                text(cell.time[1]),
                text(cell.attempts[1]),
                text(cell.time[0]),
                text(cell.attempts[0]),
            ]
        })
        .collect();
    report.table(
        &[
            "cores",
            "time, 2 samples / 1",
            "attempts, 2 samples / 1",
            "time, 2 samples / no look",
            "attempts, 2 samples / no look",
        ],
        &rows,
    );
    let lines = |value: fn(&Sampled) -> (f64, f64)| -> Vec<Line> {
        let line = |samples| Line {
            name: format!("{samples} samples"),
            points: sampled
                .iter()
                .filter(|cell| cell.samples == samples)
                .map(|cell| {
                    let (mean, margin) = value(cell);
                    (cell.cores, mean, margin)
                })
                .collect(),
        };
        (2..=4).map(line).collect()
    };
    let panel = |title: &str, lines| Panel {
        title: title.to_string(),
        scale: Scale::Linear,
        lines,
        region: Vec::new(),
    };
    report.picture(
        "figure-4",
        Picture {
            title: "Figure 4: relative to thieves that look at one victim".to_string(),
            horizontal: Horizontal::CORES,
            style: Style::Lines,
            rows: vec![vec![
                panel("steal attempts", lines(|cell| cell.attempts[1])),
                panel("time", lines(|cell| cell.time[1])),
            ]],
        },
    );
    let of = |cores| {
        sampled
            .iter()
            .find(|cell| cell.cores == cores && cell.samples == 2)
    };
    if let (Some(small), Some(hundred), Some(large)) = (of(16), of(128), of(1024)) {
        let bare = [small, hundred, large].map(|cell| estimate(cell.time[0]));
        let [small, hundred, large] = [small, hundred, large].map(|cell| estimate(cell.time[1]));
        let gained = small.minus(large);
        let pays =
            |gained, hundred| Verdict::above(gained, 0.0).and(Verdict::not_above(hundred, 1.0));
        let [small_bare, hundred_bare, large_bare] = bare;
        let bare_gain = small_bare.minus(large_bare);
        report.verdict(
            "the imbalance grows with system size and … sampling will be more attractive when the \
             core counts pass a hundred",
            match (pays(gained, hundred), pays(bare_gain, hundred_bare)) {
                (one, other) if one == other => one,
                _ => Verdict::Undecided,
            },
            format!(
                "it depends on the base, which the paper does not state. With two samples instead of one, the \
                 program takes {} of the time on 16 simulated cores, {} on 128, and {} on 1,024; the ratio falls \
                 by {}. Relative to thieves that do not look, two samples take {} of the time on 16 cores, {} on \
                 128, and {} on 1,024; this ratio falls by {}. For both bases, we require a fall, and at most 1 \
                 on 128. {}",
                with_margin(small, 3),
                with_margin(hundred, 3),
                with_margin(large, 3),
                with_margin(gained, 3),
                with_margin(small_bare, 3),
                with_margin(hundred_bare, 3),
                with_margin(large_bare, 3),
                with_margin(bare_gain, 3),
                without_looking(sampled)
            ),
        );
    }
    best_sample_size(sampled, report);
}

/// Returns the estimate with this mean and margin. It comes from so many programs that the exact number does
/// not matter.
fn estimate((mean, margin): (f64, f64)) -> Estimate {
    Estimate {
        mean,
        margin,
        freedom: 100,
    }
}

/// Judges whether two samples are best on the largest machine.
fn best_sample_size(sampled: &[Sampled], report: &mut Report) {
    let time = |samples| {
        let largest = sampled.iter().filter(|cell| cell.samples == samples);
        let largest = largest.max_by_key(|cell| cell.cores)?;
        Some(estimate(largest.time[1]))
    };
    if let (Some(two), Some(three), Some(four)) = (time(2), time(3), time(4)) {
        let slower = [Estimate::exact(1.0), three, four].map(|other| other.minus(two));
        report.verdict(
            "2 is the optimal sample size when λ_sample = 2 λ_steal",
            Verdict::all_above(&slower, 0.0).expect("there are three values"),
            format!(
                "we compare only thieves that sample. On 1,024 simulated cores, two samples take {} of the time \
                 of one, three {} of it, and four {} of it (λ is a rate: a sample takes half as long as a \
                 steal); we require that one, three and four samples take longer than two. Thieves that do not look \
                 are faster than all of these (see the previous statement), but the paper does not call this a \
                 sample size",
                with_margin(two, 3),
                with_margin(three, 3),
                with_margin(four, 3)
            ),
        );
    }
}

/// Says on how many machines thieves that steal without looking are faster than those with two
/// samples.
fn without_looking(sampled: &[Sampled]) -> String {
    let two = sampled.iter().filter(|cell| cell.samples == 2);
    let faster = two.clone().filter(|cell| {
        let (mean, margin) = cell.time[0];
        mean - margin > 1.0
    });
    format!(
        "Thieves that do not look at all are faster than those with two samples on {} of {} machines",
        faster.count(),
        two.count()
    )
}

/// Adds the section on Figures 7 and 8, and the verdicts on sampling and on sets.
pub(super) fn closer_look(simulated: &[(&Row, Replay, Replay)], report: &mut Report) {
    report.section("Figures 7 and 8: a closer look at sampling (63 simulated cores)");
    report.paragraph(&format!(
        "The table shows SAMP+SET relative to SET. A thief samples once in a search, and a sample ends at \
         the first victim without tasks. The cost of a steal includes all samples, also those that find no \
         task. Failed attempts are not included, with or without samples. In Figure 8, each steal takes \
         {} cycles longer, after the thief has committed to the task. With this delay, stress and ssf \
         get minor speed-ups in the paper.",
        delay()
    ));
    let rows: Vec<_> = simulated
        .iter()
        .map(|(row, plain, delayed)| {
            let two = |value: f64| match value.is_finite() {
                true => format!("{value:.2}"),
                false => "–".to_string(),
            };
            vec![
                row.paper.parameter.to_string(),
                two(ratio(plain, &|run| run.steals)),
                two(ratio(plain, &cost(0.0))),
                two(ratio(plain, &|run| run.seconds)),
                two(ratio(delayed, &|run| run.steals)),
                two(ratio(delayed, &|run| run.seconds)),
            ]
        })
        .collect();
    report.table(
        &[
            "program",
            "Figure 7: steals",
            "Figure 7: cost of a steal",
            "Figure 7: time",
            "Figure 8: steals",
            "Figure 8: time",
        ],
        &rows,
    );
    report.picture("figures-7-and-8", figures_7_and_8(simulated));
    report.paragraph(
        "To measure a ratio on this machine: `purloin bench --kernel stress=12 --workers 16 --scheduler \
         direct-stack:spares=0,victims=sets --scheduler direct-stack:spares=0,victims=sampling+sets`.",
    );
    let programs = simulated.len();
    let plain = || simulated.iter().map(|(_, plain, _)| plain);
    let delayed = || simulated.iter().map(|(.., delayed)| delayed);
    let steals = compared(plain(), Selection::SampledSet, Selection::Set, |run| {
        &run.all_steals
    });
    let overheads = plain().map(|replay| ratio(replay, &|run| run.steals * cost(0.0)(run)));
    let overhead = geometric_mean(&overheads.collect::<Vec<_>>());
    if let Some(steals) = steals {
        report.verdict(
            "the number of steals needed and their attendant overhead can be reduced by sampling a \
             few workers and stealing the (heuristically) largest task on offer",
            match overhead.is_some_and(|overhead| overhead.mean < 1.0) {
                true => Verdict::not_above(steals, 1.0),
                false => Verdict::NotHere,
            },
            format!(
                "SAMP+SET needs {} times as many steals as SET, and steals and samples together cost {:.2} \
                 times as much (here and below: the geometric mean over {programs} programs on 63 simulated \
                 cores); we require both ratios below 1",
                with_margin(steals, 3),
                overhead.map_or(f64::NAN, |overhead| overhead.mean)
            ),
        );
    }
    let time = compared(plain(), Selection::SampledSet, Selection::Set, |run| {
        &run.all_seconds
    });
    let with_delay = compared(delayed(), Selection::SampledSet, Selection::Set, |run| {
        &run.all_seconds
    });
    if let Some((time, delayed)) = time.zip(with_delay) {
        report.verdict(
            "the reduction in the number of steals does not pay for the sampling overhead for 63 \
             cores",
            Verdict::above(time, GAIN),
            format!(
                "SAMP+SET takes {} of the time of SET, and {} if a steal takes {} cycles longer; we count a \
                 ratio below {GAIN} as a gain",
                with_margin(time, 3),
                with_margin(delayed, 3),
                delay()
            ),
        );
    }
    expensive_steals(simulated, report);
    let sets = compared(plain(), Selection::Set, Selection::Random, |run| {
        &run.all_seconds
    });
    let single = plain().filter_map(|replay| {
        let pair = replay
            .largest(Selection::Set)
            .zip(replay.largest(Selection::Random));
        pair.map(|(sets, random)| sets.seconds / random.seconds)
    });
    let single: Vec<_> = single.collect();
    if let Some(sets) = sets {
        for statement in [
            "a novel victim set algorithm, which consistently outperforms random victim selection",
            "a victim selection algorithm that improves cache and TLB locality",
        ] {
            let reason = "see the statement on cache and TLB sizes".to_string();
            report.verdict(statement, Verdict::Untestable, reason);
        }
        report.verdict(
            "for machines where the number of potential victims (ie cores) is large compared to cache \
             and TLB sizes, thieves can benefit from attempting steals from only a subset of the \
             potential victims if multiple thieves are active at the same time",
            Verdict::Untestable,
            format!(
                "in the paper, the gain comes from caches and TLBs that are small for the number of \
                 victims. This machine has too few processors, and the simulator has no caches. In \
                 the simulator, SET takes {} of the time of RAND, from {:.2} to {:.2} for single programs",
                with_margin(sets, 3),
                single.iter().copied().fold(f64::INFINITY, f64::min),
                single.iter().copied().fold(0.0, f64::max)
            ),
        );
    }
}

/// Judges what sampling gains if steals take longer.
fn expensive_steals(simulated: &[(&Row, Replay, Replay)], report: &mut Report) {
    let gain = |gains_in_paper: bool| {
        let programs = simulated.iter().filter(|(row, ..)| {
            let name = row.paper.parameter;
            (name.starts_with("stress") || name.starts_with("ssf")) == gains_in_paper
        });
        let delayed = programs.map(|(.., delayed)| delayed);
        compared(delayed, Selection::SampledSet, Selection::Set, |run| {
            &run.all_seconds
        })
    };
    if let Some((minor, others)) = gain(true).zip(gain(false)) {
        report.verdict(
            "While stress and ssf get minor speedups, it is clear that in general, a more expensive steal \
             operation does not make sampling that much more attractive",
            Verdict::above(minor, 1.0)
                .of_the_opposite()
                .and(Verdict::above(minor, GAIN))
                .and(Verdict::above(others, GAIN)),
            format!(
                "with the delay of {} cycles, SAMP+SET takes {} of the time of SET in stress and ssf, and {} in \
                 the other programs (the geometric means on 63 simulated cores). We require that stress and ssf \
                 gain, and that neither ratio is below {GAIN}",
                delay(),
                with_margin(minor, 3),
                with_margin(others, 3)
            ),
        );
    }
}

/// Returns SAMP+SET relative to SET on the largest machine. Not a number if one of them is missing.
fn ratio(replay: &Replay, value: &dyn Fn(&Simulated) -> f64) -> f64 {
    let sets = replay.largest(Selection::Set);
    let pair = sets.zip(replay.largest(Selection::SampledSet));
    pair.map_or(f64::NAN, |(sets, sampled)| value(sampled) / value(sets))
}

/// Returns the cycles of a steal with its samples, if steals take longer by `delay` cycles.
fn cost(delay: f64) -> impl Fn(&Simulated) -> f64 {
    move |run: &Simulated| SIMULATED_STEAL + delay + LOOK * run.samples / run.steals.max(1.0)
}

/// Formats the delay of Figure 8, in cycles.
fn delay() -> String {
    grouped(DELAY as u64)
}

/// Returns the picture of Figures 7 and 8.
fn figures_7_and_8(simulated: &[(&Row, Replay, Replay)]) -> Bars {
    type Values = fn(&Simulated) -> &Vec<f64>;
    let estimate = |replay: &Replay, values: Values| {
        let sets = replay.largest(Selection::Set)?;
        let sampled = replay.largest(Selection::SampledSet)?;
        Some(Estimate::of_ratio(values(sampled), values(sets)))
    };
    let panel = |title: &str, value: &dyn Fn(&Replay, f64) -> Option<Estimate>| BarPanel {
        title: title.to_string(),
        values: simulated
            .iter()
            .map(|(_, plain, delayed)| vec![value(plain, 0.0), value(delayed, DELAY)])
            .collect(),
    };
    Bars {
        title: "Figures 7 and 8, 63 simulated cores: SAMP+SET relative to SET".to_string(),
        names: simulated
            .iter()
            .map(|(row, ..)| row.paper.parameter)
            .collect(),
        series: vec![
            "Figure 7".to_string(),
            format!("Figure 8: {} cycles longer", delay()),
        ],
        base: 1.0,
        panels: vec![
            panel("number of steals", &|replay, _| {
                estimate(replay, |run| &run.all_steals)
            }),
            panel("cost of a steal with its samples", &|replay, delay| {
                Some(Estimate::new(&[ratio(replay, &cost(delay))]))
            }),
            panel("time", &|replay, _| {
                estimate(replay, |run| &run.all_seconds)
            }),
        ],
    }
}

/// The ratio of times below which a policy has gained.
const GAIN: f64 = 0.98;

/// Estimates the ratio of a value under one selection of victims to that under another on the largest machine, as
/// the geometric mean over all programs. `None` if a program lacks one of them.
fn compared<'d>(
    programs: impl Iterator<Item = &'d Replay>,
    selection: Selection,
    base: Selection,
    value: impl Fn(&'d Simulated) -> &'d Vec<f64>,
) -> Option<Estimate> {
    let pairs: Option<Vec<_>> = programs
        .map(|replay| {
            let (run, base) = replay.largest(selection).zip(replay.largest(base))?;
            Some((&value(run)[..], &value(base)[..]))
        })
        .collect();
    mean_ratio(&pairs?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_on_which_looking_costs_time_are_counted() {
        let cell = |cores, time| Sampled {
            cores,
            samples: 2,
            time: [time, (1.0, 0.0)],
            attempts: [(1.0, 0.0); 2],
        };
        let cells = [
            cell(16, (1.2, 0.1)),
            cell(32, (1.05, 0.1)),
            cell(64, (0.9, 0.0)),
        ];
        assert!(without_looking(&cells).ends_with("on 1 of 3 machines"));
    }
}
