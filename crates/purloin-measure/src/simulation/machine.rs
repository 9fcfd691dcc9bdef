//! Machine models from files: [`MachineModel`].

use std::path::Path;

use purloin_command::Failure;
use purloin_sim::{Machine, Time};

/// The format of a machine file, for `--help`.
pub const MACHINE_HELP: &str = "A machine file (TOML) looks like this:

  nodes = 32
  sockets = 2        # per node
  cores = 12         # per socket
  # task = \"2ns\"     # to spawn and join a task, instead of the recorded time
  # victim = \"1us\"   # a steal delays its victim by this time, instead of not at all
  [socket]           # times from core to core of a socket
  steal = \"1us\"      # a steal
  # miss = \"100ns\"   # an attempt that finds no task; by default as long as a steal.
                     # A thief that finds a task commits to it after this time
  sample = \"100ns\"   # a look at a victim's tasks
  message = \"100ns\"  # until a message arrives. A request and an answer with tasks together
                     # take at least as long as a steal
  [node]             # times from socket to socket of a node
  steal = \"2us\"
  sample = \"300ns\"
  message = \"300ns\"
  [network]          # times from node to node
  steal = \"10us\"
  sample = \"2us\"
  message = \"2us\"

nodes and sockets default to 1. [node] is needed for several sockets, [network] for several nodes.
Without task, a task of a recording costs its recorded time, and a task of any other workload costs
nothing. With random = true, the times are means of exponential distributions.";

/// A machine that can be scaled to any number of cores.
pub struct MachineModel {
    /// The name in reports: the path of the file, or the name of the built-in model.
    pub name: String,
    /// The number of cores that the file describes; `None` for a built-in model.
    pub cores: Option<u32>,
    machine: Machine,
}

impl MachineModel {
    /// Reads the model from a file; without a path, returns the built-in `default` model.
    pub fn read(path: Option<&Path>, name: &str, default: Machine) -> Result<Self, Failure> {
        let Some(path) = path else {
            return Ok(MachineModel {
                name: name.to_owned(),
                cores: None,
                machine: default,
            });
        };
        let machine = read_machine(path)?;
        Ok(MachineModel {
            name: path.display().to_string(),
            cores: Some(machine.size()),
            machine,
        })
    }

    /// Returns the cost of a task, if the machine determines it rather than the program.
    pub fn task(&self) -> Option<Time> {
        self.machine.task()
    }

    /// Returns the machine scaled to this number of cores.
    pub fn with_cores(&self, cores: u32) -> Result<Machine, Failure> {
        let machine = self.machine.with_size(cores);
        machine.map_err(|error| Failure::Usage(format!("{}: {error}", self.name)))
    }
}

fn read_machine(path: &Path) -> Result<Machine, Failure> {
    let bytes = std::fs::read(path)
        .map_err(|error| Failure::in_file(path, format!("cannot be read: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|_| {
        Failure::in_file(path, "not valid TOML: it contains bytes that are not text")
    })?;
    Machine::from_toml(&text).map_err(|error| Failure::in_file(path, error))
}
