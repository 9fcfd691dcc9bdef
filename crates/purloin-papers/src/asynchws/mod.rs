//! *Asynchronous Work Stealing on Distributed Memory Systems*: residual tasks, cut-offs and early
//! steals, on the ranks of this machine and simulated on the paper's cluster. This file measures
//! on ranks, and `simulation.rs` simulates; the other files make the tables and verdicts.

mod cut_offs;
mod data;
mod gains;
mod own_times;
mod profiling;
mod report;
mod residual;
mod simulation;

use std::path::PathBuf;
use std::process::Command;

use purloin_command::Failure;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::results::times;
use super::trial::Trial;
use super::{Paper, Part};

pub const PAPER: Paper = Paper {
    name: "asynchws",
    citation: "Li, Hu, Cheng and Zhao: Asynchronous Work Stealing on Distributed Memory Systems \
               (HPCC 2013)",
    parts,
    report: report::report,
};

/// A program of Table I.
struct Program {
    name: &'static str,
    /// The paper's input, and the bytes of a task there.
    input: &'static str,
    bytes: &'static str,
    /// The inputs on ranks, with `--quick` and without.
    ranks: [&'static str; 2],
    /// The inputs of the simulation, with `--quick` and without.
    simulated: [&'static str; 2],
    /// The depths that are tried for the cut-off by depth, with `--quick` and without.
    depths: [&'static [u32]; 2],
    /// The best number of residual tasks in Figure 7.
    residual: &'static str,
    /// What the text says about asynchronous stealing in Figure 9, and the gain in Figure 10.
    async_is: &'static str,
    gain: &'static str,
}

#[rustfmt::skip]
static PROGRAMS: [Program; 6] = [
    Program { name: "Fibonacci", input: "50", bytes: "92", ranks: ["fib=38", "fib=50"], simulated: ["fib=31", "fib=34"], depths: [&[8, 12], &[6, 8, 10, 12]], residual: "0", async_is: "equal", gain: "a little worse" },
    Program { name: "Floorplan", input: "20 cells", bytes: "160", ranks: ["floorplan=20", "floorplan=20"], simulated: ["floorplan=14", "floorplan=20"], depths: [&[16, 20], &[16, 20, 24, 32]], residual: "2 or 3", async_is: "better", gain: "1.16" },
    Program { name: "NQueens", input: "14", bytes: "164", ranks: ["nqueens=12", "nqueens=14"], simulated: ["nqueens=12", "nqueens=13"], depths: [&[12, 16], &[10, 12, 16, 20]], residual: "2 or 3", async_is: "better", gain: "1.06" },
    Program { name: "SparseLU", input: "4096 × 4096", bytes: "108", ranks: ["sparselu=16,128", "sparselu=32,128"], simulated: ["sparselu=32", "sparselu=64"], depths: [&[8], &[8]], residual: "0", async_is: "worse", gain: "a little worse" },
    Program { name: "Strassen", input: "8192 × 8192", bytes: "116", ranks: ["strassen=1024", "strassen=8192"], simulated: ["strassen=2048", "strassen=4096"], depths: [&[2, 4], &[2, 4, 8]], residual: "2", async_is: "equal", gain: "1.11" },
    Program { name: "UTS", input: "T3L", bytes: "120", ranks: ["uts=T3", "uts=T3L"], simulated: ["uts=T3", "uts=T3"], depths: [&[4096], &[4096, 16384]], residual: "2 or 3", async_is: "better", gain: "1.14" },
];

impl Program {
    fn on_ranks(&self, trial: &Trial) -> &'static str {
        self.ranks[usize::from(!trial.quick)]
    }

    fn simulated(&self, trial: &Trial) -> &'static str {
        self.simulated[usize::from(!trial.quick)]
    }

    fn depths(&self, trial: &Trial) -> &'static [u32] {
        self.depths[usize::from(!trial.quick)]
    }

