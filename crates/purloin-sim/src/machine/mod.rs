//! Descriptions of machines: [`Machine`].

mod file;

use std::fmt;

use crate::{Random, Time};

/// The times of operations on another core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Latency {
    /// The time of a steal.
    pub steal: Time,
    /// The time of a steal attempt that finds no task, at most that of a steal. A thief that finds
    /// tasks commits to them after this time.
    pub miss: Time,
    /// The time to look at what there is to steal.
    pub sample: Time,
    /// The time until a message arrives. An answer with tasks takes the rest of the time of a steal if
    /// that is longer.
    pub message: Time,
}

impl Latency {
    /// Returns latencies with this time for a steal, successful or not, and half of it for a look and
    /// for a message.
    fn of_steal(steal: Time) -> Latency {
        Latency {
            steal,
            miss: steal,
            sample: steal.scaled(0.5),
            message: steal.scaled(0.5),
        }
    }
}

/// A machine: nodes of sockets of cores.
///
/// A machine file is written in TOML:
///
/// ```
/// use purloin_sim::Machine;
///
/// let machine = Machine::from_toml(r#"
///     nodes = 32
///     sockets = 2        # per node
///     cores = 12         # per socket
///     ## task = "2ns"    # to spawn and join a task, instead of the recorded time
///     ## victim = "1us"  # a steal delays its victim by this time, instead of not at all
///
///     [socket]           # from core to core of a socket
///     steal = "1us"      # a steal
///     ## miss = "100ns"  # an attempt that finds no task; by default as long as a steal.
///     ##                   A thief that finds a task commits to it after this time
///     sample = "100ns"   # a look at what there is to steal
///     message = "100ns"  # until a message arrives. A request and an answer with tasks
///     ##                   together take at least as long as a steal
///
///     [node]             # from socket to socket of a node
///     steal = "2us"
///     sample = "300ns"
///     message = "300ns"
///
///     [network]          # from node to node
///     steal = "10us"
///     sample = "2us"
///     message = "2us"
/// "#)?;
/// assert_eq!(machine.size(), 768);
/// # Ok::<(), purloin_sim::MachineError>(())
/// ```
///
/// `nodes` and `sockets` have the default 1. The table `node` may be left out if there is one
/// socket per node, and `network` if there is one node. Without `task`, the tasks of a recorded
/// program cost the recorded time, and the tasks of other workloads cost nothing. The times in the
/// tables are fixed or, with `random = true`, means of exponential distributions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Machine {
    /// Number of cores.
    size: u32,
    /// Number of cores of a node.
    node: u32,
    /// Number of cores of a socket.
    socket: u32,
    /// The latencies from core to core of a socket, from socket to socket of a node, and from node
    /// to node.
    latencies: [Latency; 3],
    /// The time to spawn and join a task, if it does not depend on the program.
    task: Option<Time>,
    /// The time by which a steal delays its victim.
    victim: Time,
    /// Whether the latencies from node to node are known.
    has_network: bool,
    /// Whether the latencies are means of exponential distributions, as if cores stole at
    /// independent times. Otherwise they are fixed.
    is_random: bool,
}

impl Machine {
    /// Maximum number of cores.
    pub const MAX_CORES: u32 = 1 << 24;

    /// Returns the machine of Wool's model, in which all cores are equally far from each other.
    ///
    /// A steal takes a microsecond on average, and a look at a victim half of that.
    ///
    /// Source: Wool, section 4.
    pub fn wool(cores: u32) -> Machine {
        Machine::flat(cores, Latency::of_steal(Time::from_nanoseconds(1000)), true)
    }

    /// Returns a machine whose cores share memory. A steal takes a microsecond, including the cache
    /// misses for the data of the stolen task. A look or a message takes 100 ns.
    pub fn shared_memory(cores: u32) -> Machine {
        let latency = Latency {
            sample: Time::from_nanoseconds(100),
            message: Time::from_nanoseconds(100),
            ..Latency::of_steal(Time::from_nanoseconds(1000))
        };
        Machine::flat(cores, latency, false)
    }

