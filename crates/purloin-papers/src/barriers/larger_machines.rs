//! Simulated machines, on which steals delay their victims by the measured time: Figures 7, 8, 11 and 12, and
//! what the barrier does for larger machines.

use purloin_command::Failure;
use purloin_command::format::grouped;
use purloin_measure::bench::median;
use purloin_measure::simulation::picture::{Horizontal, Line, Panel, Picture, Scale, Style};
use purloin_sim::{Estimate, Machine, Time};
use serde::{Deserialize, Serialize};

use super::shared::{NOTHING_TO_HIDE, mean_remaining};
use super::{BARRIER_WS, BENCHMARKS, CORES, DEFAULT_WS, Data, SYSTEMS};
use crate::report::{Report, Verdict, with_margin};
use crate::statistics::{Pair, deciding, mean_ratio};
use crate::trial::{Measured, Simulated, Trial};

/// A benchmark on simulated machines under a system.
#[derive(Serialize, Deserialize)]
pub(super) struct System {
    /// The time that a steal costs its victim, in seconds, in each measured run with steals.
    losses: Vec<f64>,
    /// The runs on all machines.
    pub(super) runs: Vec<Simulated>,
}

/// Simulates a benchmark under both systems.
pub(super) fn simulate(
    trial: &Trial,
    job: &str,
    measured: &[Measured],
) -> Result<[System; 2], Failure> {
    let recording = trial.record(job)?;
    let system = |scheduler| {
        let most = trial.most_workers();
        let mut cells = measured.iter();
        let cell = cells.find(|cell| cell.scheduler == scheduler && cell.workers == most);
        let mut system = System {
            losses: cell.map_or(Vec::new(), |cell| cell.costs(|costs| costs.loss_per_steal)),
            runs: Vec::new(),
        };
        let loss = system.loss().unwrap_or(0.0);
        let victim = Time::from_picoseconds((1e12 * loss).round() as u64);
        let machine = |cores| Machine::shared_memory(cores).with_victim(victim);
        let trials = trial.choose(3, 20);
        system.runs = trial.simulate(&recording, machine, &CORES, &["random"], trials)?;
        Ok(system)
    };
    Ok([system(DEFAULT_WS)?, system(BARRIER_WS)?])
}

impl System {
    /// Returns the time by which a simulated steal delays its victim, in seconds: the median of the measured
    /// runs. Returns `None` if nothing was stolen in them.
    fn loss(&self) -> Option<f64> {
        (!self.losses.is_empty()).then(|| median(&self.losses))
    }

    /// Returns the share of the cores' time that victims lose, in each trial.
    fn overheads(&self, run: &Simulated) -> Vec<f64> {
        let loss = self.loss().unwrap_or(0.0);
        let trials = run.all_steals.iter().zip(&run.all_seconds);
        let shares = trials.map(|(steals, seconds)| steals * loss / seconds / f64::from(run.cores));
        shares.collect()
    }
}

/// Returns the benchmarks, by their places, whose steals have a measured cost under both systems.
fn with_losses(data: &Data) -> Vec<usize> {
    let has_loss = |system: &System| system.loss().is_some_and(|loss| loss > 0.0);
    let places = 0..BENCHMARKS.len();
    places
        .filter(|&place| data.simulated[place].iter().all(has_loss))
        .collect()
}

/// Adds the picture of Figure 7, and judges whether the barrier relieves larger machines.
pub(super) fn overheads(data: &Data, report: &mut Report) {
    let places = with_losses(data);
    let runs = places.iter();
    let runs = runs.filter_map(|&place| data.simulated(place).last());
    let rates = runs.map(|run| run.steals / run.seconds / 1e3);
    let Some(most) = rates.max_by(f64::total_cmp) else {
        return;
    };
    report.paragraph(&format!(
        "The next picture shows the share of the simulated cores' time that victims lose. CilkSort's cost of a \
         steal is that of the form without a cut-off. On the largest simulated machine, there are up to {} \
         steals per ms (paper: almost 35). So the values cannot be compared with the paper's.",
        grouped(most.round() as u64)
    ));
    report.picture(
        "overheads",
        picture(
            "Figure 7, simulated: dynamic overhead in percent",
            data,
            |system, run| 100.0 * Estimate::new(&system.overheads(run)).mean,
        ),
    );
    relief(data, &places, report);
}