    /// Returns the numbers of nodes that are simulated with the paper's times. SparseLU and Strassen have too
    /// little parallelism for the larger one, and their simulations would take hours: all idle cores search.
    fn own_nodes(&self) -> &'static [u32] {
        match self.name {
            "SparseLU" | "Strassen" => &OWN_NODES[1..],
            _ => &OWN_NODES,
        }
    }

    /// Returns how often the paper's input is run on ranks. The paper does not say how often. Here, a
    /// run of the longest programs takes one to two minutes, and each figure needs many runs.
    fn runs(&self) -> u32 {
        match self.name {
            "Fibonacci" | "Strassen" | "UTS" => 1,
            _ => 3,
        }
    }

    /// Returns whether the paper states by which factor the program gains in Figure 10. For the same
    /// programs, it says that the cut-off *adaptive* is the best.
    fn has_gain(&self) -> bool {
        self.gain.parse::<f64>().is_ok()
    }

    fn part(&self, what: &str) -> String {
        format!("{}, {what}", self.name)
    }
}

const TABLE: &str = "Table I";
const FIGURE_5: &str = "Figure 5";
const OWN_TIMES: &str = "simulated with the paper's times";

fn parts(_: &Trial) -> Vec<Part> {
    let mut parts = vec![
        part_on_ranks(TABLE.to_owned(), table),
        part_on_ranks(FIGURE_5.to_owned(), |_| {
            let arguments = ["figures", "--figure", "5", "--json", "-"];
            on_ranks::<Figures>(&arguments.map(str::to_owned))
        }),
    ];
    for program in &PROGRAMS {
        parts.push(part_on_ranks(program.part("on ranks"), |trial| {
            let mut arguments = ["figures", "--json", "-"].map(str::to_owned).to_vec();
            for figure in 6..=10 {
                arguments.extend(["--figure".to_owned(), figure.to_string()]);
            }
            arguments.extend(["--kernel".to_owned(), program.on_ranks(trial).to_owned()]);
            for depth in program.depths(trial) {
                arguments.extend(["--depth".to_owned(), depth.to_string()]);
            }
            let runs = trial.choose(1, program.runs());
            arguments.extend(["--runs".to_owned(), runs.to_string()]);
            on_ranks::<Figures>(&arguments)
        }));
    }
    for program in &PROGRAMS {
        parts.push(Part::new(program.part("simulated"), |trial| {
            simulation::simulated(trial, program)
        }));
    }
    for program in &PROGRAMS {
        parts.push(Part::new(program.part(OWN_TIMES), |trial| {
            simulation::with_own_times(trial, program)
        }));
    }
    parts
}

/// Creates a part that `purloin-cluster` measures.
fn part_on_ranks<T: Serialize + DeserializeOwned + 'static>(
    name: String,
    measure: impl Fn(&Trial) -> Result<Measured<T>, Failure> + 'static,
) -> Part {
    Part::unless_missing(name, measure, Measured::is_missing).by(cluster_command())
}

/// The measurements of `purloin-cluster`, or the reason why there are none.
#[derive(Serialize, Deserialize)]
enum Measured<T> {
    Done(T),
    Missing(String),
}

impl<T> Measured<T> {
    fn is_missing(&self) -> bool {
        matches!(self, Measured::Missing(_))
    }
}

/// The report of `purloin-cluster figures`, as far as it is needed.
#[derive(Serialize, Deserialize)]
struct Figures {
    ranks: usize,
    latency_seconds: f64,
    latencies: Option<Latencies>,
    figures: Vec<Figure>,
}

#[derive(Serialize, Deserialize)]
struct Latencies {
    gets: Vec<Get>,
}

/// The time of a get from another rank.
#[derive(Serialize, Deserialize)]
struct Get {
    bytes: usize,
    seconds: f64,
}

#[derive(Serialize, Deserialize)]
struct Figure {
    figure: u32,
    rows: Vec<Row>,
}

#[derive(Serialize, Deserialize)]
struct Row {
    kernel: String,
    one_rank_seconds: Option<f64>,
    cells: Vec<Cell>,
}

#[derive(Serialize, Deserialize)]
struct Cell {
    variant: String,
    #[serde(deserialize_with = "times")]
    all_seconds: Vec<f64>,
    profiling_percent: f64,
    early_percent: f64,
}

/// The report of a kernel on one rank.
#[derive(Serialize, Deserialize)]
struct OneRank {
    task_bytes: usize,
}

