//! The errors of building a pool, and the limits of its options.

use std::fmt;
use std::io;

use crate::tracing::environment::EVENTS;

/// Maximum number of workers of a pool, and of spare workers.
pub(crate) const MAX_WORKERS: usize = 4096;
/// Minimum size of a worker's stack, in bytes.
pub(crate) const MIN_STACK_SIZE: usize = 64 << 10;
/// Maximum size of a worker's stack, in bytes.
pub(crate) const MAX_STACK_SIZE: usize = (1_u64 << 40) as usize;

/// The reason why a pool could not be built. Its text names the option at fault and what to change.
#[non_exhaustive]
pub enum BuildError {
    /// The number of workers is 0 or above [`Builder::MAX_WORKERS`](crate::Builder::MAX_WORKERS).
    Workers(usize),
    /// The number of spare workers is above [`Builder::MAX_WORKERS`](crate::Builder::MAX_WORKERS).
    SpareWorkers(usize),
    /// The name of a thread contains a zero byte.
    ThreadName {
        /// The number of the worker.
        worker: usize,
    },
    /// The environment variable `PURLOIN_WORKERS` is not a number of workers.
    Environment(String),
    /// The stack size is out of range.
    StackSize(usize),
    /// The number of events for each worker of a traced pool is out of range.
    TraceEvents(usize),
    /// There is too little memory for the events of a worker of a traced pool.
    TraceMemory {
        /// The number of the worker.
        worker: usize,
        /// The number of its events.
        events: usize,
    },
    /// An option of the victim selection is out of range.
    Victims {
        /// The name of the option.
        option: &'static str,
        /// The value of the option.
        value: usize,
    },
    /// The task stack of a worker could not be allocated.
    TaskStack {
        /// The number of the worker.
        worker: usize,
        /// The size of its thread's stack, in bytes. The size of the task stack follows from it.
        stack_size: usize,
        /// The error that the system reported.
        source: io::Error,
    },
    /// The global pool was to be configured, but it exists already.
    GlobalPoolExists,
    /// A worker's thread could not be started.
    Start {
        /// The number of the worker.
        worker: usize,
        /// The size of its stack, in bytes.
        stack_size: usize,
        /// The error that the system reported.
        source: io::Error,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let max = MAX_WORKERS;
        match self {
            BuildError::Workers(0) => write!(f, "workers must be at least 1"),
            BuildError::Workers(n) => write!(f, "workers must be at most {max}, not {n}"),
            BuildError::SpareWorkers(n) => {
                write!(f, "spare_workers must be at most {max}, not {n}")
            }
            BuildError::ThreadName { worker } => write!(
                f,
                "thread_name: the name for worker {worker} has a zero byte in it"
            ),
            BuildError::Environment(value) => write!(
                f,
                "PURLOIN_WORKERS must be a number of workers from 1 to {max}, not {value:?}"
            ),
            BuildError::StackSize(bytes) => write!(
                f,
                "stack_size must be from {} to {} bytes, not {bytes}",
                MIN_STACK_SIZE, MAX_STACK_SIZE,
            ),
            BuildError::TraceEvents(events) => write!(
                f,
                "traced must be 0, or from {} to {} events for each worker, not {events}",
                EVENTS.start(),
                EVENTS.end(),
            ),
            BuildError::TraceMemory { worker, events } => write!(
                f,
                "cannot start worker {worker}: no memory for {events} events of its trace; set fewer, by traced or by \
                 PURLOIN_TRACE_EVENTS"
            ),
            BuildError::Victims { option, value } => {
                write!(f, "victims: {option} must be from 1 to {max}, not {value}")
            }
            BuildError::GlobalPoolExists => f.write_str(
                "the global pool exists already: call configure_global once, before any \
                 function without a token",
            ),
            BuildError::TaskStack {
                worker,
                stack_size,
                source,
            } => write!(
                f,
                "cannot start worker {worker}: no memory for its task stack, with a stack_size \
                 of {stack_size} bytes: {source}; set a smaller stack_size or fewer workers"
            ),
            BuildError::Start {
                worker,
                stack_size,
                source,
            } => write!(
                f,
                "cannot start worker {worker}: no thread with a stack_size of {stack_size} \
                 bytes: {source}; set a smaller stack_size or fewer workers"
            ),
        }
    }
}

/// The text of the error: `main` and `unwrap` print errors in this form.
impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BuildError::TaskStack { source, .. } | BuildError::Start { source, .. } => Some(source),
            _ => None,
        }
    }
}
