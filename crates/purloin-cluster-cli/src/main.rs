//! The command `purloin-cluster`: it runs a kernel on the ranks of a job, and reports.

mod args;
mod figures;
mod kernels;
mod latency;
mod report;
mod run;
mod values;

use std::fmt::Write;
use std::process::ExitCode;

use clap::Parser;
use purloin_cluster::{Cluster, launch};
use purloin_command::{Failure, is_help, one_line, print};

use self::args::{Args, Other};
use self::kernels::{KERNELS, TASK_BYTES};

/// The name of the command, which begins all of its messages.
const NAME: &str = "purloin-cluster";

fn main() -> ExitCode {
    match Args::try_parse() {
        Err(error) if is_help(&error) => error.exit(),
        Ok(Args {
            subcommand: Some(Other::List),
            ..
        }) => exit_code(print(&list())),
        Ok(Args {
            subcommand: Some(Other::Figures(args)),
            ..
        }) => exit_code(figures::run(&args)),
        // All other mistakes are reported once the ranks know of each other.
        args => launch(|| run_on_all_ranks(args)).unwrap_or_else(|error| {
            Failure::Run(format!("cannot start a thread: {error}")).tell(NAME)
        }),
    }
}

fn exit_code(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.tell(NAME),
    }
}

/// Runs the kernel or the subcommand on all ranks. Only rank 0 reports mistakes.
fn run_on_all_ranks(args: Result<Args, clap::Error>) -> ExitCode {
    let cluster = match Cluster::initialize() {
        Ok(cluster) => cluster,
        Err(error) => return Failure::Run(error.to_string()).tell(NAME),
    };
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let result = match cluster.agree("arguments", &words) {
        Err(error) => Err(Failure::usage(error)),
        Ok(()) => match args {
            Err(error) => Err(Failure::Usage(one_line(&error))),
            Ok(Args {
                subcommand: Some(Other::Latency(args)),
                ..
            }) => latency::run(&cluster, &args),
            Ok(args) => run::run(&cluster, &args),
        },
    };
    match (result, cluster.rank()) {
        (Ok(()), _) => ExitCode::SUCCESS,
        (Err(failure), 0) => failure.tell(NAME),
        // `mpirun` exits with the status of any rank that fails, so the status of rank 0 is
        // enough.
        (Err(_), _) => ExitCode::SUCCESS,
    }
}

/// Returns the text of `purloin-cluster list`.
fn list() -> String {
    let mut text = String::new();
    for (kernel, bytes) in KERNELS.iter().zip(TASK_BYTES) {
        let _ = writeln!(
            text,
            "{:<10} {}\n{:<10} input: {}; default {}\n{:<10} a task has {bytes} bytes",
            kernel.name, kernel.about, "", kernel.inputs, kernel.default, ""
        );
    }
    text
}
