//! *Friendly Barriers*: the overhead of steals for their victims, with and without a return barrier.
//! This file measures. `larger_machines.rs` simulates, and reports on the simulations; `report.rs`,
//! `overheads.rs` and `speed.rs` report on the measurements.

mod larger_machines;
mod overheads;
mod report;
mod shared;
mod speed;
mod steals;

use purloin_command::Failure;
use purloin_measure::bench::StealCosts;
use purloin_sim::Estimate;

use self::larger_machines::System;
use super::trial::{Measured, Simulated, Trial};
use super::{Paper, Part, Results, Tool};

pub const PAPER: Paper = Paper {
    name: "barriers",
    citation: "Kumar, Blackburn and Grove: Friendly Barriers: Efficient Work-Stealing With Return \
               Barriers (VEE 2014)",
    parts,
    report: report::report,
};

/// A benchmark of section 3.1, with what the paper's text says about it, at 16 threads if not said
/// otherwise.
struct Benchmark {
    name: &'static str,
    /// The kernel with its inputs for `--quick` and without.
    jobs: [&'static str; 2],
    /// The kernel under Java's ForkJoinPool, if it has another form there.
    java: Option<[&'static str; 2]>,
    /// Whether that form is simulated, because the other has too many tasks for a recording.
    is_simulated_like_java: bool,
    /// Dynamic overhead of DefaultWS, and how much of it the barrier removes (section 6.1).
    overhead: &'static str,
    /// In percent.
    reduction: u32,
    /// Share of free steals (section 6.3).
    free: &'static str,
    /// How many times as fast ReturnBarrierWS is (section 6.4).
    gain: &'static str,
}

static BENCHMARKS: [Benchmark; 6] = [
    Benchmark {
        name: "Jacobi",
        jobs: ["jacobi-join=1024", "jacobi-join=1024"],
        java: Some(["jacobi=1024", "jacobi=1024"]),
        is_simulated_like_java: false,
        overhead: "11.2 %",
        reduction: 29,
        free: "7 %",
        gain: "1.13",
    },
    Benchmark {
        name: "FFT",
        jobs: ["fft=20,1", "fft=20,1"],
        java: Some(["fft=20", "fft=20"]),
        is_simulated_like_java: false,
        overhead: "3.5 % (maximum)",
        reduction: 40,
        free: "10 %",
        gain: "1.20",
    },
    Benchmark {
        name: "CilkSort",
        jobs: ["multisort=1000000,1,4", "multisort=10000000,1,4"],
        java: Some(["multisort=2000000", "multisort=10000000"]),
        is_simulated_like_java: true,
        overhead: "–",
        reduction: 46,
        free: "close to 30 %",
        gain: "1.05 (15 threads)",
    },
    Benchmark {
        name: "Barnes-Hut",
        jobs: ["barnes-hut=20000,1,0", "barnes-hut=100000,1,0"],
        java: Some(["barnes-hut=20000", "barnes-hut=100000"]),
        is_simulated_like_java: false,
        overhead: "close to 6 % (maximum)",
        reduction: 30,
        free: "3.5 %",
        gain: "≈ 1",
    },
    Benchmark {
        name: "UTS",
        jobs: ["uts=T2", "uts=T2"],
        java: None,
        is_simulated_like_java: false,
        overhead: "0.5 % (maximum)",
        reduction: 60,
        free: "close to 30 %",
        gain: "≈ 1",
    },
    Benchmark {
        name: "LUD",
        jobs: ["lud-join=512", "lud-join=1024"],
        java: Some(["lud=32", "lud=64"]),
        is_simulated_like_java: false,
        overhead: "close to 6 % (maximum)",
        reduction: 24,
        free: "1.5 %",
        gain: "≈ 1",
    },
];

impl Benchmark {
    fn job(&self, trial: &Trial) -> &'static str {
        self.jobs[usize::from(!trial.quick)]
    }

    /// Returns the kernel to record for the simulations.
    fn simulated(&self, trial: &Trial) -> &'static str {
        let like_java = self.java.filter(|_| self.is_simulated_like_java);
        like_java.unwrap_or(self.jobs)[usize::from(!trial.quick)]
    }

    /// Measures the benchmark under all schedulers.
    fn measure(&self, trial: &Trial) -> Result<Vec<Measured>, Failure> {
        // The paper: 20 invocations. With fewer than six runs, a median has no confidence interval.
        let runs = trial.choose(6, 20);
        let ours = [DEFAULT_WS, BARRIER_WS, PURLOIN];
        let mut measured = trial.bench(self.job(trial), &ours, runs)?;
        measured.extend(match self.java {
            Some(jobs) => {
                let job = jobs[usize::from(!trial.quick)];
                trial.bench(job, &[BARRIER_WS, FORKJOIN], runs)?
            }
            None => trial.bench(self.job(trial), &[FORKJOIN], runs)?,
        });
        Ok(measured)
    }
}

