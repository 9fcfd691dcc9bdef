//! *Embracing Explicit Communication*: private task pools and messages against concurrent deques. This
//! file, `barrier.rs`, `messages.rs` and `operations.rs` measure, and `lazy_splitting.rs` also
//! simulates; the other files make the tables and verdicts.

mod barrier;
mod lazy_splitting;
mod messages;
mod operations;
mod ranking;
mod report;
mod speed_ups;
mod stealing;

use purloin_command::Failure;
use purloin_measure::bench::Cell;
use purloin_sim::Machine;

use super::trial::{Measured, Simulated, Trial};
use super::{Paper, Part, Tool};

pub const PAPER: Paper = Paper {
    name: "channel",
    citation: "Prell: Embracing Explicit Communication in Work-Stealing Runtime Systems (2016)",
    parts,
    report: report::report,
};

/// A workload of the slides.
struct Workload {
    name: &'static str,
    quick: &'static str,
    full: &'static str,
}

const fn workload(name: &'static str, quick: &'static str, full: &'static str) -> Workload {
    Workload { name, quick, full }
}

impl Workload {
    fn job(&self, trial: &Trial) -> &'static str {
        trial.choose(self.quick, self.full)
    }

    /// Measures the workload under each scheduler.
    fn bench(&self, trial: &Trial, schedulers: &[&str]) -> Result<Vec<Measured>, Failure> {
        trial.bench_with_all(self.job(trial), schedulers, trial.choose(3, self.runs()))
    }

    /// Returns how often the full input is run. The slides do not say how often. A long run varies less
    /// than a short one.
    fn runs(&self) -> u32 {
        match self.full {
            "spc=1000000,100" => 1,
            full if full == self.quick => 15,
            _ => 3,
        }
    }
}

/// The workloads that are ranked: all that the slides show. They rank 21 workloads, which they do not
/// list.
#[rustfmt::skip]
static WORKLOADS: &[Workload] = &[
    workload("SPC, 1 µs", "spc=100000,1", "spc=1000000,1"),
    workload("SPC, 10 µs", "spc=10000,10", "spc=1000000,10"),
    workload("SPC, 100 µs", "spc=1000,100", "spc=1000000,100"),
    workload("SPC, 1 µs, splittable", "spc-loop=100000,1", "spc-loop=1000000,1"),
    workload("BPC, n = 9, 10 µs", "bpc=1000,9,10", "bpc=100000,9,10"),
    workload("BPC, n = 999,999, 10 µs", "bpc=1,9999,10", "bpc=1,999999,10"),
    workload("BPC, n = 9, 10 µs, splittable", "bpc-loop=1000,9,10", "bpc-loop=10000,9,10"),
    workload("BPC, n = 99, 10 µs, splittable", "bpc-loop=100,99,10", "bpc-loop=1000,99,10"),
    workload("BPC, n = 999, 10 µs, splittable", "bpc-loop=10,999,10", "bpc-loop=100,999,10"),
    workload("BPC, n = 9,999, 10 µs, splittable", "bpc-loop=1,9999,10", "bpc-loop=10,9999,10"),
    workload("BPC, n = 99,999, 10 µs, splittable", "bpc-loop=1,29999,10", "bpc-loop=1,99999,10"),
    workload("BPC, n = 9, 1 µs, splittable", "bpc-loop=10000,9,1", "bpc-loop=100000,9,1"),
    workload("BPC, n = 99, 1 µs, splittable", "bpc-loop=1000,99,1", "bpc-loop=10000,99,1"),
    workload("BPC, n = 999, 1 µs, splittable", "bpc-loop=100,999,1", "bpc-loop=1000,999,1"),
    workload("BPC, n = 9,999, 1 µs, splittable", "bpc-loop=10,9999,1", "bpc-loop=100,9999,1"),
    workload("BPC, n = 99,999, 1 µs, splittable", "bpc-loop=1,99999,1", "bpc-loop=10,99999,1"),
    workload("tree recursion, 1 µs", "tree=23,1", "tree=34,1"),
    workload("14 queens", "nqueens=11", "nqueens=14"),
    workload("Cilk sort", "multisort=1000000", "multisort=100000000"),
    workload("UTS", "uts=T3", "uts=T3L"),
    workload("loop, fine", "loops=fine", "loops=fine"),
    workload("loop, coarse", "loops=coarse", "loops=coarse"),
    workload("loop, random", "loops=random", "loops=random"),
    workload("loop, increasing", "loops=increasing", "loops=increasing"),
    workload("loop, decreasing", "loops=decreasing", "loops=decreasing"),
];

