//! The command `purloin`.
//!
//! Each command has a file or folder of its own, except `purloin paper`, which is the crate
//! `purloin-papers`. They share the crate `purloin-measure`.

mod bench;
mod compare;
mod list;
#[cfg(unix)]
mod machine;
mod predict;
mod profile;
mod record;
mod sim;
#[cfg(unix)]
mod top;
mod virtual_cores;

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use purloin_command::{Failure, is_help, one_line, print};

/// Measure, explain and predict what work stealing gains
#[derive(Parser)]
#[command(
    name = "purloin",
    version,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "Examples:
  purloin bench                                     what Purloin gains on this machine
  purloin compare before.json after.json            which differences are more than noise
  purloin list                                      kernels and schedulers
  purloin profile nqueens=12                        why a kernel is not faster
  purloin record nqueens=12 --out nqueens.dag
  purloin predict nqueens.dag --cores 1,64,1024     how fast it would be on more cores
  purloin sim --cores 64,1024 --policy random,sets  which stealing policy is faster there
  purloin virtual skynet=6 --machine epyc-7742      how it would run on the cores of another machine
  purloin machine --out here.toml                   this machine, for purloin virtual (Linux only)
  purloin paper barriers --quick                    the tables and figures of a paper, on this machine
  purloin top 1234                                  what the workers of a running program do (Unix only)

Exit status: 0 for success, 1 for a wrong answer or a failed run, 2 for a mistake in the arguments."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Bench(bench::Args),
    Compare(compare::Args),
    Profile(profile::Args),
    Record(record::Args),
    Predict(predict::Args),
    Sim(sim::Args),
    Virtual(virtual_cores::Args),
    #[cfg(unix)]
    Machine(machine::Args),
    Paper(purloin_papers::Args),
    #[cfg(unix)]
    Top(top::Args),
    List(list::Args),
}

/// With it, a run on virtual cores depends on its seed alone.
#[cfg(purloin_virtual)]
#[global_allocator]
static ALLOCATOR: purloin_virtual::Allocator = purloin_virtual::Allocator;

fn main() -> ExitCode {
    // Kernels recurse deeply, even on threads that a peer starts with the default stack size.
    // SAFETY: no other thread runs yet.
    unsafe {
        std::env::set_var(
            "RUST_MIN_STACK",
            purloin_measure::schedulers::STACK_SIZE.to_string(),
        )
    };
    let result = match Cli::try_parse() {
        // The parser reports a request for help or the version as an error.
        Err(error) if is_help(&error) => error.exit(),
        Err(error) => Err(Failure::Usage(explain(&error))),
        Ok(cli) => match cli.command {
            Command::Bench(args) => bench::run(&args),
            Command::Compare(args) => compare::run(&args),
            Command::Profile(args) => profile::run(&args),
            Command::Record(args) => record::run(&args),
            Command::Predict(args) => predict::run(&args),
            Command::Sim(args) => sim::run(&args),
            Command::Virtual(args) => virtual_cores::run(&args),
            #[cfg(unix)]
            Command::Machine(args) => machine::run(&args),
            Command::Paper(args) => purloin_papers::run(&args),
            #[cfg(unix)]
            Command::Top(args) => top::run(&args),
            Command::List(args) => print(&list::text(&args)),
        },
    };
    purloin_measure::schedulers::clean_up();
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.tell("purloin"),
    }
}

/// Explains a mistake in the arguments in one line, which lists the existing commands or options.
fn explain(error: &clap::Error) -> String {
    let cli = Cli::command();
    let culprit = |kind| match error.get(kind) {
        Some(ContextValue::String(name)) => Some(name.as_str()),
        _ => None,
    };
    let unknown_command = culprit(ContextKind::InvalidSubcommand);
    if let (ErrorKind::InvalidSubcommand, Some(name)) = (error.kind(), unknown_command) {
        let names: Vec<_> = cli
            .get_subcommands()
            .map(|known| known.get_name())
            .collect();
        return format!("no command '{name}'; the commands are {}", names.join(", "));
    }
    let unknown_option = culprit(ContextKind::InvalidArg).filter(|name| name.starts_with("--"));
    if let (ErrorKind::UnknownArgument, Some(name)) = (error.kind(), unknown_option)
        && let Some(command) = std::env::args_os().find_map(|word| cli.find_subcommand(word))
    {
        let options = command.get_arguments().filter_map(|known| known.get_long());
        let options: Vec<_> = options.map(|known| format!("--{known}")).collect();
        let command = command.get_name();
        return match options.is_empty() {
            true => format!("{command} has no option '{name}'; it takes no options"),
            false => format!(
                "{command} has no option '{name}'; its options are {}",
                options.join(", ")
            ),
        };
    }
    one_line(error)
}
