//! *Manycore Work Stealing*: how programs of small tasks scale under Wool, and which victims to
//! choose. This file measures; `report.rs`, `scaling.rs` and `sampling.rs` make the tables
//! and verdicts of what was measured.

mod report;
mod sampling;
mod scaling;

use std::time::Duration;

use purloin::Times;
use purloin_analysis::Profile;
use purloin_command::Failure;
use purloin_measure::arguments::parse_job;
use purloin_measure::profile::repetitions;
use purloin_measure::simulation::runs::{Run, Runs};
use purloin_sim::{Estimate, Machine, Policy, Tree, simulate};
use serde::{Deserialize, Serialize};

use super::trial::{Simulated, Trial};
use super::{Paper, Part};

pub const PAPER: Paper = Paper {
    name: "wool",
    citation: "Faxén and Ardelius: Manycore Work Stealing (extended version of CF 2011)",
    parts,
    report: report::report,
};

/// A row of Table 1.
struct Row {
    /// The job with `--quick`, the job without it, and the job that is simulated. Empty if the row is left
    /// out.
    quick: &'static str,
    full: &'static str,
    simulated: &'static str,
    paper: Published,
}

/// The paper's values for a row.
struct Published {
    parameter: &'static str,
    /// Average parallelism with free steals and with steals of 1000 cycles.
    parallelism: [f64; 2],
    /// Duration of a repetition, in thousands of cycles.
    repetition: f64,
    /// Mean task size, in cycles.
    task: f64,
    /// Steal interval with 7 to 63 processors ([`CORES`]), in thousands of cycles.
    intervals: [u32; CORES.len()],
}

