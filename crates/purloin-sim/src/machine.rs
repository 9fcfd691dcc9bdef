//! What a machine looks like: [`Machine`].

use std::fmt;

use serde::Deserialize;

use crate::{Random, Time};

/// What it takes to reach another core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reach {
    /// To steal there, or to try to.
    pub steal: Time,
    /// To look what there is to steal.
    pub sample: Time,
    /// For a message to arrive.
    pub message: Time,
}

impl Reach {
    /// One where a look and a message take half as long as a steal.
    fn of_steal(steal: Time) -> Reach {
        Reach {
            steal,
            sample: steal.scaled(0.5),
            message: steal.scaled(0.5),
        }
    }
}

/// A machine: nodes of sockets of cores.
///
/// It is written as TOML:
///
/// ```
/// use purloin_sim::Machine;
///
/// let machine = Machine::from_toml(r#"
///     nodes = 32
///     sockets = 2        # of a node
///     cores = 12         # of a socket
///     # task = "2ns"     # to spawn a task and to join it, instead of what was recorded
///
///     [socket]           # from core to core of a socket
///     steal = "1us"      # a steal, in vain or not
///     sample = "100ns"   # a look at what there is to steal
///     message = "100ns"  # until a message arrives
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
/// # Ok::<(), purloin_sim::NoMachine>(())
/// ```
///
/// `nodes` and `sockets` are 1 if they are left out, and `node` or `network` may be if there is one
/// socket or node. Without `task`, the tasks of a recorded program cost what was recorded, and
/// those of other workloads nothing. With `random = true`, the times of the tables are means of
/// exponential distributions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Machine {
    size: u32,
    /// How many cores a node has, and a socket.
    node: u32,
    socket: u32,
    /// From core to core of a socket, from socket to socket of a node, from node to node.
    reaches: [Reach; 3],
    /// What it takes to spawn a task and to join it, if that does not depend on the program.
    task: Option<Time>,
    /// Whether it is known what it takes to reach another node.
    has_network: bool,
    /// Whether these times are means of exponential distributions, as if cores stole at
    /// times that are independent of one another; otherwise they are always the same.
    is_random: bool,
}

impl Machine {
    /// The most cores that a machine may have.
    pub const MOST: u32 = 1 << 24;

    /// The one of the paper's model: cores that are all equally far from one another.
    ///
    /// A steal takes a microsecond on average, and a sample half of that.
    ///
    /// Source: Wool, section 4.
    pub fn wool(cores: u32) -> Machine {
        Machine::flat(cores, Reach::of_steal(Time::from_nanoseconds(1000)), true)
    }

    /// Cores that share memory: a steal takes a microsecond, with the cache misses of what is
    /// stolen; a look or a message takes 100 ns.
    pub fn shared_memory(cores: u32) -> Machine {
        let reach = Reach {
            sample: Time::from_nanoseconds(100),
            message: Time::from_nanoseconds(100),
            ..Reach::of_steal(Time::from_nanoseconds(1000))
        };
        Machine::flat(cores, reach, false)
    }

    /// One on which steals cost nothing: whoever has nothing to do finds a task at once, if there
    /// is one anywhere.
    ///
    /// Of a policy, only how much is stolen and what a blocked worker does make a difference
    /// there.
    pub fn ideal(cores: u32) -> Machine {
        Machine::flat(cores, Reach::of_steal(Time::ZERO), false)
    }

    /// The same cores, all as near as if they shared a socket.
    pub fn all_near(&self) -> Machine {
        Machine::flat(self.size, self.reaches[0], self.is_random).with_task(self.task)
    }

    /// The same machine, where it takes so long to spawn a task and to join it; with none, as
    /// long as the [workload](crate::Workload::task) says.
    pub fn with_task(self, task: Option<Time>) -> Machine {
        Machine { task, ..self }
    }

    fn flat(cores: u32, reach: Reach, is_random: bool) -> Machine {
        assert!((1..=Machine::MOST).contains(&cores), "{cores} cores");
        Machine {
            size: cores,
            node: cores,
            socket: cores,
            reaches: [reach; 3],
            task: None,
            has_network: true,
            is_random,
        }
    }

    /// So many nodes of so many sockets of so many cores. The reaches are those within a socket,
    /// a node, and the machine; if they are random, they are means of exponential
    /// distributions.
    ///
    /// # Panics
    ///
    /// If there is no core, or more than [`Machine::MOST`]; if a steal or a message takes no time.
    pub fn new(
        nodes: u32,
        sockets: u32,
        cores: u32,
        reaches: [Reach; 3],
        is_random: bool,
    ) -> Machine {
        let takes_time = |reach: &Reach| reach.steal.min(reach.message) > Time::ZERO;
        // Or thieves would ask in vain for ever, at the same time.
        assert!(reaches.iter().all(takes_time), "{reaches:?}");
        let size = product([nodes, sockets, cores]);
        assert!(
            (1..=u128::from(Machine::MOST)).contains(&size),
            "{size} cores"
        );
        Machine {
            size: size as u32,
            node: sockets * cores,
            socket: cores,
            reaches,
            task: None,
            has_network: true,
            is_random,
        }
    }

