//! The report on what thieves get, one task or half, and by which messages.

use purloin_command::Failure;
use purloin_command::format::{grouped, time};
use purloin_measure::simulation::picture::{Horizontal, Line, Panel, Picture, Scale, Style};
use purloin_schedulers::Adaptive;

use super::speed_ups::{speed_up, with_all};
use super::{
    AMOUNTS, CHANNEL, FORWARDING, LENGTHS, POLICIES, STEALING, UnderPolicies, amounts, find,
    simulation,
};
use crate::Results;
use crate::report::{Report, Verdict, at_least, or_dash, with_margin};
use crate::statistics::{Pair, mean_ratio};
use crate::trial::{Measured, Simulated, Trial};

/// Returns the least share of the better fixed strategy's speed-up that adaptive stealing reaches.
pub(super) fn stealing(
    trial: &Trial,
    results: &Results,
    report: &mut Report,
) -> Result<Option<f64>, Failure> {
    report.section("Stealing one task, half of them, or adaptively");
    report.paragraph(&format!(
        "Speed-ups and steals under `{CHANNEL}` with {} workers.",
        trial.most_workers()
    ));
    let mut rows = Vec::new();
    let mut shares = Vec::new();
    for name in STEALING {
        let cells: Vec<Measured> = results.of(&amounts(name))?;
        let values = AMOUNTS.map(|scheduler| speed_up(trial, &cells, scheduler));
        let mut row = vec![name.to_string(), format!("`{}`", find(name).job(trial))];
        row.extend(values.map(|value| or_dash(value, |value| format!("{value:.2}"))));
        let steals = AMOUNTS.map(|scheduler| with_all(trial, &cells, scheduler));
        row.extend(steals.map(|cell| or_dash(cell, |cell| grouped(cell.steals))));
        rows.push(row);
        if let [Some(one), Some(half), Some(adaptive)] = values {
            shares.push(adaptive / one.max(half));
        }
    }
    report.table(
        &[
            "workload (slides)",
            "our input",
            "speed-up: one",
            "speed-up: half",
            "speed-up: adaptive",
            "steals: one",
            "steals: half",
            "steals: adaptive",
        ],
        &rows,
    );
    report.paragraph(
        "*Steals* are tasks that thieves have got, not answers. A thief that steals half gets up to 256 tasks by \
         one request and one answer; the next section counts both. A ratio of two medians of three runs is uncertain by some percent, so \
         the table does not show either that adaptive stealing is slower than both others where its speed-up is \
         the lowest.",
    );
    Ok(least(&shares, STEALING.len()))
}

/// Returns the least of the values, if this is their number. Otherwise some are missing.
pub(super) fn least(values: &[f64], number: usize) -> Option<f64> {
    let least = values.iter().copied().min_by(f64::total_cmp);
    least.filter(|_| values.len() == number)
}

