//! `purloin predict`.

mod report;

use std::path::PathBuf;
use std::sync::Arc;

use purloin_command::{Failure, progress};
use purloin_sim::{Machine, Policy, simulate};

use self::report::{Prediction, Report};
use crate::simulation::arguments::{
    Kind, MACHINE_HELP, Outputs, in_order, parse_nodes, parse_policy, prepare, read_recording,
};
use crate::simulation::runs::{Run, Runs};

const EXAMPLES: &str = "Examples:
  purloin record nqueens=12 --out nqueens.dag
  purloin predict nqueens.dag --plot nqueens.svg
  purloin predict nqueens.dag --cores 96,768 --machine cluster.toml --policy near+spare";

/// Say how fast a recorded program would be on more cores, and why it is not faster
#[derive(clap::Args)]
#[command(allow_negative_numbers = true, after_help = format!("{EXAMPLES}\n\n{MACHINE_HELP}"))]
pub struct Args {
    /// What `purloin record` or `purloin_analysis::record` has written
    #[arg(value_name = "FILE")]
    recording: PathBuf,

    /// Numbers of cores [default: 1,2,4,…, up to 1024 or to what the machine has]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = parse_nodes)]
    cores: Vec<u32>,

    /// A description of the machine, as below; where --cores asks for another number of cores,
    /// its first ones are taken, or more of its nodes [default: cores that share memory: a steal takes 1us, a task what was recorded]
    #[arg(long, value_name = "FILE")]
    machine: Option<PathBuf>,

    /// How thieves steal, as in `purloin sim`; spare is as Purloin's own scheduler does
    #[arg(long, value_name = "POLICY", default_value = "spare", value_parser = parse_one)]
    policy: Policy,

    /// Seeds to try; the mean counts
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1000))]
    trials: u64,

    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    runs: Runs,

    #[command(flatten)]
    outputs: Outputs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let recording = read_recording(&args.recording)?;
    let usual = Machine::shared_memory(Machine::MOST);
    let kind = Kind::read(args.machine.as_deref(), "cores that share memory", usual)?;
    let outputs = args.outputs.open()?;
    let recorded = prepare(&args.recording, &recording, &[args.policy])?;
    let cores = match &args.cores[..] {
        [] => powers(kind.cores.unwrap_or(1024)),
        cores => in_order(cores),
    };
    let mut runs = Vec::new();
    let mut counts = Vec::new();
    for &cores in &cores {
        let machine = kind.with(cores)?;
        // As if steals were free, and as if all cores were near.
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
    let mut outcomes = &args.runs.all(&runs, &progress(runs.len() as u64, "runs"))?[..];
    let mut report = Report::new(&recording, kind, args.policy);
    for (cores, count) in cores.into_iter().zip(counts) {
        let (these, others) = outcomes.split_at(count);
        outcomes = others;
        let machines: Vec<_> = these.chunks(args.trials as usize).collect();
        let prediction = Prediction::new(cores, &recording, &machines);
        report.predictions.push(prediction);
    }
    outputs.write(&report, || report.text(), || report.picture())
}

/// The one policy.
fn parse_one(text: &str) -> Result<Policy, String> {
    match text.contains(',') {
        true => Err("predict takes one policy; purloin sim compares several".into()),
        false => parse_policy(text),
    }
}

/// The powers of two up to so many, and that itself.
fn powers(most: u32) -> Vec<u32> {
    let powers = (0..32).map(|power| 1_u32 << power);
    let mut cores: Vec<_> = powers.take_while(|&power| power < most).collect();
    cores.push(most);
    cores
}
