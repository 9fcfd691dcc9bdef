//! `purloin-cluster figures`.

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

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    if let Some(rank) = rank_of_a_job() {
        return match rank.as_str() {
            "0" => Err(Failure::usage(
                "figures starts its jobs itself; run it without mpirun, and see --ranks",
            )),
            // The first rank has told it.
            _ => Ok(()),
        };
    }
    let session = Session::new(args)?;
    // Before anything is measured, so that no result is lost for want of it.
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

/// This process' rank, if `mpirun` has started it; it could not start other jobs then.
fn rank_of_a_job() -> Option<String> {
    let names = ["OMPI_COMM_WORLD_RANK", "PMI_RANK"];
    names.iter().find_map(|name| std::env::var(name).ok())
}