#[rustfmt::skip]
const fn row(
    [quick, full, simulated]: [&'static str; 3], parameter: &'static str, parallelism: [f64; 2],
    repetition: f64, task: f64, intervals: [u32; CORES.len()],
) -> Row {
    Row { quick, full, simulated, paper: Published { parameter, parallelism, repetition, task, intervals } }
}

/// The rows of Table 1. The repetitions of `stress` are fixed: 2²⁰ leaves in all, a 64th of the
/// paper's. The number of a row of `ssf` is one higher than ours: with ours, a repetition has as many tasks
/// as in the paper (repetition size / task size). The cut-offs of `multisort` are not in the paper; with
/// these, a repetition has about as many tasks as there. `cholesky` computes each operation on blocks 32
/// times, because the TILEPro64 computes floating-point numbers in software: with 32, the parallelism of a
/// recording is that of the paper within a tenth, and with 16 it is less. The tasks of `fib=43`, of the largest matrix and of
/// the largest tree do not fit into memory as a recording. So `fib` is simulated with a smaller number, and
/// the other two are not simulated.
#[rustfmt::skip]
static ROWS: &[Row] = &[
    row(["cholesky=125,4,32", "cholesky=125,1000,32", "cholesky=125,4,32"], "cholesky 125", [11.7, 10.4], 42841.0, 7008.0, [37, 21, 16, 14, 13, 12, 12, 11]),
    row(["cholesky=250,2,32", "cholesky=250,256,32", "cholesky=250,2,32"], "cholesky 250", [29.6, 26.0], 280848.0, 6824.0, [85, 41, 29, 24, 21, 19, 18, 16]),
    row(["", "cholesky=500,64,32", "cholesky=500,2,32"], "cholesky 500", [81.8, 71.0], 2073750.0, 6732.0, [233, 101, 67, 52, 44, 38, 34, 31]),
    row(["", "cholesky=1000,16,32", "cholesky=1000,1,32"], "cholesky 1k", [226.5, 200.0], 17013938.0, 6950.0, [761, 307, 196, 148, 120, 102, 89, 80]),
    row(["", "cholesky=2000,4,32", ""], "cholesky 2k", [546.3, 503.5], 157477250.0, 7132.0, [2857, 1121, 688, 510, 405, 338, 292, 257]),
    row(["ssf=11,16", "ssf=11,16384", "ssf=11,16"], "ssf 12", [92.8, 52.9], 928.0, 6489.0, [31, 17, 13, 11, 10, 10, 9, 9]),
    row(["", "ssf=12,8192", "ssf=12,8"], "ssf 13", [149.4, 104.1], 2661.0, 11469.0, [78, 41, 30, 25, 22, 20, 19, 18]),
    row(["ssf=13,4", "ssf=13,4096", "ssf=13,4"], "ssf 14", [245.3, 192.1], 7591.0, 20190.0, [177, 87, 64, 53, 47, 42, 39, 36]),
    row(["", "ssf=14,2048", "ssf=14,2"], "ssf 15", [403.6, 344.0], 21557.0, 35398.0, [396, 190, 139, 114, 99, 89, 82, 77]),
    row(["", "ssf=15,1024", "ssf=15,2"], "ssf 16", [645.8, 584.8], 60908.0, 61773.0, [1017, 474, 339, 275, 237, 213, 194, 179]),
    row(["stress=10", "stress=10", "stress=10"], "stress 10", [278.4, 59.7], 601.0, 587.0, [13, 6, 5, 4, 3, 3, 3, 3]),
    row(["", "stress=11", "stress=11"], "stress 11", [404.8, 102.7], 1201.0, 587.0, [21, 9, 7, 6, 5, 4, 4, 4]),
    row(["stress=12", "stress=12", "stress=12"], "stress 12", [534.3, 170.6], 2402.0, 587.0, [32, 14, 10, 8, 7, 6, 5, 5]),
    row(["", "stress=13", "stress=13"], "stress 13", [631.3, 269.5], 4805.0, 587.0, [50, 22, 15, 12, 10, 9, 8, 7]),
    row(["", "stress=14", "stress=14"], "stress 14", [1099.6, 480.5], 9610.0, 587.0, [80, 33, 23, 18, 15, 13, 12, 11]),
    row(["multisort=16384,16,72", "multisort=16384,4096,72", "multisort=16384,16,72"], "multisort 16K", [68.3, 31.0], 2707.0, 1142.0, [16, 8, 6, 4, 4, 3, 3, 3]),
    row(["", "multisort=65536,1024,268", "multisort=65536,4,268"], "multisort 64K", [108.8, 73.8], 11512.0, 4645.0, [58, 27, 19, 15, 13, 12, 11, 10]),
    row(["multisort=262144,2,1030", "multisort=262144,256,1030", "multisort=262144,2,1030"], "multisort 256K", [148.9, 129.7], 52500.0, 18130.0, [233, 108, 75, 60, 51, 45, 41, 38]),
    row(["", "multisort=1048576,64,4050", "multisort=1048576,2,4050"], "multisort 1M", [139.9, 137.4], 279891.0, 61626.0, [1062, 480, 335, 266, 226, 199, 179, 166]),
    row(["", "multisort=4194304,16,4160", "multisort=4194304,2,4160"], "multisort 4M", [91.5, 91.7], 1442000.0, 122623.0, [4510, 1950, 1343, 1032, 867, 759, 684, 624]),
    row(["fib=27", "fib=43", "fib=27"], "fib 43", [116802.5, 110982.2], 44121000.0, 63.0, [27042, 1216, 1045, 1264, 817, 859, 753, 616]),
    row(["uts=T3", "uts=T3", "uts=T3"], "uts T3", [1087.6, 682.4], 8491000.0, 2359.0, [240, 93, 55, 40, 33, 29, 29, 27]),
    row(["", "uts=T3L", ""], "uts T3L", [4457.1, 2421.6], 228676000.0, 2567.0, [316, 79, 46, 35, 35, 32, 29, 31]),
    row(["nqueens=10", "nqueens=13", "nqueens=11"], "nqueens 13", [65311.8, 27140.4], 31171000.0, 521.0, [13947, 10399, 6066, 3876, 3241, 2600, 2110, 2072]),
];

impl Row {
    /// Returns the kernel to profile, unless `--quick` leaves the row out.
    fn job(&self, trial: &Trial) -> Option<&'static str> {
        Some(trial.choose(self.quick, self.full)).filter(|job| !job.is_empty())
    }

    /// Returns whether the program is simulated.
    fn is_simulated(&self, trial: &Trial) -> bool {
        self.job(trial).is_some() && !self.simulated.is_empty()
    }

    /// Returns whether a job has the input without `--quick`, perhaps with fewer repetitions.
    fn has_full_input(&self, job: &str) -> bool {
        self.full.split(',').next() == job.split(',').next()
    }

    /// Returns the duration of a cycle of the paper's processor, in seconds of this machine, if the job
    /// takes this time serially. It is chosen so that a repetition with the paper's input takes as many cycles
    /// as in Table 1.
    fn cycle(&self, trial: &Trial, job: &str, seconds: f64) -> Result<f64, Failure> {
        let repetition = match self.has_full_input(job) {
            true => repetition(job, seconds)?,
            false => {
                let cells = trial.cells(self.full, &["serial"], &[1], 3)?;
                repetition(self.full, cells[0].median())?
            }
        };
        Ok(repetition / (1e3 * self.paper.repetition))
    }

    fn profile(&self, trial: &Trial, job: &str) -> Result<Profiled, Failure> {
        let one = trial.profile(job, WOOL, 1, Duration::ZERO)?;
        let cycle = self.cycle(trial, job, one.serial.as_secs_f64())?;
        let cost = Duration::from_secs_f64(STEAL * cycle);
        let all = trial.profile(job, WOOL, trial.most_workers(), cost)?;
        Ok(Profiled {
            job: job.to_string(),
            serial: all.serial.as_secs_f64(),
            task: all.task_size(),
            parallelism: [all.ideal.parallelism, all.burdened.parallelism],
            steal: all.steal_cost(),
            breakdowns: [&one, &all].map(Breakdown::of),
        })
    }

    /// Simulates the program, and again with steals that take longer by [`DELAY`].
    fn simulate(&self, trial: &Trial) -> Result<[Replay; 2], Failure> {
        let recording = trial.record(self.simulated)?;
        let seconds = recording.work().as_secs_f64();
        let cycle = self.cycle(trial, self.simulated, seconds)?;
        let replay = |cores: &[u32], selections: &[Selection], delay| {
            let machine = |cores| machine(cores, cycle, delay);
            let mut runs = Vec::new();
            for cores in cores {
                let policies = selections.iter().map(|selection| selection.policy(*cores));
                let policies: Vec<_> = policies.collect();
                let policies: Vec<_> = policies.iter().map(String::as_str).collect();
                let trials = trial.choose(4, 10);
                runs.extend(trial.simulate(&recording, machine, &[*cores], &policies, trials)?);
            }
            Ok(Replay { cycle, runs })
        };
        let cores = trial.choose(&CORES[6..], &CORES[..]);
        let compared = [Selection::Set, Selection::SampledSet];
        Ok([
            replay(cores, &Selection::ALL, 0.0)?,
            replay(&CORES[7..], &compared, DELAY)?,
        ])
    }

    fn part(&self, what: &str) -> String {
        format!("{}, {what}", self.paper.parameter)
    }
}