    /// Reads one that is written as TOML.
    ///
    /// # Errors
    ///
    /// If the text is no machine: in one line, what is wrong with it.
    pub fn from_toml(text: &str) -> Result<Machine, NoMachine> {
        let written: Written = toml::from_str(text).map_err(|error| {
            let place = error.span().map(|span| {
                let line = text[..span.start].matches('\n').count() + 1;
                format!("line {line}: ")
            });
            let message = error.message().replace('\n', " ");
            let counts = format!("expected a whole number up to {}", Machine::MOST);
            let message = message.replace("expected u32", &counts);
            let message = message.replace("expected i64", &counts);
            let message = message.replace("expected a string", "expected a time such as \"1us\"");
            NoMachine(format!("{}{message}", place.unwrap_or_default()))
        })?;
        written.machine()
    }

    /// The same kind of machine with so many cores: its first ones, or more nodes of them.
    ///
    /// # Errors
    ///
    /// If it is not known what it takes to reach another node.
    ///
    /// # Panics
    ///
    /// If there is no core, or more than [`Machine::MOST`].
    pub fn with_size(&self, size: u32) -> Result<Machine, NoMachine> {
        assert!((1..=Machine::MOST).contains(&size), "{size} cores");
        if size > self.node && !self.has_network {
            return Err(NoMachine(format!(
                "it has {} cores; to simulate {size}, say in [network] what it takes to reach \
                 another node's cores",
                self.node
            )));
        }
        Ok(Machine {
            size,
            ..self.clone()
        })
    }

    /// How many cores there are in all.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// What it takes to spawn a task and to join it, if that does not depend on the program.
    pub fn task(&self) -> Option<Time> {
        self.task
    }

    /// Whether steals cost nothing.
    pub(crate) fn is_ideal(&self) -> bool {
        self.reaches[0].steal == Time::ZERO
    }

    /// The first core of a core's socket and how many this has, and the same of its node.
    pub(crate) fn neighbours(&self, core: u32) -> [(u32, u32); 2] {
        [self.socket, self.node].map(|group| {
            let first = core / group * group;
            (first, group.min(self.size - first))
        })
    }

    /// What it takes to reach one core from another.
    pub(crate) fn reach(&self, from: u32, to: u32) -> &Reach {
        let distance = match () {
            () if from / self.socket == to / self.socket => 0,
            () if from / self.node == to / self.node => 1,
            () => 2,
        };
        &self.reaches[distance]
    }

    /// Whether all cores are equally far from one another.
    pub fn is_flat(&self) -> bool {
        let [socket, node, network] = self.reaches;
        self.size <= self.socket || socket == node && (self.size <= self.node || node == network)
    }

    /// How long something takes now that takes so long on average.
    pub(crate) fn draw(&self, mean: Time, random: &mut Random) -> Time {
        match self.is_random {
            true => mean.scaled(random.exponential()),
            false => mean,
        }
    }

    /// How long something goes on that takes so long on average, and was begun some time ago.
    pub(crate) fn draw_rest(&self, mean: Time, random: &mut Random) -> Time {
        match self.is_random {
            // As long as from its beginning.
            true => self.draw(mean, random),
            false => mean.scaled(random.unit()),
        }
    }
}

/// What a text says that is no machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoMachine(String);

impl fmt::Display for NoMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoMachine {}

/// A machine as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default = "one")]
    nodes: u32,
    #[serde(default = "one")]
    sockets: u32,
    cores: u32,
    task: Option<String>,
    #[serde(default)]
    random: bool,
    socket: WrittenReach,
    node: Option<WrittenReach>,
    network: Option<WrittenReach>,
}

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table of steal, sample and message"
)]
struct WrittenReach {
    steal: String,
    sample: String,
    message: String,
}

/// How many cores there are.
fn product(counts: [u32; 3]) -> u128 {
    counts.into_iter().map(u128::from).product()
}

fn one() -> u32 {
    1
}

