//! Work stealing between the ranks of an MPI job.
//!
//! A program makes [`Task`]s, plain data that make plain data, and spawns whatever could
//! be run in parallel; the ranks of the job steal from each other. Every rank has its tasks
//! in a window that others reach by MPI's one-sided operations, so that stealing does not
//! disturb the victim. The latency of a steal is hidden behind the thief's last tasks,
//! and which spawned tasks are worth being stolen is found out from the times that they take.
//!
//! See [`Cluster`] for a whole program. It is run like any of MPI:
//!
//! ```text
//! target/release/program                     # one rank
//! mpirun -n 4 target/release/program         # four on this machine
//! srun --nodes 32 --ntasks-per-node 12 --kill-on-bad-exit target/release/program
//! ```
//!
//! Source: Li, Hu, Cheng and Zhao, *Asynchronous work stealing on distributed memory
//! systems*: AsynchWS.
//!
//! # Rooms
//!
//! `task` is what programs are written against, and `array` holds their data; `queue` is
//! the protocol between owner and thieves, which its page explains; `rank` runs tasks, waits
//! and steals; `cutoff` decides what is worth a task; `transport` is MPI.
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
mod rank;
mod stats;
mod task;
mod transport;

pub use array::{GlobalArray, Number};
pub use cluster::{Cluster, Run};
pub use error::Error;
pub use launch::launch;
pub use minimum::GlobalMin;
pub use options::{Cutoff, Grain, MOST_RESIDUAL, Options, Profiling, Steal};
pub use queue::LARGEST;
pub use stats::Stats;
pub use task::{Rank, Serial, Spawned, Task};