    /// Returns a machine on which steals take no time: an idle core finds a task at once if there
    /// is one anywhere.
    ///
    /// Only these aspects of a policy make a difference there: how many tasks a thief gets, what a blocked
    /// worker does, how many ready tasks a worker may have, and how loops are split.
    pub fn ideal(cores: u32) -> Machine {
        Machine::flat(cores, Latency::of_steal(Time::ZERO), false)
    }

    /// Returns a machine with the same cores, but as near to each other as in one socket.
    pub fn all_near(&self) -> Machine {
        let machine = Machine::flat(self.size, self.latencies[0], self.is_random);
        machine.with_task(self.task).with_victim(self.victim)
    }

    /// Sets the time to spawn and join a task. With `None`, the
    /// [workload](crate::Workload::task) sets it.
    pub fn with_task(self, task: Option<Time>) -> Machine {
        Machine { task, ..self }
    }

    /// Sets the time by which a steal delays its victim: the victim takes it before its next stretch of
    /// work. On other machines than those of machine files, it is zero.
    ///
    /// A victim that waits at a join takes the time after it has waited, although a real one could take it
    /// meanwhile. A delay that is still to come when the program ends is not part of its time.
    pub fn with_victim(self, victim: Time) -> Machine {
        Machine { victim, ..self }
    }

    /// Returns a machine whose cores are all equally far from each other.
    fn flat(cores: u32, latency: Latency, is_random: bool) -> Machine {
        assert!((1..=Machine::MAX_CORES).contains(&cores), "{cores} cores");
        Machine {
            size: cores,
            node: cores,
            socket: cores,
            latencies: [latency; 3],
            task: None,
            victim: Time::ZERO,
            has_network: true,
            is_random,
        }
    }

    /// Creates a machine with `nodes` nodes of `sockets` sockets of `cores` cores. `latencies` has
    /// the latencies within a socket, within a node and between nodes. If `is_random`, they are
    /// means of exponential distributions.
    ///
    /// # Panics
    ///
    /// Panics if the number of cores is not from 1 to [`Machine::MAX_CORES`], or if a steal or a
    /// message takes no time.
    pub fn new(
        nodes: u32,
        sockets: u32,
        cores: u32,
        latencies: [Latency; 3],
        is_random: bool,
    ) -> Machine {
        let takes_time = |latency: &Latency| latency.steal.min(latency.message) > Time::ZERO;
        // Otherwise thieves would repeat failed attempts forever without advancing the time.
        assert!(latencies.iter().all(takes_time), "{latencies:?}");
        let size = product([nodes, sockets, cores]);
        assert!(
            (1..=u128::from(Machine::MAX_CORES)).contains(&size),
            "{size} cores"
        );
        Machine {
            size: size as u32,
            node: sockets * cores,
            socket: cores,
            latencies,
            task: None,
            victim: Time::ZERO,
            has_network: true,
            is_random,
        }
    }

    /// Parses a machine file.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not a valid machine file. Its message is one line.
    pub fn from_toml(text: &str) -> Result<Machine, MachineError> {
        file::parse(text)
    }

    /// Returns the same kind of machine with another number of cores: the first cores of this
    /// machine, or more nodes of the same kind.
    ///
    /// # Errors
    ///
    /// Returns an error if `size` cores need more than one node, and the latencies between nodes
    /// are not known.
    ///
    /// # Panics
    ///
    /// Panics if `size` is not from 1 to [`Machine::MAX_CORES`].
    pub fn with_size(&self, size: u32) -> Result<Machine, MachineError> {
        assert!((1..=Machine::MAX_CORES).contains(&size), "{size} cores");
        if size > self.node && !self.has_network {
            return Err(MachineError(format!(
                "the machine has {} cores; to simulate {size}, add a table [network] with the times \
                 between nodes",
                self.node
            )));
        }
        Ok(Machine {
            size,
            ..self.clone()
        })
    }

