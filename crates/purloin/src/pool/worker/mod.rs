//! One worker: what it is, what its thread does, and how it waits.
//!
//! - [`remote`]: what every thread sees of it: its tasks and its place among the pool's workers. What a thief may
//!   take is in [`PublicTasks`](crate::scheduler::PublicTasks).
//! - [`me`]: what only its own thread uses and does.
//! - [`main_loop`]: the loop of its thread, which looks for work, runs it, and sleeps if there is none.
//! - [`wait`](mod@wait): how it waits in the middle of a task. `runtime/stolen.rs` has the wait for a
//!   stolen task.
//! - [`current`]: how code on its thread finds it.
//! - [`mail`]: jobs that only this worker may run, also while it is blocked.
//! - [`batch`]: short jobs that it runs one after the other.

pub(crate) mod batch;
pub(crate) mod current;
pub(crate) mod mail;
pub(crate) mod main_loop;
pub(crate) mod me;
pub(crate) mod remote;
pub(crate) mod wait;

pub(crate) use me::Core;
pub use me::Me;
pub use remote::Remote;
