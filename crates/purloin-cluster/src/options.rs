//! How a job is run: [`Options`].

use std::time::Duration;

use crate::Error;

/// How a rank waits for what it steals.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Steal {
    /// It begins to steal before it has run out of tasks, and runs the residual tasks
    /// meanwhile.
    ///
    /// Source: AsynchWS, section IV.
    #[default]
    Async,
    /// It runs out of tasks, steals, and waits for what comes.
    Sync,
}

/// Which spawned tasks go into the queue, for others to steal. All others are run where
/// they are spawned.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Cutoff {
    /// Those that are worth it, by the times that tasks of each depth have taken.
    ///
    /// Source: AsynchWS, section III (Figure 2).
    #[default]
    Adaptive,
    /// All.
    None,
    /// Those of at most this depth; the first task's is 0.
    Depth(u32),
    /// Those that find room in the queue, which is bounded by three times the number of
    /// ranks on the node.
    Queue,
}

/// The least time of a task that is worth being spawned, for [`Cutoff::Adaptive`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Grain {
    /// Ten microseconds, a thousand times what it costs to create a task. What the
    /// paper's network decides (which residual tasks are run before a steal is begun) follows
    /// from what a steal costs here.
    #[default]
    Auto,
    /// This. The paper's is 2 ms, for its network.
    Fixed(Duration),
}

/// Where the times of tasks are collected, for [`Cutoff::Adaptive`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Profiling {
    /// On each node by itself, in memory that its ranks share.
    #[default]
    Local,
    /// On one rank for all, which costs messages; to be compared with.
    ///
    /// Source: AsynchWS, section V.B (Figure 6).
    Global,
}

/// The most residual tasks.
pub const MOST_RESIDUAL: usize = 6;

/// How [`Cluster::run`](crate::Cluster::run) runs tasks. All ranks must have the same.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Options {
    /// How a rank waits for what it steals.
    pub steal: Steal,
    /// Which tasks may be stolen.
    pub cutoff: Cutoff,
    /// With so many tasks left, a rank begins to steal; from 0 to 6.
    pub residual: usize,
    /// The least time of a task that is worth being spawned.
    pub grain: Grain,
    /// Where the times of tasks are collected.
    pub profiling: Profiling,
    /// By how much operations on other ranks are delayed, for experiments.
    pub latency: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            steal: Steal::default(),
            cutoff: Cutoff::default(),
            // Source: AsynchWS, section V.C.
            residual: 2,
            grain: Grain::default(),
            profiling: Profiling::default(),
            latency: Duration::ZERO,
        }
    }
}

/// The longest delay of an operation.
const LONGEST: Duration = Duration::from_secs(1);

impl Options {
    /// Whether all are in range.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.residual > MOST_RESIDUAL {
            return Err(Error::Option {
                name: "residual",
                value: self.residual.to_string(),
                range: "from 0 to 6",
            });
        }
        if self.latency > LONGEST {
            return Err(Error::Option {
                name: "latency",
                value: format!("{:?}", self.latency),
                range: "at most 1s",
            });
        }
        Ok(())
    }
}