pub(super) fn simulated(
    trial: &Trial,
    results: &Results,
    measured: Option<f64>,
    report: &mut Report,
) -> Result<(), Failure> {
    report.section("Forwarding, and adaptive stealing on larger machines (simulated)");
    report.paragraph(
        "Speed-ups of recorded programs on cores that share memory. A message takes 100 ns, but a request \
         and an answer with tasks together take 1 µs. Without forwarding, a victim that has no tasks answers \
         the thief, which asks another victim. With forwarding, it passes the request to a random core. The \
         library passes a request to the next worker that has not been asked. For the adaptive strategy, the \
         simulator counts every task that a thief has started since its last decision, and the library one \
         or two for each stolen task. The two tables come from \
         separate trials, so equal settings may differ slightly. The simulated Channel WS differs from the \
         library's in these points, too: thieves send no early requests, half of a victim's tasks may be more \
         than 256, messages take no time of the worker that handles them, and blocked workers run any task, \
         not only descendants of the one that they wait for.",
    );
    let lengths: Vec<[Simulated; 2]> = results.of(FORWARDING)?;
    let gain = |[asked, forwarded]: &[Simulated; 2]| forwarded.speed_up() / asked.speed_up();
    let rows: Vec<_> = lengths
        .iter()
        .map(|runs| {
            let [asked, forwarded] = runs;
            vec![
                format!("`{}`", asked.job),
                asked.cores.to_string(),
                format!("{:.1}", asked.speed_up()),
                format!("{:.1}", forwarded.speed_up()),
                format!("{:.2}", gain(runs)),
            ]
        })
        .collect();
    report.table(
        &[
            "BPC, n = 9",
            "cores",
            "without forwarding",
            "with forwarding",
            "gain",
        ],
        &rows,
    );
    let times = lengths
        .iter()
        .map(|[asked, forwarded]| -> Pair { (&asked.all_seconds, &forwarded.all_seconds) });
    let times: Vec<_> = times.collect();
    // The simulations of one length after the other.
    let by_length = times.chunks((times.len() / LENGTHS.len()).max(1));
    let [shortest, longest] = [LENGTHS[0], LENGTHS[LENGTHS.len() - 1]];
    let ends = by_length.clone().next().zip(by_length.last());
    let ends = ends.and_then(|(first, last)| Some([mean_ratio(first)?, mean_ratio(last)?]));
    if let Some((gain, [short, long])) = mean_ratio(&times).zip(ends) {
        report.verdict(
            FORWARDING_IMPROVES,
            Verdict::above(gain, 1.02),
            format!(
                "on simulated cores, BPC with n = 9 runs {} times as fast with forwarding (the geometric mean \
                 of {} simulations with tasks of 1 to 100 µs); we require 1.02. With tasks of {shortest} µs, \
                 it runs {} times as fast, and with {longest} µs {} times. The intervals cover the random \
                 choices of the thieves, not the recording. The slide is about this workload, but gives no \
                 length of a task",
                with_margin(gain, 3),
                times.len(),
                with_margin(short, 3),
                with_margin(long, 3)
            ),
        );
    }
    let (mut rows, mut shares, mut panels) = (Vec::new(), Vec::new(), Vec::new());
    let (mut single, mut bouncing, mut start) = (Vec::new(), Vec::new(), None);
    for name in STEALING {
        let machines: Vec<UnderPolicies> = results.of(&simulation(name))?;
        panels.push(panel(name, &machines));
        for runs in &machines {
            let mut row = vec![
                name.to_string(),
                format!("`{}`", runs[0].job),
                runs[0].cores.to_string(),
            ];
            let values = runs.each_ref().map(Simulated::speed_up);
            row.extend(values.iter().map(|value| format!("{value:.1}")));
            rows.push(row);
            let [_, one, half, adaptive] = values;
            if name == "SPC, 100 µs" {
                start = Some(slow_start(runs));
            }
            match name {
                "SPC, 10 µs" | "SPC, 100 µs" => single.push((half / one, runs[0].cores)),
                "BPC, n = 9, 10 µs" => bouncing.push((half / one, runs[0].cores)),
                _ => {}
            }
            if runs[0].tasks >= ENOUGH_TASKS * u64::from(runs[0].cores) {
                shares.push((adaptive / one.max(half), name, runs[0].cores));
            }
        }
    }
    report.table(
        &[
            "workload (slides)",
            "our input",
            "cores",
            "one, without forwarding",
            "one, with forwarding",
            "half, with forwarding",
            "adaptive, with forwarding",
        ],
        &rows,
    );
    if panels.iter().any(|panel| !panel.lines[0].points.is_empty()) {
        let mut panels = panels.into_iter();
        report.picture(
            "stealing",
            Picture {
                title: "Speed-ups (simulated)".to_string(),
                horizontal: Horizontal::CORES,
                style: Style::Lines,
                rows: vec![panels.by_ref().take(3).collect(), panels.collect()],
            },
        );
    }
    one_or_half(&single, &bouncing, report);
    let least = shares.iter().min_by(|(a, ..), (b, ..)| a.total_cmp(b));
    if let Some((&(simulated, worst, worst_cores), measured)) = least.zip(measured) {
        report.verdict(
            ADAPTIVE_STEALING,
            Verdict::confirmed_if(simulated >= 0.9 && measured >= 0.9),
            format!(
                "adaptive stealing reaches {} of the speed-up of the better fixed strategy on {} simulated \
                 cores ({worst} on {worst_cores} cores), and {} with {} workers; we require 0.9. We do not \
                 judge simulations with fewer than {ENOUGH_TASKS} tasks a core, in which few steals are left \
                 after a thief has changed its strategy: the slides have a million tasks. A thief begins with one \
                 task at a time, and decides after its first {} steals.{}",
                at_least(simulated),
                trial.choose("24", "24, 48 and 240"),
                at_least(measured),
                trial.most_workers(),
                Adaptive::INTERVAL,
                start.unwrap_or_default()
            ),
        );
    }
    Ok(())
}

