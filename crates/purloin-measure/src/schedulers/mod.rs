//! The schedulers under which kernels run: Purloin's own, and the peers for comparison.
//!
//! Read the folder in this order:
//!
//! 1. this file: the list [`SCHEDULERS`], with a [`Description`] of each scheduler;
//! 2. `spec.rs` and `options.rs`: how `--scheduler NAME:KEY=VALUE,…` is parsed;
//! 3. `own.rs` and `token_free.rs`: Purloin's schedulers;
//! 4. `rayon.rs` and `chili.rs`: peers that are Rust libraries, by the adapter in `purloin-peer`;
//!    `loops_only.rs`: the adapter for peers that have only loops, then `orx_parallel.rs` and
//!    `paralight.rs`;
//! 5. `process.rs`: the adapter for peers that are programs of their own, then `forte.rs`,
//!    `forkjoin.rs`, `cpp.rs` and `go.rs`.
//!
//! To add a peer, write one file with its [`Description`] and add it to [`SCHEDULERS`].

mod chili;
mod cpp;
mod forkjoin;
mod forte;
mod go;
mod loops_only;
mod options;
mod orx_parallel;
mod own;
mod paralight;
mod process;
mod rayon;
mod spec;
mod token_free;

use std::time::Duration;

use purloin::{Stats, Times};
use purloin_analysis::Profile;
use purloin_kernels::{Answer, Instance};

use self::options::{Options, Setting};
use self::process::Program;
pub use self::process::{Process, clean_up};
pub use self::spec::Spec;
use crate::checked_kernel::CheckedKernel;

/// Every scheduler that `--scheduler` accepts, in the order of `purloin list`.
pub const SCHEDULERS: &[Description] = &[
    own::RETURN_BARRIER,
    own::DIRECT_STACK,
    own::CHANNEL,
    own::DEFAULT_WS,
    own::RETURN_BARRIER_WS,
    own::CHASE_LEV,
    own::SERIAL,
    rayon::RAYON,
    chili::CHILI,
    orx_parallel::ORX_PARALLEL,
    paralight::PARALIGHT,
    forte::FORTE,
    forkjoin::FORKJOIN,
    cpp::OPENMP,
    cpp::OPENMP_LLVM,
    cpp::TBB,
    go::GO,
];

/// The stack size of every thread that runs a kernel, in bytes.
pub const STACK_SIZE: usize = 256 << 20;

/// A scheduler: its name, its abilities, and how to start it.
pub struct Description {
    /// The name, as in `purloin list`.
    pub name: &'static str,
    /// One line for `purloin list`.
    pub about: &'static str,
    /// Whether this is another project's scheduler. A peer that fails is left out.
    is_peer: bool,
    /// Whether the user can choose the number of workers.
    pub has_workers: bool,
    /// The kernels that run under the scheduler.
    pub kernels: Kernels,
    start: Start,
    /// Profiles a kernel under this scheduler, if that is possible.
    profile: Option<ProfileKernel>,
    /// The options, in groups that several schedulers share.
    pub options: &'static [&'static [&'static Setting]],
}

/// The kernels that a scheduler can run.
pub enum Kernels {
    /// All kernels.
    All,
    /// These kernels.
    Only(&'static [&'static str]),
}

/// How a scheduler is started.
enum Start {
    /// As threads of this process, given the number of workers.
    Threads(StartThreads),
    /// As a program of its own, which contains the kernels.
    Program(&'static Program),
    /// As the program that the user names with `--peer`.
    NamedProgram,
}

type StartThreads = fn(usize, &Options) -> Result<Box<dyn Runner>, String>;

/// A scheduler whose threads are running.
pub trait Runner {
    /// Runs a kernel. `purloin bench` measures the time of this call.
    fn run(&self, instance: &mut Instance) -> Answer;

    /// Returns the workers' counters so far, if they count.
    fn stats(&self) -> Option<Stats> {
        None
    }

    /// Returns where the time of all workers together has gone so far, if they measure it.
    fn times(&self) -> Option<Times> {
        None
    }
}

/// Profiles a kernel, given the number of workers and the assumed cost of a steal.
type ProfileKernel = fn(usize, &Options, Duration, &mut CheckedKernel) -> Result<Profile, String>;