/// Judges how much of the overhead remains with the barrier on the largest machine.
fn relief(data: &Data, places: &[usize], report: &mut Report) {
    let overheads = places.iter().map(|&place| {
        let [default, barrier] = &data.simulated[place];
        [barrier, default].map(|system| {
            let largest = system.runs.last();
            largest.map_or(Vec::new(), |run| system.overheads(run))
        })
    });
    let Some((simulated, benchmarks)) = mean_remaining(&overheads.collect::<Vec<_>>()) else {
        return;
    };
    // The simulation takes the measured costs as exact, so their uncertainty is added here.
    let systems = places.iter().flat_map(|&place| &data.simulated[place]);
    let errors = systems.map(|system| error_of_median(&system.losses).powi(2));
    let error = errors.sum::<f64>().sqrt() / places.len() as f64;
    let remaining = Estimate {
        margin: simulated.mean * (simulated.margin / simulated.mean).hypot(error.exp() - 1.0),
        ..simulated
    };
    report.verdict(
        "substantially relieves work-stealing of the increasing pressure due to increasing intra-node \
         hardware parallelism",
        Verdict::Untestable,
        format!(
            "{NOTHING_TO_HIDE}. For comparison: on {} simulated cores, {} of the dynamic overhead remains with \
             the barrier (the geometric mean over {benchmarks} benchmarks; paper: about 0.6). The two simulated \
             systems differ only in the cost of a steal, so this ratio follows from the costs that we measured \
             with {} workers, and its interval from their spread. Equal costs give equal simulations",
            CORES[CORES.len() - 1],
            with_margin(remaining, 2),
            data.workers
        ),
    );
}

/// Returns the error of the median of several values, relative to it: the farther end of its 95 % confidence
/// interval, as a logarithm. It is infinite for fewer than six values.
///
/// The median of a distribution is between two of the sorted values with a probability that does not depend
/// on the distribution. This is why one run in which a thread lost its processor does not matter.
fn error_of_median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    // The number of values below the median of the distribution is binomial. At most 2.5 % of the cases may
    // have fewer than `outside` of them.
    let count = sorted.len();
    let (mut outside, mut ways, mut below) = (0, 1.0, 0.0);
    while below + ways <= 0.025 * 2_f64.powi(count as i32) {
        below += ways;
        ways *= (count - outside) as f64 / (outside + 1) as f64;
        outside += 1;
    }
    if outside == 0 {
        return f64::INFINITY;
    }
    let middle = median(&sorted);
    let ends = [sorted[outside - 1], sorted[count - outside]];
    let [low, high] = ends.map(|end| (end / middle).ln().abs());
    low.max(high)
}

/// Adds the pictures of Figures 8, 11 and 12, and judges whether the barrier improves the speed-ups.
pub(super) fn speed_ups(data: &Data, report: &mut Report) {
    let places = with_losses(data);
    if places.is_empty() {
        return;
    }
    report.picture(
        "speedups",
        picture("Figure 12, simulated: speed-ups", data, |_, run| {
            run.speed_up()
        }),
    );
    report.picture("relative", relative(data, &places));
    report.paragraph(
        "The simulated systems differ only in the time that a steal costs its victim. The simulator does not \
         have the barrier itself, so Figures 9 and 10 are measured only.",
    );
    scalability(data, &places, report);
    increasing_speed_ups(data, &places, report);
}

/// Returns the simulated run of a benchmark under one of the [`SYSTEMS`].
fn run(data: &Data, place: usize, system: usize, cores: u32) -> Option<&Simulated> {
    let mut runs = data.simulated[place][system].runs.iter();
    runs.find(|run| run.cores == cores)
}

