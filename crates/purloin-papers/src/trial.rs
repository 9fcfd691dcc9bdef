//! Measuring and simulating for a paper: [`Trial`].

use std::time::Duration;

use purloin::implement::clock::nanoseconds_per_tick;
use purloin_analysis::{Profile, Recording};
use purloin_command::{Failure, cores, progress};
use purloin_measure::arguments::parse_job;
use purloin_measure::bench::{Cell, StealCosts, measure_all};
use purloin_measure::checked_kernel::CheckedKernel;
use purloin_measure::profile::Case;
use purloin_measure::schedulers::Spec;
use purloin_measure::simulation::runs::{Run, Runs};
use purloin_sim::{Estimate, Machine, Outcome, Policy, Recorded, simulate};
use serde::{Deserialize, Serialize};

use super::results::{counts, times};

/// The extent of a run of `purloin paper`.
pub struct Trial {
    pub quick: bool,
    /// The powers of two up to the number of processors.
    pub workers: Vec<usize>,
    /// The duration of a cycle.
    pub nanoseconds_per_tick: f64,
}

/// A kernel under a scheduler with a number of workers.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    pub job: String,
    pub scheduler: String,
    pub workers: usize,
    /// The times of all runs, in seconds.
    #[serde(deserialize_with = "times")]
    pub seconds: Vec<f64>,
    /// The median, in seconds.
    pub median: f64,
    /// The median divided by that of the serial elision, or of the sequential form in the peer's
    /// language.
    pub vs_serial: f64,
    /// The times of the serial elision or of that sequential form, in seconds.
    #[serde(default)]
    pub baseline: Vec<f64>,
    pub tasks: u64,
    /// Number of steals in the run with the median time.
    pub steals: u64,
    /// The cost of steals, in each run.
    pub costs: Vec<StealCosts>,
}

/// A recorded program on a simulated machine: means over all trials.
#[derive(Serialize, Deserialize)]
pub struct Simulated {
    pub job: String,
    pub policy: String,
    pub cores: u32,
    /// The time, in seconds.
    pub seconds: f64,
    /// The times of all trials.
    #[serde(deserialize_with = "times")]
    pub all_seconds: Vec<f64>,
    /// The steals in all trials.
    #[serde(deserialize_with = "counts")]
    pub all_steals: Vec<f64>,
    /// The time of the serial elision, in seconds: that of all strands, without the overhead of
    /// tasks.
    pub work: f64,
    /// The longest chain of strands, in seconds.
    pub span: f64,
    pub tasks: u64,
    pub steals: f64,
    /// Number of looks in samples.
    pub samples: f64,
}

impl Simulated {
    /// Averages the outcomes of all trials.
    fn new(recording: &Recording, policy: &str, cores: u32, outcomes: &[Outcome]) -> Simulated {
        let mean = |value: fn(&Outcome) -> f64| {
            outcomes.iter().map(value).sum::<f64>() / outcomes.len() as f64
        };
        Simulated {
            job: recording.name().to_string(),
            policy: policy.to_string(),
            cores,
            seconds: mean(|run| run.time.seconds()),
            all_seconds: outcomes.iter().map(|run| run.time.seconds()).collect(),
            all_steals: outcomes.iter().map(|run| run.stolen as f64).collect(),
            work: mean(|run| run.work.seconds()),
            span: recording.span().as_secs_f64(),
            tasks: recording.tasks() + recording.splits(),
            steals: mean(|run| run.stolen as f64),
            samples: mean(|run| run.samples as f64),
        }
    }

    /// Returns the speed-up over the serial elision.
    pub fn speed_up(&self) -> f64 {
        self.work / self.seconds
    }

    /// Estimates the time relative to that with a given speed-up.
    pub fn relative_to(&self, speed_up: f64) -> Estimate {
        Estimate::new(&self.all_seconds).scaled(speed_up / self.work)
    }

    /// Returns the lower and the upper bound of the expected speed-up over the serial elision, for
    /// tasks without overhead (Wool, section 5.2).
    pub fn expected(&self) -> (f64, f64) {
        let share = self.work / f64::from(self.cores);
        (
            self.work / (self.span + share),
            self.work / self.span.max(share),
        )
    }
}

/// The time limit of a run of a peer.
const LIMIT: Duration = Duration::from_secs(600);

impl Trial {
    /// Returns how much to measure on this machine.
    pub fn new(quick: bool) -> Trial {
        Trial::on(cores(), nanoseconds_per_tick(), quick)
    }

    /// Returns how much was measured on a machine.
    pub fn on(cores: usize, nanoseconds_per_tick: f64, quick: bool) -> Trial {
        let powers = (0..32).map(|power| 1_usize << power);
        let mut workers: Vec<_> = powers.take_while(|&power| power < cores).collect();
        workers.push(cores);
        Trial {
            quick,
            workers,
            nanoseconds_per_tick,
        }
    }

    /// Returns the first value with `--quick`, and otherwise the second.
    pub fn choose<T>(&self, quick: T, full: T) -> T {
        match self.quick {
            true => quick,
            false => full,
        }
    }

    /// Returns the largest number of workers.
    pub fn most_workers(&self) -> usize {
        self.workers.last().copied().unwrap_or(1)
    }

    /// Measures a kernel under each scheduler, with each number of workers.
    pub fn bench(
        &self,
        job: &str,
        schedulers: &[&str],
        runs: u32,
    ) -> Result<Vec<Measured>, Failure> {
        let cells = self.cells(job, schedulers, &self.workers, runs)?;
        Ok(cells.iter().map(Measured::from).collect())
    }

