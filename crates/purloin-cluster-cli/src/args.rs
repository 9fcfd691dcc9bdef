//! The command's arguments: [`Args`].

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use purloin_cluster::{CutOff, Grain, Options, Profiling, Steal};

use crate::values::{parse_cutoff, parse_grain, parse_latency, parse_residual, parse_runs};

/// Work stealing between the ranks of an MPI job, on the kernels of the AsynchWS paper.
///
/// Run by itself, it is a job of one rank; by mpirun or srun, of as many as they start.
#[derive(Parser, Debug)]
#[command(
    name = "purloin-cluster",
    version,
    max_term_width = 100,
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true,
    after_help = "Examples:
  purloin-cluster uts=T3
  mpirun -n 2 purloin-cluster nqueens=13
  mpirun -n 4 --oversubscribe purloin-cluster uts=T3 --steal sync --cutoff depth:3
  srun --nodes 8 --ntasks-per-node 12 --kill-on-bad-exit purloin-cluster uts=T3L --json uts.json
  purloin-cluster figures

Exit status: 0 if every answer was right, 1 if one was wrong, 2 for a mistake in the arguments."
)]
pub struct Args {
    #[command(subcommand)]
    pub subcommand: Option<Other>,

    /// A kernel of `purloin-cluster list`, with its input if not the usual one
    #[arg(value_name = "KERNEL[=INPUT]", required = true)]
    pub kernel: Option<String>,

    /// How a rank waits for what it steals: async runs its last tasks meanwhile
    #[arg(long, value_enum, default_value = "async")]
    pub steal: StealArg,

    /// Which spawned tasks others may steal: adaptive, none (all), depth:D or queue
    #[arg(long, default_value = "adaptive", value_parser = parse_cutoff)]
    pub cutoff: CutOff,

    /// With fewer tasks than that left, a rank begins to steal, if it steals asynchronously;
    /// from 0 to 6
    #[arg(long, value_name = "R", default_value = "2", value_parser = parse_residual)]
    pub residual: usize,

    /// The least time of a task that is worth it, for the adaptive cut-off, such as the paper's
    /// 2ms; auto is 10us, and follows the network where the paper follows its own
    #[arg(long, value_name = "TIME", default_value = "auto", value_parser = parse_grain)]
    pub grain: Grain,

    /// Where the times of tasks are collected, for the adaptive cut-off
    #[arg(long, value_enum, default_value = "local")]
    pub profile: ProfileArg,

    /// Delays what is done to other ranks, to see what a slower network does
    #[arg(long, value_name = "TIME", default_value = "0ns", value_parser = parse_latency)]
    pub latency: Duration,

    /// Run it so many times; the median counts
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_runs)]
    pub runs: usize,

    /// Also run the serial elision, by turns; for one rank
    #[arg(long)]
    pub serial: bool,

    /// Write the result as JSON to a file, or to standard output with -
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
}

#[derive(Subcommand, Debug)]
pub enum Other {
    /// Show the kernels with their inputs
    List,
    /// Run this machine's version of the paper's Figures 6 to 10, and print their tables
    Figures(super::figures::Args),
}

#[derive(Clone, Copy, ValueEnum, Debug)]
pub enum StealArg {
    Async,
    Sync,
}

#[derive(Clone, Copy, ValueEnum, Debug)]
pub enum ProfileArg {
    /// On each node by itself
    Local,
    /// On the first rank, for all
    Global,
}

impl Args {
    /// How the tasks are to be run.
    pub fn options(&self) -> Options {
        let mut options = Options::default();
        options.steal = match self.steal {
            StealArg::Async => Steal::Async,
            StealArg::Sync => Steal::Sync,
        };
        options.profiling = match self.profile {
            ProfileArg::Local => Profiling::Local,
            ProfileArg::Global => Profiling::Global,
        };
        options.cut_off = self.cutoff;
        options.residual = self.residual;
        options.grain = self.grain;
        options.latency = self.latency;
        options
    }
}