/// Returns the size of a task of each program. It does not depend on the input.
fn table(_: &Trial) -> Result<Measured<[usize; PROGRAMS.len()]>, Failure> {
    let mut bytes = [0; PROGRAMS.len()];
    for (program, bytes) in PROGRAMS.iter().zip(&mut bytes) {
        let arguments = [program.ranks[0], "--json", "-"].map(str::to_owned);
        match on_ranks::<OneRank>(&arguments)? {
            Measured::Done(report) => *bytes = report.task_bytes,
            Measured::Missing(why) => return Ok(Measured::Missing(why)),
        }
    }
    Ok(Measured::Done(bytes))
}

/// Runs `purloin-cluster`, and reads its JSON report.
fn on_ranks<T: DeserializeOwned>(arguments: &[String]) -> Result<Measured<T>, Failure> {
    let missing = |why: String| Ok(Measured::Missing(why));
    let Some(program) = cluster_command() else {
        return missing(
            "there is no purloin-cluster beside purloin; `./x cluster list` builds it".to_owned(),
        );
    };
    let mut command = Command::new(program);
    command.args(arguments);
    // Open MPI refuses to run as root otherwise. Rank 0 writes nothing but the report.
    for allowance in ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] {
        command.env(allowance, "1");
    }
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => return missing(format!("purloin-cluster cannot be run: {error}")),
    };
    if output.status.success() {
        return match serde_json::from_slice(&output.stdout) {
            Ok(report) => Ok(Measured::Done(report)),
            Err(error) => missing(format!(
                "the report of purloin-cluster is not readable: {error}"
            )),
        };
    }
    let message = message(&String::from_utf8_lossy(&output.stderr));
    let message = message.unwrap_or_else(|| format!("purloin-cluster failed ({})", output.status));
    match is_wrong_answer(&message) {
        true => Err(Failure::Run(format!(
            "purloin-cluster {}: {message}",
            arguments.join(" ")
        ))),
        // A missing `mpirun` or library, or an MPI that does not work.
        false => missing(message),
    }
}

/// Returns the reason that `purloin-cluster` has written to standard error, or else the first line,
/// which is that of `mpirun`.
fn message(errors: &str) -> Option<String> {
    let mut own = errors
        .lines()
        .filter_map(|line| line.strip_prefix("purloin-cluster: "));
    let is_text = |line: &&str| line.contains(char::is_alphabetic);
    let line = own.next().or_else(|| errors.lines().find(is_text));
    line.map(|line| line.trim().to_owned())
}

/// Returns whether `purloin-cluster` failed because a kernel gave a wrong answer. It says so at the
/// end of its message.
fn is_wrong_answer(message: &str) -> bool {
    message.contains("answer") && message.ends_with("is wrong")
}

/// Returns the path of `purloin-cluster`, which lies in the folder of this program.
fn cluster_command() -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?;
    let path = path.with_file_name("purloin-cluster");
    path.exists().then_some(path)
}

/// The simulated times of a steal between nodes, in microseconds.
const LATENCIES: [u32; 2] = [5, 50];

/// The time of a steal within a node, in microseconds. Stealing when idle is also simulated with steals
/// between nodes that are as short, to compare.
const SHARED: u32 = 2;

/// The residual tasks of Figure 7, of which the paper chooses the third.
const RESIDUAL: [&str; 7] = ["0", "1", "2", "3", "4", "5", "6"];
const CHOSEN: usize = 2;

/// The numbers of [`RESIDUAL`] tasks that are simulated with `--quick`: none, the paper's choice, and twice
/// as many.
const QUICK: [&str; 3] = [RESIDUAL[0], RESIDUAL[CHOSEN], RESIDUAL[2 * CHOSEN]];

/// The paper's time of a steal between nodes, in microseconds: the middle of its times of a get.
const OWN_LATENCY: u32 = 4500;

/// The numbers of nodes that are simulated with the paper's times: those of its cluster, and an eighth of
/// them, so that a core has eight times as much work.
static OWN_NODES: [u32; 2] = [simulation::NODES, simulation::NODES / 8];

