//! The result of a cell: [`Cell`], and the cost of its steals: [`StealCosts`].

use purloin::{Stats, Times};

/// A kernel under a scheduler with a number of workers: its times and answer.
pub struct Cell {
    pub kernel: &'static str,
    pub input: String,
    pub scheduler: String,
    pub workers: usize,
    /// The times of all runs, in seconds.
    pub seconds: Vec<f64>,
    /// The median time of the serial elision, in seconds.
    pub serial: f64,
    /// The median time to compare with, in seconds: the time of the serial elision, or for a peer
    /// in another language the time of its sequential form.
    pub baseline: f64,
    pub answer: String,
    pub verified: bool,
    /// Number of joins and spawns of the kernel, which is the same under every scheduler.
    pub tasks: u64,
    /// The counters of the run with the median time, if the scheduler counts.
    pub stats: Option<Stats>,
    /// The medians of all runs, with `--stats full`.
    pub steal_costs: Option<StealCosts>,
}

impl Cell {
    /// Returns the median time, in seconds.
    pub fn median(&self) -> f64 {
        median(&self.seconds)
    }

    /// Returns the median time divided by the baseline.
    pub fn vs_serial(&self) -> f64 {
        self.median() / self.baseline
    }

    /// Returns whether the baseline comes from another language.
    pub fn has_own_baseline(&self) -> bool {
        self.baseline != self.serial
    }

    /// Returns half the distance between the quartiles, divided by the median.
    pub fn spread(&self) -> f64 {
        let between = quantile(&self.seconds, 0.75) - quantile(&self.seconds, 0.25);
        between / 2.0 / self.median()
    }
}

/// The cost of steals for their victims.
///
/// Source: Return barrier, section 4.
#[derive(Clone, Copy, serde::Serialize)]
pub struct StealCosts {
    /// Steals per task. `None` for a kernel that has only loops, because their tasks exist only if
    /// stolen.
    pub steal_ratio: Option<f64>,
    /// Steals per millisecond.
    pub steal_rate: f64,
    /// The share of the workers' time that victims lose to thieves.
    pub dynamic_overhead: f64,
    /// The share of the workers' time in which owners return to public tasks. It is a part of
    /// `dynamic_overhead`.
    pub barrier_cost: f64,
    /// The share of steals that needed no request.
    pub free_steal_share: f64,
}

impl StealCosts {
    /// Computes the costs of one run.
    pub fn of_run(
        stats: Stats,
        times: Times,
        tasks: u64,
        seconds: f64,
        workers: usize,
    ) -> StealCosts {
        let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let steals = stats.steals as f64;
        let (all, crossing) = (seconds * workers as f64, times.crossing.as_secs_f64());
        StealCosts {
            steal_ratio: (tasks > 0).then(|| steals / tasks as f64),
            steal_rate: ratio(steals, seconds * 1e3),
            dynamic_overhead: ratio(times.serving.as_secs_f64() + crossing, all),
            barrier_cost: ratio(crossing, all),
            free_steal_share: ratio(stats.free_steals as f64, steals),
        }
    }

    /// Returns the median of each figure. The system may interrupt a victim while it serves a
    /// thief, which distorts a single run but not the median.
    pub fn median(runs: &[StealCosts]) -> Option<StealCosts> {
        let of =
            |figure: fn(&StealCosts) -> f64| median(&runs.iter().map(figure).collect::<Vec<_>>());
        (!runs.is_empty()).then(|| StealCosts {
            steal_ratio: runs[0]
                .steal_ratio
                .map(|_| of(|run| run.steal_ratio.unwrap_or(0.0))),
            steal_rate: of(|run| run.steal_rate),
            dynamic_overhead: of(|run| run.dynamic_overhead),
            barrier_cost: of(|run| run.barrier_cost),
            free_steal_share: of(|run| run.free_steal_share),
        })
    }
}

pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// Returns the value below which this share of the values lies, by linear interpolation.
fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = share * (sorted.len() - 1) as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    sorted[below] + (sorted[above] - sorted[below]) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn a_quantile_between_two_values_is_interpolated() {
        assert_eq!(quantile(&[3.0], 0.25), 3.0);
        assert_eq!(quantile(&[4.0, 1.0], 0.5), 2.5);
        assert_eq!(quantile(&[9.0, 1.0, 3.0], 0.75), 6.0);
    }
}
