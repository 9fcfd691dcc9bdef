//! `purloin profile`.

mod predicted;
mod report;

use std::path::PathBuf;
use std::time::Duration;

use purloin::trace::Trace;
use purloin::trace::format::workers;
use purloin_command::{Destination, Failure, Machine, cores, print};
use purloin_measure::arguments::{parse_job, parse_time_or_cycles, parse_workers};
use purloin_measure::profile::Case;
use purloin_measure::schedulers::Spec;

use self::predicted::predicted;
use self::report::Report;

/// Explain why a kernel is not faster: its work and span, and where the time goes
///
/// The kernel runs repeatedly: as its serial elision, with a clock reading at each task, and on all
/// workers. Work is the time of all tasks on one worker; span is the longest chain of tasks that
/// depend on each other; work / span is the parallelism, the number of workers that the kernel can
/// use.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  purloin profile nqueens=12
  purloin profile nqueens=12 --html report.html
  purloin profile stress=10 --scheduler direct-stack --workers 4 --json profile.json

JSON: times end with _seconds or _ns. spans has the span for free steals and for steals of --cost;
critical_path has the places of the latter, each before those within it; steals is the mean number
per run; splits counts the divisions of loops and sorts, which are no tasks; warning is null unless
no task was counted; breakdown has the seconds of each worker, which sum to wall_seconds.

Exit status: 0 if every answer was right, 1 if an answer was wrong, 2 for a mistake in the
arguments.")]
pub struct Args {
    /// A kernel of `purloin list`; without an input, its default input
    #[arg(value_name = "KERNEL[=INPUT]")]
    kernel: String,

    /// return-barrier, direct-stack, channel or chase-lev, with options as in `purloin list`
    #[arg(
        long,
        value_name = "NAME[:KEY=VALUE,…]",
        default_value = "return-barrier"
    )]
    scheduler: String,

    /// Number of workers [default: number of cores]
    #[arg(long, value_name = "N", value_parser = parse_workers)]
    workers: Option<usize>,

    /// Assumed cost of a steal, for the second of the two spans
    #[arg(long, value_name = "TIME", default_value = "1000ns", value_parser = parse_cost)]
    cost: Duration,

    /// Write the result as JSON to this file, or to standard output with -
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,

    /// Write a report of one more run to this file: a page with a timeline, and with the predicted
    /// speed-up on up to 64 cores
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Write the events of one more run to this file, for ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

/// Number of events of each worker in a report.
const EVENTS: usize = 1 << 16;

fn parse_cost(text: &str) -> Result<Duration, String> {
    parse_time_or_cycles(text).ok_or_else(|| {
        "the cost must be a time from 0ns to 1s, such as 1000ns, 2us or 1000cycles".to_string()
    })
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let job = parse_job(&args.kernel).map_err(Failure::Usage)?;
    let scheduler: Spec = args.scheduler.parse().map_err(Failure::Usage)?;
    scheduler.check_profile().map_err(Failure::Usage)?;
    // Opens the file first, because an unwritable file must not cost the user a finished
    // measurement.
    let open = |path: &Option<PathBuf>| path.as_deref().map(Destination::open).transpose();
    if [&args.html, &args.trace].contains(&&Some(PathBuf::from("-"))) {
        let message =
            "--html and --trace need the name of a file; only --json writes to standard output";
        return Err(Failure::Usage(message.to_string()));
    }
    let (destination, html, events) = (open(&args.json)?, open(&args.html)?, open(&args.trace)?);
    let scheduler = match (&html, &events) {
        (None, None) => scheduler,
        _ => scheduler.traced(EVENTS),
    };
    let workers = args.workers.unwrap_or_else(cores);
    let case = Case::profile(job, &scheduler, workers, args.cost)?;
    if !destination
        .as_ref()
        .is_some_and(Destination::is_standard_output)
    {
        print(&text(&case))?;
    }
    if let Some(trace) = &case.profile.trace {
        let program = format!("purloin profile {}", case.job);
        let mut trace = Trace {
            program,
            ..trace.clone()
        };
        if let Some(html) = html {
            match predicted(case.job)? {
                Ok(points) => {
                    if let Some(speed_up) = &mut trace.speed_up {
                        speed_up.predicted = points;
                    }
                }
                Err(reason) => eprintln!(
                    "purloin: the report predicts nothing for more cores. {}",
                    reason.trim_end()
                ),
            }
            html.write_bytes(&written(|to| trace.write_report(to)))?;
        }
        if let Some(events) = events {
            events.write_bytes(&written(|to| trace.write_events(to)))?;
        }
    }
    match destination {
        Some(destination) => destination.write(&Report::of(&case)),
        None => Ok(()),
    }
}

/// Returns what `write` writes.
fn written(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut bytes).expect("writing to memory cannot fail");
    bytes
}

/// Returns the profile as a text.
fn text(case: &Case) -> String {
    let Machine {
        processor, cores, ..
    } = Machine::this();
    let Case {
        job,
        scheduler,
        profile,
        answer,
        ..
    } = case;
    let workers = workers(profile.workers);
    format!(
        "{processor}, {cores} cores\n\n{job} under {scheduler}   {workers}   answer: {answer} ✓\n\n{profile}"
    )
}