const ADAPTIVE: &str = "adaptive";
const QUEUE: &str = "queue";
const NONE: &str = "none";
const DEPTH: &str = "depth";

/// A program on the simulated cluster.
#[derive(Serialize, Deserialize)]
struct Simulated {
    job: String,
    /// The time of the serial elision, in seconds.
    work: f64,
    span: f64,
    /// The number of tasks at each depth.
    depths: Vec<u64>,
    cells: Vec<Case>,
}

/// A variant on a cluster with one latency.
#[derive(Serialize, Deserialize)]
struct Case {
    /// In microseconds.
    latency: u32,
    cut_off: String,
    residual: String,
    /// The mean number of tasks that were created.
    tasks: u64,
    /// The times of all trials.
    #[serde(deserialize_with = "times")]
    seconds: Vec<f64>,
    /// The mean number of steals.
    steals: f64,
}

/// A program on the simulated cluster with the paper's times: steals of [`OWN_LATENCY`], and tasks of at
/// least 2 ms.
#[derive(Serialize, Deserialize)]
struct OwnTimes {
    job: String,
    /// The time of the serial elision, in seconds.
    work: f64,
    cases: Vec<OwnCase>,
}

/// A number of cores and of residual tasks, with the cut-off [`ADAPTIVE`].
#[derive(Serialize, Deserialize)]
struct OwnCase {
    cores: u32,
    residual: String,
    /// The number of tasks that were created in the first trial.
    tasks: u64,
    /// The times of all trials.
    #[serde(deserialize_with = "times")]
    seconds: Vec<f64>,
    /// The mean number of steals.
    steals: f64,
}

impl OwnTimes {
    fn case(&self, cores: u32, residual: &str) -> Option<&OwnCase> {
        let mut cases = self.cases.iter();
        cases.find(|case| (case.cores, &*case.residual) == (cores, residual))
    }
}

impl Simulated {
    fn case(&self, latency: u32, cut_off: &str, residual: &str) -> Option<&Case> {
        self.cells.iter().find(|case| {
            (case.latency, &*case.cut_off, &*case.residual) == (latency, cut_off, residual)
        })
    }

    /// Returns the cases with a cut-off by depth, and their depths.
    fn with_depths(&self, latency: u32) -> impl Iterator<Item = (&Case, u32)> {
        let cases = self
            .cells
            .iter()
            .filter(move |case| case.latency == latency);
        cases.filter_map(|case| {
            let (name, depth) = case.cut_off.split_once(':')?;
            Some((case, (name == DEPTH).then(|| depth.parse().ok())??))
        })
    }

    /// Returns the fastest of the cases with a cut-off by depth, and its depth.
    fn best_depth(&self, latency: u32) -> Option<(&Case, u32)> {
        let cases = self.with_depths(latency);
        cases.min_by(|(a, _), (b, _)| a.mean().total_cmp(&b.mean()))
    }
}

impl Case {
    fn mean(&self) -> f64 {
        self.seconds.iter().sum::<f64>() / self.seconds.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_wrong_answer_ends_the_report() {
        let own = "mpirun noticed\npurloin-cluster: fib=9 on 2 ranks: its answer is wrong\n";
        assert!(is_wrong_answer(&message(own).unwrap()));
        assert!(is_wrong_answer("the answer of fib=9 is wrong"));
        let foreign = "-----\n  ORTE was unable to start the job.\n-----\n";
        let message = message(foreign).unwrap();
        assert_eq!(message, "ORTE was unable to start the job.");
        assert!(!is_wrong_answer(&message));
    }

    #[test]
    fn all_simulated_inputs_are_valid() {
        for job in PROGRAMS.iter().flat_map(|program| program.simulated) {
            purloin_measure::arguments::parse_job(job).unwrap();
        }
    }

    #[test]
    fn the_sizes_of_some_programs_are_not_those_of_all() {
        let check = parts(&Trial::new(true)).swap_remove(0).check;
        check(&serde_json::json!({"Done": [1, 2, 3, 4, 5, 6]})).unwrap();
        check(&serde_json::json!({"Done": [1, 2]})).unwrap_err();
    }
}
