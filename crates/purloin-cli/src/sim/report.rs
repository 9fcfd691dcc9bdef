//! The results of the simulations, as JSON and as a picture: [`Report`].

use purloin_measure::simulation::picture::{Horizontal, Line, Panel, Picture, Scale, Style};
use purloin_sim::{Estimate, Outcome, Policy};
use serde::Serialize;

/// All cells.
#[derive(Serialize)]
pub struct Report {
    pub workload: String,
    pub machine: String,
    pub trials: u64,
    pub seed: u64,
    pub cells: Vec<Cell>,
}

/// A policy on a number of cores: means over the trials, and their margins.
///
/// A margin is half the width of the 95 % confidence interval, and `null` for a single trial.
#[derive(Serialize)]
pub struct Cell {
    pub cores: u32,
    pub policy: String,
    /// The simulated time, in seconds.
    pub time: f64,
    pub time_margin: Option<f64>,
    /// Steal attempts, successful or not: the "steals" of Wool's Figure 4.
    pub attempts: f64,
    pub attempts_margin: Option<f64>,
    /// Attempts that brought at least one task.
    pub successful_steals: f64,
    pub samples: f64,
    pub messages: f64,
    pub tasks: f64,
    /// The share of the cores' time in which they had no work.
    pub idle: f64,
    pub events: f64,
    /// The time divided by the time of the first policy; `null` if the divisor is 0.
    pub relative_time: Option<f64>,
    pub relative_time_margin: Option<f64>,
    pub relative_attempts: Option<f64>,
    pub relative_attempts_margin: Option<f64>,
    #[serde(flatten)]
    former_names: FormerNames,
}

/// The former names of some fields; scripts may rely on them until the next edition.
#[derive(Serialize)]
struct FormerNames {
    /// Now `cores`.
    nodes: u32,
    /// Now `attempts`, and so on.
    steals: f64,
    steals_margin: Option<f64>,
    relative_steals: Option<f64>,
    relative_steals_margin: Option<f64>,
}

impl Cell {
    /// Summarizes the outcomes of a cell. `baseline` are the outcomes of the first policy, with
    /// the same seeds.
    pub fn new(cores: u32, policy: Policy, outcomes: &[Outcome], baseline: &[Outcome]) -> Cell {
        let values = |outcomes: &[Outcome], value: &dyn Fn(&Outcome) -> f64| -> Vec<f64> {
            outcomes.iter().map(value).collect()
        };
        let estimate = |value: &dyn Fn(&Outcome) -> f64| Estimate::new(&values(outcomes, value));
        let relative = |value: &dyn Fn(&Outcome) -> f64| {
            Estimate::of_ratio(&values(outcomes, value), &values(baseline, value))
        };
        let time_of = |outcome: &Outcome| outcome.time.seconds();
        let attempts_of = |outcome: &Outcome| outcome.attempts as f64;
        let (time, attempts) = (estimate(&time_of), estimate(&attempts_of));
        let (relative_time, relative_attempts) = (relative(&time_of), relative(&attempts_of));
        Cell {
            cores,
            policy: policy.to_string(),
            time: time.mean,
            time_margin: finite(time.margin),
            attempts: attempts.mean,
            attempts_margin: finite(attempts.margin),
            successful_steals: estimate(&|outcome| outcome.steals as f64).mean,
            samples: estimate(&|outcome| outcome.samples as f64).mean,
            messages: estimate(&|outcome| outcome.messages as f64).mean,
            tasks: estimate(&|outcome| outcome.tasks as f64).mean,
            idle: estimate(&|outcome| outcome.idle(cores)).mean,
            events: estimate(&|outcome| outcome.events as f64).mean,
            relative_time: finite(relative_time.mean),
            relative_time_margin: finite(relative_time.margin),
            relative_attempts: finite(relative_attempts.mean),
            relative_attempts_margin: finite(relative_attempts.margin),
            former_names: FormerNames {
                nodes: cores,
                steals: attempts.mean,
                steals_margin: finite(attempts.margin),
                relative_steals: finite(relative_attempts.mean),
                relative_steals_margin: finite(relative_attempts.margin),
            },
        }
    }
}

/// Returns `None` for infinity and NaN, which JSON cannot express.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

impl Report {
    /// Draws time and steal attempts against the number of cores. With several policies both are
    /// relative to the first policy, as in Wool's Figure 4.
    pub fn picture(&self) -> Picture {
        let names = self
            .cells
            .iter()
            .take_while(|cell| cell.cores == self.cells[0].cores);
        let names: Vec<_> = names.map(|cell| &cell.policy).collect();
        let lines = |value: fn(&Cell) -> (Option<f64>, Option<f64>)| {
            let line = |name: &&String| Line {
                name: name.to_string(),
                points: self
                    .cells
                    .iter()
                    .filter(|cell| cell.policy == **name)
                    .filter_map(|cell| {
                        let (value, margin) = value(cell);
                        Some((cell.cores, value?, margin.unwrap_or(0.0)))
                    })
                    .collect(),
            };
            names.iter().map(line).collect()
        };
        let panel = |title: String, scale, lines| Panel {
            title,
            scale,
            lines,
            region: Vec::new(),
        };
        let panels = match &names[..] {
            [_] => vec![
                panel(
                    "time in µs".to_owned(),
                    Scale::Logarithmic,
                    lines(|cell| {
                        (
                            Some(1e6 * cell.time),
                            cell.time_margin.map(|margin| 1e6 * margin),
                        )
                    }),
                ),
                panel(
                    "steal attempts".to_owned(),
                    Scale::Logarithmic,
                    lines(|cell| (Some(cell.attempts), cell.attempts_margin)),
                ),
            ],
            names => vec![
                panel(
                    format!("time relative to {}", names[0]),
                    Scale::Linear,
                    lines(|cell| (cell.relative_time, cell.relative_time_margin)),
                ),
                panel(
                    format!("steal attempts relative to {}", names[0]),
                    Scale::Linear,
                    lines(|cell| (cell.relative_attempts, cell.relative_attempts_margin)),
                ),
            ],
        };
        Picture {
            horizontal: Horizontal::CORES,
            title: format!(
                "{} on {}, {} trials each, with 95 % confidence intervals",
                self.workload, self.machine, self.trials
            ),
            style: Style::Lines,
            rows: vec![panels],
        }
    }
}
