//! What happened in a run: [`Stats`].

use std::ops::AddAssign;

/// What one rank has counted, or all of them together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Stats {
    /// Tasks that went into a queue. Others were run where they were spawned.
    pub tasks: u64,
    /// Steals that brought something.
    pub steals: u64,
    /// Of these, those from another node.
    pub remote_steals: u64,
    /// Tasks that they brought.
    pub stolen: u64,
    /// Ranks that were asked.
    pub steal_attempts: u64,
    /// Steals that were begun while tasks were left.
    pub early_steals: u64,
    /// Tasks whose times were taken for the profile alone.
    pub samples: u64,
    /// What profiling took, in nanoseconds: reading clocks, and collecting times.
    pub profiling_nanoseconds: u64,
    /// How long ranks had nothing to run, in nanoseconds.
    pub idle_nanoseconds: u64,
}

impl AddAssign for Stats {
    fn add_assign(&mut self, other: Stats) {
        let Stats {
            tasks,
            steals,
            remote_steals,
            stolen,
            steal_attempts,
            early_steals,
            samples,
            profiling_nanoseconds,
            idle_nanoseconds,
        } = other;
        self.tasks += tasks;
        self.steals += steals;
        self.remote_steals += remote_steals;
        self.stolen += stolen;
        self.steal_attempts += steal_attempts;
        self.early_steals += early_steals;
        self.samples += samples;
        self.profiling_nanoseconds += profiling_nanoseconds;
        self.idle_nanoseconds += idle_nanoseconds;
    }
}
