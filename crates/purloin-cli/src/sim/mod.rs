//! `purloin sim`.

mod page;
mod report;
mod table;
mod workload;

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;

use purloin_command::{Failure, progress};
use purloin_measure::arguments::parse_number;
use purloin_measure::simulation::arguments::{in_order, parse_cores, parse_policy};
use purloin_measure::simulation::machine::{MACHINE_HELP, MachineModel};
use purloin_measure::simulation::outputs::Outputs;
use purloin_measure::simulation::runs::{Run, Runs};
use purloin_sim::{Machine, Policy};

use self::report::{Cell, Report};
use self::workload::Program;

/// The default first seed. The twenty default trials from this seed give results close to the
/// results of four hundred trials.
const TYPICAL_SEED: u64 = 101;

/// The maximum number of trials of a cell.
const MAX_TRIALS: u64 = 10_000;

const EXAMPLES: &str = "Examples:
  purloin sim
  purloin sim --cores 64,1024 --policy random,sampling:2,sets,half+forward
  purloin sim --workload uts=T3 --cores 1,16,256 --policy random,spare --trials 3
  purloin sim --cores 1048576 --policy random --trials 1   (takes ten seconds)
  purloin sim --workload dag=run.dag --machine cluster.toml --policy random,near
  purloin sim --cores 16,64,256,1024 --policy random,both,half --html policies.html
  purloin sim --preset wool-figure-4 --plot figure4.svg --json figure4.json";

const JSON_HELP: &str = "JSON: each cell has cores, policy, time (seconds), attempts (to steal), \
successful_steals, samples,
messages, tasks, idle, events, and the ratios relative_time and relative_attempts to the first
policy; a name with _margin is half the width of a 95 % confidence interval. nodes and steals are
the former names of cores and attempts; the next version removes them.";

/// Simulate work stealing on machines of any size, and compare policies
///
/// Each cell of the table is the mean of several trials with different seeds, with a 95 %
/// confidence interval. A policy is at most one choice from each line below, joined by +. The first
/// choice of a line is the default.
///
///   victims   random, near (a thief spends equal time on its socket, on the rest of its node,
///             and on other nodes), sets (a set of cores, which grows as thieves become fewer)
///   samples   sampling:K (a thief looks at K victims, 1 to 64, and chooses the best; the
///             default is not to look); both stands for sampling:2+sets
///   when      always (a thief samples before each steal attempt), once (before the first attempt of
///             a search, up to a victim without a task; sets sample once anyway); needs samples
///   amount    one, half, adaptive
///   transfer  direct (the thief takes the task), ask (the victim answers), forward (a victim
///             without tasks passes the request on)
///   waiting   anything (run any task), leapfrog (steal from the thief only), spare (hand
///             off the core to a spare worker; required by programs that fetch futures out of
///             order)
///   early     residual:R (start to steal when fewer than R tasks, 0 to 6, remain; the default is 0)
///   depth     spawns (a sample compares tasks by the spawns around them), pending (by the tasks
///             around them that could still be stolen, as in Purloin); needs samples
///   bound     bound:N (a worker with N ready tasks, 1 to 1,000,000, runs a task where it would
///             spawn it; the default is no bound)
///   loops     lazy-adaptive (of a loop, each idle worker gets an equal part), lazy-binary (half),
///             lazy-guided (one of as many parts as there are workers); with ask and forward, a
///             worker without tasks splits its loop for each request; with direct, whenever it has no
///             ready task
#[derive(clap::Args)]
#[command(
    verbatim_doc_comment,
    allow_negative_numbers = true,
    after_help = format!("{EXAMPLES}\n\n{JSON_HELP}\n\n{MACHINE_HELP}")
)]
pub struct Args {
    /// A published study: wool-figure-4 (the tree on 16 to 1024 cores, with random stealing and
    /// sample sizes from 1 to 6). --cores and --policy select a part of it
    #[arg(long, value_name = "NAME", value_parser = ["wool-figure-4"])]
    #[arg(conflicts_with = "workload")]
    preset: Option<String>,

    /// The program: tree (balanced, with the depth that the Wool paper uses for the number of
    /// cores), tree=DEPTH or tree=DEPTH,LEAF (+DEPTH is added to the logarithm of the number of
    /// cores; LEAF is the mean time of a leaf, such as 10us), uts=TREE (a tree of UTS), loops=SHAPE (a
    /// loop of the kernel loops: fine, coarse, random, increasing or decreasing), or dag=FILE (a file
    /// from `purloin record` or `purloin_analysis::record`)
    #[arg(long, value_name = "WORKLOAD", default_value = "tree", value_parser = Program::parse)]
    workload: Program,

