//! `purloin sim`.

mod report;
mod table;
mod workload;

use std::path::PathBuf;

use indicatif::{ProgressBar, ProgressStyle};
use purloin_command::{Destination, Failure, print};
use purloin_sim::{Machine, Policy};

use self::report::{Cell, Report};
use self::workload::Program;

/// The most cores that are simulated.
const MOST_NODES: u32 = 1 << 24;

/// The most trials of a cell.
const MOST_TRIALS: u64 = 10_000;

/// Simulates work stealing on machines of any size, and compares policies.
///
/// Each cell is the mean of several trials with seeds of their own, with its 95 % confidence
/// interval. A policy is named by what is not usual in it, joined by +:
///
///   victims   random, near (same socket first; here, all cores share one), sets, sampling:K
///             (the best of K); both is sampling:2+sets
///   amount    one, half, adaptive
///   way       direct (the thief takes it), ask, forward (whoever has nothing passes it on)
///   waiting   anything, leapfrog (only from the thief), spare (lends its core)
///   early     residual:R (steals when fewer than R tasks are left, and goes on meanwhile)
#[derive(clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:
  purloin sim
  purloin sim --nodes 64,1024 --policy random,sampling:2,sets,half+forward
  purloin sim --workload uts=T3 --nodes 1,16,256 --policy random,spare --trials 3
  purloin sim --nodes 1048576 --policy random --trials 1   (a minute and a half)
  purloin sim --preset wool-figure-4 --json figure4.json"
)]
pub struct Args {
    /// A published study: wool-figure-4 (the tree on 16 to 1024 cores; random stealing and
    /// sample sizes from 1 to 6)
    #[arg(long, value_name = "NAME", value_parser = ["wool-figure-4"])]
    #[arg(conflicts_with_all = ["workload", "nodes", "policy"])]
    preset: Option<String>,

    /// What is run: tree (balanced; as deep as the Wool paper has it for so many cores), tree=DEPTH
    /// or uts=TREE, a tree of UTS
    #[arg(long, value_name = "WORKLOAD", default_value = "tree", value_parser = Program::parse)]
    workload: Program,

    /// Numbers of cores
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = parse_nodes)]
    #[arg(default_values_t = [64, 1024])]
    nodes: Vec<u32>,

    /// How thieves steal; the first is what others are compared with
    #[arg(long, value_name = "POLICY,…", value_delimiter = ',', value_parser = parse_policy)]
    #[arg(default_value = "random,sampling:2")]
    policy: Vec<Policy>,

    /// Seeds to try
    #[arg(long, value_name = "N", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=MOST_TRIALS))]
    trials: u64,

    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Write the result as JSON to a file, or to standard output with -
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
}

pub fn parse_nodes(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(nodes) if (1..=MOST_NODES).contains(&nodes) => Ok(nodes),
        _ => Err(format!("a number of cores is from 1 to {MOST_NODES}")),
    }
}

pub fn parse_policy(text: &str) -> Result<Policy, String> {
    text.parse::<Policy>().map_err(|error| error.to_string())
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let destination = args.json.as_deref().map(Destination::open).transpose()?;
    let (nodes, policies) = match args.preset {
        // Figure 4: up to 1024 cores, sample sizes from 1 to 6.
        Some(_) => ((4..=10).map(|power| 1 << power).collect(), figure_4()),
        None => (args.nodes.clone(), args.policy.clone()),
    };
    let cells = nodes.len() * policies.len();
    let progress = progress_bar(cells as u64 * args.trials);
    let mut report = Report::new(args.workload.to_string(), args.trials, args.seed);
    for &nodes in &nodes {
        let first = report.cells.len();
        for &policy in &policies {
            progress.set_message(format!("{nodes} cores, {policy}"));
            let machine = Machine::wool(nodes);
            let outcomes: Vec<_> = (0..args.trials)
                .map(|trial| {
                    let seed = args.seed.wrapping_add(trial);
                    let outcome = args.workload.simulate(&machine, policy, seed);
                    progress.inc(1);
                    outcome
                })
                .collect();
            let base = report.cells.get(first);
            let cell = Cell::new(nodes, policy, &outcomes, base);
            report.cells.push(cell);
        }
    }
    progress.finish_and_clear();
    if !destination
        .as_ref()
        .is_some_and(Destination::is_standard_output)
    {
        print(&table::text(&report))?;
    }
    match destination {
        Some(destination) => destination.write(&report),
        None => Ok(()),
    }
}

fn figure_4() -> Vec<Policy> {
    let sampling = (1..=6).map(|samples| Policy {
        samples,
        ..Policy::default()
    });
    std::iter::once(Policy::default()).chain(sampling).collect()
}

/// Shown on standard error, if that is a terminal.
fn progress_bar(steps: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg}");
    ProgressBar::new(steps).with_style(style.expect("the template is right"))
}
