//! Work stealing between the ranks of an MPI job.
//!
//! A program defines [`Task`]s. A task and its output are plain data, so that any rank can copy and
//! run it. Tasks spawn everything that could run in parallel, and the ranks of the job steal tasks
//! from each other. Each rank keeps its tasks in an MPI window that the other ranks access with
//! one-sided operations, so a steal does not disturb the victim. A thief hides the latency of a
//! steal behind its own last tasks. The runtime measures how long tasks take, and offers only tasks
//! that are worth stealing.
//!
//! [`Cluster`] shows a complete program. Start it like any MPI program:
//!
//! ```text
//! target/release/program                     # one rank
//! mpirun -n 4 target/release/program         # four ranks on this machine
//! srun --nodes 32 --ntasks-per-node 12 --kill-on-bad-exit target/release/program
//! ```
//!
//! Source: Li, Hu, Cheng and Zhao, *Asynchronous work stealing on distributed memory
//! systems*; called AsynchWS below.
//!
//! # Modules
//!
//! * `task` is the programming model.
//! * `array` and `minimum` implement data that all ranks access.
//! * `queue` is the protocol between an owner and its thieves; its page explains it.
//! * `rank` runs tasks, waits and steals.
//! * `cut_off` decides which spawned tasks enter the queue.
//! * `transport` wraps MPI.
#![deny(missing_docs)]

mod array;
mod cluster;
mod cut_off;
mod error;
mod failure;
mod launch;
mod minimum;
mod options;
mod queue;
mod random;
mod rank;
mod stats;
mod task;
mod transport;

pub use array::{GlobalArray, Number};
pub use cluster::{Cluster, Run};
pub use error::Error;
pub use launch::launch;
pub use minimum::GlobalMin;
pub use options::{CutOff, Grain, MAX_RESIDUAL, Options, Profiling, Steal};
pub use queue::MAX_TASK_BYTES;
pub use random::Random;
pub use stats::Stats;
pub use task::{Rank, Serial, Spawned, Task};
