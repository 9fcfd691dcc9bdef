//! What is predicted: [`Report`].

use std::fmt::Write;

use purloin_analysis::Recording;
use purloin_command::format::time;
use purloin_sim::{Estimate, Outcome, Policy, Time};
use serde::Serialize;

use crate::record::{slowdown_warning, tasks};
use crate::simulation::arguments::Kind;
use crate::simulation::picture::{Line, Panel, Picture, Scale};

/// What the columns of the table mean.
const LEGEND: &str = "
±: the 95 % confidence interval of the simulated times.
in theory, if tasks and steals cost nothing: from work / (span + work / cores), if only one core
has work at some times and all have at others, to work / max(span, work / cores), if there is
as much work at all times.
limited by: what takes most of the time beyond work / cores, if that is a tenth or more: the cost
of tasks; the span; imbalance (even if steals were free); the cost of steals (even if all cores
were near); the latency of those that are far away. Else by cores.
";

/// All predictions for a program.
#[derive(Serialize)]
pub struct Report {
    pub program: String,
    pub machine: String,
    pub policy: String,
    pub tasks: u64,
    /// How many times as long the program took while it was recorded.
    pub slowdown: f64,
    /// What it costs to spawn a task and to join it.
    pub task_seconds: f64,
    pub work_seconds: f64,
    pub span_seconds: f64,
    pub predictions: Vec<Prediction>,
}

/// How a program does on so many cores.
#[derive(Serialize)]
pub struct Prediction {
    pub cores: u32,
    pub seconds: f64,
    /// Half the width of its 95 % confidence interval; `null` if there was one trial.
    pub seconds_margin: Option<f64>,
    /// Work divided by that.
    pub speed_up: f64,
    /// Between these a greedy scheduler is, whose steals cost nothing.
    pub least_speed_up: f64,
    pub most_speed_up: f64,
    pub steals: f64,
    pub steal_attempts: f64,
    /// The share of the cores' time in which they have nothing to do.
    pub idle: f64,
    pub limit: Limit,
}

/// Why a program is not faster.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// It is as fast as so many cores can be, within a tenth.
    Cores,
    /// What tasks cost that nobody steals.
    TaskCost,
    /// Its longest chain of strands.
    Span,
    /// Not all cores have work at all times, even if steals cost nothing.
    Imbalance,
    /// What steals cost, even if all cores were near.
    StealCost,
    /// What it takes to reach cores that are far away.
    Latency,
}

impl Limit {
    fn text(self) -> &'static str {
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
    /// From what happens on machines that are the dearer the later they come: one whose steals
    /// cost nothing, one whose cores are all near, and, if it is another, the one in question.
    pub fn new(cores: u32, recording: &Recording, machines: &[&[Outcome]]) -> Prediction {
        let estimate = |outcomes: &[Outcome], value: &dyn Fn(&Outcome) -> f64| {
            let values: Vec<_> = outcomes.iter().map(value).collect();
            Estimate::new(&values)
        };
        let of = |outcomes: &[Outcome], value| estimate(outcomes, value).mean;
        let [free, close, ..] = machines else {
            unreachable!("the first two are always there");
        };
        let outcomes = machines.last().expect("just seen");
        let mean = |value| of(outcomes, value);
        let time_of = |outcome: &Outcome| outcome.time.seconds();
        let time = |outcomes| of(outcomes, &time_of);
        let work = recording.work().as_secs_f64();
        let span = recording.span().as_secs_f64();
        let seconds = time(outcomes);
        let ideal = work / f64::from(cores);
        let bound = ideal.max(span);
        let tasks = of(free, &|outcome| outcome.overhead.seconds()) / f64::from(cores);
        let ratio = |time: f64| if time > 0.0 { work / time } else { 1.0 };
        // What each adds to the time, one after the other.
        let (free, close) = (time(free), time(close));
        let losses = [
            (Limit::TaskCost, tasks),
            (Limit::Span, bound - ideal),
            (Limit::Imbalance, free - bound - tasks),
            (Limit::StealCost, close - free),
            (Limit::Latency, seconds - close),
        ];
        let greatest = losses.into_iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
        let limit = match greatest {
            Some((limit, _)) if seconds > 1.1 * ideal => limit,
            _ => Limit::Cores,
        };
        Prediction {
            cores,
            seconds,
            seconds_margin: Some(estimate(outcomes, &time_of).margin)
                .filter(|margin| margin.is_finite()),
            speed_up: ratio(seconds),
            least_speed_up: ratio(span + ideal),
            most_speed_up: ratio(bound),
            steals: mean(&|outcome| outcome.steals as f64),
            steal_attempts: mean(&|outcome| outcome.attempts as f64),
            idle: mean(&|outcome| outcome.idle(cores)),
            limit,
        }
    }
}

impl Report {
    pub fn new(recording: &Recording, kind: Kind, policy: Policy) -> Report {
        let recorded = recording.task_nanoseconds() * 1e-9;
        Report {
            program: recording.name().replace(char::is_control, "\u{fffd}"),
            task_seconds: kind.task().map_or(recorded, Time::seconds),
            machine: kind.name,
            policy: policy.to_string(),
            tasks: recording.tasks(),
            slowdown: recording.slowdown(),
            work_seconds: recording.work().as_secs_f64(),
            span_seconds: recording.span().as_secs_f64(),
            predictions: Vec::new(),
        }
    }

    /// Speed-up against cores, with what theory expects.
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
            title: format!(
                "{} on {}, policy {}",
                self.program, self.machine, self.policy
            ),
            panels: vec![Panel {
                title: "speed-up".to_owned(),
                scale: Scale::Logarithmic,
                lines: vec![
                    line("ideal", |prediction| prediction.cores.into()),
                    line("predicted", |prediction| prediction.speed_up),
                ],
                region: self.predictions.iter().map(region).collect(),
            }],
        }
    }

    /// The same as a table.
    pub fn text(&self) -> String {
        let parallelism = self.work_seconds / self.span_seconds.max(1e-12);
        let mut text = format!(
            "{}: {}, {} of work, span {}, parallelism {parallelism:.0}\non {}, policy {}\n\n",
            self.program,
            tasks(self.tasks, self.task_seconds),
            time(self.work_seconds),
            time(self.span_seconds),
            self.machine,
            self.policy
        );
        let _ = writeln!(
            text,
            "{:>8}  {:>10}  {:>6}  {:>8}  {:>17}  {:>10}  {:>5}  limited by",
            "cores", "time", "±", "speed-up", "in theory", "steals", "idle"
        );
        for prediction in &self.predictions {
            let region = format!(
                "{:.1} to {:.1}",
                prediction.least_speed_up, prediction.most_speed_up
            );
            let margin = match prediction.seconds_margin {
                Some(margin) if margin > 0.0 => {
                    format!("{:.0} %", 100.0 * margin / prediction.seconds)
                }
                _ => "-".to_owned(),
            };
            let _ = writeln!(
                text,
                "{:>8}  {:>10}  {margin:>6}  {:>8.2}  {region:>17}  {:>10.0}  {:>3.0} %  {}",
                prediction.cores,
                time(prediction.seconds),
                prediction.speed_up,
                prediction.steals,
                100.0 * prediction.idle,
                prediction.limit.text()
            );
        }
        text.push_str(LEGEND);
        if let Some(warning) = slowdown_warning(self.slowdown) {
            let _ = write!(text, "\n{warning}");
        }
        text
    }
}
