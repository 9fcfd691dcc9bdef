//! The interface of rayon-core 1.13 over [Purloin](purloin).
//!
//! A program that uses rayon runs on Purloin with one entry in its `Cargo.toml`, and no other
//! change:
//!
//! ```toml
//! [patch.crates-io]
//! rayon-core = { path = "…/purloin/compat/rayon-core" }
//! ```
//!
//! All of rayon's parallel iterators come with it, because they use only this interface. The
//! documentation of each function is [rayon's own](https://docs.rs/rayon-core/1.13.0/rayon_core/).
//! Purloin's `docs/rayon.md` says what differs: above all, a thread that waits for its own tasks
//! never runs unrelated ones.
//!
//! # How it works
//!
//! - `registry` has the threads of a pool and the jobs that were spawned on them (`jobs`).
//! - `join` is Purloin's own, `scope` is its `finish`, and `broadcast` its broadcast.
//! - `builder` and `thread_pool` make pools and use them; `global` has the pool of code without one.

#![deny(missing_debug_implementations)]

mod broadcast;
mod builder;
mod configuration;
mod fifo;
mod global;
mod jobs;
mod join;
mod registry;
mod scope;
mod spawn;
mod sync;
mod thread_pool;
mod unwind;

pub use broadcast::{BroadcastContext, broadcast, spawn_broadcast};
pub use builder::{ThreadBuilder, ThreadPoolBuildError, ThreadPoolBuilder};
#[allow(deprecated)]
pub use configuration::{Configuration, initialize};
pub use join::{FnContext, join, join_context};
pub use registry::ThreadPool;
pub use scope::{Scope, ScopeFifo, in_place_scope, in_place_scope_fifo, scope, scope_fifo};
pub use spawn::{spawn, spawn_fifo};
pub use thread_pool::{
    Yield, current_thread_has_pending_tasks, current_thread_index, yield_local, yield_now,
};

/// Returns the maximum number of threads of a pool. A larger number is reduced to it.
pub fn max_num_threads() -> usize {
    purloin::Builder::MAX_WORKERS
}

/// Returns the number of threads of the current pool: that of this thread, or else the global one.
pub fn current_num_threads() -> usize {
    match registry::current() {
        Some(worker) => worker.registry.num_threads(),
        None => global::global().registry.num_threads(),
    }
}
