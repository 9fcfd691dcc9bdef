//! `purloin bench`.

mod contestant;
mod measure;
mod report;
mod table;

use std::path::PathBuf;

use crate::arguments::{parse_job, parse_workers};
use crate::schedulers::Spec;
use measure::Cell;
use purloin_command::{Destination, Failure, cores, print, progress};
use report::Report;

/// Run kernels under schedulers, check every answer and compare the times
///
/// Runs are interleaved, and medians are compared with the serial elision of the same
/// source.
///
/// Without arguments it shows in about a minute what Purloin buys on this
/// machine. See `purloin list` for kernels, inputs, schedulers and options.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  purloin bench
  purloin bench --kernel fib=40 --scheduler return-barrier --scheduler rayon
  purloin bench --kernel uts=T3 --kernel stress=10 --workers 1,2,4 --runs 7 --json result.json

Exit status: 0 if every answer was right, 1 if one was wrong, 2 for a mistake in the arguments.")]
pub struct Args {
    /// A kernel of `purloin list`, with its input if not the usual one; repeat
    /// the option for several
    #[arg(long = "kernel", value_name = "NAME[=INPUT]")]
    kernels: Vec<String>,

    /// A scheduler of `purloin list`, with its options; repeat the option for
    /// several
    #[arg(long = "scheduler", value_name = "NAME[:KEY=VALUE,…]")]
    schedulers: Vec<String>,

    /// Numbers of workers, separated by commas; serial always has one [default: 1
    /// and all cores]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = parse_workers)]
    workers: Vec<usize>,

    /// How often each cell is run; the median counts
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,

    /// What to say of the workers: how much they have stolen, or in full also what it
    /// cost their victims (which makes each steal dearer by some ten nanoseconds)
    #[arg(long, value_name = "basic|full", default_value = "basic")]
    stats: Detail,

    /// Write the results as JSON to a file, or to standard output with -
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
}

/// How much to say of the workers.
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

fn or_default(given: &[String], default: &[&str]) -> Vec<String> {
    match given.is_empty() {
        true => default.iter().map(|name| name.to_string()).collect(),
        false => given.to_vec(),
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let jobs = or_default(&args.kernels, DEFAULT_KERNELS)
        .iter()
        .map(|text| parse_job(text).map_err(Failure::Usage))
        .collect::<Result<Vec<_>, _>>()?;
    let schedulers = or_default(&args.schedulers, DEFAULT_SCHEDULERS)
        .iter()
        .map(|text| text.parse::<Spec>().map_err(Failure::usage))
        .map(|spec| match args.stats {
            Detail::Basic => spec,
            Detail::Full => spec.map(Spec::timed),
        })
        .collect::<Result<Vec<_>, _>>()?;
    for scheduler in &schedulers {
        let checks = jobs.iter().map(|job| scheduler.check(job));
        checks.collect::<Result<(), _>>().map_err(Failure::Usage)?;
    }
    let mut workers = args.workers.clone();
    if workers.is_empty() {
        workers = vec![1, cores()];
        workers.dedup();
    }
    // Before anything is measured, so that no result is lost for want of it.
    let destination = args.json.as_deref().map(Destination::open).transpose()?;

    let mut all = Vec::new();
    let (runs, kinds) = (args.runs, measure::cells(&schedulers, &workers));
    let steps = jobs.len() as u64 * (1 + u64::from(runs) * measure::timed(&kinds));
    let progress = progress(steps, "runs");
    for job in &jobs {
        all.extend(measure::measure(job, &kinds, runs, &progress)?);
    }
    progress.finish_and_clear();

    if !destination
        .as_ref()
        .is_some_and(Destination::is_standard_output)
    {
        print(&table::text(&all))?;
    }
    if let Some(destination) = destination {
        destination.write(&Report::of(&all))?;
    }
    match all.iter().find(|cell| !cell.verified) {
        None => Ok(()),
        Some(wrong) => Err(Failure::Run(format!(
            "{}={} under {} with {} workers gave a wrong answer: {}",
            wrong.kernel, wrong.input, wrong.scheduler, wrong.workers, wrong.answer
        ))),
    }
}
