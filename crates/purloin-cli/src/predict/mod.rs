//! `purloin predict`.

mod report;

use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};
use purloin::Recording;
use purloin_command::{Destination, Failure, print};
use purloin_sim::{Machine, Policy, Recorded, simulate};

use self::report::{Prediction, Report};
use crate::sim::{parse_nodes, parse_policy};

/// Says how fast a recorded program would be on more cores, and why it is not faster.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  purloin record nqueens=12 --out nqueens.dag
  purloin predict nqueens.dag
  purloin predict nqueens.dag --cores 96,768 --machine cluster.toml --policy near+half

A machine is a file such as this one:

  nodes = 32
  sockets = 2        # of a node
  cores = 12         # of a socket
  [socket]           # from core to core of a socket
  steal = \"150ns\"    # a steal, in vain or not
  sample = \"60ns\"    # a look at what there is to steal
  message = \"60ns\"   # until a message arrives
  [node]             # from socket to socket of a node, likewise
  steal = \"400ns\"
  sample = \"150ns\"
  message = \"150ns\"
  [network]          # from node to node
  steal = \"6us\"
  sample = \"2us\"
  message = \"2us\"")]
pub struct Args {
    /// What `purloin record` or `purloin::record` has written
    #[arg(value_name = "FILE")]
    recording: PathBuf,

    /// Numbers of cores [default: 1,2,4,…,1024, or what the machine has]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = parse_nodes)]
    cores: Vec<u32>,

    /// A description of the machine; of others than its own number of cores a part is taken,
    /// or more nodes [default: one socket, on which a steal takes 200ns]
    #[arg(long, value_name = "FILE")]
    machine: Option<PathBuf>,

    /// How thieves steal, as in `purloin sim`
    #[arg(long, value_name = "POLICY", default_value = "random", value_parser = parse_policy)]
    policy: Policy,

    /// Seeds to try; the mean counts
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1000))]
    trials: u64,

    /// Write the result as JSON to a file, or to standard output with -
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let named = |path: &Path, why: String| Failure::Usage(format!("{}: {why}", path.display()));
    let recording = Recording::load(&args.recording)
        .map_err(|error| named(&args.recording, error.to_string()))?;
    let machine = match &args.machine {
        Some(path) => {
            let text = std::fs::read_to_string(path);
            let text = text.map_err(|error| named(path, format!("it cannot be read: {error}")))?;
            Machine::from_toml(&text).map_err(|error| named(path, error.to_string()))?
        }
        None => Machine::shared_memory(1024),
    };
    let destination = args.json.as_deref().map(Destination::open).transpose()?;
    let recorded =
        Recorded::new(&recording).map_err(|error| named(&args.recording, error.to_string()))?;
    let cores = match &args.cores[..] {
        [] => powers(machine.size()),
        cores => cores.to_vec(),
    };
    let progress = progress_bar(cores.len() as u64 * args.trials);
    let mut report = Report::new(&recording, args.policy);
    for cores in cores {
        progress.set_message(format!("{cores} cores"));
        let machine = machine.with_size(cores);
        let run = |machine: &Machine| -> Vec<_> {
            let outcome = |seed| {
                progress.inc(1);
                simulate(&recorded, machine, args.policy, seed)
            };
            (1..=args.trials).map(outcome).collect()
        };
        let outcomes = run(&machine);
        // As if steals were free, and as if all were near.
        let what_if = |machine: &Machine| simulate(&recorded, machine, args.policy, 1);
        let free = what_if(&Machine::ideal(cores));
        let close = what_if(&machine.all_near());
        let prediction = Prediction::new(cores, &recording, &outcomes, &free, &close);
        report.predictions.push(prediction);
    }
    progress.finish_and_clear();
    if !destination
        .as_ref()
        .is_some_and(Destination::is_standard_output)
    {
        print(&report.text())?;
    }
    match destination {
        Some(destination) => destination.write(&report),
        None => Ok(()),
    }
}

/// The powers of two up to so many, and that itself.
fn powers(most: u32) -> Vec<u32> {
    let powers = (0..32).map(|power| 1_u32 << power);
    let mut cores: Vec<_> = powers.take_while(|&power| power < most).collect();
    cores.push(most);
    cores
}

/// Shown on standard error, if that is a terminal.
fn progress_bar(steps: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg}");
    ProgressBar::new(steps).with_style(style.expect("the template is right"))
}
