//! Programs to be simulated: [`Workload`].

mod recorded;
mod tree;
mod uts;

pub use recorded::{Recorded, TooLong};
pub use tree::Tree;
pub use uts::Uts;

use crate::Time;

/// What an activation of a task or function does next.
#[derive(Clone, Debug)]
pub enum Step<A> {
    /// It computes for so long.
    Work(Time),
    /// It spawns a task, which any worker may run from now on.
    Fork(A),
    /// It calls a function, which is run first.
    Call(A),
    /// It waits for the newest task that it has spawned and not waited for, if there is one.
    Join,
    /// It spawns a task that can be got by this number, by any activation.
    Future(A, u32),
    /// It waits for the future of this number, and runs it if nobody has begun it. No future is
    /// got twice, nor before it is made; and in the serial elision, where tasks are run when
    /// they are spawned, it has ended by then.
    Get(u32),
    /// It ends, when all tasks that it has spawned have ended. Once it has said this, it says
    /// it again.
    End,
}

/// A program that is generated step by step, while it is simulated.
pub trait Workload: Sync {
    /// An activation of a task or function, and how far it is.
    type Activation: Clone;

    /// The one with which the program begins.
    fn root(&self) -> Self::Activation;

    /// What an activation does next. What is random in that is to follow from the seed, and not
    /// from who runs it, or when: so programs are the same under all policies.
    fn next(&self, activation: &mut Self::Activation, seed: u64) -> Step<Self::Activation>;

    /// What it takes to spawn a task and to join it, where the machine does not say.
    fn task(&self) -> Time {
        Time::ZERO
    }

    /// Whether blocked workers must not run anything else, as that could wait for what it buries:
    /// so it is if there are steps of the kind [`Step::Get`].
    fn needs_spares(&self) -> bool {
        false
    }
}
