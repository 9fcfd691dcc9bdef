//! The arguments of `purloin-cluster figures`: [`Args`].

use std::path::PathBuf;
use std::time::Duration;

use crate::values::{number, parse_latency, parse_runs};

/// Runs kernels as the AsynchWS paper's Figures 6 to 10 do, and prints their tables.
///
/// Each table says what the paper has found, and how to show it again.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  purloin-cluster figures
  purloin-cluster figures --figure 9 --kernel uts --kernel nqueens=14 --ranks 4
  purloin-cluster figures --mpirun \"srun --nodes 4\" --ranks 48 --latency 0ns --json figures.json

It starts its jobs by mpirun itself, hundreds of them: with all figures and kernels that
takes about seven minutes. Exit status: 0 if every answer was right, 1 if one was wrong or a job
has failed, 2 for a mistake in the arguments.")]
pub struct Args {
    /// Only this figure, from 6 to 10; repeat the option for several
    #[arg(long = "figure", value_name = "N", value_parser = clap::value_parser!(u32).range(6..=10))]
    pub figures: Vec<u32>,

    /// Only this kernel, with its input if not the one below; repeat the option for several
    /// [default: fib=40 floorplan=20 nqueens=13 sparselu=24,128 strassen=1024 uts=T3]
    #[arg(long = "kernel", value_name = "NAME[=INPUT]")]
    pub kernels: Vec<String>,

    /// How many ranks to compare with one, from 2 to 64
    #[arg(long, value_name = "N", default_value = "2", value_parser = parse_ranks)]
    pub ranks: usize,

    /// How often each job is run, by turns; the median counts
    #[arg(long, value_name = "N", default_value = "5", value_parser = parse_runs)]
    pub runs: usize,

    /// Delays what is done to other ranks, as on a slower network
    #[arg(long, value_name = "TIME", default_value = "200us", value_parser = parse_latency)]
    pub latency: Duration,

    /// What starts a job of so many ranks with -n, and its options [default: mpirun, or what
    /// the environment variable MPIRUN says]
    #[arg(long, value_name = "COMMAND")]
    pub mpirun: Option<String>,

    /// Write the results as JSON to a file, or to standard output with -
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
}

/// All kernels, with inputs that take some tenths of a second on one rank. The paper's are
/// larger by far.
pub const KERNELS: &[&str] = &[
    "fib=40",
    "floorplan=20",
    "nqueens=13",
    "sparselu=24,128",
    "strassen=1024",
    "uts=T3",
];

fn parse_ranks(text: &str) -> Result<usize, String> {
    number(text, 2, 64)
}

/// A kernel with the input that it has here, if none is given.
pub fn with_input(kernel: &str) -> String {
    let names = |job: &&&str| job.split('=').next() == Some(kernel);
    let usual = KERNELS.iter().find(names).copied();
    usual.unwrap_or(kernel).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels;

    #[test]
    fn every_kernel_has_an_input_here() {
        let names = kernels::KERNELS.iter().map(|kernel| kernel.name);
        for (name, job) in names.zip(KERNELS) {
            assert_eq!(&with_input(name), job);
            kernels::check(job).unwrap();
        }
        assert_eq!(with_input("uts=T3L"), "uts=T3L");
        assert_eq!(with_input("fibb"), "fibb");
    }
}