    /// Returns the number of cores.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Returns the time to spawn and join a task, if it does not depend on the program.
    pub fn task(&self) -> Option<Time> {
        self.task
    }

    /// Returns the time by which a steal delays its victim.
    pub fn victim(&self) -> Time {
        self.victim
    }

    /// Returns whether steals take no time.
    pub(crate) fn is_ideal(&self) -> bool {
        self.latencies[0].steal == Time::ZERO
    }

    /// Returns the first core and the number of cores of the socket of `core`, and of its node.
    pub(crate) fn neighbours(&self, core: u32) -> [(u32, u32); 2] {
        [self.socket, self.node].map(|group| {
            let first = core / group * group;
            (first, group.min(self.size - first))
        })
    }

    /// Returns the latencies from one core to another.
    pub(crate) fn latency(&self, from: u32, to: u32) -> &Latency {
        let distance = match () {
            () if from / self.socket == to / self.socket => 0,
            () if from / self.node == to / self.node => 1,
            () => 2,
        };
        &self.latencies[distance]
    }

    /// Returns the times of a failed attempt from core to core of a socket, from socket to socket of a
    /// node, and from node to node.
    pub(crate) fn misses(&self) -> [Time; 3] {
        self.latencies.map(|latency| latency.miss)
    }

    /// Returns whether all cores are equally far from each other.
    pub fn is_flat(&self) -> bool {
        let [socket, node, network] = self.latencies;
        self.size <= self.socket || socket == node && (self.size <= self.node || node == network)
    }

    /// Draws the duration of an operation with this mean.
    pub(crate) fn draw(&self, mean: Time, random: &mut Random) -> Time {
        match self.is_random {
            true => mean.scaled(random.exponential()),
            false => mean,
        }
    }

    /// Draws the remaining duration of an operation with this mean that began some time ago.
    pub(crate) fn draw_rest(&self, mean: Time, random: &mut Random) -> Time {
        match self.is_random {
            // An exponential distribution has no memory.
            true => self.draw(mean, random),
            false => mean.scaled(random.unit()),
        }
    }
}

/// The error of a machine file, or of a change of a machine's size. `Display` writes one line.
#[derive(Clone, PartialEq, Eq)]
pub struct MachineError(String);

impl fmt::Display for MachineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The text of the error: `main` and `unwrap` print errors in this form.
impl fmt::Debug for MachineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for MachineError {}

/// Returns the total number of cores. The result cannot overflow.
fn product(counts: [u32; 3]) -> u128 {
    counts.into_iter().map(u128::from).product()
}

#[cfg(test)]
mod tests {
    use super::file::tests::SMALL;
    use super::*;

    #[test]
    fn latencies_depend_on_the_distance_of_cores() {
        let mut machine = Machine::from_toml(SMALL).unwrap();
        let [near, mut middle, mut far] = machine.latencies;
        (middle.steal, far.steal) = (Time::from_nanoseconds(2), Time::from_nanoseconds(3));
        machine = Machine::new(3, 2, 4, [near, middle, far], false);
        for (core, latency) in [(0, near), (3, near), (4, middle), (7, middle), (8, far)] {
            assert_eq!(machine.latency(2, core), &latency);
            assert_eq!(machine.latency(core, 2), &latency);
        }
        assert_eq!(machine.neighbours(13), [(12, 4), (8, 8)]);
        let fewer = machine.with_size(14).unwrap();
        assert_eq!(fewer.neighbours(13), [(12, 2), (8, 6)]);
        assert_eq!(machine.with_size(100).unwrap().size(), 100);
        let alone = Machine::from_toml(SMALL).unwrap();
        assert_eq!(alone.with_size(4), Ok(alone.clone()));
        let error = alone.with_size(5).unwrap_err().to_string();
        assert!(
            error.contains("the machine has 4 cores; to simulate 5"),
            "{error}"
        );
    }
}
