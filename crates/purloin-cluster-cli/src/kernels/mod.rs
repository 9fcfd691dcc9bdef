//! The programs of the AsynchWS paper, each with a check of its answer.
//!
//! Source: AsynchWS, Table I; all but `uts` are from the Barcelona OpenMP Tasks Suite.

mod fib;
mod floorplan;
mod nqueens;
mod sparselu;
mod strassen;
mod uts;

use purloin_cluster::{Cluster, Error, Task};
use purloin_command::Failure;
use purloin_kernels::{Description, Input};

use self::fib::Fib;
use self::floorplan::Floorplan;
use self::nqueens::Nqueens;
use self::sparselu::SparseLu;
use self::strassen::Strassen;
use self::uts::Uts;

/// A kernel with its input, ready to run on all ranks.
pub trait Kernel: Sized {
    /// The kernel's name, purpose and inputs.
    const DESCRIPTION: Description;

    /// The type of its tasks.
    type Task: Task;

    /// Does the part of the work that is not timed. All ranks must call this function.
    fn prepare(cluster: &Cluster, input: Input) -> Result<Self, Error>;

    /// Returns the data that the tasks on this rank can read.
    fn context(&self) -> &<Self::Task as Task>::Context;

    /// Returns the first task.
    fn root(&self) -> Self::Task;

    /// Prepares the kernel for another run. All ranks must call this function.
    fn reset(&mut self, _cluster: &Cluster) {}

    /// Returns the answer as it is reported.
    fn answer(&self, output: &Output<Self>) -> String;

    /// Returns whether the output is right. All ranks must call this function.
    fn verify(&self, output: &Output<Self>) -> bool;
}

/// The output of a kernel's first task.
pub type Output<K> = <<K as Kernel>::Task as Task>::Output;

/// An action on a kernel that the user has named.
pub trait Action {
    /// The result of the action.
    type Result;

    /// Performs the action on the kernel `K`.
    fn perform<K: Kernel>(self, input: Input) -> Self::Result;
}

/// Generates the table of kernels, and the choice among them by name, from their types.
macro_rules! kernels {
    ($($Kernel:ident),*) => {
        /// The descriptions of all kernels.
        pub const KERNELS: &[Description] = &[$($Kernel::DESCRIPTION),*];

        /// The size of a task of each kernel, in bytes.
        pub const TASK_BYTES: &[usize] = &[$(size_of::<<$Kernel as Kernel>::Task>()),*];

        /// Performs an action on the kernel that `job` names, with its input: `NAME=INPUT`, or
        /// `NAME` for the default input.
        ///
        /// # Errors
        ///
        /// Returns an error if there is no such kernel, or its input is not valid.
        pub fn with_kernel<A: Action>(job: &str, action: A) -> Result<A::Result, Failure> {
            $(
                if let Some(input) = input::<$Kernel>(job)? {
                    return Ok(action.perform::<$Kernel>(input));
                }
            )*
            Err(unknown(job))
        }
    };
}

kernels!(Fib, Floorplan, Nqueens, SparseLu, Strassen, Uts);

/// Checks that `job` names a kernel and a valid input.
///
/// # Errors
///
/// Returns an error if there is no such kernel, or its input is not valid.
pub fn check(job: &str) -> Result<(), Failure> {
    struct Nothing;

    impl Action for Nothing {
        type Result = ();

        fn perform<K: Kernel>(self, _: Input) {}
    }

    with_kernel(job, Nothing)
}

fn unknown(job: &str) -> Failure {
    let names: Vec<_> = KERNELS.iter().map(|kernel| kernel.name).collect();
    Failure::Usage(format!(
        "no kernel {job:?}; the kernels are {}",
        names.join(", ")
    ))
}

/// Returns the input that `job` gives to the kernel `K`, or `None` if `job` names another
/// kernel.
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