    /// Numbers of cores [default: 64,1024; with --machine: the cores of the machine]
    #[arg(long, alias = "nodes", value_name = "N,…")]
    #[arg(value_delimiter = ',', value_parser = parse_cores)]
    cores: Vec<u32>,

    /// A machine file, as described below. If --cores differs from its number of cores, the
    /// simulator takes its first cores or adds nodes [default: the model of the Wool paper, in
    /// which all cores are equally far apart, a steal takes 1us on average, a sample half of
    /// that, and a task the recorded time or nothing]
    #[arg(long, value_name = "FILE", conflicts_with = "preset")]
    machine: Option<PathBuf>,

    /// Policies; the first is the baseline of the relative columns [default: random,sampling:2]
    #[arg(long, value_name = "POLICY,…", value_delimiter = ',', value_parser = parse_policy)]
    policy: Vec<Policy>,

    /// Number of trials, each with its own seed
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = parse_trials)]
    trials: u64,

    /// Seed of the first trial; the next trials use the seeds after it
    #[arg(long, value_name = "N", default_value_t = TYPICAL_SEED)]
    seed: u64,

    #[command(flatten)]
    runs: Runs,

    #[command(flatten)]
    outputs: Outputs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let model = MachineModel::read(
        args.machine.as_deref(),
        "the machine of Wool's model",
        Machine::wool(Machine::MAX_CORES),
    )?;
    let cores = match (&args.cores[..], &args.preset, model.cores) {
        ([], Some(_), _) => (4..=10).map(|power| 1 << power).collect(),
        ([], None, Some(cores)) => vec![cores],
        ([], None, None) => vec![64, 1024],
        (cores, ..) => in_order(cores),
    };
    let policies = match (&args.policy[..], &args.preset) {
        ([], Some(_)) => random_and_sampling(1..=6),
        ([], None) => random_and_sampling(2..=2),
        (policies, _) => without_duplicates(policies),
    };
    let simulate = args.workload.load(&policies)?;
    let outputs = args.outputs.open()?;
    for &cores in &cores {
        args.workload.check(cores)?;
    }
    let mut runs = Vec::new();
    for &cores in &cores {
        let machine = Arc::new(model.with_cores(cores)?);
        for &policy in &policies {
            for trial in 0..args.trials {
                let seed = args.seed.wrapping_add(trial);
                let (machine, simulate) = (machine.clone(), &simulate);
                runs.push(Run {
                    steps: cores.into(),
                    message: format!("{cores} cores, {policy}"),
                    simulate: Box::new(move || simulate(&machine, policy, seed)),
                });
            }
        }
    }
    let steps = runs.iter().map(|run| run.steps).sum();
    let outcomes = args.runs.all(&runs, &progress(steps, "cores"))?;
    let mut report = Report {
        workload: args.workload.to_string(),
        machine: model.name,
        trials: args.trials,
        seed: args.seed,
        cells: Vec::new(),
    };
    let mut outcomes = outcomes.chunks(args.trials as usize);
    for &cores in &cores {
        // The outcomes of the first policy, with the same seeds.
        let mut baseline = None;
        for (&policy, outcomes) in policies.iter().zip(&mut outcomes) {
            let baseline = *baseline.get_or_insert(outcomes);
            let cell = Cell::new(cores, policy, outcomes, baseline);
            report.cells.push(cell);
        }
    }
    outputs.write(
        &report,
        || table::text(&report),
        || report.picture(),
        || page::page(&report),
    )
}

fn parse_trials(text: &str) -> Result<u64, String> {
    parse_number("trials", text, MAX_TRIALS)
}

/// Removes duplicates and keeps the order.
fn without_duplicates(policies: &[Policy]) -> Vec<Policy> {
    let mut distinct = Vec::new();
    for &policy in policies {
        if !distinct.contains(&policy) {
            distinct.push(policy);
        }
    }
    distinct
}

/// Returns random stealing, and random stealing with samples of these sizes.
fn random_and_sampling(sizes: RangeInclusive<u32>) -> Vec<Policy> {
    let sampling = sizes.map(|samples| Policy {
        samples,
        ..Policy::default()
    });
    std::iter::once(Policy::default()).chain(sampling).collect()
}
