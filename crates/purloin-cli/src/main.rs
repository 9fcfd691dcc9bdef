//! The command `purloin`.

mod bench;
mod format;
mod list;
mod machine;
mod output;
mod profile;
mod schedulers;

use std::io::Write;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

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
    /// Run kernels under schedulers, check every answer and compare the times
    Bench(bench::Args),
    /// Say why a kernel is not faster: its work and span, and where the time goes
    Profile(profile::Args),
    /// Show the kernels with their inputs and the schedulers with their options
    List,
}

/// What ends the command early.
enum Failure {
    /// The user asked for something that is not there: exit status 2.
    Usage(String),
    /// Something went wrong while it ran: exit status 1.
    Run(String),
}

impl Failure {
    fn usage(error: impl std::fmt::Display) -> Failure {
        Failure::Usage(error.to_string())
    }
}

/// Prints to standard output, which may be full, or a pipe that nobody reads.
fn print(text: &str) -> Result<(), Failure> {
    let written = std::io::stdout().write_all(text.as_bytes());
    match written.and_then(|()| std::io::stdout().flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::Run(format!(
            "cannot write standard output: {error}"
        ))),
        _ => Ok(()),
    }
}

const HELP_ON_NOTHING: ErrorKind = ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;

/// What the parser has to say, without its paragraphs.
fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    // A heading is not all that there is to say.
    let rest = match first.ends_with(':') {
        true => lines.next().unwrap_or_default(),
        false => "",
    };
    format!("{first} {rest}").trim_end().to_string() + "; see --help"
}

fn main() -> ExitCode {
    // Deep kernels need deep stacks, also on threads that a peer starts.
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("RUST_MIN_STACK", schedulers::STACK_SIZE.to_string()) };
    let result = match Cli::try_parse() {
        // Help and version are errors, too, to the parser.
        Err(error) if !error.use_stderr() || error.kind() == HELP_ON_NOTHING => error.exit(),
        Err(error) => Err(Failure::Usage(one_line(&error))),
        Ok(cli) => match cli.command {
            Command::Bench(args) => bench::run(&args),
            Command::Profile(args) => profile::run(&args),
            Command::List => print(&list::text()),
        },
    };
    schedulers::clean_up();
    let (status, text) = match result {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Usage(text)) => (2, text),
        Err(Failure::Run(text)) => (1, text),
    };
    eprintln!("purloin: {text}");
    ExitCode::from(status)
}
