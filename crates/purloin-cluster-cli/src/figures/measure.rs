//! Running jobs in turn, and their times: [`Measurements`].

use indicatif::ProgressBar;
use purloin_command::Failure;

use super::job::Job;
use super::launcher::Launcher;

/// The times of all runs of a job.
pub struct Measurement {
    job: Job,
    pub seconds: Vec<f64>,
    /// For each run, the share of the ranks' time that profiling took, from 0 to 1.
    profiling: Vec<f64>,
    /// For each run, the share of the attempts to steal that began with tasks left, from 0 to 1.
    early: Vec<f64>,
    pub nodes: usize,
}

impl Measurement {
    pub fn median_seconds(&self) -> f64 {
        median(&self.seconds)
    }

    pub fn median_profiling(&self) -> f64 {
        median(&self.profiling)
    }

    pub fn median_early(&self) -> f64 {
        median(&self.early)
    }

    /// Returns the median distance of a run from the median time, relative to the median time.
    pub fn spread(&self) -> f64 {
        let middle = self.median_seconds();
        let distances = self.seconds.iter().map(|time| (time - middle).abs());
        median(&distances.collect::<Vec<_>>()) / middle
    }
}

/// The times of several jobs.
pub struct Measurements(Vec<Measurement>);

impl Measurements {
    /// Runs each job `runs` times. The jobs take turns, so that other load on the machine affects
    /// all of them equally.
    pub fn take(
        jobs: Vec<Job>,
        runs: usize,
        launcher: &Launcher,
        progress: &ProgressBar,
    ) -> Result<Measurements, Failure> {
        let measurements = jobs.into_iter().map(|job| Measurement {
            job,
            seconds: Vec::new(),
            profiling: Vec::new(),
            early: Vec::new(),
            nodes: 1,
        });
        let mut measurements: Vec<_> = measurements.collect();
        for _ in 0..runs {
            for Measurement {
                job,
                seconds,
                profiling,
                early,
                nodes,
            } in &mut measurements
            {
                progress.set_message(job.to_string());
                let outcome = launcher.run(job)?;
                let ranks_seconds = outcome.seconds * outcome.ranks as f64;
                seconds.push(outcome.seconds);
                profiling.push(outcome.stats.profiling_seconds / ranks_seconds);
                let attempts = outcome.stats.steal_attempts.max(1);
                early.push(outcome.stats.early_steals as f64 / attempts as f64);
                *nodes = outcome.nodes;
                progress.inc(1);
            }
        }
        Ok(Measurements(measurements))
    }

    /// Returns the times of a job, which must have run.
    pub fn of(&self, job: &Job) -> &Measurement {
        let found = self.0.iter().find(|measurement| measurement.job == *job);
        found.expect("the job ran")
    }

    /// Returns the largest number of nodes on which a job ran.
    pub fn nodes(&self) -> usize {
        let nodes = self.0.iter().map(|measurement| measurement.nodes);
        nodes.max().unwrap_or(1)
    }

    /// Returns the job with the smallest median time, if there is any job.
    pub fn fastest(&self) -> Option<&Job> {
        let times = self.0.iter().map(|job| (job.median_seconds(), &job.job));
        let fastest = times.min_by(|a, b| a.0.total_cmp(&b.0));
        fastest.map(|(_, job)| job)
    }
}

/// Returns the median. For an even number of values, it is the mean of the two in the middle.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        len if len % 2 == 1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use purloin_cluster::Options;

    use super::*;

    #[test]
    fn half_of_the_values_are_below_the_median() {
        assert_eq!(median(&[3.0]), 3.0);
        assert_eq!(median(&[9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 9.0]), 3.0);
        assert!(median(&[]).is_nan());
    }

    fn measurement(residual: usize, seconds: &[f64]) -> Measurement {
        let mut options = Options::default();
        options.residual = residual;
        Measurement {
            job: Job {
                kernel: "fib=5".to_owned(),
                ranks: 2,
                options,
            },
            seconds: seconds.to_vec(),
            profiling: vec![0.0; seconds.len()],
            early: vec![0.0; seconds.len()],
            nodes: 1,
        }
    }

    #[test]
    fn a_single_slow_run_changes_neither_median_nor_spread() {
        let quiet = measurement(0, &[1.0, 1.1, 0.9, 1.2, 0.8]);
        let slow = measurement(0, &[1.0, 1.1, 0.9, 7.0, 0.8]);
        for measurement in [quiet, slow] {
            assert_eq!(measurement.median_seconds(), 1.0);
            assert!((measurement.spread() - 0.1).abs() < 1e-9);
        }
    }

    #[test]
    fn the_fastest_job_is_the_one_with_the_smallest_median() {
        let measurements = Measurements(vec![
            measurement(0, &[1.0, 5.0, 5.0]),
            measurement(1, &[4.0, 4.0, 9.0]),
            measurement(2, &[5.0, 6.0, 7.0]),
        ]);
        assert_eq!(measurements.fastest().unwrap().options.residual, 1);
    }
}
