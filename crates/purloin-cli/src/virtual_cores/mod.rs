//! `purloin virtual`.
//!
//! The library runs on virtual cores only in a build of its own. So the command has two halves: this program measures the
//! kernel with one worker, and starts the program `purloin-virtual`, the same command in that other build, which does the
//! rest (`cells.rs`).

#[cfg(purloin_virtual)]
mod cells;
#[cfg(purloin_virtual)]
mod report;

use std::path::{Path, PathBuf};

use purloin_command::Failure;
use purloin_kernels::Job;
use purloin_measure::arguments::{parse_job, parse_number};
use purloin_measure::schedulers::Spec;
use purloin_virtual::{MAX_CORES, Machine};

/// Run a kernel on the virtual cores of another machine
///
/// The threads of the pool are fibres on one thread, time is virtual, and the library's own code runs unchanged. Each
/// access to shared memory costs what the machine's file says.
///
/// First the command measures the kernel with one worker on this machine. On the virtual machine the kernel's own code
/// takes as long as here. The model has no limit of memory bandwidth and no cold caches: see docs/virtual.md for what was
/// compared with real machines.
#[derive(clap::Args)]
#[command(after_help = format!("Examples:
  purloin virtual skynet=6 --machine epyc-7742 --cores 1,8,64
  purloin virtual nqueens=11 --machine my-machine.toml --scheduler return-barrier --scheduler chase-lev

Machines: {}; or a file in the form that docs/virtual.md describes. `purloin machine`
measures this machine, and writes such a file.

JSON: kernel, input, machine, seed, and series: for each scheduler, scheduler, one_worker_seconds (measured here),
picoseconds_of_a_byte (of counted work) and cells: cores, seconds, speed_up (over one worker), answer, verified, steals,
steal_attempts, sleeps, wakes, events, fingerprint (equal for equal runs), and operations: for each kind of operation,
count, and for one: lines (of other cores that it touched), transfers (of cache lines), interrupts (of cores) and
seconds.", Machine::names().collect::<Vec<_>>().join(", ")))]
pub struct Args {
    /// A kernel of `purloin list`; without an input, its default input
    #[arg(value_name = "KERNEL[=INPUT]", value_parser = parse_job)]
    kernel: Job,

    /// A machine by its name, or a file that describes one
    #[arg(long, value_name = "NAME|FILE", default_value = "epyc-7763", value_parser = parse_machine)]
    machine: Machine,

    /// Numbers of cores, each with one worker [default: the powers of two up to the cores of the machine]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = parse_cores)]
    cores: Vec<usize>,

    /// A scheduler of `purloin list`, with its options. Repeat the option for several schedulers
    /// [default: return-barrier]
    #[arg(long = "scheduler", value_name = "NAME[:KEY=VALUE,…]")]
    schedulers: Vec<Spec>,

    /// Seed of the run
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Maximum virtual time of a run, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3600, value_parser = parse_limit)]
    limit: u64,

    /// Write the results as JSON to this file, or to standard output with -
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,

    /// The times of one worker on this machine, in seconds, by scheduler
    #[arg(long, hide = true, value_delimiter = ',')]
    measured: Vec<f64>,
}

fn parse_machine(text: &str) -> Result<Machine, String> {
    let machine = match text.ends_with(".toml") || text.contains('/') {
        true => Machine::from_file(Path::new(text)),
        false => Machine::named(text),
    };
    machine.map_err(|error| error.to_string())
}

fn parse_cores(text: &str) -> Result<usize, String> {
    parse_number("cores", text, MAX_CORES)
}

fn parse_limit(text: &str) -> Result<u64, String> {
    parse_number("limit", text, 1_000_000)
}

impl Args {
    /// Checks what no parser of a single argument can, and fills in the defaults.
    fn complete(&self) -> Result<(Vec<usize>, Vec<Spec>), Failure> {
        let all = self.machine.topology.cores;
        let cores = match &self.cores[..] {
            [] => {
                let powers = std::iter::successors(Some(1), |cores| Some(2 * cores));
                let powers = powers.take_while(|&cores| cores < all);
                powers.chain([all]).collect()
            }
            cores => cores.to_vec(),
        };
        for &cores in &cores {
            let machine = self.machine.clone().with_cores(cores);
            machine.map_err(|error| Failure::Usage(error.to_string()))?;
        }
        let schedulers = match &self.schedulers[..] {
            [] => vec!["return-barrier".parse().map_err(Failure::Usage)?],
            schedulers => schedulers.to_vec(),
        };
        for scheduler in &schedulers {
            if scheduler.is_peer() || !scheduler.has_workers() {
                return Err(Failure::usage(format_args!(
                    "{scheduler} does not run on virtual cores; use a scheduler of Purloin with workers"
                )));
            }
            scheduler.check(&self.kernel).map_err(Failure::Usage)?;
        }
        Ok((cores, schedulers))
    }
}

/// Runs the command.
#[cfg(purloin_virtual)]
pub fn run(args: &Args) -> Result<(), Failure> {
    cells::run(args)
}

/// Measures the kernel with one worker, then runs the program for virtual cores.
#[cfg(not(purloin_virtual))]
pub fn run(args: &Args) -> Result<(), Failure> {
    use std::process::{Command, exit};

    let (_, schedulers) = args.complete()?;
    let program = program()?;
    // An odd number of runs, at least three.
    let measured = purloin_measure::bench::measure_all(
        &[args.kernel],
        schedulers,
        &[1],
        5,
        std::time::Duration::MAX,
    )?;
    let seconds: Vec<_> = measured
        .iter()
        .map(|cell| format!("{:e}", cell.median()))
        .collect();
    let mut command = Command::new(&program);
    command.args(std::env::args_os().skip(1));
    command.arg(format!("--measured={}", seconds.join(",")));
    let status = command
        .status()
        .map_err(|error| Failure::Run(format!("cannot start {}: {error}", program.display())))?;
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => exit(code),
        None => Err(Failure::Run(format!(
            "{} ended by {status}",
            program.display()
        ))),
    }
}

/// Returns the path of the program for virtual cores: beside this one.
#[cfg(not(purloin_virtual))]
fn program() -> Result<PathBuf, Failure> {
    let name = format!("purloin-virtual{}", std::env::consts::EXE_SUFFIX);
    let own = std::env::current_exe().unwrap_or_default();
    let program = own.with_file_name(&name);
    match program.is_file() {
        true => Ok(program),
        false => Err(Failure::usage(format_args!(
            "{} is missing: the library runs on virtual cores only in a build of its own, which `./x purloin virtual` makes",
            program.display()
        ))),
    }
}