/// Returns the picture of Figures 8 and 11.
fn relative(data: &Data, places: &[usize]) -> Picture {
    let panel = |title: &str, ratio: fn([&Simulated; 2]) -> Estimate| Panel {
        title: title.to_string(),
        scale: Scale::Linear,
        lines: places
            .iter()
            .map(|&place| Line {
                name: BENCHMARKS[place].name.to_string(),
                points: CORES
                    .iter()
                    .filter(|&&cores| cores > 1)
                    .filter_map(|&cores| {
                        let systems = [0, 1].map(|system| run(data, place, system, cores));
                        let [default, barrier] = systems;
                        let Estimate { mean, margin, .. } = ratio([default?, barrier?]);
                        Some((cores, mean, margin))
                    })
                    .collect(),
            })
            .collect(),
        region: Vec::new(),
    };
    Picture {
        title: "Figures 8 and 11, simulated: ReturnBarrierWS relative to DefaultWS".to_string(),
        horizontal: Horizontal::CORES,
        style: Style::Lines,
        rows: vec![vec![
            panel("number of steals", |[default, barrier]| {
                Estimate::of_ratio(&barrier.all_steals, &default.all_steals)
            }),
            panel("speed", |[default, barrier]| {
                Estimate::of_ratio(&default.all_seconds, &barrier.all_seconds)
            }),
        ]],
    }
}

/// Judges whether the barrier makes programs faster on the largest machine, and more so than on the smallest.
fn scalability(data: &Data, places: &[usize], report: &mut Report) {
    let gain = |cores: u32| {
        let pairs = places.iter().map(|&place| {
            let [default, barrier] = [0, 1].map(|system| run(data, place, system, cores));
            let pair: Pair = (&default?.all_seconds, &barrier?.all_seconds);
            Some(pair)
        });
        mean_ratio(&pairs.collect::<Option<Vec<_>>>()?)
    };
    let [few, many] = [CORES[1], CORES[CORES.len() - 1]];
    let Some((with_few, with_many)) = gain(few).zip(gain(many)) else {
        return;
    };
    report.verdict(
        "we improve the scalability of work-stealing applications",
        Verdict::Untestable,
        format!(
            "{NOTHING_TO_HIDE}. For comparison: on {many} simulated cores, ReturnBarrierWS is {} times as fast \
             as DefaultWS, and on {few} cores {} times (the geometric mean over {} benchmarks). The two \
             simulated systems differ only in the delay of victims, which we measured with {} workers",
            with_margin(with_many, 4),
            with_margin(with_few, 4),
            places.len(),
            data.workers
        ),
    );
}

/// Judges whether each program takes less time on each larger machine, with the barrier and without.
fn increasing_speed_ups(data: &Data, places: &[usize], report: &mut Report) {
    let steps: Vec<_> = CORES.windows(2).collect();
    let slowest = |system: usize| {
        let steps = steps.iter().flat_map(|step| {
            places.iter().map(|&place| {
                let [before, after] =
                    [step[0], step[1]].map(|cores| run(data, place, system, cores));
                let ratio = Estimate::of_ratio(&after?.all_seconds, &before?.all_seconds);
                Some(((BENCHMARKS[place].name, step[1]), ratio))
            })
        });
        let steps = steps.collect::<Option<Vec<_>>>()?;
        let (names, ratios): (Vec<_>, Vec<_>) = steps.into_iter().unzip();
        let (place, most) = deciding(&ratios, 1.0)?;
        Some((names[place], most))
    };
    let Some((_, ((name, cores), barrier))) = slowest(0).zip(slowest(1)) else {
        return;
    };
    report.verdict(
        "The extremely low dynamic overhead should enable increasing speedups with the increasing \
         parallelism",
        Verdict::Untestable,
        format!(
            "{NOTHING_TO_HIDE}, so the overheads of the two systems are about the same, and no speed-up shows \
             what a lower one would do. For comparison, up to {} simulated cores under ReturnBarrierWS: the \
             benchmark that gains least from a larger machine is {name}, which on {cores} cores takes {} of \
             the time of the next smaller machine (the interval is widened for {} comparisons)",
            CORES[CORES.len() - 1],
            with_margin(barrier, 3),
            steps.len() * places.len()
        ),
    );
}

