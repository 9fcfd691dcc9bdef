//! `purloin predict`.

mod page;
mod report;
mod table;

use std::path::PathBuf;
use std::sync::Arc;

use purloin_command::{Failure, progress};
use purloin_measure::arguments::parse_number;
use purloin_measure::simulation::arguments::{in_order, parse_cores, parse_policy};
use purloin_measure::simulation::check::Check;
use purloin_measure::simulation::machine::{MACHINE_HELP, MachineModel};
use purloin_measure::simulation::outputs::Outputs;
use purloin_measure::simulation::recording;
use purloin_measure::simulation::runs::{Run, Runs};
use purloin_sim::{Machine, Policy, simulate};

use self::report::{Prediction, Report};

const EXAMPLES: &str = "Examples:
  purloin record nqueens=12 --out nqueens.dag
  purloin predict nqueens.dag --html nqueens.html --plot nqueens.svg
  purloin predict nqueens.dag --cores 96,768 --machine cluster.toml --policy near+spare";

const JSON_HELP: &str = "JSON: each prediction has cores, seconds, speed_up, least_speed_up and \
most_speed_up (the range of a
greedy scheduler with free tasks and steals), steals, attempts (to steal), idle and limit.
steal_attempts is the former name of attempts; the next version removes it. check compares the
prediction for all cores of the machine that made the recording with the time measured there, under
Purloin's default scheduler; trusted is false if they differ by more than a quarter and by more than 100 µs, and null on one
core; cause is memory, waiting, stealing, searching, unknown or null. splits counts the divisions of
loops and sorts, which are no tasks; warning is null unless no task was recorded.";

/// Predict how fast a recorded program would be on more cores, and why it is not faster
///
/// First, the command compares the prediction for the machine that made the recording with the time
/// measured there. If they differ, it says why, and that its predictions should not be trusted.
#[derive(clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = format!("{EXAMPLES}\n\n{JSON_HELP}\n\n{MACHINE_HELP}")
)]
pub struct Args {
    /// A recording, from `purloin record` or `purloin_analysis::record`
    #[arg(value_name = "FILE")]
    recording: PathBuf,

    /// Numbers of cores [default: the powers of two up to 1024; with --machine: up to the cores of
    /// the machine]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = parse_cores)]
    cores: Vec<u32>,

    /// A machine file, as described below. If --cores differs from its number of cores, the
    /// simulator takes its first cores or adds nodes [default: cores that share memory; a steal
    /// takes 1us, and a task the recorded time]
    #[arg(long, value_name = "FILE")]
    machine: Option<PathBuf>,

    /// A policy, as in `purloin sim`; spare is the policy of Purloin's default scheduler
    #[arg(long, value_name = "POLICY", default_value = "spare", value_parser = parse_one)]
    policy: Policy,

    /// Number of trials, each with its own seed; the result is their mean
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = parse_trials)]
    trials: u64,

    /// Seed of the first trial; the next trials use the seeds after it
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    runs: Runs,

    #[command(flatten)]
    outputs: Outputs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let recording = recording::read(&args.recording)?;
    let model = MachineModel::read(
        args.machine.as_deref(),
        "cores that share memory",
        Machine::shared_memory(Machine::MAX_CORES),
    )?;
    let outputs = args.outputs.open()?;
    let recorded = recording::prepare(&args.recording, &recording, &[args.policy])?;
    let cores = match &args.cores[..] {
        [] => powers_of_two(model.cores.unwrap_or(1024)),
        cores => in_order(cores),
    };
    let mut runs = Vec::new();
    let mut counts = Vec::new();
    for &cores in &cores {
        let machine = model.with_cores(cores)?;
        // In addition to the machine itself: a machine with free steals, and a machine on which all
        // cores are near.
        let mut machines = vec![Machine::ideal(cores).with_task(machine.task())];
        if !machine.is_flat() {
            machines.push(machine.all_near());
        }
        machines.push(machine);
        counts.push(machines.len() * args.trials as usize);
        for machine in machines.into_iter().map(Arc::new) {
            for trial in 0..args.trials {
                let seed = args.seed.wrapping_add(trial);
                let (recorded, machine) = (&recorded, machine.clone());
                runs.push(Run {
                    steps: 1,
                    message: format!("{cores} cores"),
                    simulate: Box::new(move || simulate(recorded, &machine, args.policy, seed)),
                });
            }
        }
    }
    let progress = progress(runs.len() as u64 + 1, "runs");
    progress.set_message("this machine");
    let check = Check::new(&recording, &recorded);
    progress.inc(1);
    let outcomes = args.runs.all(&runs, &progress)?;
    let mut rest = &outcomes[..];
    let mut report = Report::new(&recording, model, args.policy, check);
    for (cores, count) in cores.into_iter().zip(counts) {
        let outcomes = rest.split_off(..count).expect("one outcome for each run");
        let machines: Vec<_> = outcomes.chunks(args.trials as usize).collect();
        let prediction = Prediction::new(cores, &recording, &machines);
        report.predictions.push(prediction);
    }
    outputs.write(
        &report,
        || table::text(&report),
        || report.picture(),
        || page::page(&report),
    )
}

fn parse_trials(text: &str) -> Result<u64, String> {
    parse_number("trials", text, 1000)
}

/// Parses a single policy.
fn parse_one(text: &str) -> Result<Policy, String> {
    match text.contains(',') {
        true => Err("predict takes one policy; use purloin sim to compare several".into()),
        false => parse_policy(text),
    }
}

/// Returns the powers of two below `max`, and `max`.
fn powers_of_two(max: u32) -> Vec<u32> {
    let powers = (0..32).map(|power| 1_u32 << power);
    let mut cores: Vec<_> = powers.take_while(|&power| power < max).collect();
    cores.push(max);
    cores
}
