//! Loops as splittable tasks: how much of a loop a thief gets, measured and on simulated machines.

use purloin_command::format::time;
use purloin_command::{Failure, progress};
use purloin_kernels::loops::{TIMED, Timed};
use purloin_measure::bench::median;
use purloin_measure::simulation::picture::{Horizontal, Line, Panel, Picture, Scale, Style};
use purloin_measure::simulation::runs::{Run, Runs};
use purloin_sim::{Estimate, Loop, Machine, Policy, simulate};
use serde::{Deserialize, Serialize};

use super::speed_ups::speed_up;
use super::stealing::least;
use super::{
    CHANNEL, CHASE_LEV, CORES, SPLITTABLE, SPLITTINGS, Workload, loops, splitting, splittings,
};
use crate::Results;
use crate::report::{Report, Verdict, at_least, or_dash, with_margin};
use crate::results::times;
use crate::statistics::{deciding, mean_ratio};
use crate::trial::{Measured, Trial};

/// Splitting for requests, and splitting beforehand, in each of the three ways.
const POLICIES: [&str; 2 * SPLITTINGS.len()] = [
    "forward+lazy-binary",
    "forward+lazy-guided",
    "forward+lazy-adaptive",
    "direct+lazy-binary",
    "direct+lazy-guided",
    "direct+lazy-adaptive",
];

/// The place of adaptive splitting for requests.
const ADAPTIVE: usize = 2;

/// The policies as the tables name them.
const NAMES: [&str; POLICIES.len()] = [
    "requests: binary",
    "requests: guided",
    "requests: adaptive",
    "deques: binary",
    "deques: guided",
    "deques: adaptive",
];

/// The statement on lazy splitting.
pub(super) const LAZY_SPLITTING: &str =
    "Difficult to know which strategy works best → Explicit communication solves this problem";

/// The least share of the best speed-up that adaptive splitting must reach.
const NEARLY: f64 = 0.95;

/// A loop on a simulated machine.
#[derive(Serialize, Deserialize)]
pub(super) struct SimulatedLoop {
    cores: u32,
    /// The time of all iterations, in seconds.
    work: f64,
    /// The times of all trials under each policy, in seconds.
    policies: [Case; POLICIES.len()],
}

#[derive(Serialize, Deserialize)]
struct Case {
    #[serde(deserialize_with = "times")]
    seconds: Vec<f64>,
    /// The mean number of tasks.
    tasks: f64,
}

/// Returns a machine whose cores share memory, as in the other simulations, but on which a failed attempt to
/// steal takes only as long as a look, and a task costs 10 ns.
fn machine(cores: u32) -> Machine {
    let text = format!(
        "cores = {cores}\ntask = \"10ns\"\n[socket]\nsteal = \"1us\"\nmiss = \"100ns\"\nsample = \"100ns\"\n\
         message = \"100ns\"\n"
    );
    Machine::from_toml(&text).expect("the text is a machine file")
}

/// Returns the loop of a workload.
fn shape(workload: &Workload) -> &'static Timed {
    let name = workload.full.trim_start_matches("loops=");
    let shape = TIMED.iter().find(|shape| shape.name == name);
    shape.expect("the iterations of all loops here have known times")
}

/// Simulates a loop under each policy, on each machine.
pub(super) fn simulated(trial: &Trial, workload: &Workload) -> Result<Vec<SimulatedLoop>, Failure> {
    let (shape, cores) = (shape(workload), trial.choose(&CORES[..1], &CORES[..]));
    let trials = trial.choose(2, 10);
    let mut runs = Vec::new();
    for &cores in cores {
        for text in POLICIES {
            let policy: Policy = text.parse().map_err(Failure::usage)?;
            for seed in 0..trials {
                runs.push(Run {
                    steps: 1,
                    message: format!("{} on {cores} simulated cores", workload.name),
                    simulate: Box::new(move || {
                        simulate(&Loop(shape), &machine(cores), policy, seed)
                    }),
                });
            }
        }
    }
    let progress = progress(runs.len() as u64, "simulations");
    let mut outcomes = Runs::default().all(&runs, &progress)?.into_iter();
    let nanoseconds = (0..shape.count).map(|i| shape.nanoseconds(i) as f64);
    let work = 1e-9 * nanoseconds.sum::<f64>();
    let machines = cores.iter().map(|&cores| SimulatedLoop {
        cores,
        work,
        policies: std::array::from_fn(|_| {
            let outcomes: Vec<_> = outcomes.by_ref().take(trials as usize).collect();
            let tasks = outcomes.iter().map(|run| run.tasks as f64);
            Case {
                tasks: tasks.sum::<f64>() / trials as f64,
                seconds: outcomes.iter().map(|run| run.time.seconds()).collect(),
            }
        }),
    });
    Ok(machines.collect())
}

