//! `purloin-cluster figures`: the paper's figures, measured on this machine.
//!
//! A [`Session`] knows which jobs the figures need. It runs them in turn through a
//! [`Launcher`](launcher::Launcher), and makes a [`Report`](report::Report) of their times.

mod args;
mod figure;
mod job;
mod launcher;
mod measure;
mod report;
mod session;
mod table;

use purloin_command::{Destination, Failure, print};

pub use self::args::Args;
use self::session::Session;

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<(), Failure> {
    if let Some(rank) = rank_in_a_job() {
        return match rank.as_str() {
            "0" => Err(Failure::usage(
                "figures starts its jobs itself; run it without mpirun, and choose --ranks",
            )),
            // Rank 0 reports the mistake.
            _ => Ok(()),
        };
    }
    let session = Session::new(args)?;
    // Opens the file before the measurements, so that no result is lost because the file cannot be
    // written.
    let destination = args.json.as_deref().map(Destination::open).transpose()?;
    let report = session.report()?;
    if !destination
        .as_ref()
        .is_some_and(Destination::is_standard_output)
    {
        print(&report.text())?;
    }
    match destination {
        Some(destination) => destination.write(&report),
        None => Ok(()),
    }
}

/// Returns the rank of this process if `mpirun` has started it. A process in a job cannot start
/// jobs itself.
fn rank_in_a_job() -> Option<String> {
    let names = ["OMPI_COMM_WORLD_RANK", "PMI_RANK"];
    names.iter().find_map(|name| std::env::var(name).ok())
}
