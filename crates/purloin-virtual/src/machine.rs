//! A machine: how many cores it has, how far they are from each other, and what an operation costs.

use std::fmt;
use std::path::Path;

use serde::Deserialize;

/// Maximum number of cores of a machine.
pub const MAX_CORES: usize = 256;

/// A machine, as its file describes it. All times are in nanoseconds.
///
/// ```
/// use purloin_virtual::Machine;
///
/// let machine = Machine::named("epyc-7763")?;
/// assert_eq!(machine.topology.cores, 64);
/// # Ok::<(), purloin_virtual::MachineError>(())
/// ```
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// A name for people.
    pub name: String,
    /// Where the figures come from.
    pub sources: Vec<String>,
    /// The cores, and which of them share a cache or a socket.
    pub topology: Topology,
    /// The time to get a cache line.
    pub latency: Latency,
    /// The time that one core needs for an operation on its own.
    pub core: Core,
    /// The time that the operating system needs.
    pub system: System,
}

/// The cores of a machine. A core runs one thread at a time.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// Number of cores.
    pub cores: usize,
    /// Number of cores that share a last-level cache.
    pub cluster: usize,
    /// Number of cores of a socket.
    pub socket: usize,
}

/// The time to load a cache line, by the place where it is.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Another core of the same cluster has modified the line.
    pub cluster: f64,
    /// A core of another cluster of the same socket has modified the line.
    pub socket: f64,
    /// A core of another socket has modified the line. Absent on a machine with one socket.
    pub remote: Option<f64>,
    /// A clean copy is in the last-level cache of the cluster.
    pub cache: f64,
    /// The line is in memory only.
    pub memory: f64,
}

/// The times that one core needs for operations on its own.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// Cycles in a nanosecond.
    pub ghz: f64,
    /// A load or store of a line that the core has.
    pub load: f64,
    /// An atomic read-modify-write of a line that only this core has.
    pub locked: f64,
    /// A full fence without pending stores.
    pub fence: f64,
    /// The instruction that says that the thread spins.
    pub pause: f64,
    /// A look at the clock.
    pub clock: f64,
}

/// The times that the operating system needs.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// The system call with which a thread goes to sleep.
    pub park: f64,
    /// The system call that wakes a thread, as its caller pays it.
    pub wake: f64,
    /// From the wake-up to the first instruction of the thread on an idle core.
    pub wake_latency: f64,
    /// From one thread to another on the same core.
    pub switch: f64,
    /// The system call that yields the core, if no other thread waits for it.
    #[serde(rename = "yield")]
    pub yield_now: f64,
    /// The time for which a thread keeps a core that another thread waits for.
    pub slice: f64,
    /// `membarrier` without its interrupts.
    pub membarrier: f64,
    /// The time that each interrupted core adds to `membarrier`.
    pub interrupt: f64,
    /// The time that an interrupted core loses.
    pub interrupted: f64,
    /// The system call that starts a thread.
    pub start_thread: f64,
}

/// Why a machine cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineError(String);

impl fmt::Display for MachineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for MachineError {}

/// Lists the machines that come with this crate: the name to ask for, and the file.
macro_rules! built_in {
    ($($name:literal)+) => {
        &[$(($name, include_str!(concat!("../machines/", $name, ".toml")))),+]
    };
}

const BUILT_IN: &[(&str, &str)] = built_in! {
    "two-cores"
    "ryzen-5950x"
    "xeon-e5-2450-x2"
    "epyc-7742"
    "epyc-7763"
    "xeon-8375c-x2"
    "epyc-9965"
    "graviton4-x2"
};

impl Machine {
    /// Returns the names of the machines that come with this crate.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// Returns a machine that comes with this crate.
    ///
    /// # Errors
    ///
    /// Returns an error that lists the names if there is no such machine.
    pub fn named(name: &str) -> Result<Machine, MachineError> {
        match BUILT_IN.iter().find(|(known, _)| *known == name) {
            Some((name, file)) => Machine::parse(name, file),
            None => {
                let names: Vec<_> = Machine::names().collect();
                Err(MachineError(format!(
                    "no machine \"{name}\"; the machines are {}, or name a file that ends in .toml",
                    names.join(", ")
                )))
            }
        }
    }