/// The paper's baseline: each steal interrupts its victim.
const DEFAULT_WS: &str = "default-ws";
/// The paper's system.
const BARRIER_WS: &str = "return-barrier-ws";
/// Purloin's default, in which thieves may use force.
const PURLOIN: &str = "return-barrier";
const FORKJOIN: &str = "forkjoin";

/// The benchmarks whose steal rates differ between the paper's systems (section 6.1). The paper excludes them
/// from two statements.
const OUTLIERS: [&str; 2] = ["CilkSort", "Barnes-Hut"];

/// The paper's names of [`DEFAULT_WS`] and [`BARRIER_WS`].
const SYSTEMS: [&str; 2] = ["DefaultWS", "ReturnBarrierWS"];

/// The numbers of cores that are simulated: those of the paper are 1 to 16.
const CORES: [u32; 6] = [1, 2, 4, 8, 12, 16];

fn parts(_: &Trial) -> Vec<Part> {
    let measured = BENCHMARKS.iter().map(|benchmark| {
        Part::new(benchmark.name, |trial| benchmark.measure(trial)).using(Tool("javac"))
    });
    let simulated = BENCHMARKS.iter().map(|benchmark| {
        let simulate = |trial: &Trial, measured: Vec<Measured>| {
            larger_machines::simulate(trial, benchmark.simulated(trial), &measured)
        };
        Part::after(benchmark.name, simulation(benchmark), simulate)
    });
    measured.chain(simulated).collect()
}

/// Returns the name of the part that simulates a benchmark.
fn simulation(benchmark: &Benchmark) -> String {
    format!("{}, simulated", benchmark.name)
}

/// The data of all benchmarks.
struct Data {
    measured: Vec<Vec<Measured>>,
    /// The simulations of each benchmark under [`DEFAULT_WS`] and under [`BARRIER_WS`].
    simulated: Vec<[System; 2]>,
    workers: usize,
}

impl Data {
    fn read(trial: &Trial, results: &Results) -> Result<Data, Failure> {
        let all = BENCHMARKS.iter();
        Ok(Data {
            measured: all
                .clone()
                .map(|benchmark| results.of(benchmark.name))
                .collect::<Result<_, _>>()?,
            simulated: all
                .map(|benchmark| results.of(&simulation(benchmark)))
                .collect::<Result<_, _>>()?,
            workers: trial.most_workers(),
        })
    }

    /// Returns the simulated runs of a benchmark, by its place, under [`DEFAULT_WS`].
    fn simulated(&self, place: usize) -> &[Simulated] {
        &self.simulated[place][0].runs
    }

    /// Returns the run of a benchmark, by its place, with this number of workers.
    fn cell(&self, place: usize, scheduler: &str, workers: usize) -> Option<&Measured> {
        let mut cells = self.measured[place].iter();
        cells.find(|cell| cell.scheduler == scheduler && cell.workers == workers)
    }

    /// Returns the run of a benchmark, by its place, with all workers and in the form that it has under
    /// Java's ForkJoinPool.
    fn like_java(&self, place: usize, scheduler: &str) -> Option<&Measured> {
        // The runs in Java's form, if it is another one, are the last.
        let mut cells = self.measured[place].iter().rev();
        cells.find(|cell| cell.scheduler == scheduler && cell.workers == self.workers)
    }

    /// Returns the dynamic overheads of all runs with all workers: with the barrier, and without.
    fn overheads(&self, place: usize) -> [Vec<f64>; 2] {
        [BARRIER_WS, DEFAULT_WS]
            .map(|scheduler| self.costs(place, scheduler, |costs| Some(costs.dynamic_overhead)))
    }

    /// Returns the values of a figure with all workers, in the runs that have it.
    fn costs(
        &self,
        place: usize,
        scheduler: &str,
        figure: impl Fn(&StealCosts) -> Option<f64>,
    ) -> Vec<f64> {
        let cell = self.cell(place, scheduler, self.workers);
        cell.map_or(Vec::new(), |cell| cell.costs(figure))
    }

    /// Returns a figure with all workers, over the runs that have it.
    fn figure(
        &self,
        place: usize,
        scheduler: &str,
        figure: impl Fn(&StealCosts) -> Option<f64>,
    ) -> Option<Estimate> {
        let values = self.costs(place, scheduler, figure);
        (!values.is_empty()).then(|| Estimate::new(&values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use purloin_measure::arguments::parse_job;

    #[test]
    fn all_inputs_are_valid() {
        let benchmarks = BENCHMARKS.iter();
        let jobs = benchmarks
            .flat_map(|benchmark| [benchmark.jobs, benchmark.java.unwrap_or(benchmark.jobs)]);
        for job in jobs.flatten() {
            parse_job(job).unwrap();
        }
    }
}
