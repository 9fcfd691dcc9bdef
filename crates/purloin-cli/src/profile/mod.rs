//! `purloin profile`.

mod report;
mod sampling;
mod table;
mod table1;

use std::path::PathBuf;
use std::time::Duration;

use purloin_analysis::Profile;
use purloin_kernels::Job;

use crate::arguments::{parse_job, parse_workers};
use crate::checked_kernel::CheckedKernel;
use crate::schedulers::Spec;
use purloin_command::{Destination, Failure, cores, print, progress};

/// Say why a kernel is not faster: its work and span, and where the time goes
///
/// The kernel is run repeatedly: serially, with a clock reading at each task,
/// and on all workers.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  purloin profile nqueens=12
  purloin profile stress=10 --scheduler direct-stack --workers 4 --json profile.json
  purloin profile --table1
  purloin profile --table1 cholesky
  purloin profile --sampling

Exit status: 0 if every answer was right, 1 if one was wrong, 2 for a mistake in the arguments.")]
pub struct Args {
    /// A kernel of `purloin list`, with its input if not the usual one; with
    /// --table1 or --sampling, the only kernel whose lines to measure
    #[arg(value_name = "KERNEL[=INPUT]", required_unless_present_any = ["table1", "sampling"])]
    kernel: Option<String>,

    /// return-barrier, direct-stack, channel or chase-lev, with options
    #[arg(
        long,
        value_name = "NAME[:KEY=VALUE,…]",
        default_value = "return-barrier"
    )]
    scheduler: String,

    /// The number of workers [default: all cores; with --sampling: 16]
    #[arg(long, value_name = "N", value_parser = parse_workers)]
    workers: Option<usize>,

    /// What a steal is taken to cost, for the second of the two spans
    #[arg(long, value_name = "TIME", default_value = "1000ns", value_parser = parse_cost)]
    cost: Duration,

    /// This machine's version of Table 1 of the Wool paper: parallelism, task
    /// sizes and steal intervals of many kernels (takes some minutes)
    #[arg(long, conflicts_with = "sampling")]
    table1: bool,

    /// This machine's version of Figures 7 and 8 of the Wool paper: what the
    /// sampling of victims does to number and cost of steals, and to the time if
    /// steals are delayed (takes some minutes)
    #[arg(long, conflicts_with = "scheduler")]
    sampling: bool,

    /// Write the result as JSON to a file, or to standard output with -
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
}

fn parse_cost(text: &str) -> Result<Duration, String> {
    purloin_command::format::parse_time(text)
        .ok_or_else(|| "a cost is a time from 0ns to 1s, such as 1000ns or 2us".to_string())
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let task = Task::new(args).map_err(Failure::Usage)?;
    let scheduler: Spec = args.scheduler.parse().map_err(Failure::Usage)?;
    scheduler.check_profile().map_err(Failure::Usage)?;
    // Before anything is measured, so that no result is lost for want of it.
    let destination = args.json.as_deref().map(Destination::open).transpose()?;
    let workers = args.workers.unwrap_or_else(cores);
    let (text, report) = match task {
        Task::Table1(rows) => table1::run(&rows, &scheduler, workers, args.cost)?,
        Task::Sampling(rows) => sampling::run(&rows, args.workers.unwrap_or(16), args.cost)?,
        Task::Kernel(job) => {
            let progress = progress(1, "profiles");
            progress.set_message(job.to_string());
            let case = Case::profile(job, &scheduler, workers, args.cost)?;
            progress.finish_and_clear();
            (table::text(&case), report::single(&case))
        }
    };
    if !destination
        .as_ref()
        .is_some_and(Destination::is_standard_output)
    {
        print(&text)?;
    }
    match destination {
        Some(destination) => destination.write(&report),
        None => Ok(()),
    }
}

/// What is to be profiled.
enum Task {
    Kernel(Job),
    Table1(Vec<Job>),
    Sampling(Vec<Job>),
}

impl Task {
    fn new(args: &Args) -> Result<Task, String> {
        let only = args.kernel.as_deref();
        match (args.table1, args.sampling) {
            (true, _) => Ok(Task::Table1(rows(table1::ROWS, only)?)),
            (_, true) => Ok(Task::Sampling(rows(sampling::ROWS, only)?)),
            _ => Ok(Task::Kernel(parse_job(only.unwrap_or_default())?)),
        }
    }
}

/// The rows of a table, or those of one kernel only.
fn rows(all: &[&str], only: Option<&str>) -> Result<Vec<Job>, String> {
    let mut jobs = Vec::new();
    for row in all {
        let job = Job::parse(row).map_err(|error| error.to_string())?;
        if only.is_none_or(|kernel| kernel == job.kernel()) {
            jobs.push(job);
        }
    }
    match (jobs.is_empty(), only) {
        (true, Some(kernel)) => Err(format!(
            "no line of this table has the kernel '{kernel}'; there are: {}",
            all.join(", ")
        )),
        _ => Ok(jobs),
    }
}

/// A kernel that was profiled.
struct Case {
    job: Job,
    scheduler: String,
    answer: String,
    profile: Profile,
}

impl Case {
    fn profile(
        job: Job,
        scheduler: &Spec,
        workers: usize,
        cost: Duration,
    ) -> Result<Case, Failure> {
        let mut kernel = CheckedKernel::new(job);
        let profile = scheduler
            .profile(workers, cost, &mut kernel)
            .map_err(Failure::Run)?;
        let answer = kernel.finish().map_err(|wrong| {
            Failure::Run(format!(
                "no profile of {job} under {scheduler}: its answer is wrong: {wrong}"
            ))
        })?;
        Ok(Case {
            job,
            scheduler: scheduler.to_string(),
            answer,
            profile,
        })
    }
}
