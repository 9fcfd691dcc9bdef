//! Statistics of a run: [`Stats`].

/// Counters of one rank, or their sums over all ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Stats {
    /// Tasks that entered a queue. All other tasks ran inline.
    pub tasks: u64,
    /// Successful steals, each of one or more tasks.
    pub steals: u64,
    /// Successful steals from another node.
    pub remote_steals: u64,
    /// Tasks that were stolen.
    pub stolen: u64,
    /// Tasks stolen from another node that ran with all their descendants inline, because tasks of
    /// their depth are too short to be spread over the thief's node.
    pub serial: u64,
    /// The work of stolen tasks as their origins count it, in nanoseconds, or 0 if the cut-off uses
    /// no durations. The work of a stolen task includes its descendants, wherever they ran.
    pub stolen_work_nanoseconds: u64,
    /// Attempts to steal, successful or not.
    pub steal_attempts: u64,
    /// Attempts that started while the thief still had tasks.
    pub early_steals: u64,
    /// Inline tasks that were timed only for the profile.
    pub samples: u64,
    /// Time spent on profiling (reading clocks and collecting durations), in nanoseconds.
    pub profiling_nanoseconds: u64,
    /// Time during which ranks had no task to run, in nanoseconds.
    pub idle_nanoseconds: u64,
}
