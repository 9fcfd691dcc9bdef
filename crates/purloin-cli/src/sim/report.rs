//! What was simulated, as JSON: [`Report`].

use purloin_sim::{Estimate, Outcome, Policy};

use crate::simulation::picture::{Line, Panel, Picture, Scale};
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

impl Report {
    /// Time and attempts to steal, against the number of cores: relative to the first policy
    /// if there are others, as in Wool's Figure 4.
    pub fn picture(&self) -> Picture {
        let names = self
            .cells
            .iter()
            .take_while(|cell| cell.nodes == self.cells[0].nodes);
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
                        Some((cell.nodes, value?, margin.unwrap_or(0.0)))
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
                    "attempts to steal".to_owned(),
                    Scale::Logarithmic,
                    lines(|cell| (Some(cell.steals), cell.steals_margin)),
                ),
            ],
            names => vec![
                panel(
                    format!("time, relative to {}", names[0]),
                    Scale::Linear,
                    lines(|cell| (cell.relative_time, cell.relative_time_margin)),
                ),
                panel(
                    format!("attempts to steal, relative to {}", names[0]),
                    Scale::Linear,
                    lines(|cell| (cell.relative_steals, cell.relative_steals_margin)),
                ),
            ],
        };
        Picture {
            title: format!(
                "{} on {}, {} trials each, with 95 % confidence intervals",
                self.workload, self.machine, self.trials
            ),
            panels,
        }
    }
}

/// A policy on so many cores: means over the trials, and how sure they are.
#[derive(Serialize)]
pub struct Cell {
    pub nodes: u32,
    pub policy: String,
    /// In seconds.
    pub time: f64,
    /// Half the width of the 95 % confidence interval; `null` if there was one trial.
    pub time_margin: Option<f64>,
    /// Attempts to steal, as in Wool's Figure 4.
    pub steals: f64,
    pub steals_margin: Option<f64>,
    /// Those that brought something.
    pub successful_steals: f64,
    pub samples: f64,
    pub messages: f64,
    pub tasks: f64,
    /// The share of the cores' time in which they did not work.
    pub idle: f64,
    pub events: f64,
    /// Time and steals divided by those of the first policy; `null` if that has none.
    pub relative_time: Option<f64>,
    pub relative_time_margin: Option<f64>,
    pub relative_steals: Option<f64>,
    pub relative_steals_margin: Option<f64>,
}

impl Cell {
    /// `base` are the outcomes with which these are compared, in the same programs.
    pub fn new(nodes: u32, policy: Policy, outcomes: &[Outcome], base: &[Outcome]) -> Cell {
        let values = |outcomes: &[Outcome], value: &dyn Fn(&Outcome) -> f64| -> Vec<f64> {
            outcomes.iter().map(value).collect()
        };
        let estimate = |value: &dyn Fn(&Outcome) -> f64| Estimate::new(&values(outcomes, value));
        let relative = |value: &dyn Fn(&Outcome) -> f64| {
            Estimate::of_ratio(&values(outcomes, value), &values(base, value))
        };
        let time_of = |outcome: &Outcome| outcome.time.seconds();
        let steals_of = |outcome: &Outcome| outcome.attempts as f64;
        let (time, steals) = (estimate(&time_of), estimate(&steals_of));
        let (relative_time, relative_steals) = (relative(&time_of), relative(&steals_of));
        Cell {
            nodes,
            policy: policy.to_string(),
            time: time.mean,
            time_margin: finite(time.margin),
            steals: steals.mean,
            steals_margin: finite(steals.margin),
            successful_steals: estimate(&|outcome| outcome.steals as f64).mean,
            samples: estimate(&|outcome| outcome.samples as f64).mean,
            messages: estimate(&|outcome| outcome.messages as f64).mean,
            tasks: estimate(&|outcome| outcome.tasks as f64).mean,
            idle: estimate(&|outcome| outcome.idle(nodes)).mean,
            events: estimate(&|outcome| outcome.events as f64).mean,
            relative_time: finite(relative_time.mean),
            relative_time_margin: finite(relative_time.margin),
            relative_steals: finite(relative_steals.mean),
            relative_steals_margin: finite(relative_steals.margin),
        }
    }
}

/// JSON has no infinity, and nothing for what is not a number.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
