//! The programs that the simulator can run: [`Workload`].

mod loops;
mod recorded;
mod tree;
mod uts;

pub use loops::Loop;
pub use recorded::{CutOff, Recorded, RecordingTooLong};
pub use tree::Tree;
pub use uts::Uts;

use crate::Time;

/// The next step of an activation of a task or function.
#[derive(Clone, Debug)]
pub enum Step<A> {
    /// Computes for this time.
    Work(Time),
    /// Spawns a task. From now on, any worker may run it.
    Fork(A),
    /// Calls a function. The activation continues when the function has ended.
    Call(A),
    /// Joins the newest task that the activation has spawned and not joined, if there is one.
    Join,
    /// Spawns a task as a future. Any activation can get it by this number.
    Future(A, u32),
    /// Gets the future with this number: runs its task if it has not started, or else waits for it.
    ///
    /// No activation may get a future twice, or before it is made. In the serial elision, which
    /// runs tasks when they are spawned, the future must have ended before this step.
    Get(u32),
    /// Ends the activation when all tasks that it has spawned have ended. All later steps of the
    /// activation must be `End`, too.
    End,
}

/// A program that generates its steps while it is simulated.
pub trait Workload: Sync {
    /// The state of an activation of a task or function.
    type Activation: Clone;

    /// Returns the first activation of the program.
    fn root(&self) -> Self::Activation;

    /// Returns the next step of an activation. Random steps must depend only on the seed, not on
    /// when or on which worker the activation runs. Then the program is the same under all
    /// policies.
    fn next(&self, activation: &mut Self::Activation, seed: u64) -> Step<Self::Activation>;

    /// Returns the time to spawn and join a task, if the machine does not set it.
    fn task(&self) -> Time {
        Time::ZERO
    }

    /// Returns whether a worker with these ready tasks may start to steal early, as far as the policy
    /// allows. A program whose tasks have expected durations forbids it while the ready tasks are
    /// expected to last longer than a few steals.
    ///
    /// Source: AsynchWS, section IV.B.
    fn may_steal_early<'a>(&self, _ready: impl Iterator<Item = &'a Self::Activation>) -> bool
    where
        Self::Activation: 'a,
    {
        true
    }

    /// Splits a loop that an activation runs, if it has at least two iterations left: moves the last ones
    /// to a new activation, which becomes a task. `share` says how many of the iterations.
    ///
    /// Source: Channel (splittable tasks).
    fn split(
        &self,
        _activation: &mut Self::Activation,
        _share: impl FnOnce(usize) -> usize,
    ) -> Option<Self::Activation> {
        None
    }

    /// Returns whether blocked workers must lend their cores to spare workers instead of running
    /// other tasks. A program with [`Step::Get`] needs spare workers: otherwise a task on top of a
    /// blocked frame could wait for a future that only this frame can complete.
    fn needs_spares(&self) -> bool {
        false
    }
}