/// Returns a picture with a panel for each benchmark, and a line for each system.
fn picture(title: &str, data: &Data, value: impl Fn(&System, &Simulated) -> f64) -> Picture {
    let panel = |&place: &usize| Panel {
        title: BENCHMARKS[place].name.to_string(),
        scale: Scale::Linear,
        lines: SYSTEMS
            .iter()
            .zip(&data.simulated[place])
            .map(|(name, system)| Line {
                name: name.to_string(),
                points: system
                    .runs
                    .iter()
                    .filter(|run| run.cores > 1)
                    .map(|run| (run.cores, value(system, run), 0.0))
                    .collect(),
            })
            .collect(),
        region: Vec::new(),
    };
    let places = with_losses(data);
    Picture {
        title: title.to_string(),
        horizontal: Horizontal::CORES,
        style: Style::Lines,
        rows: places
            .chunks(3)
            .map(|row| row.iter().map(panel).collect())
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_median_depends_on_the_values_in_the_middle() {
        // With 20 values, the interval is from the 6th to the 15th.
        let mut values: Vec<_> = (1..=20).map(f64::from).collect();
        let error = (15.0_f64 / 10.5).ln().max((10.5_f64 / 6.0).ln());
        assert!((error_of_median(&values) - error).abs() < 1e-9);
        values[19] = 1e9;
        assert!((error_of_median(&values) - error).abs() < 1e-9);
        assert_eq!(error_of_median(&values[..5]), f64::INFINITY);
        assert!((error_of_median(&values[..6]) - 3.5_f64.ln()).abs() < 1e-9);
    }

    /// Returns the simulated runs of a system, whose time on n cores is 16 / n plus a part that steals add.
    fn system(loss: Option<f64>) -> System {
        let runs = CORES.iter().map(|&cores| {
            let delay = 1.0 + 1e6 * loss.unwrap_or(0.0) * f64::from(cores) / 16.0;
            let seconds: Vec<_> = [1.0, 1.0001]
                .map(|noise| 16.0 / f64::from(cores) * delay * noise)
                .into();
            Simulated {
                job: "fft=18".to_string(),
                policy: "random".to_string(),
                cores,
                seconds: seconds[0],
                all_seconds: seconds,
                all_steals: vec![1e3, 1e3],
                work: 16.0,
                span: 0.1,
                tasks: 9,
                steals: 1e3,
                samples: 0.0,
            }
        });
        System {
            losses: loss.map_or(Vec::new(), |loss| vec![loss; 9]),
            runs: runs.collect(),
        }
    }

    fn verdicts(default: Option<f64>, barrier: Option<f64>) -> Report {
        let systems = || [system(default), system(barrier)];
        let data = Data {
            measured: BENCHMARKS.iter().map(|_| Vec::new()).collect(),
            simulated: BENCHMARKS.iter().map(|_| systems()).collect(),
            workers: 2,
        };
        let mut report = Report::default();
        overheads(&data, &mut report);
        speed_ups(&data, &mut report);
        report
    }

    const RELIEF: &str = "substantially relieves work-stealing of the increasing pressure due to increasing \
                          intra-node hardware parallelism";
    const SCALABILITY: &str = "we improve the scalability of work-stealing applications";
    const SPEED_UPS: &str = "The extremely low dynamic overhead should enable increasing speedups with the \
                             increasing parallelism";

    #[test]
    fn simulations_that_follow_from_the_measured_costs_judge_nothing() {
        for barrier in [2e-7, 4e-7] {
            let report = verdicts(Some(4e-7), Some(barrier));
            for statement in [RELIEF, SCALABILITY, SPEED_UPS] {
                let found = report.found(statement);
                assert_eq!(found, Some(Verdict::Untestable), "{statement}");
            }
        }
    }

    #[test]
    fn without_a_measured_cost_under_both_systems_there_is_no_verdict() {
        for (default, barrier) in [(None, None), (None, Some(2e-7)), (Some(4e-7), None)] {
            assert!(verdicts(default, barrier).statements().is_empty());
        }
    }
}