impl SimulatedLoop {
    fn speed_up(&self, policy: usize) -> Estimate {
        let seconds = self.policies[policy].seconds.iter();
        let speed_ups: Vec<_> = seconds.map(|seconds| self.work / seconds).collect();
        Estimate::new(&speed_ups)
    }

    /// Returns the fastest policy.
    fn fastest(&self) -> usize {
        let mean = |policy: &usize| {
            let seconds = &self.policies[*policy].seconds;
            seconds.iter().sum::<f64>() / seconds.len() as f64
        };
        let fastest = (0..POLICIES.len()).min_by(|a, b| mean(a).total_cmp(&mean(b)));
        fastest.expect("there are several policies")
    }

    /// Estimates how many times as long adaptive splitting for requests takes as the fastest policy.
    fn slowdown(&self) -> Estimate {
        let fastest = &self.policies[self.fastest()].seconds;
        Estimate::of_ratio(&self.policies[ADAPTIVE].seconds, fastest)
    }
}

pub(super) fn part(workload: &Workload) -> String {
    format!("{}, simulated", workload.name)
}

/// Reports on the measured loops, then on the simulated ones.
pub(super) fn report(trial: &Trial, results: &Results, report: &mut Report) -> Result<(), Failure> {
    report.section("Lazy splitting of loops");
    report.paragraph(
        "Speed-ups. With messages, a worker splits a loop when a request arrives. With a concurrent deque, \
         it must split beforehand, whenever its deque is empty.",
    );
    let (mut rows, mut shares) = (Vec::new(), Vec::new());
    for workload in loops() {
        let cells: Vec<Measured> = results.of(&splittings(workload))?;
        let of = |scheduler| {
            SPLITTINGS.map(|split| speed_up(trial, &cells, &splitting(scheduler, split)))
        };
        let (channel, deque) = (of(CHANNEL), of(CHASE_LEV));
        let all = channel.iter().chain(&deque);
        let mut row = vec![workload.name.to_string()];
        row.extend(all.map(|value| or_dash(*value, |value| format!("{value:.2}"))));
        rows.push(row);
        shares.extend(share_of_best(channel, deque));
    }
    report.table(
        &[
            "workload",
            "`channel`: binary",
            "`channel`: guided",
            "`channel`: adaptive",
            "`chase-lev`: binary",
            "`chase-lev`: guided",
            "`chase-lev`: adaptive",
        ],
        &rows,
    );
    let here = least(&shares, loops().count()).map(|worst| {
        format!(
            "With {} workers, adaptive splitting for requests reaches {} of the best speed-up of the six \
             combinations (three ways, two schedulers)",
            trial.most_workers(),
            at_least(worst)
        )
    });
    on_larger_machines(results, here, report)?;
    let [separate, splittable]: [Vec<f64>; 2] = results.of(SPLITTABLE)?;
    if let Some(gain) = mean_ratio(&[(&separate, &splittable)]) {
        report.verdict(
            "Splittable tasks (task length 1 µs)",
            Verdict::above(gain, 1.05),
            format!(
                "under `{CHANNEL}`, SPC with tasks of 1 µs takes {} as one splittable task and {} as \
                 separate tasks (medians). Run by run, the splittable task is {} times as fast (the \
                 geometric mean); we require 1.05",
                time(median(&splittable)),
                time(median(&separate)),
                with_margin(gain, 2)
            ),
        );
    }
    Ok(())
}

/// Returns the share of the best speed-up that adaptive splitting, the last way, reaches under
/// `channel`. `None` if a value is missing.
fn share_of_best(
    channel: [Option<f64>; SPLITTINGS.len()],
    deque: [Option<f64>; SPLITTINGS.len()],
) -> Option<f64> {
    let all: Option<Vec<f64>> = channel.iter().chain(&deque).copied().collect();
    let best = all?.into_iter().fold(0.0, f64::max);
    Some(channel[SPLITTINGS.len() - 1]? / best)
}

