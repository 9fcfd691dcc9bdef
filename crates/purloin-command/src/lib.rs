//! What the commands of Purloin have in common: reports as JSON, errors in one line,
//! times with units, how far a command is.
#![deny(missing_docs)]

pub mod format;
mod machine;
mod output;
mod progress;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

pub use self::machine::{Machine, cores};
pub use self::output::Destination;
pub use self::progress::progress;

/// What ends a command early.
#[derive(Debug)]
pub enum Failure {
    /// The user asked for something that is not there: exit status 2.
    Usage(String),
    /// Something went wrong while it ran: exit status 1.
    Run(String),
}

impl Failure {
    /// That the user asked for something that is not there.
    pub fn usage(error: impl std::fmt::Display) -> Failure {
        Failure::Usage(error.to_string())
    }

    /// Tells it in one line on standard error, after the command's name; returns the
    /// status to exit with.
    pub fn tell(&self, command: &str) -> ExitCode {
        let (status, text) = match self {
            Failure::Usage(text) => (2, text),
            Failure::Run(text) => (1, text),
        };
        eprintln!("{command}: {text}");
        ExitCode::from(status)
    }
}

/// Prints to standard output, which may be full, or a pipe that nobody reads.
///
/// # Errors
///
/// If it cannot be written, but is there.
pub fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let written = std::io::stdout().write_all(bytes);
    match written.and_then(|()| std::io::stdout().flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Run(format!(
            "cannot write standard output: {error}"
        ))),
        _ => Ok(()),
    }
}

/// Whether what the parser has to say is what the user asked for, such as help, and no
/// mistake.
pub fn is_help(error: &clap::Error) -> bool {
    use clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand as HelpOnNothing;
    !error.use_stderr() || error.kind() == HelpOnNothing
}

/// What the parser has to say, without its paragraphs.
pub fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    // A heading is not all that there is to say.
    let rest = match first.ends_with(':') {
        true => lines.next().unwrap_or_default(),
        false => "",
    };
    // Of a few values, all are told; else it is for the help.
    match lines.find(|line| line.starts_with("[possible values: ")) {
        Some(values) => format!("{first} {values}"),
        None => format!("{first} {rest}").trim_end().to_string() + "; see --help",
    }
}
