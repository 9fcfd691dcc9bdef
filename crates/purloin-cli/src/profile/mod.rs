//! `purloin profile`.

mod report;
mod sampling;
mod table;
mod table1;

use std::path::PathBuf;
use std::time::Duration;

use purloin_analysis::Profile;
use purloin_command::{Destination, Failure, cores, print, progress};
use purloin_kernels::Job;

pub use self::table1::repetitions;
use crate::arguments::{parse_job, parse_time_or_cycles, parse_workers};
use crate::checked_kernel::CheckedKernel;
use crate::schedulers::Spec;

/// Explain why a kernel is not faster: its work and span, and where the time goes
///
/// The kernel runs repeatedly: as its serial elision, with a clock reading at each task, and on all
/// workers. Work is the time of all tasks on one worker; span is the longest chain of tasks that
/// depend on each other; work / span is the parallelism, the number of workers that the kernel can
/// use.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  purloin profile nqueens=12
  purloin profile stress=10 --scheduler direct-stack --workers 4 --json profile.json
  purloin profile --table1
  purloin profile --table1 cholesky
  purloin profile --sampling

JSON: times end with _seconds or _ns. spans has the span for free steals and for steals of --cost;
steals is the mean number per run; breakdown has the seconds of each worker, which sum to
wall_seconds.

Exit status: 0 if every answer was right, 1 if an answer was wrong, 2 for a mistake in the
arguments.")]
pub struct Args {
    /// A kernel of `purloin list`; without an input, its default input. With --table1 or
    /// --sampling: the kernel or the line that is measured [default: all lines]
    #[arg(value_name = "KERNEL[=INPUT]", required_unless_present_any = ["table1", "sampling"])]
    kernel: Option<String>,

    /// return-barrier, direct-stack, channel or chase-lev, with options as in `purloin list`
    #[arg(
        long,
        value_name = "NAME[:KEY=VALUE,…]",
        default_value = "return-barrier"
    )]
    scheduler: String,

    /// Number of workers [default: number of cores; with --sampling: 16]
    #[arg(long, value_name = "N", value_parser = parse_workers)]
    workers: Option<usize>,

    /// Assumed cost of a steal, for the second of the two spans
    #[arg(long, value_name = "TIME", default_value = "1000ns", value_parser = parse_cost)]
    cost: Duration,

    /// Measure Table 1 of the Wool paper on this machine: parallelism, task sizes and steal
    /// intervals of many kernels (takes some minutes)
    #[arg(long, conflicts_with = "sampling")]
    table1: bool,

    /// Measure Figures 7 and 8 of the Wool paper on this machine: how sampling victims changes the
    /// number and the cost of steals, and the time if steals are delayed (takes some minutes)
    #[arg(long, conflicts_with = "scheduler")]
    sampling: bool,

    /// Write the result as JSON to this file, or to standard output with -
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
}

fn parse_cost(text: &str) -> Result<Duration, String> {
    parse_time_or_cycles(text).ok_or_else(|| {
        "the cost must be a time from 0ns to 1s, such as 1000ns, 2us or 1000cycles".to_string()
    })
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let request = Request::new(args).map_err(Failure::Usage)?;
    let scheduler: Spec = args.scheduler.parse().map_err(Failure::Usage)?;
    scheduler.check_profile().map_err(Failure::Usage)?;
    // Opens the file first, because an unwritable file must not cost the user a finished
    // measurement.
    let destination = args.json.as_deref().map(Destination::open).transpose()?;
    let workers = args.workers.unwrap_or_else(cores);
    let (text, report) = match request {
        Request::Table1(rows) => table1::run(&rows, &scheduler, workers, args.cost)?,
        Request::Sampling(rows) => sampling::run(&rows, args.workers.unwrap_or(16), args.cost)?,
        Request::Kernel(job) => {
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

/// The profile that the user asked for.
enum Request {
    Kernel(Job),
    Table1(Vec<Job>),
    Sampling(Vec<Job>),
}

impl Request {
    fn new(args: &Args) -> Result<Request, String> {
        let only = args.kernel.as_deref();
        match (args.table1, args.sampling) {
            (true, _) => Ok(Request::Table1(rows(table1::ROWS, only)?)),
            (_, true) => Ok(Request::Sampling(rows(sampling::ROWS, only)?)),
            _ => Ok(Request::Kernel(parse_job(only.unwrap_or_default())?)),
        }
    }
}

/// Returns all rows of a table, the rows of one kernel, or one row.
fn rows(all: &[&str], only: Option<&str>) -> Result<Vec<Job>, String> {
    let mut jobs = Vec::new();
    for row in all {
        let job = Job::parse(row).map_err(|error| error.to_string())?;
        if only.is_none_or(|only| only == job.kernel() || only == *row) {
            jobs.push(job);
        }
    }
    match (jobs.is_empty(), only) {
        (true, Some(only)) => Err(format!(
            "this table has no line '{only}', and no line of a kernel '{only}'; its lines are {}",
            all.join(", ")
        )),
        _ => Ok(jobs),
    }
}

/// The profile of a kernel.
pub struct Case {
    job: Job,
    scheduler: String,
    answer: String,
    pub profile: Profile,
}

impl Case {
    pub fn profile(
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
                "{job} was not profiled under {scheduler}: it gave a wrong answer: {wrong}"
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

#[cfg(test)]
mod tests {
    use super::rows;

    #[test]
    fn a_user_can_name_a_kernel_or_one_line_of_a_table() {
        let lines = |only| -> Result<Vec<String>, String> {
            let jobs = rows(&["stress=10", "stress=12", "nqueens=12"], only)?;
            Ok(jobs.iter().map(ToString::to_string).collect())
        };
        assert_eq!(lines(None).unwrap().len(), 3);
        assert_eq!(lines(Some("stress")).unwrap(), ["stress=10", "stress=12"]);
        assert_eq!(lines(Some("nqueens=12")).unwrap(), ["nqueens=12"]);
        assert!(lines(Some("stress=11")).is_err());
    }
}
