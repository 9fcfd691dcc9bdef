//! Work stealing with joins that cost about a nanosecond.
#![deny(
    missing_docs,
    unsafe_op_in_unsafe_fn,
    clippy::undocumented_unsafe_blocks
)]

mod free;
mod pool;
mod scheduler;
mod stats;
mod sync;
mod victim;
mod wait;
mod worker;

pub use free::{finish, join};
pub use pool::{Builder, Error, Pool, global};
pub use scheduler::{ReturnBarrier, Scheduler, Serial, Token};
pub use stats::{Counted, Stats};
pub use worker::{Scope, Spawner, Worker};