/// The slides show fork/join parallelism by futures. Here a join is not a future, so futures have a
/// workload of their own, which is not ranked: it measures their cost.
static FUTURES: Workload = workload("Fibonacci by futures", "futures=27", "futures=34");

/// Returns the loop shapes on which we compare the three ways of splitting.
fn loops() -> impl Iterator<Item = &'static Workload> {
    WORKLOADS
        .iter()
        .filter(|workload| workload.full.starts_with("loops="))
}

const CHANNEL: &str = "channel";
const CHASE_LEV: &str = "chase-lev";

/// The build that measured when `channel` had two protocols. [`EARLIER_PARTS`] of its data are of the other
/// protocol.
const TWO_PROTOCOLS: &str = "3c7357c0b3e1c387";
const EARLIER_PARTS: &str = "**Measured earlier.** How much to steal, the three ways to split, the steal operations, and SPC as one \
     splittable task were measured under another protocol, which is gone. In it, a thief sees which workers \
     are active, and can recall its request. It ranked behind the present one, by 0.3 points on this \
     machine.\n\n";
const OPENMP: &str = "openmp";
/// OpenMP over LLVM's library, which derives from Intel's.
const OPENMP_LLVM: &str = "openmp-llvm";

/// The contestants of the ranking. Cilk Plus is no longer available.
const RANKED: [&str; 6] = [
    CHANNEL,
    CHASE_LEV,
    "return-barrier",
    "direct-stack",
    OPENMP,
    OPENMP_LLVM,
];

/// The contestants that have futures.
const OURS: [&str; 4] = [CHANNEL, CHASE_LEV, "return-barrier", "direct-stack"];

/// The workloads of *Stealing Tasks* and *Adaptive Stealing*.
const STEALING: [&str; 6] = [
    "SPC, 1 µs",
    "SPC, 10 µs",
    "SPC, 100 µs",
    "BPC, n = 9, 10 µs",
    "BPC, n = 999,999, 10 µs",
    "tree recursion, 1 µs",
];

const AMOUNTS: [&str; 3] = [
    "channel:steal=one",
    "channel:steal=half",
    "channel:steal=adaptive",
];

const SPLITTINGS: [&str; 3] = ["lazy-binary", "lazy-guided", "lazy-adaptive"];

const BARRIER: &str = "task barrier";
const MESSAGES: &str = "messages";
const OPERATIONS: &str = "steal operations";
const SPLITTABLE: &str = "SPC, separate or splittable tasks";
const FORWARDING: &str = "BPC, n = 9, by task length, simulated";

/// The task lengths of the slide on forwarding, in microseconds. The slide gives no numbers.
const LENGTHS: [u32; 7] = [1, 2, 5, 10, 20, 50, 100];

/// The two simulated protocols: the victim sends a request back, or forwards it.
const FORWARDING_POLICIES: [&str; 2] = ["ask+one", "forward+one"];

/// The numbers of threads of the paper's machines.
const CORES: [u32; 3] = [24, 48, 240];

/// The simulated policies: with acknowledgements and with forwarding, and how much is stolen.
const POLICIES: [&str; 4] = ["ask+one", "forward+one", "forward+half", "forward+adaptive"];

fn parts(_: &Trial) -> Vec<Part> {
    let mut parts = vec![
        Part::new(BARRIER, barrier::measure),
        Part::new(MESSAGES, messages::measure),
        Part::new(OPERATIONS, operations::measure).of_counts(),
    ];
    for workload in WORKLOADS {
        let part = Part::new(workload.name, move |trial| workload.bench(trial, &RANKED));
        parts.push(part.using(Tool("g++")).using(Tool("clang++")));
    }
    parts.push(Part::new(FUTURES.name, |trial| {
        trial.bench(FUTURES.job(trial), &OURS, trial.choose(3, 15))
    }));
    for name in STEALING {
        parts.push(Part::new(amounts(name), move |trial| {
            find(name).bench(trial, &AMOUNTS)
        }));
    }
    for workload in loops() {
        parts.push(Part::new(splittings(workload), move |trial| {
            let schedulers: Vec<_> = [CHANNEL, CHASE_LEV]
                .iter()
                .flat_map(|scheduler| SPLITTINGS.map(|split| splitting(scheduler, split)))
                .collect();
            let schedulers: Vec<_> = schedulers.iter().map(String::as_str).collect();
            workload.bench(trial, &schedulers)
        }));
    }
    for workload in loops() {
        parts.push(Part::new(lazy_splitting::part(workload), move |trial| {
            lazy_splitting::simulated(trial, workload)
        }));
    }
    parts.push(Part::new(SPLITTABLE, splittable));
    parts.push(Part::new(FORWARDING, |trial| {
        let cores = trial.choose(&CORES[..1], &CORES[..]);
        let mut runs = Vec::new();
        for length in LENGTHS {
            let (job, trials) = (format!("bpc=1000,9,{length}"), trial.choose(4, 10));
            let machine = Machine::shared_memory;
            runs.extend(trial.simulate(
                &trial.record(&job)?,
                machine,
                cores,
                &FORWARDING_POLICIES,
                trials,
            )?);
        }
        Ok(by_machine::<{ FORWARDING_POLICIES.len() }>(runs))
    }));
    for name in STEALING {
        parts.push(Part::new(simulation(name), move |trial| {
            let cores = trial.choose(&CORES[..1], &CORES[..]);
            let recording = trial.record(simulated_job(trial, name))?;
            let trials = trial.choose(2, 10);
            let runs =
                trial.simulate(&recording, Machine::shared_memory, cores, &POLICIES, trials)?;
            Ok(by_machine::<{ POLICIES.len() }>(runs))
        }));
    }
    parts
}

