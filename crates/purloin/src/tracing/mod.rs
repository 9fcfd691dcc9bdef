//! Tracing: what each worker did and when.
//!
//! A pool is traced if its builder says so, or if the environment variable `PURLOIN_TRACE` or `PURLOIN_REPORT` is
//! set. Then each worker writes events to a [buffer](buffer::Buffer) of its own, off the fast path: where it changes
//! from one activity to another, where it steals, sleeps, wakes another worker, or counts something. Nothing is
//! recorded at a join, a spawn or an iteration of a loop. A thread outside of all pools gets a buffer when it first
//! has something to record.
//!
//! The buffers outlive their threads. [`collect`] turns them into a [`Trace`](purloin_trace::Trace), which the crate
//! `purloin-trace` evaluates, and [`files`] writes it to the files that the [`environment`] names.
//!
//! The states, in the order of a run:
//!
//! 1. A traced pool makes a [`PoolRecord`], and a buffer for each worker. From then on [threads record](state::is_on).
//! 2. The thread of a worker makes the worker's buffer its own ([`thread::enter`]). The worker's stopwatch writes
//!    there directly; code that does not know the worker, such as a parker, asks for the thread's [own](thread) buffer.
//! 3. [`Pool::trace`](crate::Pool::trace) reads the buffers while the workers write them.
//! 4. At the end of the pool, its record notes the time. The buffers stay until the last owner drops them: the record
//!    of a pool that is traced because of the environment is kept until the process ends, or until newer ones need
//!    the room.
//!
//! A process that was forked records nothing, and writes no file.
//!
//! [`subscriber`] is about the crate `tracing`, which has spans and subscribers of its own.

pub(crate) mod buffer;
pub(crate) mod collect;
pub(crate) mod environment;
mod exit;
mod files;
mod processor_time;
mod state;
mod subscriber;
mod thread;

use std::sync::Arc;

pub(crate) use collect::{is_forked, program};
pub(crate) use exit::at_exit;
pub use subscriber::CallersSpan;
pub(crate) use subscriber::InCallersSpan;
pub(crate) use thread::{asleep, ended_handoff, enter, forked, time_of_wake, wakes};
pub use thread::{span, watch_spans};

use self::collect::{PoolRecord, Use};

/// Number of events for each worker of a pool that is watched, and not traced.
const WATCHED_EVENTS: usize = 16;

/// Returns the record of a new pool, if the pool is traced or watched. Its builder wants `events` events for each
/// worker, or leaves the decision to the environment if that is 0.
pub(crate) fn record_pool(id: u64, workers: usize, events: usize) -> Option<Arc<PoolRecord>> {
    let settings = files::settings();
    let (events, purpose) = match (events, settings) {
        (0, Some(settings)) => (settings.events, Use::Kept),
        (events @ 1.., Some(_)) => (events, Use::Kept),
        // The watchdog and the monitor need the processor times and the open spans.
        (0, None) if environment::watches() => (WATCHED_EVENTS, Use::Watched),
        (0, None) => return None,
        (events, None) => (events, Use::Traced),
    };
    (!collect::is_forked()).then(|| PoolRecord::new(id, workers, events, purpose))
}
