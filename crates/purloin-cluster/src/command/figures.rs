//! `purloin-cluster figures`.

use purloin_command::Failure;

/// Runs.
#[derive(clap::Args, Debug)]
pub struct Args {}

/// Runs the command.
pub fn run(_: &Args) -> Result<(), Failure> {
    Ok(())
}
