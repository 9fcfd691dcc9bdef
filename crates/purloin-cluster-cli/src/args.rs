//! The command's arguments: [`Args`].

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use purloin_cluster::{CutOff, Grain, Options, Profiling, Steal};
use purloin_command::Failure;

use crate::values::{parse_cut_off, parse_grain, parse_latency, parse_residual, parse_runs};

/// Work stealing between the ranks of an MPI job, measured with the kernels of the AsynchWS paper.
///
/// Started directly, the command is a job of one rank. mpirun and srun start it with more ranks.
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
  mpirun -n 2 purloin-cluster latency
  purloin-cluster figures

Exit status: 0 if every answer was right, 1 if one was wrong or the run failed, 2 for a mistake in
the arguments."
)]
pub struct Args {
    #[command(subcommand)]
    pub subcommand: Option<Other>,

    /// The kernel to run, with its input if it is not the default; see `purloin-cluster list`
    #[arg(value_name = "KERNEL[=INPUT]", required = true)]
    pub kernel: Option<String>,

    /// Behaviour of a rank while it steals: run its last tasks (async), or wait (sync)
    #[arg(long, value_enum, default_value = "async")]
    pub steal: StealArg,

    /// The spawned tasks that other ranks can steal: adaptive, paper (as published), none (no
    /// cut-off: all tasks), depth:D or queue
    #[arg(
        long = "cutoff",
        value_name = "CUTOFF",
        default_value = "adaptive",
        value_parser = parse_cut_off
    )]
    pub cut_off: CutOff,

    /// With --steal async, a rank starts to steal when fewer than R tasks remain; from 0 to 6
    /// [default: 2]
    #[arg(long, value_name = "R", value_parser = parse_residual)]
    pub residual: Option<usize>,

    /// Minimum duration of a task worth stealing, for the cut-offs adaptive and paper. auto: 10us
    /// for adaptive, which then derives its other thresholds from the measured cost of a steal; 2ms
    /// for paper [default: auto]
    #[arg(long, value_name = "TIME", value_parser = parse_grain)]
    pub grain: Option<Grain>,

    /// Place where durations of tasks are collected, for the cut-offs adaptive and paper [default:
    /// local]
    #[arg(long, value_enum)]
    pub profile: Option<ProfileArg>,

    /// Delay operations on other ranks by this time, to imitate a slower network
    #[arg(long, value_name = "TIME", default_value = "0ns", value_parser = parse_latency)]
    pub latency: Duration,

    /// Run the kernel N times, and report the median
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_runs)]
    pub runs: usize,

    /// Also run the serial elision, alternately; only in a job of one rank
    #[arg(long)]
    pub serial: bool,

    /// Write the result as JSON to a file, or to standard output with -
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
}

#[derive(Subcommand, Debug)]
pub enum Other {
    /// List the kernels with their inputs
    List,
    /// Measure the time of a get from another rank, by size
    Latency(super::latency::Args),
    /// Repeat the paper's Figures 5 to 10 on this machine, and print their tables
    Figures(super::figures::Args),
}

#[derive(Clone, Copy, ValueEnum, Debug)]
pub enum StealArg {
    Async,
    Sync,
}

#[derive(Clone, Copy, ValueEnum, Debug)]
pub enum ProfileArg {
    /// On each node separately
    Local,
    /// On rank 0 for all ranks
    Global,
}

impl Args {
    /// Returns the options of the library.
    ///
    /// # Errors
    ///
    /// Returns an error for an option that does nothing beside the others.
    pub fn options(&self) -> Result<Options, Failure> {
        let mut options = Options::default();
        options.steal = match (self.steal, self.residual) {
            (StealArg::Sync, Some(_)) => {
                return Err(Failure::usage("--residual does nothing with --steal sync"));
            }
            (StealArg::Sync, None) => Steal::Sync,
            (StealArg::Async, _) => Steal::Async,
        };
        if !matches!(self.cut_off, CutOff::Adaptive | CutOff::Paper) {
            let option = match (self.grain, self.profile) {
                (Some(_), _) => "--grain",
                (None, Some(_)) => "--profile",
                (None, None) => "",
            };
            if !option.is_empty() {
                return Err(Failure::usage(format_args!(
                    "{option} does nothing with this --cutoff; it needs --cutoff adaptive or paper"
                )));
            }
        }
        options.cut_off = self.cut_off;
        options.residual = self.residual.unwrap_or(options.residual);
        options.grain = self.grain.unwrap_or(options.grain);
        options.profiling = match self.profile {
            Some(ProfileArg::Local) => Profiling::Local,
            Some(ProfileArg::Global) => Profiling::Global,
            None => options.profiling,
        };
        options.latency = self.latency;
        Ok(options)
    }
}
