//! `purloin bench`.

mod page;
mod report;
mod table;

use std::path::PathBuf;
use std::time::Duration;

use purloin_command::{Destination, Failure, cores, print};
use purloin_kernels::Job;
use purloin_measure::arguments::{parse_job, parse_number, parse_workers};
use purloin_measure::bench::measure_all;
use purloin_measure::schedulers::Spec;

use self::report::Report;

/// Run kernels under schedulers, verify every answer and compare the times
///
/// A cell is a kernel under a scheduler with a number of workers. The runs of all cells are
/// interleaved. The median of each cell is compared with the median of the serial elision, which is
/// the same source without parallelism.
///
/// Without arguments, a set of kernels shows in about a minute what Purloin gains on this machine.
/// See `purloin list` for kernels, inputs, schedulers and options.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  purloin bench
  purloin bench --kernel fib=40 --scheduler return-barrier --scheduler rayon
  purloin bench --kernel uts=T3 --kernel stress=10 --workers 1,2,4 --runs 9 --json after.json
  purloin bench --kernel nqueens=12 --workers 1,2,4 --runs 9 --html nqueens.html
  purloin compare before.json after.json

JSON: each cell has kernel, input, scheduler, workers, seconds (of each run), median_seconds,
vs_serial (below 1 is faster than the serial elision), own_baseline (whether vs_serial compares with
a sequential form in a peer's own language instead), spread, answer, verified and stats.

Exit status: 0 if every answer was right, 1 if an answer was wrong or a run failed, 2 for a mistake
in the arguments. A peer that is not installed, lacks a kernel, fails or hangs is left out with one
line on standard error, and the exit status stays 0.")]
pub struct Args {
    /// A kernel of `purloin list`; without an input, its default input. Repeat the option for
    /// several kernels [default: a selection]
    #[arg(long = "kernel", value_name = "NAME[=INPUT]")]
    kernels: Vec<String>,

    /// A scheduler of `purloin list`, with its options. Repeat the option for several schedulers
    /// [default: serial, return-barrier with both values of api, chili, rayon]
    #[arg(long = "scheduler", value_name = "NAME[:KEY=VALUE,…]")]
    schedulers: Vec<String>,

    /// A peer of your own: a program that contains kernels and speaks the protocol of
    /// peers/README.md. It appears in the table as NAME. Repeat the option for several programs
    #[arg(long = "peer", value_name = "NAME=PROGRAM")]
    peers: Vec<String>,

    /// Numbers of workers; serial always has one worker [default: 1 and the number of cores]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = parse_workers)]
    workers: Vec<usize>,

    /// Number of runs of each cell; the result is their median
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = parse_runs)]
    runs: u32,

    /// Time limit for each run of a peer that is a program of its own, for its warm-up, and for
    /// building it; a peer that takes longer is killed and left out
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = parse_limit)]
    time_limit: u64,

    /// Statistics of the workers: basic counts steals; full also measures what steals cost their
    /// victims, which makes each steal about ten nanoseconds slower
    #[arg(long, value_name = "basic|full", default_value = "basic")]
    stats: Detail,

    /// Write the results as JSON to this file, or to standard output with -
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,

    /// Write the results as a page to this file: every run as a dot, the serial time divided by the
    /// time against the number of workers, and the tables
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// The detail of the statistics.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Detail {
    Basic,
    Full,
}

const DEFAULT_KERNELS: &[&str] = &[
    "fib=40",
    "nqueens=12",
    "uts=T3",
    "multisort=10000000",
    "stress=12",
    "skynet=7",
];

const DEFAULT_SCHEDULERS: &[&str] = &[
    "serial",
    "return-barrier",
    "return-barrier:api=free",
    "chili",
    "rayon",
];

fn parse_runs(text: &str) -> Result<u32, String> {
    parse_number("runs", text, 1000)
}

fn parse_limit(text: &str) -> Result<u64, String> {
    parse_number("time-limit", text, 1_000_000)
}

/// Parses a kernel; explains a common mistake.
fn parse_kernel(text: &str) -> Result<Job, Failure> {
    let is_kernel = |part: &str| Job::parse(part.split('=').next().unwrap_or_default()).is_ok();
    parse_job(text).map_err(|error| match text.split(',').skip(1).any(is_kernel) {
        true => Failure::usage(format_args!("{error}; give each kernel its own --kernel")),
        false => Failure::Usage(error),
    })
}

fn or_default(given: &[String], default: &[&str]) -> Vec<String> {
    match given.is_empty() {
        true => default.iter().map(|name| name.to_string()).collect(),
        false => given.to_vec(),
    }
}

/// Writes a line about each scheduler that lacks some of the kernels. Returns an error if it lacks
/// all of them.
fn check_kernels(schedulers: &[Spec], jobs: &[Job]) -> Result<(), Failure> {
    for scheduler in schedulers {
        let is_missing = |job: &&Job| scheduler.check(job).is_err();
        let missing: Vec<_> = jobs.iter().filter(is_missing).collect();
        if missing.len() == jobs.len() {
            let checks = jobs.iter().map(|job| scheduler.check(job));
            checks.collect::<Result<(), _>>().map_err(Failure::Usage)?;
        } else if !missing.is_empty() {
            let mut kernels: Vec<_> = missing.iter().map(|job| job.kernel()).collect();
            kernels.dedup();
            let kernels = kernels.join(", ");
            let line = format!("{scheduler} is left out of {kernels}, which it does not have");
            Failure::Run(line).tell("purloin");
        }
    }
    Ok(())
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let jobs = or_default(&args.kernels, DEFAULT_KERNELS)
        .iter()
        .map(|text| parse_kernel(text))
        .collect::<Result<Vec<_>, _>>()?;
    let mut schedulers = or_default(&args.schedulers, DEFAULT_SCHEDULERS)
        .iter()
        .map(|text| text.parse::<Spec>().map_err(Failure::usage))
        .map(|spec| match args.stats {
            Detail::Basic => spec,
            Detail::Full => spec.map(Spec::timed),
        })
        .collect::<Result<Vec<_>, _>>()?;
    for peer in &args.peers {
        schedulers.push(Spec::peer(peer).map_err(Failure::usage)?);
    }
    check_kernels(&schedulers, &jobs)?;
    let mut workers = args.workers.clone();
    if workers.is_empty() {
        workers = vec![1, cores()];
        workers.dedup();
    }
    // Opens the files first, because an unwritable file must not cost the user a finished
    // measurement.
    let destination = args.json.as_deref().map(Destination::open).transpose()?;
    let html = args.html.as_deref().map(Destination::open_page);
    let html = html.transpose()?;

    let limit = Duration::from_secs(args.time_limit);
    let cells = measure_all(&jobs, schedulers, &workers, args.runs, limit)?;

    let prints_json = destination
        .as_ref()
        .is_some_and(Destination::is_standard_output);
    // Without cells, every contestant was left out and has had its line.
    if !prints_json && !cells.is_empty() {
        print(&table::text(&cells))?;
    }
    if let Some(destination) = destination {
        destination.write(&Report::of(&cells))?;
    }
    if let Some(html) = html {
        html.write_page(&page::page(&cells))?;
    }
    let wrong = cells.iter().filter(|cell| !cell.verified).map(|cell| {
        format!(
            "{}={} under {} with {} workers gave a wrong answer: {}",
            cell.kernel, cell.input, cell.scheduler, cell.workers, cell.answer
        )
    });
    let wrong: Vec<_> = wrong.collect();
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(Failure::Run(wrong.join("; "))),
    }
}