    /// Returns the machine that a file describes.
    ///
    /// # Errors
    ///
    /// Returns an error that names the file and the entry at fault if the file cannot be read, is not valid TOML, or
    /// describes an impossible machine.
    pub fn from_file(path: &Path) -> Result<Machine, MachineError> {
        let name = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Machine::parse(&name, &text),
            Err(error) => Err(MachineError(format!("{name}: {error}"))),
        }
    }

    fn parse(origin: &str, text: &str) -> Result<Machine, MachineError> {
        let machine: Machine = toml::from_str(text).map_err(|error| {
            let line = error
                .span()
                .map(|span| text[..span.start].matches('\n').count() + 1);
            let place = line.map_or(String::new(), |line| format!(":{line}"));
            MachineError(format!(
                "{origin}{place}: {}",
                error.message().replace('\n', " ")
            ))
        })?;
        match machine.fault() {
            None => Ok(machine),
            Some(fault) => Err(MachineError(format!("{origin}: {fault}"))),
        }
    }

    /// Returns this machine with only its first `cores` cores.
    ///
    /// # Errors
    ///
    /// Returns an error if the machine has fewer cores, or if `cores` is zero.
    pub fn with_cores(mut self, cores: usize) -> Result<Machine, MachineError> {
        let max = self.topology.cores;
        if !(1..=max).contains(&cores) {
            let name = &self.name;
            return Err(MachineError(format!(
                "{name} has 1 to {max} cores, not {cores}"
            )));
        }
        self.topology.cores = cores;
        Ok(self)
    }

    /// Returns the usual time of a unit of [counted work](crate::counted), in picoseconds: an instruction has four bytes, and a
    /// core executes two in a cycle.
    pub(crate) fn usual_work(&self) -> f64 {
        1000.0 / self.core.ghz / 8.0
    }

    /// Returns what makes this machine impossible.
    fn fault(&self) -> Option<String> {
        let Topology {
            cores,
            cluster,
            socket,
        } = self.topology;
        if !(1..=MAX_CORES).contains(&cores) {
            return Some(format!(
                "cores = {cores}, but a machine has 1 to {MAX_CORES} cores"
            ));
        }
        if cluster == 0 || socket == 0 || !socket.is_multiple_of(cluster) {
            return Some(format!(
                "cluster = {cluster} and socket = {socket}, but a socket has a whole number of clusters"
            ));
        }
        if cores > socket && self.latency.remote.is_none() {
            return Some("remote is missing, although the machine has several sockets".to_string());
        }
        let ghz = self.core.ghz;
        if !(0.1..=20.0).contains(&ghz) {
            return Some(format!(
                "core.ghz = {ghz}, but a core has 0.1 to 20 cycles in a nanosecond"
            ));
        }
        let mut times = self.times();
        let (name, value) = times.find(|(_, value)| !(0.0..=1e9).contains(value))?;
        Some(format!(
            "{name} = {value}, but a time has 0 to 1e9 nanoseconds"
        ))
    }

    fn times(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let (latency, core, system) = (&self.latency, &self.core, &self.system);
        [
            ("latency.cluster", latency.cluster),
            ("latency.socket", latency.socket),
            ("latency.remote", latency.remote.unwrap_or(0.0)),
            ("latency.cache", latency.cache),
            ("latency.memory", latency.memory),
            ("core.load", core.load),
            ("core.locked", core.locked),
            ("core.fence", core.fence),
            ("core.pause", core.pause),
            ("core.clock", core.clock),
            ("system.park", system.park),
            ("system.wake", system.wake),
            ("system.wake_latency", system.wake_latency),
            ("system.switch", system.switch),
            ("system.yield", system.yield_now),
            ("system.slice", system.slice),
            ("system.membarrier", system.membarrier),
            ("system.interrupt", system.interrupt),
            ("system.interrupted", system.interrupted),
            ("system.start_thread", system.start_thread),
        ]
        .into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_machine_that_comes_with_the_crate_is_possible() {
        for name in Machine::names() {
            let machine = Machine::named(name).unwrap();
            assert!(!machine.sources.is_empty(), "{name}");
        }
    }

    #[test]
    fn a_mistake_in_a_file_is_named_with_its_line() {
        let (_, file) = BUILT_IN[0];
        let error = |text: &str| Machine::parse("my.toml", text).unwrap_err().to_string();
        let unknown = error(&file.replace("park =", "parks ="));
        assert!(
            unknown.starts_with("my.toml:") && unknown.contains("parks"),
            "{unknown}"
        );
        let missing = error(&file.replace("cluster = 2\n", ""));
        assert!(missing.contains("missing field `cluster`"), "{missing}");
        assert_eq!(
            error(&file.replace("cores = 2", "cores = 300")),
            "my.toml: cores = 300, but a machine has 1 to 256 cores"
        );
        let negative = error(&file.replace("clock = 20", "clock = -1"));
        assert_eq!(
            negative,
            "my.toml: core.clock = -1, but a time has 0 to 1e9 nanoseconds"
        );
        let stopped = error(&file.replace("ghz = 3.4", "ghz = 0"));
        assert_eq!(
            stopped,
            "my.toml: core.ghz = 0, but a core has 0.1 to 20 cycles in a nanosecond"
        );
        let name = Machine::named("epyc").unwrap_err().to_string();
        assert!(
            name.starts_with("no machine \"epyc\"; the machines are two-cores, "),
            "{name}"
        );
    }
}
