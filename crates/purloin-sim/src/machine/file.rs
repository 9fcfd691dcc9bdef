//! Parses machine files: [`parse`].

use serde::Deserialize;

use super::{Latency, Machine, MachineError, product};
use crate::Time;

/// Parses a machine file.
pub(super) fn parse(text: &str) -> Result<Machine, MachineError> {
    let written: MachineFile = toml::from_str(text).map_err(|error| {
        let place = error.span().map(|span| {
            let line = text[..span.start].matches('\n').count() + 1;
            format!("line {line}: ")
        });
        let message = in_words_of_toml(error.message());
        MachineError(format!("{}{message}", place.unwrap_or_default()))
    })?;
    written.machine()
}

/// The contents of a machine file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MachineFile {
    #[serde(default = "one")]
    nodes: u32,
    #[serde(default = "one")]
    sockets: u32,
    cores: u32,
    task: Option<String>,
    victim: Option<String>,
    #[serde(default)]
    random: bool,
    socket: Option<LatencyTable>,
    node: Option<LatencyTable>,
    network: Option<LatencyTable>,
}

/// The table of latencies within a socket, within a node or between nodes.
#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table of steal, miss, sample and message"
)]
struct LatencyTable {
    steal: String,
    miss: Option<String>,
    sample: String,
    message: String,
}

/// Translates an error message of the TOML parser from Rust's words to TOML's, in one line.
fn in_words_of_toml(message: &str) -> String {
    let whole_number = format!("expected a whole number from 1 to {}", Machine::MAX_CORES);
    let mut message = message.replace('\n', " ");
    for (rust, toml) in [
        ("missing field", "missing key"),
        ("unknown field", "unknown key"),
        ("invalid type: integer", "found the number"),
        ("invalid value: integer", "found the number"),
        ("invalid type: floating point", "found the number"),
        ("invalid type: boolean", "found"),
        ("invalid type: string", "found the text"),
        ("invalid type: sequence", "found an array"),
        ("invalid type: map", "found a table"),
        (" as i128", ""),
        (" as u128", ""),
        ("expected u32", &whole_number),
        ("expected i64", &whole_number),
        ("expected a string", "expected a time such as \"1us\""),
        ("expected a boolean", "expected true or false"),
    ] {
        message = message.replace(rust, toml);
    }
    message
}

/// The default number of nodes and of sockets.
fn one() -> u32 {
    1
}

impl MachineFile {
    fn machine(self) -> Result<Machine, MachineError> {
        let size = product([self.nodes, self.sockets, self.cores]);
        if !(1..=u128::from(Machine::MAX_CORES)).contains(&size) {
            return Err(MachineError(format!(
                "nodes x sockets x cores is {size}; it must be from 1 to {}",
                Machine::MAX_CORES
            )));
        }
        let missing =
            |name: &str, what: &str| MachineError(format!("[{name}] is missing: the times {what}"));
        let has_network = self.network.is_some();
        let socket = match self.socket {
            Some(socket) => socket.latency("socket")?,
            None => return Err(missing("socket", "from core to core of a socket")),
        };
        let node = match self.node {
            Some(node) => node.latency("node")?,
            None if self.sockets > 1 => {
                return Err(missing("node", "from socket to socket of a node"));
            }
            None => socket,
        };
        let network = match self.network {
            Some(network) => network.latency("network")?,
            None if self.nodes > 1 => return Err(missing("network", "from node to node")),
            None => node,
        };
        let latencies = [socket, node, network];
        let (nodes, sockets, cores) = (self.nodes, self.sockets, self.cores);
        let machine = Machine {
            has_network,
            ..Machine::new(nodes, sockets, cores, latencies, self.random)
        };
        let time = |key: &str, text: Option<String>| {
            let time = text.map(|text| text.parse::<Time>()).transpose();
            time.map_err(|error| MachineError(format!("{key}: {error}")))
        };
        let victim = time("victim", self.victim)?.unwrap_or(Time::ZERO);
        let task = time("task", self.task)?;
        Ok(machine.with_task(task).with_victim(victim))
    }
}

impl LatencyTable {
    fn latency(&self, name: &str) -> Result<Latency, MachineError> {
        let time = |field: &str, text: &str| {
            let time = text.parse::<Time>();
            time.map_err(|error| MachineError(format!("[{name}] {field}: {error}")))
        };
        let steal = time("steal", &self.steal)?;
        let latency = Latency {
            steal,
            miss: match &self.miss {
                Some(miss) => time("miss", miss)?,
                None => steal,
            },
            sample: time("sample", &self.sample)?,
            message: time("message", &self.message)?,
        };
        for (field, time) in [
            ("steal", latency.steal),
            ("miss", latency.miss),
            ("message", latency.message),
        ] {
            // Otherwise thieves would repeat failed attempts forever without advancing the time.
            if time == Time::ZERO {
                return Err(MachineError(format!(
                    "[{name}] {field}: the time must be more than 0"
                )));
            }
        }
        if latency.miss > steal {
            return Err(MachineError(format!(
                "[{name}] miss: a failed attempt cannot take longer than a steal, {steal}"
            )));
        }
        Ok(latency)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub const SMALL: &str = r#"
cores = 4
[socket]
steal = "100ns"
sample = "50ns"
message = "50ns"
"#;

    #[test]
    fn errors_in_machine_files_are_one_line_in_words_of_toml() {
        let replaced = |a: &str, b: &str| SMALL.replace(a, b);
        for (text, why) in [
            (replaced("cores = 4", "cores = 0"), "from 1 to"),
            (
                replaced("cores = 4", "cores = -1"),
                "line 2: found the number `-1`, expected a whole number from 1 to",
            ),
            (
                "cores = 4\nsocket = 3".to_owned(),
                "line 2: found the number `3`, expected a table of steal",
            ),
            (replaced("cores = 4", ""), "missing key `cores`"),
            (
                "cores = 4".to_owned(),
                "[socket] is missing: the times from core to core",
            ),
            (
                replaced("cores = 4", "cores = true"),
                "found `true`, expected a whole number",
            ),
            (
                replaced("cores = 4", "cores = [4]"),
                "found an array, expected a whole number",
            ),
            (
                replaced("cores = 4", "cores = 1.5"),
                "found the number `1.5`, expected a whole",
            ),
            (
                replaced("cores = 4", "cores = '4'"),
                "found the text \"4\", expected a whole",
            ),
            (
                replaced("cores = 4", "cores = 4\nrandom = 1"),
                "expected true or false",
            ),
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
                "[node] is missing: the times from socket to socket of a node",
            ),
            (
                replaced("cores = 4", "cores = 4\nnodes = 2"),
                "[network] is missing: the times from node to node",
            ),
            (
                replaced("cores = 4", "cores = 4\ncolour = 2"),
                "unknown key `colour`",
            ),
            (
                replaced("100ns", "-100ns"),
                "[socket] steal: \"-100ns\" is not a time: it must not be negative",
            ),
            (replaced("100ns", "0ns"), "more than 0"),
            (
                replaced("\"100ns\"", "500"),
                "line 4: found the number `500`, expected a time such as",
            ),
            (
                replaced("cores = 4", "cores = 99999999999"),
                "expected a whole number from 1 to 16777216",
            ),
            (
                replaced("cores = 4", "cores = 99999999999999999999"),
                "found the number `99999999999999999999`, expected a whole number from 1",
            ),
            (
                replaced("cores = 4", "cores = 4\ntask = '-1ns'"),
                "task: \"-1ns\"",
            ),
            (
                replaced("cores = 4", "cores = 4\nvictim = '1'"),
                "victim: \"1\"",
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
