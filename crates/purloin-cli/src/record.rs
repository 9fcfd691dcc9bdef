//! `purloin record`.

use std::path::PathBuf;

use purloin_command::format::{grouped, time};
use purloin_command::{Destination, Failure, activity, print};
use purloin_measure::arguments::parse_job;
use purloin_measure::checked_kernel::CheckedKernel;
use purloin_measure::simulation::check::Check;
use purloin_measure::simulation::recording::{describe_tasks, slowdown_warning, tasks_warning};
use purloin_sim::Recorded;

/// Record the tasks of a kernel, for `purloin predict` and `purloin sim`
///
/// First, the kernel runs several times without clock readings, alternately as its serial elision
/// and on one worker. The difference is the cost of its tasks. Then its serial elision runs several
/// times with a clock reading at every fork and join. For each stretch between two readings, the
/// shortest time counts. At last, it runs several times on all cores. The command compares the median
/// with its own prediction for this machine, and says why they differ, if they do.
///
/// To record your own program, call `purloin_analysis::record`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  purloin record nqueens=12 --out nqueens.dag
  purloin predict nqueens.dag --cores 1,64,1024
  purloin record uts=T3 --out uts.dag
  purloin sim --workload dag=uts.dag --cores 64 --policy random,spare

The documentation of purloin_analysis::Recording describes the format.")]
pub struct Args {
    /// A kernel of `purloin list`; without an input, its default input
    #[arg(value_name = "KERNEL[=INPUT]")]
    kernel: String,

    /// Write the recording to this file, or to standard output with -
    #[arg(long, value_name = "FILE|-")]
    out: PathBuf,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let job = parse_job(&args.kernel).map_err(Failure::Usage)?;
    // Opens the file first, because an unwritable file must not cost the user a finished recording.
    let destination = Destination::open(&args.out)?;
    let mut kernel = CheckedKernel::new(job);
    let recording = purloin_analysis::record(&job.to_string(), &mut kernel);
    let recording = recording.map_err(|error| Failure::Run(error.to_string()))?;
    kernel.finish().map_err(|wrong| {
        Failure::Run(format!(
            "{job} was not recorded: it gave a wrong answer: {wrong}"
        ))
    })?;
    let progress = activity();
    progress.set_message("checking the recording");
    // A recording that is too long for a simulation is written all the same.
    let check = match Recorded::new(&recording) {
        Ok(recorded) => Check::new(&recording, &recorded).to_string(),
        Err(error) => format!("Not checked: {error}.\n"),
    };
    progress.finish_and_clear();
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
        "{job}: {}, work {}, span {}; {} bytes; clock readings made it take {:.2} times as long\n\
         {warning}{}{check}",
        describe_tasks(
            recording.tasks(),
            recording.splits(),
            recording.task_nanoseconds() * 1e-9
        ),
        time(recording.work().as_secs_f64()),
        time(recording.span().as_secs_f64()),
        grouped(bytes.len() as u64),
        recording.slowdown(),
        tasks_warning(recording.warning())
    ))
}