/// Returns the time of one repetition of a kernel that takes this time, in seconds.
fn repetition(job: &str, seconds: f64) -> Result<f64, Failure> {
    let job = parse_job(job).map_err(Failure::Usage)?;
    Ok(seconds / repetitions(job))
}

/// Wool: the direct task stack, random victims, and leapfrogging only.
const WOOL: &str = "direct-stack:spares=0,victims=random";
const TWO_FIELDS: &str = "direct-stack:fields=two,spares=0,victims=random";

/// The ways to select a victim, in section 5.2.
#[derive(Clone, Copy)]
enum Selection {
    Random,
    Sampled,
    Set,
    SampledSet,
}

impl Selection {
    const ALL: [Selection; 4] = [
        Selection::Random,
        Selection::Sampled,
        Selection::Set,
        Selection::SampledSet,
    ];

    /// Returns the paper's name.
    fn name(self) -> &'static str {
        match self {
            Selection::Random => "RAND",
            Selection::Sampled => "SAMP",
            Selection::Set => "SET",
            Selection::SampledSet => "SAMP+SET",
        }
    }

    /// Returns the simulator's policy. A thief samples the square root of the number of cores.
    fn policy(self, cores: u32) -> String {
        let samples = f64::from(cores).sqrt().round();
        match self {
            Selection::Random => "random+leapfrog".to_string(),
            Selection::Sampled => format!("sampling:{samples}+once+leapfrog"),
            Selection::Set => "sets+leapfrog".to_string(),
            Selection::SampledSet => format!("sampling:{samples}+sets+leapfrog"),
        }
    }
}

