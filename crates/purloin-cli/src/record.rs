//! `purloin record`.

use std::path::PathBuf;

use purloin_command::format::{grouped, time};
use purloin_command::{Destination, Failure, print};

use crate::checked_kernel::CheckedKernel;
use purloin_kernels::Job;

/// Record what a kernel does, to be simulated
///
/// The kernel is run several times without a clock, in turn as its serial elision and on one
/// worker: the difference is what its tasks cost. Then its serial elision is run several times with
/// a clock reading at every fork and join; of what lies between two of them, the shortest time
/// counts. Programs of your own are recorded by `purloin_analysis::record`, and `purloin predict` says what
/// comes of it elsewhere.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  purloin record nqueens=12 --out nqueens.dag
  purloin record uts=T3 --out uts.dag

The format is described in the documentation of purloin_analysis::Recording.")]
pub struct Args {
    /// A kernel of `purloin list`, with its input if not the usual one
    #[arg(value_name = "KERNEL[=INPUT]")]
    kernel: String,

    /// Where the recording goes
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let job = Job::parse(&args.kernel).map_err(Failure::usage)?;
    // Before anything is recorded, so that no result is lost for want of it.
    let destination = Destination::open(&args.out)?;
    let mut kernel = CheckedKernel::new(job);
    let recording = purloin::record(&job.to_string(), &mut kernel);
    let recording = recording.map_err(|error| Failure::Run(error.to_string()))?;
    kernel.finish().map_err(|wrong| {
        Failure::Run(format!(
            "no recording of {job}: its answer is wrong: {wrong}"
        ))
    })?;
    let mut bytes = Vec::new();
    recording
        .write(&mut bytes)
        .map_err(|error| Failure::Run(error.to_string()))?;
    let is_standard_output = destination.is_standard_output();
    destination.write_bytes(&bytes)?;
    if is_standard_output {
        return Ok(());
    }
    let warning = slowdown_warning(recording.slowdown()).unwrap_or_default();
    print(&format!(
        "{job}: {}, {} of work, span {}; {} bytes; {:.2} times as long with a clock\n{warning}",
        tasks(recording.tasks(), recording.task_nanoseconds() * 1e-9),
        time(recording.work().as_secs_f64()),
        time(recording.span().as_secs_f64()),
        grouped(bytes.len() as u64),
        recording.slowdown()
    ))
}

/// So many tasks, each of which costs so much.
pub fn tasks(number: u64, seconds: f64) -> String {
    let cost = match seconds > 0.0 {
        true => format!(" ({} each to spawn and join)", time(seconds)),
        false => String::new(),
    };
    let plural = if number == 1 { "" } else { "s" };
    format!("{} task{plural}{cost}", grouped(number))
}

/// From here on, tasks are too short for a clock.
const SLOW: f64 = 3.0;

/// What is to be said if a program was so much slower while it was recorded.
pub fn slowdown_warning(slowdown: f64) -> Option<String> {
    (slowdown >= SLOW).then(|| {
        format!(
            "While it was recorded, the program took {slowdown:.0} times as long as usual: its \
             tasks are shorter than\na look at the clock. What each takes is a guess then; together \
             they take what they should.\n"
        )
    })
}
