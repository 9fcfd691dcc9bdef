//! What a machine looks like: [`Machine`].

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

/// A machine: nodes of sockets of cores.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Machine {
    /// How many nodes there are.
    pub nodes: u32,
    /// How many sockets a node has.
    pub sockets: u32,
    /// How many cores a socket has.
    pub cores: u32,
    /// From core to core of a socket, from socket to socket of a node, from node to node.
    pub reaches: [Reach; 3],
    /// Whether these times are means of exponential distributions, as if cores stole at
    /// times that are independent of one another; otherwise they are always the same.
    pub is_random: bool,
}

impl Machine {
    /// The one of the paper's model: cores that are all equally far from one another.
    ///
    /// A steal takes a microsecond on average, and a sample half of that.
    ///
    /// Source: Wool, section 4.
    pub fn wool(cores: u32) -> Machine {
        let steal = Time::from_nanoseconds(1000);
        let reach = Reach {
            steal,
            sample: steal.scaled(0.5),
            message: steal.scaled(0.5),
        };
        Machine {
            nodes: 1,
            sockets: 1,
            cores,
            reaches: [reach; 3],
            is_random: true,
        }
    }

    /// How many cores there are in all.
    pub fn size(&self) -> u32 {
        self.nodes * self.sockets * self.cores
    }

    /// What it takes to reach one core from another.
    pub fn reach(&self, from: u32, to: u32) -> &Reach {
        let socket = |core| core / self.cores;
        let node = |core| socket(core) / self.sockets;
        let distance = match () {
            () if socket(from) == socket(to) => 0,
            () if node(from) == node(to) => 1,
            () => 2,
        };
        &self.reaches[distance]
    }

    /// How long something takes now that takes so long on average.
    pub(crate) fn draw(&self, mean: Time, random: &mut Random) -> Time {
        match self.is_random {
            true => random.exponential(mean),
            false => mean,
        }
    }
}