/// The numbers of processors of Table 1.
const CORES: [u32; 8] = [7, 15, 23, 31, 39, 47, 55, 63];

/// Extra cycles of a steal in Figure 8.
const DELAY: f64 = 4000.0;

/// Cycles of a steal in the second parallelism of Table 1.
const STEAL: f64 = 1000.0;

/// The cycles of a simulated steal. The paper's conclusions speak of hundreds of cycles, and its model
/// (section 4) lets a steal take about as long as a leaf, which has 512 cycles in `stress`.
const SIMULATED_STEAL: f64 = 500.0;

/// The cycles of a simulated look at a victim: "about half of the overhead of a steal" (section 2.1). A
/// failed attempt takes as long, because it reads the same fields (Figure 3).
const LOOK: f64 = SIMULATED_STEAL / 2.0;

/// The profile of a row.
#[derive(Serialize, Deserialize)]
struct Profiled {
    job: String,
    /// The time of the serial elision, in seconds.
    serial: f64,
    /// The mean time of a task, in seconds.
    task: f64,
    parallelism: [f64; 2],
    /// The mean time of a steal, in seconds.
    steal: Option<f64>,
    /// The breakdown for one worker and for all.
    breakdowns: [Breakdown; 2],
}

/// The time of all workers together in one run, in seconds: not blocked, and blocked.
#[derive(Serialize, Deserialize)]
struct Breakdown {
    workers: usize,
    speed_up: f64,
    application: [f64; 2],
    stealing: [f64; 2],
    searching: [f64; 2],
}

impl Breakdown {
    fn of(profile: &Profile) -> Breakdown {
        let mut all = Times::default();
        profile.times.iter().for_each(|times| all += *times);
        let mean =
            |times: [Duration; 2]| times.map(|time| time.as_secs_f64() / profile.runs as f64);
        Breakdown {
            workers: profile.workers,
            speed_up: profile.speed_up(),
            application: mean([all.application, all.application_in_join]),
            stealing: mean([all.stealing, all.stealing_in_join]),
            searching: mean([all.searching, all.searching_in_join]),
        }
    }
}

/// A recorded program on simulated machines.
#[derive(Serialize, Deserialize)]
struct Replay {
    /// The duration of a cycle of the paper's processor, in seconds.
    cycle: f64,
    runs: Vec<Simulated>,
}

impl Replay {
    /// Converts a time in seconds to cycles of the paper's processor.
    fn cycles(&self, seconds: f64) -> f64 {
        seconds / self.cycle
    }

    /// Returns the runs with this selection of victims, one for each machine.
    fn with(&self, selection: Selection) -> impl Iterator<Item = &Simulated> {
        let runs = self.runs.iter();
        runs.filter(move |run| run.policy == selection.policy(run.cores))
    }

    /// Returns the run with this selection of victims on the largest machine.
    fn largest(&self, selection: Selection) -> Option<&Simulated> {
        self.with(selection).max_by_key(|run| run.cores)
    }
}

