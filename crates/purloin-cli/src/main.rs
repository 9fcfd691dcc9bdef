//! The command `purloin`.

mod arguments;
mod bench;
mod checked_kernel;
mod list;
mod predict;
mod profile;
mod record;
mod schedulers;
mod sim;
mod simulation;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use purloin_command::{Failure, is_help, one_line, print};

/// Work stealing with joins that cost about a nanosecond.
#[derive(Parser)]
#[command(
    name = "purloin",
    version,
    arg_required_else_help = true,
    max_term_width = 100
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Bench(bench::Args),
    Profile(profile::Args),
    Record(record::Args),
    Predict(predict::Args),
    Sim(sim::Args),
    /// Show the kernels with their inputs and the schedulers with their options
    List,
}

fn main() -> ExitCode {
    // Deep kernels need deep stacks, also on threads that a peer starts.
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("RUST_MIN_STACK", schedulers::STACK_SIZE.to_string()) };
    let result = match Cli::try_parse() {
        // Help and version are errors, too, to the parser.
        Err(error) if is_help(&error) => error.exit(),
        Err(error) => Err(Failure::Usage(one_line(&error))),
        Ok(cli) => match cli.command {
            Command::Bench(args) => bench::run(&args),
            Command::Profile(args) => profile::run(&args),
            Command::Record(args) => record::run(&args),
            Command::Predict(args) => predict::run(&args),
            Command::Sim(args) => sim::run(&args),
            Command::List => print(&list::text()),
        },
    };
    schedulers::clean_up();
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.tell("purloin"),
    }
}
