//! The common parts of Purloin's commands: JSON reports, pages in HTML, tables, errors of one line,
//! times with units, and a progress bar.
#![deny(missing_docs)]

pub mod format;
mod machine;
mod output;
pub mod page;
mod progress;
pub mod table;

use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

pub use self::machine::{Machine, cores};
pub use self::output::Destination;
pub use self::progress::{activity, progress};

/// The reason why a command ends early.
#[derive(Debug)]
pub enum Failure {
    /// A mistake of the user, such as an unknown name: exit status 2.
    Usage(String),
    /// A failure while the command ran: exit status 1.
    Run(String),
}

impl Failure {
    /// Returns the failure for a mistake of the user.
    pub fn usage(error: impl Display) -> Failure {
        Failure::Usage(error.to_string())
    }

    /// Returns the failure for a file that has a mistake in it or cannot be read.
    pub fn in_file(path: &Path, error: impl Display) -> Failure {
        Failure::Usage(format!("{}: {error}", path.display()))
    }

    /// Writes one line to standard error, after the command's name; returns the exit status.
    pub fn tell(&self, command: &str) -> ExitCode {
        let (status, text) = match self {
            Failure::Usage(text) => (2, text),
            Failure::Run(text) => (1, text),
        };
        eprintln!("{command}: {text}");
        ExitCode::from(status)
    }
}

/// Prints to standard output.
///
/// # Errors
///
/// Returns an error if the text cannot be written, unless the reader closed the pipe.
pub fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let written = std::io::stdout().write_all(bytes);
    match written.and_then(|()| std::io::stdout().flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Run(format!(
            "cannot write to standard output: {error}"
        ))),
        _ => Ok(()),
    }
}

/// Returns whether the parser's "error" is the help or version that the user asked for.
pub fn is_help(error: &clap::Error) -> bool {
    use clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand as NoArguments;
    !error.use_stderr() || error.kind() == NoArguments
}

/// Returns the parser's error as one line: the argument at fault, and the possible values or a
/// similar name.
pub fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    // After a heading, the argument at fault is on the next line.
    let rest = match first.ends_with(':') {
        true => format!(" {}", lines.next().unwrap_or_default()),
        false => String::new(),
    };
    let lines: Vec<_> = lines.collect();
    let find = |start| lines.iter().find_map(|line| line.strip_prefix(start));
    if let Some(values) = find("[possible values: ") {
        return format!("{first}{rest} [possible values: {values}");
    }
    let tip = find("tip: ").map(|tip| format!("; {tip}"));
    format!("{first}{rest}{}; see --help", tip.unwrap_or_default())
}
