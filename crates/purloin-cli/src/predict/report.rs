//! The predictions, as JSON and as a picture: [`Report`].

use purloin_analysis::Recording;
use purloin_measure::simulation::check::Check;
use purloin_measure::simulation::machine::MachineModel;
use purloin_measure::simulation::picture::{Horizontal, Line, Panel, Picture, Scale, Style};
use purloin_sim::{Estimate, Outcome, Policy, Time};
use serde::Serialize;

/// All predictions for a program.
#[derive(Serialize)]
pub struct Report {
    pub program: String,
    pub machine: String,
    pub policy: String,
    pub tasks: u64,
    /// How often the recording divides loops and sorts, which count as no tasks.
    pub splits: u64,
    /// The recording time with clock readings, divided by the time without.
    pub slowdown: f64,
    /// The cost to spawn and join a task.
    pub task_seconds: f64,
    pub work_seconds: f64,
    pub span_seconds: f64,
    /// Why the recording may be meaningless.
    pub warning: Option<&'static str>,
    pub check: Check,
    pub predictions: Vec<Prediction>,
}

/// The prediction for one number of cores.
#[derive(Serialize)]
pub struct Prediction {
    pub cores: u32,
    pub seconds: f64,
    /// Half the width of the 95 % confidence interval; `null` for a single trial.
    pub seconds_margin: Option<f64>,
    /// Work divided by `seconds`.
    pub speed_up: f64,
    /// The minimum speed-up of a greedy scheduler whose tasks and steals cost nothing.
    pub least_speed_up: f64,
    /// The maximum speed-up of a greedy scheduler whose tasks and steals cost nothing.
    pub most_speed_up: f64,
    /// Steal attempts that brought at least one task.
    pub steals: f64,
    /// Steal attempts, successful or not.
    pub attempts: f64,
    /// The former name of `attempts`; scripts may rely on it until the next version.
    steal_attempts: f64,
    /// The share of the cores' time without work.
    pub idle: f64,
    pub limit: Limit,
}

/// The reason why a program is not faster.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// The number of cores: the time is within a tenth of work / cores.
    Cores,
    /// The cost of tasks that are not stolen.
    TaskCost,
    /// The longest chain of strands.
    Span,
    /// Some cores have no work at some times, even if steals cost nothing.
    Imbalance,
    /// The cost of steals, even if all cores were near.
    StealCost,
    /// The additional cost of steals from cores that are far away.
    Latency,
}

impl Limit {
    /// Returns the name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Cores => "cores",
            Limit::TaskCost => "task cost",
            Limit::Span => "span",
            Limit::Imbalance => "imbalance",
            Limit::StealCost => "steal cost",
            Limit::Latency => "latency",
        }
    }
}

impl Prediction {
    /// Summarizes the outcomes on two or three machines: a machine with free steals, a machine on
    /// which all cores are near, and the actual machine, unless it is the second.
    pub fn new(cores: u32, recording: &Recording, machines: &[&[Outcome]]) -> Prediction {
        let estimate = |outcomes: &[Outcome], value: &dyn Fn(&Outcome) -> f64| {
            let values: Vec<_> = outcomes.iter().map(value).collect();
            Estimate::new(&values)
        };
        let mean = |outcomes: &[Outcome], value| estimate(outcomes, value).mean;
        let [free, near, ..] = machines else {
            unreachable!("every prediction simulates at least two machines");
        };
        let outcomes = machines.last().expect("there are at least two");
        let time_of = |outcome: &Outcome| outcome.time.seconds();
        let time = |outcomes| mean(outcomes, &time_of);
        let work = recording.work().as_secs_f64();
        let span = recording.span().as_secs_f64();
        let seconds = time(outcomes);
        let ideal = work / f64::from(cores);
        let bound = ideal.max(span);
        let task_cost = mean(free, &|outcome| outcome.overhead.seconds()) / f64::from(cores);
        let ratio = |time: f64| if time > 0.0 { work / time } else { 1.0 };
        // The time that each reason adds to the reasons before it.
        let (free, near) = (time(free), time(near));
        let losses = [
            (Limit::TaskCost, task_cost),
            (Limit::Span, bound - ideal),
            (Limit::Imbalance, free - bound - task_cost),
            (Limit::StealCost, near - free),
            (Limit::Latency, seconds - near),
        ];
        let greatest = losses.into_iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
        let limit = match greatest {
            Some((limit, _)) if seconds > 1.1 * ideal => limit,
            _ => Limit::Cores,
        };
        let attempts = mean(outcomes, &|outcome| outcome.attempts as f64);
        Prediction {
            cores,
            seconds,
            seconds_margin: Some(estimate(outcomes, &time_of).margin)
                .filter(|margin| margin.is_finite()),
            speed_up: ratio(seconds),
            least_speed_up: ratio(span + ideal),
            most_speed_up: ratio(bound),
            steals: mean(outcomes, &|outcome| outcome.steals as f64),
            attempts,
            steal_attempts: attempts,
            idle: mean(outcomes, &|outcome| outcome.idle(cores)),
            limit,
        }
    }
}

impl Report {
    pub fn new(recording: &Recording, model: MachineModel, policy: Policy, check: Check) -> Report {
        let recorded = recording.task_nanoseconds() * 1e-9;
        Report {
            program: recording.name().replace(char::is_control, "\u{fffd}"),
            task_seconds: model.task().map_or(recorded, Time::seconds),
            machine: model.name,
            policy: policy.to_string(),
            tasks: recording.tasks(),
            splits: recording.splits(),
            slowdown: recording.slowdown(),
            work_seconds: recording.work().as_secs_f64(),
            span_seconds: recording.span().as_secs_f64(),
            warning: recording.warning(),
            check,
            predictions: Vec::new(),
        }
    }

    /// Draws the predicted speed-up against the number of cores, with the range in theory and the measured one.
    pub fn picture(&self) -> Picture {
        let line = |name: &str, value: fn(&Prediction) -> f64| Line {
            name: name.to_owned(),
            points: (self.predictions.iter())
                .map(|prediction| (prediction.cores, value(prediction), 0.0))
                .collect(),
        };
        let region = |prediction: &Prediction| {
            let Prediction {
                least_speed_up,
                most_speed_up,
                ..
            } = prediction;
            (prediction.cores, *least_speed_up, *most_speed_up)
        };
        Picture {
            horizontal: Horizontal::CORES,
            title: format!(
                "{} on {}, policy {}",
                self.program, self.machine, self.policy
            ),
            style: Style::Lines,
            rows: vec![vec![Panel {
                title: "speed-up".to_owned(),
                scale: Scale::Logarithmic,
                lines: vec![
                    line("ideal", |prediction| prediction.cores.into()),
                    line("predicted", |prediction| prediction.speed_up),
                    Line {
                        name: "measured".to_owned(),
                        points: vec![(self.check.cores, self.check.measured_speed_up, 0.0)],
                    },
                ],
                region: self.predictions.iter().map(region).collect(),
            }]],
        }
    }
}
