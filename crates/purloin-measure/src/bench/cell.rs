//! The result of a cell: [`Cell`].

use purloin::Stats;

use super::quantiles::{median, quantile};
use super::steal_costs::StealCosts;

/// A kernel under a scheduler with a number of workers: its times and answer.
pub struct Cell {
    /// The kernel.
    pub kernel: &'static str,
    /// Its input.
    pub input: String,
    /// The scheduler, with its options.
    pub scheduler: String,
    /// Number of workers.
    pub workers: usize,
    /// The times of all runs, in seconds.
    pub seconds: Vec<f64>,
    /// The median time of the serial elision, in seconds.
    pub serial: f64,
    /// The times to compare with, in seconds: those of the serial elision, or for a peer in another
    /// language those of its sequential form.
    pub baseline: Vec<f64>,
    /// Whether the baseline comes from another language.
    pub has_own_baseline: bool,
    /// The kernel's answer in the last run.
    pub answer: String,
    /// Whether every answer was right.
    pub verified: bool,
    /// Number of joins and spawns of the kernel, which is the same under every scheduler.
    pub tasks: u64,
    /// The counters of the run with the median time, if the scheduler counts.
    pub stats: Option<Stats>,
    /// The cost of steals in each run, with `--stats full`.
    pub steal_costs: Vec<StealCosts>,
}

impl Cell {
    /// Returns the median time, in seconds.
    pub fn median(&self) -> f64 {
        median(&self.seconds)
    }

    /// Returns the median time divided by the baseline.
    pub fn vs_serial(&self) -> f64 {
        self.median() / median(&self.baseline)
    }

    /// Returns the median costs of steals, if they were measured.
    pub fn steal_costs(&self) -> Option<StealCosts> {
        StealCosts::median(&self.steal_costs)
    }

    /// Returns half the distance between the quartiles, divided by the median.
    pub fn spread(&self) -> f64 {
        let between = quantile(&self.seconds, 0.75) - quantile(&self.seconds, 0.25);
        between / 2.0 / self.median()
    }
}