impl Written {
    fn machine(self) -> Result<Machine, NoMachine> {
        let size = product([self.nodes, self.sockets, self.cores]);
        if !(1..=u128::from(Machine::MOST)).contains(&size) {
            return Err(NoMachine(format!(
                "nodes x sockets x cores is {size}; it may be from 1 to {}",
                Machine::MOST
            )));
        }
        let needed = |reach: &Option<_>, name: &str, part: &str, count: u32| match reach {
            None if count > 1 => Err(NoMachine(format!(
                "[{name}] is missing: what it takes to reach another {part}'s cores"
            ))),
            _ => Ok(()),
        };
        needed(&self.node, "node", "socket", self.sockets)?;
        needed(&self.network, "network", "node", self.nodes)?;
        let has_network = self.network.is_some();
        let socket = self.socket.reach("socket")?;
        let node = match self.node {
            Some(node) => node.reach("node")?,
            None => socket,
        };
        let network = match self.network {
            Some(network) => network.reach("network")?,
            None => node,
        };
        let reaches = [socket, node, network];
        let (nodes, sockets, cores) = (self.nodes, self.sockets, self.cores);
        let machine = Machine {
            has_network,
            ..Machine::new(nodes, sockets, cores, reaches, self.random)
        };
        match self.task.as_deref().map(str::parse) {
            None => Ok(machine),
            Some(Ok(task)) => Ok(machine.with_task(Some(task))),
            Some(Err(error)) => Err(NoMachine(format!("task: {error}"))),
        }
    }
}

impl WrittenReach {
    fn reach(&self, name: &str) -> Result<Reach, NoMachine> {
        let time = |field: &str, text: &str| {
            let time = text.parse::<Time>();
            time.map_err(|error| NoMachine(format!("[{name}] {field}: {error}")))
        };
        let reach = Reach {
            steal: time("steal", &self.steal)?,
            sample: time("sample", &self.sample)?,
            message: time("message", &self.message)?,
        };
        for (field, time) in [("steal", reach.steal), ("message", reach.message)] {
            // Or thieves would ask in vain for ever, at the same time.
            if time == Time::ZERO {
                return Err(NoMachine(format!(
                    "[{name}] {field}: it must be more than 0"
                )));
            }
        }
        Ok(reach)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
cores = 4
[socket]
steal = "100ns"
sample = "50ns"
message = "50ns"
"#;

    #[test]
    fn cores_are_near_and_far() {
        let mut machine = Machine::from_toml(SMALL).unwrap();
        let [near, mut middle, mut far] = machine.reaches;
        (middle.steal, far.steal) = (Time::from_nanoseconds(2), Time::from_nanoseconds(3));
        machine = Machine::new(3, 2, 4, [near, middle, far], false);
        for (core, reach) in [(0, near), (3, near), (4, middle), (7, middle), (8, far)] {
            assert_eq!(machine.reach(2, core), &reach);
            assert_eq!(machine.reach(core, 2), &reach);
        }
        assert_eq!(machine.neighbours(13), [(12, 4), (8, 8)]);
        let fewer = machine.with_size(14).unwrap();
        assert_eq!(fewer.neighbours(13), [(12, 2), (8, 6)]);
        assert_eq!(machine.with_size(100).unwrap().size(), 100);
        let alone = Machine::from_toml(SMALL).unwrap();
        assert_eq!(alone.with_size(4), Ok(alone.clone()));
        let error = alone.with_size(5).unwrap_err().to_string();
        assert!(error.contains("it has 4 cores; to simulate 5"), "{error}");
    }

    #[test]
    fn what_is_no_machine_is_told_in_one_line() {
        let replaced = |a: &str, b: &str| SMALL.replace(a, b);
        for (text, why) in [
            (replaced("cores = 4", "cores = 0"), "from 1 to"),
            (
                replaced("cores = 4", "cores = -1"),
                "line 2: invalid value: integer `-1`, expected a whole number up to",
            ),
            (
                "cores = 4\nsocket = 3".to_owned(),
                "expected a table of steal",
            ),
            (replaced("cores = 4", ""), "cores"),
            (
                replaced("cores = 4", "cores = 4\nnodes = 5000000"),
                "from 1 to",
            ),
            (
                replaced(
                    "cores = 4",
                    "cores = 2977518503\nsockets = 289529\nnodes = 21398",
                ),
                "from 1 to",
            ),
            (
                replaced("cores = 4", "cores = 4\nsockets = 2"),
                "[node] is missing: what it takes to reach another socket",
            ),
            (
                replaced("cores = 4", "cores = 4\nnodes = 2"),
                "[network] is missing: what it takes to reach another node",
            ),
            (replaced("cores = 4", "cores = 4\ncolour = 2"), "colour"),
            (
                replaced("100ns", "-100ns"),
                "[socket] steal: \"-100ns\" is no time: it is negative",
            ),
            (replaced("100ns", "0ns"), "more than 0"),
            (
                replaced("\"100ns\"", "500"),
                "line 4: invalid type: integer `500`, expected a time such as",
            ),
            (
                replaced("cores = 4", "cores = 99999999999"),
                "expected a whole number up to 16777216",
            ),
            (
                replaced("cores = 4", "cores = 99999999999999999999"),
                "up to 16777216",
            ),
            (
                replaced("cores = 4", "cores = 4\ntask = '-1ns'"),
                "task: \"-1ns\"",
            ),
            (replaced("100ns", "100"), "unit"),
            (replaced("[socket]", "[sockt]"), "sockt"),
            (replaced("=", ":"), "line 2"),
        ] {
            let error = Machine::from_toml(&text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }
}
