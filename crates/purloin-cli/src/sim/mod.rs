//! `purloin sim`.

mod report;
mod table;
mod workload;

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;

use purloin_command::{Failure, progress};
use purloin_sim::{Machine, Policy};

use self::report::{Cell, Report};
use self::workload::Program;
use crate::simulation::arguments::{
    Kind, MACHINE_HELP, Outputs, in_order, parse_nodes, parse_policy,
};
use crate::simulation::runs::{Run, Runs};

/// From here on, the twenty trials of the usual sweep are close to what four hundred say.
const TYPICAL_SEED: u64 = 101;

/// The most trials of a cell.
const MOST_TRIALS: u64 = 10_000;

const EXAMPLES: &str = "Examples:
  purloin sim
  purloin sim --cores 64,1024 --policy random,sampling:2,sets,half+forward
  purloin sim --workload uts=T3 --cores 1,16,256 --policy random,spare --trials 3
  purloin sim --cores 1048576 --policy random --trials 1   (ten seconds)
  purloin sim --workload dag=run.dag --machine cluster.toml --policy random,near
  purloin sim --preset wool-figure-4 --plot figure4.svg --json figure4.json";

/// Simulate work stealing on machines of any size, and compare policies
///
/// Each cell is the mean of several trials with seeds of their own, with its 95 % confidence
/// interval. A policy is named by what is not usual in it, joined by +:
///
///   victims   random, near (a thief spends as much time on its socket as on the rest of its
///             node, and on other nodes), sets (of as many cores as there are thieves)
///   looks     sampling:K (it looks at K victims first, and takes the best); both is
///             sampling:2+sets
///   amount    one, half, adaptive
///   way       direct (the thief takes it), ask, forward (whoever has nothing passes it on)
///   waiting   anything, leapfrog (only from the thief), spare (lends its core: the only one
///             for programs that get futures out of order)
///   early     residual:R (steals when fewer than R tasks are left, and goes on meanwhile)
#[derive(clap::Args)]
#[command(
    verbatim_doc_comment,
    allow_negative_numbers = true,
    after_help = format!("{EXAMPLES}\n\n{MACHINE_HELP}")
)]
pub struct Args {
    /// A published study: wool-figure-4 (the tree on 16 to 1024 cores; random stealing and
    /// sample sizes from 1 to 6), of which --nodes and --policy may take a part
    #[arg(long, value_name = "NAME", value_parser = ["wool-figure-4"])]
    #[arg(conflicts_with = "workload")]
    preset: Option<String>,

    /// What is run: tree (balanced, as deep as the Wool paper has it for so many cores),
    /// tree=DEPTH,LEAF (+DEPTH: beyond the logarithm of the number of cores; LEAF, which may be
    /// left out, is what a leaf takes on average, as in 10us), uts=TREE (a tree of UTS), or
    /// dag=FILE (what `purloin record` or `purloin_analysis::record` has written)
    #[arg(long, value_name = "WORKLOAD", default_value = "tree", value_parser = Program::parse)]
    workload: Program,

    /// Numbers of cores, which the Wool paper calls nodes [default: 64,1024, or what the machine
    /// has]
    #[arg(long, visible_alias = "cores", value_name = "N,…")]
    #[arg(value_delimiter = ',', value_parser = parse_nodes)]
    nodes: Vec<u32>,

    /// A description of the machine, as below; where --cores asks for another number of cores,
    /// its first ones are taken, or more of its nodes [default: the model of the Wool paper: all cores are equally far from one
    /// another, a steal takes 1us on average, a sample half of that, a task what was recorded or nothing]
    #[arg(long, value_name = "FILE", conflicts_with = "preset")]
    machine: Option<PathBuf>,

    /// How thieves steal; the first is what others are compared with [default: random,sampling:2]
    #[arg(long, value_name = "POLICY,…", value_delimiter = ',', value_parser = parse_policy)]
    policy: Vec<Policy>,

    /// Seeds to try
    #[arg(long, value_name = "N", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=MOST_TRIALS))]
    trials: u64,

    /// The first seed
    #[arg(long, value_name = "N", default_value_t = TYPICAL_SEED)]
    seed: u64,

    #[command(flatten)]
    runs: Runs,

    #[command(flatten)]
    outputs: Outputs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let usual = Machine::wool(Machine::MOST);
    let kind = Kind::read(
        args.machine.as_deref(),
        "the machine of Wool's model",
        usual,
    )?;
    let nodes = match (&args.nodes[..], &args.preset, kind.cores) {
        ([], Some(_), _) => (4..=10).map(|power| 1 << power).collect(),
        ([], None, Some(cores)) => vec![cores],
        ([], None, None) => vec![64, 1024],
        (nodes, ..) => in_order(nodes),
    };
    let policies = match (&args.policy[..], &args.preset) {
        ([], Some(_)) => sampling(1..=6),
        ([], None) => sampling(2..=2),
        (policies, _) => each_once(policies),
    };
    let simulate = args.workload.load(&policies)?;
    let outputs = args.outputs.open()?;
    for &nodes in &nodes {
        args.workload.check(nodes)?;
    }
    let mut runs = Vec::new();
    for &nodes in &nodes {
        let machine = Arc::new(kind.with(nodes)?);
        for &policy in &policies {
            for trial in 0..args.trials {
                let seed = args.seed.wrapping_add(trial);
                let (machine, simulate) = (machine.clone(), &simulate);
                runs.push(Run {
                    steps: nodes.into(),
                    message: format!("{nodes} cores, {policy}"),
                    simulate: Box::new(move || simulate(&machine, policy, seed)),
                });
            }
        }
    }
    let steps = runs.iter().map(|run| run.steps).sum();
    let outcomes = args.runs.all(&runs, &progress(steps, "cores"))?;
    let mut report = Report {
        workload: args.workload.to_string(),
        machine: kind.name,
        trials: args.trials,
        seed: args.seed,
        cells: Vec::new(),
    };
    let mut outcomes = outcomes.chunks(args.trials as usize);
    for &nodes in &nodes {
        // What the first policy does, with the same seeds.
        let mut base = None;
        for (&policy, outcomes) in policies.iter().zip(&mut outcomes) {
            let base = *base.get_or_insert(outcomes);
            report.cells.push(Cell::new(nodes, policy, outcomes, base));
        }
    }
    outputs.write(&report, || table::text(&report), || report.picture())
}

/// These, in their order.
fn each_once(policies: &[Policy]) -> Vec<Policy> {
    let mut all = Vec::new();
    for &policy in policies {
        if !all.contains(&policy) {
            all.push(policy);
        }
    }
    all
}

/// Random stealing, and that with samples of these sizes.
fn sampling(sizes: RangeInclusive<u32>) -> Vec<Policy> {
    let sampling = sizes.map(|samples| Policy {
        samples,
        ..Policy::default()
    });
    std::iter::once(Policy::default()).chain(sampling).collect()
}
