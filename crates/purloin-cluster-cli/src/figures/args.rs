//! The arguments of `purloin-cluster figures`: [`Args`].

use std::path::PathBuf;
use std::time::Duration;

use crate::values::{parse_latency, parse_number, parse_runs};

/// Repeats the measurements of the AsynchWS paper's Figures 5 to 10, and prints their tables.
///
/// Each table comes with the paper's result and the command that repeats it.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  purloin-cluster figures
  purloin-cluster figures --figure 9 --kernel uts --kernel nqueens=14 --ranks 4
  purloin-cluster figures --mpirun \"srun --nodes 4\" --ranks 48 --latency 0ns --json figures.json

The command starts several hundred jobs with mpirun. All figures with all kernels take about seven
minutes.

Exit status: 0 if every answer was right, 1 if one was wrong or a job failed, 2 for a mistake in
the arguments.")]
pub struct Args {
    /// Show this figure, from 5 to 10; repeat the option for several [default: all]
    #[arg(long = "figure", value_name = "N", value_parser = parse_figure)]
    pub figures: Vec<u32>,

    /// Measure this kernel, with its input if it differs from the one below; repeat the option for
    /// several [default: fib=40 floorplan=20 nqueens=13 sparselu=24,128 strassen=1024 uts=T3]
    #[arg(long = "kernel", value_name = "NAME[=INPUT]")]
    pub kernels: Vec<String>,

    /// Try this depth for the cut-off by depth; repeat the option for several [default: 1 2 4 6 8 12
    /// 16 24 48]
    #[arg(long = "depth", value_name = "D", value_parser = parse_depth)]
    pub depths: Vec<u32>,

    /// Compare this number of ranks with one rank; from 2 to 64
    #[arg(long, value_name = "N", default_value = "2", value_parser = parse_ranks)]
    pub ranks: usize,

    /// Run each job N times, alternately with the others, and report the medians
    #[arg(long, value_name = "N", default_value = "5", value_parser = parse_runs)]
    pub runs: usize,

    /// Delay operations on other ranks by this time, to imitate a slower network
    #[arg(long, value_name = "TIME", default_value = "200us", value_parser = parse_latency)]
    pub latency: Duration,

    /// The command that starts jobs, with its options; it must accept -n RANKS [default: the
    /// environment variable MPIRUN, or else mpirun]
    #[arg(long, value_name = "COMMAND")]
    pub mpirun: Option<String>,

    /// Write the results as JSON to a file, or to standard output with -
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
}

/// All kernels, with inputs that take a few tenths of a second on one rank. The paper's inputs
/// are much larger.
pub const KERNELS: &[&str] = &[
    "fib=40",
    "floorplan=20",
    "nqueens=13",
    "sparselu=24,128",
    "strassen=1024",
    "uts=T3",
];

fn parse_figure(text: &str) -> Result<u32, String> {
    parse_number(text, 5, 10).map(|number| number as u32)
}

fn parse_depth(text: &str) -> Result<u32, String> {
    parse_number(text, 1, 1_000_000).map(|number| number as u32)
}

fn parse_ranks(text: &str) -> Result<usize, String> {
    parse_number(text, 2, 64)
}

/// Returns a kernel with its input. If it has none, returns it with the input in [`KERNELS`].
pub fn with_input(kernel: &str) -> String {
    let is_named = |job: &&&str| job.split('=').next() == Some(kernel);
    let default = KERNELS.iter().find(is_named).copied();
    default.unwrap_or(kernel).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels;

    #[test]
    fn every_kernel_has_a_default_input_for_the_figures() {
        let names = kernels::KERNELS.iter().map(|kernel| kernel.name);
        for (name, job) in names.zip(KERNELS) {
            assert_eq!(&with_input(name), job);
            kernels::check(job).unwrap();
        }
        assert_eq!(with_input("uts=T3L"), "uts=T3L");
        assert_eq!(with_input("fibb"), "fibb");
    }
}
