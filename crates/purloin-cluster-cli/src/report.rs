//! The report of a run, as JSON and as text: [`Report`].

use purloin_cluster::Stats;
use purloin_command::Machine;
use purloin_command::format::{grouped, time};
use serde::{Deserialize, Serialize};

/// The JSON report.
#[derive(Serialize)]
pub struct Report {
    pub machine: Machine,
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// The part of the report that `purloin-cluster figures` reads back.
#[derive(Serialize, Deserialize)]
pub struct Outcome {
    pub kernel: String,
    pub input: String,
    /// The size of a task.
    pub task_bytes: usize,
    pub ranks: usize,
    pub nodes: usize,
    pub steal: String,
    pub cutoff: String,
    pub residual: usize,
    /// `auto`, or a time.
    pub grain: String,
    pub profile: String,
    pub latency_seconds: f64,
    /// The median of `all_seconds`.
    pub seconds: f64,
    pub all_seconds: Vec<f64>,
    pub serial_seconds: Option<f64>,
    pub vs_serial: Option<f64>,
    pub answer: String,
    pub verified: bool,
    pub stats: Counts,
}

/// The sums of all ranks' counters, in the run with the median time.
#[derive(Serialize, Deserialize)]
pub struct Counts {
    pub tasks: u64,
    pub steals: u64,
    pub remote_steals: u64,
    pub stolen: u64,
    #[serde(default)]
    pub serial: u64,
    #[serde(default)]
    pub stolen_work_seconds: f64,
    pub steal_attempts: u64,
    pub early_steals: u64,
    pub samples: u64,
    pub profiling_seconds: f64,
    pub idle_seconds: f64,
}

impl From<Stats> for Counts {
    fn from(stats: Stats) -> Counts {
        let seconds = |nanoseconds: u64| nanoseconds as f64 * 1e-9;
        Counts {
            tasks: stats.tasks,
            steals: stats.steals,
            remote_steals: stats.remote_steals,
            stolen: stats.stolen,
            serial: stats.serial,
            stolen_work_seconds: seconds(stats.stolen_work_nanoseconds),
            steal_attempts: stats.steal_attempts,
            early_steals: stats.early_steals,
            samples: stats.samples,
            profiling_seconds: seconds(stats.profiling_nanoseconds),
            idle_seconds: seconds(stats.idle_nanoseconds),
        }
    }
}

impl Counts {
    /// Returns the mean work of a stolen task, as the end of a sentence, if it is known.
    fn work_of_each(&self) -> String {
        match self.stolen_work_seconds > 0.0 && self.stolen > 0 {
            true => format!(
                " with {} of work each",
                time(self.stolen_work_seconds / self.stolen as f64)
            ),
            false => String::new(),
        }
    }
}

impl Outcome {
    /// Returns the report as text.
    pub fn text(&self) -> String {
        let Outcome { stats, ranks, .. } = self;
        let ranks_seconds = self.seconds * *ranks as f64;
        let percent = |part: f64| 100.0 * part / ranks_seconds.max(f64::MIN_POSITIVE);
        let wrong = if self.verified { "" } else { " WRONG" };
        let mut lines = vec![
            ("kernel", format!("{}={}", self.kernel, self.input)),
            ("answer", format!("{}{wrong}", self.answer)),
            ("ranks", format!("{ranks} on {} node(s)", self.nodes)),
            (
                "policy",
                format!(
                    "{} stealing, residual {}, cut-off {}",
                    self.steal, self.residual, self.cutoff
                ),
            ),
            ("time", time(self.seconds)),
        ];
        if let (Some(serial), Some(ratio)) = (self.serial_seconds, self.vs_serial) {
            lines.push((
                "serial",
                format!("{}; time / serial {ratio:.3}", time(serial)),
            ));
        }
        lines.extend([
            (
                "tasks",
                format!(
                    "{} in queues, {} stolen{}",
                    grouped(stats.tasks),
                    grouped(stats.stolen),
                    stats.work_of_each()
                ),
            ),
            (
                "steals",
                format!(
                    "{} ({} from other nodes) in {} attempts; {} attempts were early",
                    grouped(stats.steals),
                    grouped(stats.remote_steals),
                    grouped(stats.steal_attempts),
                    grouped(stats.early_steals)
                ),
            ),
            (
                "idle",
                format!("{:.2} % of the ranks' time", percent(stats.idle_seconds)),
            ),
            (
                "profiling",
                format!(
                    "{:.3} % of the ranks' time",
                    percent(stats.profiling_seconds)
                ),
            ),
        ]);
        lines
            .iter()
            .map(|(name, value)| format!("{name:<10} {value}\n"))
            .collect()
    }
}