/// The machine of the simulations, with cycles of this duration in seconds. Each successful steal takes
/// longer by `delay` cycles.
fn machine(cores: u32, cycle: f64, delay: f64) -> Machine {
    let time = |cycles: f64| format!("\"{}ps\"", (1e12 * cycle * cycles).round());
    let text = format!(
        "cores = {cores}\ntask = \"0ps\"\n[socket]\nsteal = {}\nmiss = {look}\nsample = {look}\nmessage = {look}\n",
        time(SIMULATED_STEAL + delay),
        look = time(LOOK),
    );
    Machine::from_toml(&text).expect("the text is a machine file")
}

fn parts(trial: &Trial) -> Vec<Part> {
    let mut parts = vec![Part::new("Figure 4", figure4)];
    for row in ROWS {
        if let Some(job) = row.job(trial) {
            parts.push(Part::new(row.part("profiled"), move |trial| {
                row.profile(trial, job)
            }));
        }
    }
    for row in ROWS {
        if row.is_simulated(trial) {
            parts.push(Part::new(row.part("simulated"), |trial| {
                row.simulate(trial)
            }));
        }
    }
    parts.push(Part::new("one field and two", |trial| {
        let job = trial.choose("fib=30", "fib=36");
        trial.bench(job, &[WOOL, TWO_FIELDS], trial.choose(5, 15))
    }));
    parts
}

/// Time and steal attempts under a policy, relative to another.
#[derive(Serialize, Deserialize)]
struct Sampled {
    cores: u32,
    samples: u32,
    /// Ratios with the margins of their confidence intervals, relative to a thief that steals
    /// without looking, and to one that looks at one victim.
    time: [(f64, f64); 2],
    attempts: [(f64, f64); 2],
}

/// Simulates section 4: balanced trees with four leaves for each core.
fn figure4(trial: &Trial) -> Result<Vec<Sampled>, Failure> {
    const SIZES: [u32; 7] = [16, 32, 64, 128, 256, 512, 1024];
    /// The bases, and the sample sizes of the figure.
    const POLICIES: [&str; 5] = [
        "random",
        "sampling:1",
        "sampling:2",
        "sampling:3",
        "sampling:4",
    ];
    // Small machines take less time to simulate, and their times vary more.
    let trials = |cores| trial.choose(250, 2000) * u64::from(1024 / cores).min(4);
    let mut runs = Vec::new();
    for cores in SIZES {
        for text in POLICIES {
            let policy: Policy = text.parse().map_err(Failure::usage)?;
            for seed in 0..trials(cores) {
                runs.push(Run {
                    steps: 1,
                    message: format!("{cores} cores"),
                    simulate: Box::new(move || {
                        simulate(&Tree::wool(cores), &Machine::wool(cores), policy, seed)
                    }),
                });
            }
        }
    }
    let progress = purloin_command::progress(runs.len() as u64, "simulations");
    let outcomes = Runs::default().all(&runs, &progress)?;
    let mut rest = &outcomes[..];
    let mut sampled = Vec::new();
    for cores in SIZES {
        let count = trials(cores) as usize;
        let (these, others) = rest.split_at(count * POLICIES.len());
        rest = others;
        let cells: Vec<_> = these.chunks(count).collect();
        let times = |policy: usize| -> Vec<f64> {
            cells[policy].iter().map(|run| run.time.seconds()).collect()
        };
        let attempts = |policy: usize| -> Vec<f64> {
            cells[policy]
                .iter()
                .map(|run| run.attempts as f64)
                .collect()
        };
        for samples in 2..=4 {
            let pair = |estimate: Estimate| (estimate.mean, estimate.margin);
            let time = [0, 1].map(|base| pair(Estimate::of_ratio(&times(samples), &times(base))));
            let attempts =
                [0, 1].map(|base| pair(Estimate::of_ratio(&attempts(samples), &attempts(base))));
            sampled.push(Sampled {
                cores,
                samples: samples as u32,
                time,
                attempts,
            });
        }
    }
    Ok(sampled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_inputs_are_valid() {
        let jobs = ROWS
            .iter()
            .flat_map(|row| [row.quick, row.full, row.simulated]);
        for job in jobs.filter(|job| !job.is_empty()) {
            parse_job(job).unwrap();
        }
    }
}
