//! Requests that are forwarded, or sent back: the messages, and the time.

use purloin_command::Failure;
use purloin_measure::bench::Cell;
use purloin_sim::Estimate;
use serde::{Deserialize, Serialize};

use crate::trial::Trial;

/// The workload of the slide on forwarding, which gives no task length, with `--quick` and without.
pub const BPC: [&str; 2] = ["bpc=1000,9,10", "bpc=10000,9,10"];

/// A workload with a single producer, of which thieves get only leaves.
pub const SPC: [&str; 2] = ["spc=10000,10", "spc=100000,10"];

/// The number of workers. With two workers, a thief has only one possible victim.
pub const WORKERS: usize = 8;

/// With forwarding and with acknowledgements.
pub const SCHEDULERS: [&str; 2] = ["channel:steal=one", "channel:steal=one,forward=off"];

/// The messages that the workers of a pool have sent each other in one run.
#[derive(Serialize, Deserialize)]
pub struct Messages {
    /// The time of the run, in seconds.
    pub seconds: f64,
    pub steals: u64,
    /// Requests that thieves have sent.
    pub requests: u64,
    /// Requests that a victim has answered with tasks. Earlier data lack it.
    #[serde(default)]
    pub answers: Option<u64>,
    /// Requests that other workers have passed on or sent back.
    pub forwards: u64,
    /// Requests that thieves have sent before they began a stolen task.
    pub early_requests: u64,
    pub idle_registrations: u64,
    pub updates: u64,
    /// All messages that are neither requests nor answers.
    pub control_messages: u64,
}

impl Messages {
    /// Returns the number of messages without answers.
    pub fn total(&self) -> u64 {
        self.requests + self.forwards + self.control_messages
    }
}

impl From<&Cell> for Messages {
    fn from(cell: &Cell) -> Self {
        let stats = cell.stats.unwrap_or_default();
        Messages {
            seconds: cell.median(),
            steals: stats.steals,
            requests: stats.steal_attempts,
            answers: Some(stats.publications),
            forwards: stats.forwards,
            early_requests: stats.early_requests,
            idle_registrations: stats.idle_registrations,
            updates: stats.updates,
            control_messages: stats.control_messages,
        }
    }
}

/// All runs of a workload under one scheduler.
#[derive(Serialize, Deserialize)]
pub struct Runs {
    pub job: String,
    pub scheduler: String,
    pub runs: Vec<Messages>,
}

impl Runs {
    /// Returns a value in each run.
    pub fn values(&self, value: impl Fn(&Messages) -> f64) -> Vec<f64> {
        self.runs.iter().map(value).collect()
    }

    /// Returns the number of messages for each steal, in each run.
    pub fn per_steal(&self) -> Vec<f64> {
        self.values(|run| run.total() as f64 / run.steals as f64)
    }

    /// Estimates the mean number of answers, if all runs have counted them.
    pub fn answers(&self) -> Option<Estimate> {
        let answers = self
            .runs
            .iter()
            .map(|run| run.answers.map(|answers| answers as f64));
        answers
            .collect::<Option<Vec<_>>>()
            .map(|answers| Estimate::new(&answers))
    }

    /// Estimates the percentage of requests that thieves have sent before they began a stolen task.
    pub fn early(&self) -> Estimate {
        let early = self.values(|run| 100.0 * run.early_requests as f64);
        Estimate::of_ratio(&early, &self.values(|run| run.requests as f64))
    }

    /// Estimates the mean of a value, with its confidence interval.
    pub fn mean(&self, value: impl Fn(&Messages) -> f64) -> Estimate {
        Estimate::new(&self.values(value))
    }
}

/// Measures both workloads under each scheduler, round by round. BPC comes first.
pub fn measure(trial: &Trial) -> Result<Vec<Runs>, Failure> {
    let mut all = Vec::new();
    for [quick, full] in [BPC, SPC] {
        let job = trial.choose(quick, full);
        let mut of_job = SCHEDULERS.map(|scheduler| Runs {
            job: job.to_string(),
            scheduler: scheduler.to_string(),
            runs: Vec::new(),
        });
        for _ in 0..trial.choose(12, 20) {
            let cells = trial.cells(job, &SCHEDULERS, &[WORKERS], 1)?;
            for (cell, runs) in cells.iter().zip(&mut of_job) {
                runs.runs.push(Messages::from(cell));
            }
        }
        all.extend(of_job);
    }
    Ok(all)
}