/// Reports on the simulated loops. `here` says how fast adaptive splitting is on this machine.
fn on_larger_machines(
    results: &Results,
    here: Option<String>,
    report: &mut Report,
) -> Result<(), Failure> {
    report.section("Lazy splitting of loops on larger machines (simulated)");
    report.paragraph(
        "Speed-ups over the serial loop. *Requests*: between two strips, a worker splits its loop for each \
         request that has arrived, and the workers that have asked count as idle. As in the library, a strip \
         has 128 iterations or takes about 10 µs, but has at least one iteration. *Deques*: thieves take \
         tasks by themselves, and between two strips, a worker splits its loop if its deque is empty. The \
         simulated worker knows the number of idle workers, which includes the thieves whose tasks are on \
         their way. *Binary* gives half of the iterations, *guided* gives 1/p of them with p cores, \
         and *adaptive* an equal part for each idle worker and the worker itself. A message takes 100 ns, a \
         steal 1 µs, a failed attempt 100 ns, and a task 10 ns.",
    );
    let (mut rows, mut slowdowns, mut panels) = (Vec::new(), Vec::new(), Vec::new());
    for workload in loops() {
        let machines: Vec<SimulatedLoop> = results.of(&part(workload))?;
        panels.push(panel(workload.name, &machines));
        for run in &machines {
            let mut row = vec![workload.name.to_string(), run.cores.to_string()];
            let policies = 0..POLICIES.len();
            row.extend(policies.map(|policy| with_margin(run.speed_up(policy), 1)));
            rows.push(row);
            let place = (workload.name, run.cores, NAMES[run.fastest()]);
            slowdowns.push((place, run.slowdown()));
        }
    }
    let mut head = vec!["workload", "cores"];
    head.extend(NAMES);
    report.table(&head, &rows);
    report.paragraph(
        "With deques, a worker offers one part at a time, and only between two strips. With many cores, \
         *guided* and *adaptive* make parts of a few iterations, which are soon finished. The coarse loop \
         suffers most, because each of its strips is one iteration of 100 µs.",
    );
    let mut panels = panels.into_iter();
    report.picture(
        "splitting",
        Picture {
            title: "Lazy splitting (simulated): speed-up divided by the number of cores"
                .to_string(),
            horizontal: Horizontal::CORES,
            style: Style::Lines,
            rows: vec![panels.by_ref().take(3).collect(), panels.collect()],
        },
    );
    let (places, slowdowns): (Vec<_>, Vec<_>) = slowdowns.into_iter().unzip();
    let slow = Verdict::some_above(&slowdowns, 1.0 / NEARLY);
    if let Some((slow, (place, slowdown))) = slow.zip(deciding(&slowdowns, 1.0 / NEARLY)) {
        let (workload, cores, fastest) = places[place];
        report.verdict(
            LAZY_SPLITTING,
            slow.of_the_opposite(),
            format!(
                "the limiting simulation is {workload} on {cores} cores, where *{fastest}* is the fastest of \
                 the six combinations: adaptive splitting for requests takes {} times as long (the interval is \
                 widened for {} simulations). We allow {:.3}, which means {NEARLY} of the best speed-up, for every \
                 loop and machine.{}",
                with_margin(slowdown, 3),
                slowdowns.len(),
                1.0 / NEARLY,
                here.map_or(String::new(), |here| format!(" {here}"))
            ),
        );
    }
    Ok(())
}

/// Draws the speed-ups of a loop divided by the number of cores.
fn panel(name: &str, machines: &[SimulatedLoop]) -> Panel {
    let line = |policy: usize| Line {
        name: NAMES[policy].to_string(),
        points: machines
            .iter()
            .map(|run| {
                let share = run.speed_up(policy).mean / f64::from(run.cores);
                (run.cores, share, 0.0)
            })
            .collect(),
    };
    Panel {
        title: name.to_string(),
        scale: Scale::Linear,
        lines: (0..NAMES.len()).map(line).collect(),
        region: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_way_of_splitting_is_compared_with_the_best_of_all() {
        let channel = [Some(1.9), Some(2.0), Some(1.0)];
        let deque = [Some(1.5); 3];
        assert_eq!(share_of_best(channel, deque), Some(0.5));
        assert_eq!(share_of_best(channel, [None; 3]), None);
    }

    #[test]
    fn adaptive_splitting_is_compared_with_the_fastest_policy() {
        let case = |seconds: f64| Case {
            seconds: vec![seconds; 3],
            tasks: 1.0,
        };
        let run = SimulatedLoop {
            cores: 4,
            work: 8.0,
            policies: [2.0, 3.0, 2.5, 4.0, 4.0, 4.0].map(case),
        };
        assert!((run.slowdown().mean - 1.25).abs() < 1e-9);
        assert!((run.speed_up(ADAPTIVE).mean - 3.2).abs() < 1e-9);
    }

    #[test]
    fn every_policy_and_shape_is_known() {
        for policy in POLICIES {
            policy.parse::<Policy>().unwrap();
        }
        for workload in loops() {
            assert_eq!(workload.full, format!("loops={}", shape(workload).name));
        }
    }
}
