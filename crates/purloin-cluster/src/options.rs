//! Options of a run: [`Options`].

use std::time::Duration;

use crate::Error;

/// The behaviour of a rank while it steals.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Steal {
    /// The rank starts to steal before it runs out of tasks, and runs its residual tasks while
    /// the steal is under way.
    ///
    /// Source: AsynchWS, section IV.
    #[default]
    Async,
    /// The rank starts to steal when it has run out of tasks, and waits for the steal to end.
    Sync,
}

/// The choice of spawned tasks that enter the queue, where other ranks can steal them. All other
/// tasks run inline, at the spawn.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum CutOff {
    /// Tasks that are worth stealing, judged by how long tasks of the same depth have taken.
    ///
    /// Source: AsynchWS, section III (Figure 2).
    #[default]
    Adaptive,
    /// As [`CutOff::Adaptive`], but as published: in a queue with fewer places, and with few samples that
    /// nothing refutes. For comparison.
    ///
    /// Source: AsynchWS, section III (Figure 2).
    Paper,
    /// All tasks.
    None,
    /// Tasks of at most this depth. The first task has depth 0.
    Depth(u32),
    /// Tasks that are spawned while the queue is shorter than its bound, which is three times
    /// the number of ranks on the node.
    Queue,
}

/// The minimum duration of a task that is worth a place in the queue, for [`CutOff::Adaptive`]
/// and [`CutOff::Paper`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Grain {
    /// 10 µs, which is a thousand times the cost of creating a task. The other times of the
    /// algorithm, which the paper derives from its network, are derived from the measured
    /// cost of a steal. For [`CutOff::Paper`], 2 ms.
    #[default]
    Auto,
    /// A fixed time, from which the other times of the algorithm are derived. The paper uses
    /// 2 ms for its network.
    Fixed(Duration),
}

/// The place where the runtime collects the durations of tasks, for [`CutOff::Adaptive`] and
/// [`CutOff::Paper`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Profiling {
    /// On each node separately, in memory that the ranks of the node share.
    #[default]
    Local,
    /// On rank 0 for all ranks, for comparison with the paper. Each sample costs a message.
    ///
    /// Source: AsynchWS, section V.B (Figure 6).
    Global,
}

/// The largest valid number of residual tasks, [`Options::residual`].
pub const MAX_RESIDUAL: usize = 6;

/// Options of [`Cluster::run`](crate::Cluster::run). All ranks must pass the same options.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The behaviour of a rank while it steals. The default is [`Steal::Async`].
    pub steal: Steal,
    /// The choice of spawned tasks that enter the queue. The default is [`CutOff::Adaptive`].
    pub cut_off: CutOff,
    /// Under [`Steal::Async`], a rank starts to steal when fewer than this many tasks remain.
    /// The default is 2; at most [`MAX_RESIDUAL`].
    pub residual: usize,
    /// The minimum duration of a task that is worth a place in the queue. The default is
    /// [`Grain::Auto`].
    pub grain: Grain,
    /// The place where durations of tasks are collected. The default is [`Profiling::Local`].
    pub profiling: Profiling,
    /// An artificial delay of all operations on other ranks, for experiments. The default is 0;
    /// at most 1 s.
    pub latency: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            steal: Steal::default(),
            cut_off: CutOff::default(),
            // Source: AsynchWS, section V.C.
            residual: 2,
            grain: Grain::default(),
            profiling: Profiling::default(),
            latency: Duration::ZERO,
        }
    }
}

/// The largest valid latency.
const MAX_LATENCY: Duration = Duration::from_secs(1);

impl Options {
    /// Returns an error if an option is out of range.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.residual > MAX_RESIDUAL {
            return Err(Error::Option {
                name: "residual",
                value: self.residual.to_string(),
                range: "from 0 to 6",
            });
        }
        if self.latency > MAX_LATENCY {
            return Err(Error::Option {
                name: "latency",
                value: format!("{:?}", self.latency),
                range: "at most 1s",
            });
        }
        Ok(())
    }
}
