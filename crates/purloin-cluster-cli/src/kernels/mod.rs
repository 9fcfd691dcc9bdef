//! The programs of the AsynchWS paper, each with a check of its answer.
//!
//! Source: AsynchWS, Table I; all but `uts` from the Barcelona OpenMP Tasks Suite.

mod dense;
mod fib;
mod floorplan;
mod nqueens;
mod random;
mod sparselu;
mod strassen;
mod uts;

use purloin_cluster::{Cluster, Error, Task};
use purloin_command::Failure;
use purloin_kernels::{Description, Input};

pub use self::fib::Fib;
pub use self::floorplan::Floorplan;
pub use self::nqueens::Nqueens;
pub use self::sparselu::SparseLu;
pub use self::strassen::Strassen;
pub use self::uts::Uts;
use crate::{report::Outcome, run::Runner};

/// A kernel with its input, ready to run on all ranks together.
pub trait Kernel: Sized {
    /// What the kernel is called, does and takes.
    const DESCRIPTION: Description;

    /// Its tasks.
    type Task: Task;

    /// Does what is not timed, on all ranks together.
    fn prepare(cluster: &Cluster, input: Input) -> Result<Self, Error>;

    /// What tasks look at.
    fn context(&self) -> &<Self::Task as Task>::Context;

    /// The first task.
    fn root(&self) -> Self::Task;

    /// Makes it ready for another run, on all ranks together.
    fn reset(&mut self, _cluster: &Cluster) {}

    /// The answer as it is reported.
    fn answer(&self, output: &Output<Self>) -> String;

    /// Whether it is right; on all ranks together.
    fn verify(&self, output: &Output<Self>) -> bool;
}

/// What the first task of a kernel makes.
pub type Output<K> = <<K as Kernel>::Task as Task>::Output;

/// Makes the table of kernels and the choice among them, from their types.
macro_rules! kernels {
    ($($Kernel:ident),*) => {
        /// Every kernel.
        pub const KERNELS: &[Description] = &[$($Kernel::DESCRIPTION),*];

        /// Runs the kernel that `job` names, with its input: `kernel=input`, or `kernel`.
        pub fn run(job: &str, runner: Runner<'_>) -> Result<Outcome, Failure> {
            $(
                if let Some(input) = input::<$Kernel>(job)? {
                    return runner.run::<$Kernel>(input);
                }
            )*
            Err(unknown(job))
        }

        /// Whether there is the kernel that `job` names, and takes its input.
        pub fn check(job: &str) -> Result<(), Failure> {
            $(
                if input::<$Kernel>(job)?.is_some() {
                    return Ok(());
                }
            )*
            Err(unknown(job))
        }
    };
}

kernels!(Fib, Floorplan, Nqueens, SparseLu, Strassen, Uts);

fn unknown(job: &str) -> Failure {
    let names: Vec<_> = KERNELS.iter().map(|kernel| kernel.name).collect();
    Failure::Usage(format!(
        "no kernel \"{job}\"; there are: {}",
        names.join(", ")
    ))
}

/// The input that `job` has for this kernel, if it names it.
fn input<K: Kernel>(job: &str) -> Result<Option<Input>, Failure> {
    let (name, input) = job.split_once('=').unwrap_or((job, K::DESCRIPTION.default));
    if name != K::DESCRIPTION.name {
        return Ok(None);
    }
    match K::DESCRIPTION.inputs.parse(input) {
        Some(input) => Ok(Some(input)),
        None => Err(Failure::Usage(format!(
            "{name}: input must be {}, not \"{input}\"",
            K::DESCRIPTION.inputs
        ))),
    }
}