/// Says what adaptive stealing loses at the start of a program with a single producer.
fn slow_start([_, one, half, adaptive]: &UnderPolicies) -> String {
    let first = f64::from(one.cores) * f64::from(Adaptive::INTERVAL);
    format!(
        " With many thieves and a single producer, this start explains what adaptive stealing loses against \
         half: in SPC with 100 µs on {} cores, the first {} steals of all thieves take {} at the speed of \
         *one*, and the program takes {} longer than with half",
        one.cores,
        Adaptive::INTERVAL,
        time(first * one.seconds / one.tasks as f64),
        time(adaptive.seconds - half.seconds)
    )
}

/// Judges whether half of the tasks is better than one where a single worker produces them. The ratios are those of
/// the speed-ups.
fn one_or_half(single: &[(f64, u32)], bouncing: &[(f64, u32)], report: &mut Report) {
    let range = |ratios: &[(f64, u32)]| {
        let ratios = ratios.iter().map(|(ratio, _)| *ratio);
        let least = ratios.clone().min_by(f64::total_cmp)?;
        Some((least, ratios.max_by(f64::total_cmp)?))
    };
    if let Some(((least, most), (least_bouncing, most_bouncing))) =
        range(single).zip(range(bouncing))
    {
        report.verdict(
            "Stealing Tasks: ⌊n/2⌋ tasks",
            Verdict::confirmed_if(least > 1.02),
            format!(
                "the slides compare one task and half with SPC, and tasks of 10 and 100 µs. On simulated cores, \
                 SPC runs {least:.1} to {most:.1} times as fast if thieves get half; we require 1.02 on every \
                 machine. BPC with n = 9 runs {least_bouncing:.2} to {most_bouncing:.2} times as fast. With \
                 few workers, the two are about equally fast (see the measured table)"
            ),
        );
    }
}

/// The simulated policies, in the order of [`POLICIES`].
const STRATEGIES: [&str; POLICIES.len()] = ["one, no forwarding", "one", "half", "adaptive"];

/// Draws the speed-ups of a workload under each policy.
fn panel(name: &str, machines: &[UnderPolicies]) -> Panel {
    let line = |policy: usize| Line {
        name: STRATEGIES[policy].to_string(),
        points: machines
            .iter()
            .map(|runs| (runs[policy].cores, runs[policy].speed_up(), 0.0))
            .collect(),
    };
    Panel {
        title: name.to_string(),
        scale: Scale::Linear,
        lines: (0..STRATEGIES.len()).map(line).collect(),
        region: Vec::new(),
    }
}

/// The statements on forwarding and on adaptive stealing.
pub(super) const FORWARDING_IMPROVES: &str = "Forwarding improves performance";
pub(super) const ADAPTIVE_STEALING: &str = "Adaptive stealing: reevaluate strategy after N steals";

/// The number of tasks for each core from which adaptive stealing is judged.
const ENOUGH_TASKS: u64 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_values_leave_no_least() {
        assert_eq!(least(&[0.9, 0.8], 2), Some(0.8));
        assert_eq!(least(&[0.9], 2), None);
        assert_eq!(least(&[], 0), None);
    }
}