    /// Measures a kernel under each scheduler, with the largest number of workers only.
    pub fn bench_with_all(
        &self,
        job: &str,
        schedulers: &[&str],
        runs: u32,
    ) -> Result<Vec<Measured>, Failure> {
        let cells = self.cells(job, schedulers, &[self.most_workers()], runs)?;
        Ok(cells.iter().map(Measured::from).collect())
    }

    /// Measures a kernel under each scheduler, with each of these numbers of workers.
    pub fn cells(
        &self,
        job: &str,
        schedulers: &[&str],
        workers: &[usize],
        runs: u32,
    ) -> Result<Vec<Cell>, Failure> {
        let job = parse_job(job).map_err(Failure::Usage)?;
        let schedulers = schedulers.iter().map(|text| text.parse::<Spec>());
        let schedulers = schedulers.map(|spec| spec.map(Spec::timed).map_err(Failure::Usage));
        let mut schedulers = schedulers.collect::<Result<Vec<_>, _>>()?;
        schedulers.retain(|scheduler| scheduler.check(&job).is_ok());
        let cells = measure_all(&[job], schedulers, workers, runs, LIMIT)?;
        match cells.iter().find(|cell| !cell.verified) {
            Some(cell) => Err(Failure::Run(format!(
                "{job} under {} gave a wrong answer: {}",
                cell.scheduler, cell.answer
            ))),
            None => Ok(cells),
        }
    }

    /// Profiles a kernel under a scheduler.
    pub fn profile(
        &self,
        job: &str,
        scheduler: &str,
        workers: usize,
        cost: Duration,
    ) -> Result<Profile, Failure> {
        let job = parse_job(job).map_err(Failure::Usage)?;
        let scheduler = scheduler.parse().map_err(Failure::Usage)?;
        Case::profile(job, &scheduler, workers, cost).map(|case| case.profile)
    }

    /// Records a kernel.
    pub fn record(&self, name: &str) -> Result<Recording, Failure> {
        let job = parse_job(name).map_err(Failure::Usage)?;
        let mut kernel = CheckedKernel::new(job);
        let recording = purloin_analysis::record(name, &mut kernel)
            .map_err(|error| Failure::Run(error.to_string()))?;
        let wrong = |answer| Failure::Run(format!("{name} gave a wrong answer: {answer}"));
        kernel.finish().map_err(wrong)?;
        Ok(recording)
    }

    /// Simulates a recorded kernel on machines with these numbers of cores, under each policy.
    pub fn simulate(
        &self,
        recording: &Recording,
        machine: impl Fn(u32) -> Machine + Sync,
        cores: &[u32],
        policies: &[&str],
        trials: u64,
    ) -> Result<Vec<Simulated>, Failure> {
        let name = recording.name();
        let recorded = Recorded::new(recording)
            .map_err(|error| Failure::Run(format!("the recording of {name}: {error}")))?;
        let (mut runs, mut cells) = (Vec::new(), Vec::new());
        for &cores in cores {
            for &text in policies {
                let policy: Policy = text.parse().map_err(Failure::usage)?;
                cells.push((cores, text));
                for seed in 0..trials {
                    let (recorded, machine) = (&recorded, &machine);
                    runs.push(Run {
                        steps: 1,
                        message: format!("{name} on {cores} simulated cores"),
                        simulate: Box::new(move || {
                            simulate(recorded, &machine(cores), policy, seed)
                        }),
                    });
                }
            }
        }
        let progress = progress(runs.len() as u64, "simulations");
        let outcomes = Runs::default().all(&runs, &progress)?;
        let groups = outcomes.chunks(trials as usize).zip(cells);
        let simulated = groups
            .map(|(outcomes, (cores, policy))| Simulated::new(recording, policy, cores, outcomes));
        Ok(simulated.collect())
    }
}

impl From<&Cell> for Measured {
    fn from(cell: &Cell) -> Measured {
        Measured {
            job: format!("{}={}", cell.kernel, cell.input),
            scheduler: cell.scheduler.clone(),
            workers: cell.workers,
            seconds: cell.seconds.clone(),
            median: cell.median(),
            vs_serial: cell.vs_serial(),
            baseline: cell.baseline.clone(),
            tasks: cell.tasks,
            steals: cell.stats.map_or(0, |stats| stats.steals),
            costs: cell.steal_costs.clone(),
        }
    }
}

impl Measured {
    /// Returns the values of a figure in the runs that have it.
    pub fn costs(&self, figure: impl Fn(&StealCosts) -> Option<f64>) -> Vec<f64> {
        self.costs.iter().filter_map(figure).collect()
    }
}

#[cfg(test)]
mod tests {
    use purloin_sim::Time;

    use super::*;

    #[test]
    fn simulated_speed_ups_are_relative_to_the_serial_elision() {
        let recording = Trial::new(true).record("fib=10").unwrap();
        let one_core = Outcome {
            time: Time::from_nanoseconds(3_000),
            work: Time::from_nanoseconds(2_000),
            overhead: Time::from_nanoseconds(1_000),
            ..Outcome::default()
        };
        let run = Simulated::new(&recording, "random", 1, &[one_core]);
        // One core takes longer than the serial elision, by the overhead of the tasks.
        assert!((run.speed_up() - 2.0 / 3.0).abs() < 1e-9);
        let (low, high) = run.expected();
        assert!(low < high && (high - 1.0).abs() < 1e-9);
    }
}
