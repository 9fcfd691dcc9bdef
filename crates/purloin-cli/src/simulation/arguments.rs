//! What simulations are told on the command line.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use purloin_analysis::Recording;
use purloin_command::{Destination, Failure};
use purloin_sim::{Machine, Policy, Recorded, Time, Waiting, Workload};

use super::picture::Picture;

/// How a machine is written, for the help.
pub const MACHINE_HELP: &str = "A machine is a file such as this one:

  nodes = 32
  sockets = 2        # of a node
  cores = 12         # of a socket
  # task = \"2ns\"     # to spawn a task and to join it, instead of what was recorded
  [socket]           # from core to core of a socket
  steal = \"1us\"      # a steal, in vain or not
  sample = \"100ns\"   # a look at what there is to steal
  message = \"100ns\"  # until a message arrives
  [node]             # from socket to socket of a node, likewise
  steal = \"2us\"
  sample = \"300ns\"
  message = \"300ns\"
  [network]          # from node to node
  steal = \"10us\"
  sample = \"2us\"
  message = \"2us\"

nodes and sockets are 1 if left out; so may [node] and [network] be if there is
one socket, or one node. Without task, a recorded program's tasks cost what was
recorded, and those of other workloads nothing. With random = true, times are
means of exponential distributions.";

pub fn parse_nodes(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(nodes) if (1..=Machine::MOST).contains(&nodes) => Ok(nodes),
        _ => Err(format!("a number of cores is from 1 to {}", Machine::MOST)),
    }
}

pub fn parse_policy(text: &str) -> Result<Policy, String> {
    text.parse::<Policy>().map_err(|error| error.to_string())
}

/// Where a picture goes.
fn parse_picture(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let is_svg = |ending: &std::ffi::OsStr| ending.eq_ignore_ascii_case("svg");
    match path.extension() {
        Some(ending) if !is_svg(ending) => Err("pictures are SVG: its name ends with .svg".into()),
        _ => Ok(path),
    }
}

/// Each number of cores once, the least first.
pub fn in_order(nodes: &[u32]) -> Vec<u32> {
    nodes
        .iter()
        .copied()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect()
}

/// A mistake in a file.
fn in_file(path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::Usage(format!("{}: {why}", path.display()))
}

/// A kind of machine, to be had with any number of cores.
pub struct Kind {
    /// What it is called.
    pub name: String,
    /// How many cores it usually has, if it is described in a file.
    pub cores: Option<u32>,
    machine: Machine,
}

impl Kind {
    /// The one that a file describes, or else this one.
    pub fn read(path: Option<&Path>, name: &str, usual: Machine) -> Result<Kind, Failure> {
        let Some(path) = path else {
            return Ok(Kind {
                name: name.to_owned(),
                cores: None,
                machine: usual,
            });
        };
        let machine = read_machine(path)?;
        Ok(Kind {
            name: path.display().to_string(),
            cores: Some(machine.size()),
            machine,
        })
    }

    /// What a task costs there, if that does not depend on the program.
    pub fn task(&self) -> Option<Time> {
        self.machine.task()
    }

    /// One with so many cores.
    pub fn with(&self, cores: u32) -> Result<Machine, Failure> {
        let machine = self.machine.with_size(cores);
        machine.map_err(|error| Failure::Usage(format!("{}: {error}", self.name)))
    }
}

/// Reads the description of a machine.
fn read_machine(path: &Path) -> Result<Machine, Failure> {
    let bytes = std::fs::read(path)
        .map_err(|error| in_file(path, format!("it cannot be read: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|_| {
        in_file(
            path,
            "it is no description of a machine, but something else",
        )
    })?;
    Machine::from_toml(&text).map_err(|error| in_file(path, error))
}

/// Reads a recording.
pub fn read_recording(path: &Path) -> Result<Recording, Failure> {
    Recording::load(path).map_err(|error| in_file(path, error))
}

/// Prepares a recording, which was read there, for simulation under these policies.
pub fn prepare(
    path: &Path,
    recording: &Recording,
    policies: &[Policy],
) -> Result<Recorded, Failure> {
    let recorded = Recorded::new(recording).map_err(|error| in_file(path, error))?;
    let mut policies = policies.iter();
    let has_none = |policy: &&Policy| policy.waiting != Waiting::Spare;
    if recorded.needs_spares()
        && let Some(policy) = policies.find(has_none)
    {
        let spare = Policy {
            waiting: Waiting::Spare,
            ..*policy
        };
        let error = format!(
            "its futures are got by other tasks, or out of order; under {policy}, a task that waits \
             for one could wait for itself, as its worker runs other tasks on top: say {spare}"
        );
        return Err(in_file(path, error));
    }
    Ok(recorded)
}

/// Where results go, besides the table.
#[derive(clap::Args)]
pub struct Outputs {
    /// Draw a picture of the result, as SVG, to a file, or to standard output with -
    #[arg(long, value_name = "FILE.svg|-", value_parser = parse_picture)]
    plot: Option<PathBuf>,

    /// Write the result as JSON to a file, or to standard output with -
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
}

/// The same, once it is sure that they can be written.
pub struct Opened {
    plot: Option<Destination>,
    json: Option<Destination>,
}

impl Outputs {
    pub fn open(&self) -> Result<Opened, Failure> {
        if let (Some(plot), Some(json)) = (&self.plot, &self.json)
            && plot == json
        {
            let place = plot.display();
            return Err(Failure::usage(format_args!(
                "--plot and --json both go to {place}"
            )));
        }
        let open = |path: &Option<PathBuf>| path.as_deref().map(Destination::open).transpose();
        Ok(Opened {
            plot: open(&self.plot)?,
            json: open(&self.json)?,
        })
    }
}

impl Opened {
    /// Writes all that was asked for; the table goes to standard output, unless something
    /// else does.
    pub fn write(
        self,
        report: &impl serde::Serialize,
        table: impl FnOnce() -> String,
        picture: impl FnOnce() -> Picture,
    ) -> Result<(), Failure> {
        let is_standard_output = |destination: &Option<Destination>| {
            destination
                .as_ref()
                .is_some_and(Destination::is_standard_output)
        };
        if !is_standard_output(&self.plot) && !is_standard_output(&self.json) {
            purloin_command::print(&table())?;
        }
        if let Some(plot) = self.plot {
            plot.write_bytes(picture().svg()?.as_bytes())?;
        }
        match self.json {
            Some(json) => json.write(report),
            None => Ok(()),
        }
    }
}