/// Measures SPC with separate tasks and as one splittable task, in turn. Returns the times in seconds.
fn splittable(trial: &Trial) -> Result<[Vec<f64>; 2], Failure> {
    let jobs = ["SPC, 1 µs", "SPC, 1 µs, splittable"].map(|name| find(name).job(trial));
    let mut seconds = [Vec::new(), Vec::new()];
    for _ in 0..trial.choose(9, 15) {
        for (job, seconds) in jobs.iter().zip(&mut seconds) {
            let cells = trial.cells(job, &[CHANNEL], &[trial.most_workers()], 1)?;
            seconds.extend(cells.iter().map(Cell::median));
        }
    }
    Ok(seconds)
}

/// Returns the job that is simulated for a workload. On 24 cores, adaptive stealing needs some hundred
/// tasks for each core, so that a change of strategy pays. Without `--quick`, most jobs have the million
/// tasks of the slides. BPC with n = 9 keeps ten cores busy. The requests of the others are most of the
/// simulation, so it has a tenth of the tasks.
fn simulated_job(trial: &Trial, name: &str) -> &'static str {
    match name {
        "SPC, 10 µs" => trial.choose("spc=30000,10", "spc=1000000,10"),
        "SPC, 100 µs" => trial.choose("spc=10000,100", "spc=1000000,100"),
        "BPC, n = 9, 10 µs" => trial.choose("bpc=1000,9,10", "bpc=10000,9,10"),
        "BPC, n = 999,999, 10 µs" => trial.choose("bpc=1,29999,10", "bpc=1,999999,10"),
        "tree recursion, 1 µs" => trial.choose("tree=23,1", "tree=28,1"),
        _ => find(name).job(trial),
    }
}

/// A recorded program on a simulated machine, under each policy.
type UnderPolicies = [Simulated; POLICIES.len()];

/// Splits the runs of all machines into those of each machine.
fn by_machine<const POLICIES: usize>(runs: Vec<Simulated>) -> Vec<[Simulated; POLICIES]> {
    let mut runs = runs.into_iter().peekable();
    let mut machines = Vec::new();
    while runs.peek().is_some() {
        let next = |_| runs.next().expect("a machine has a run for each policy");
        machines.push(std::array::from_fn(next));
    }
    machines
}

fn find(name: &str) -> &'static Workload {
    let found = WORKLOADS.iter().find(|workload| workload.name == name);
    found.expect("STEALING has names of WORKLOADS")
}

fn amounts(name: &str) -> String {
    format!("{name}: one, half or adaptive")
}

fn splittings(workload: &Workload) -> String {
    format!("{}: three ways to split", workload.name)
}

fn splitting(scheduler: &str, split: &str) -> String {
    format!("{scheduler}:split={split}")
}

fn simulation(name: &str) -> String {
    format!("{name}, simulated")
}

#[cfg(test)]
mod tests {
    use super::*;
    use purloin_measure::arguments::parse_job;

    #[test]
    fn all_inputs_are_valid() {
        let workloads = WORKLOADS.iter().chain([&FUTURES]);
        let jobs = workloads.flat_map(|workload| [workload.quick, workload.full]);
        let simulated =
            [true, false].map(|quick| STEALING.map(|name| simulated_job(&Trial::new(quick), name)));
        for job in jobs
            .chain(simulated.concat())
            .chain(messages::BPC)
            .chain(messages::SPC)
        {
            parse_job(job).unwrap();
        }
    }
}
