//! What can go wrong when a pool is made.

use std::fmt;
use std::io;

use super::Builder;

/// Why a pool could not be made. Its text names the culprit and the way out.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// No workers, or more than [`Builder::MAX_WORKERS`].
    Workers(usize),
    /// More spare workers than [`Builder::MAX_WORKERS`].
    SpareWorkers(usize),
    /// The name of a thread has a zero byte in it.
    ThreadName {
        /// Which worker's.
        worker: usize,
    },
    /// The environment variable `PURLOIN_WORKERS` is not a number of workers.
    Environment(String),
    /// A stack size out of range.
    StackSize(usize),
    /// An option of the victim selection out of range.
    Victims {
        /// Its name.
        option: &'static str,
        /// What it was set to.
        value: usize,
    },
    /// The task stack of a worker could not be allocated.
    TaskStack {
        /// Which worker.
        worker: usize,
        /// The size of its thread's stack, to which the task stack's is tied.
        stack_size: usize,
        /// What the system said.
        source: io::Error,
    },
    /// A worker's thread could not be started.
    Start {
        /// Which worker.
        worker: usize,
        /// The size of its stack.
        stack_size: usize,
        /// What the system said.
        source: io::Error,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = Builder::MAX_WORKERS;
        match self {
            BuildError::Workers(0) => write!(f, "workers must be at least 1"),
            BuildError::Workers(n) => write!(f, "workers must be at most {most}, not {n}"),
            BuildError::SpareWorkers(n) => {
                write!(f, "spare_workers must be at most {most}, not {n}")
            }
            BuildError::ThreadName { worker } => write!(
                f,
                "thread_name: the name for worker {worker} has a zero byte in it"
            ),
            BuildError::Environment(value) => write!(
                f,
                "PURLOIN_WORKERS must be a number of workers from 1 to {most}, not {value:?}"
            ),
            BuildError::StackSize(bytes) => write!(
                f,
                "stack_size must be from {} to {} bytes, not {bytes}",
                Builder::MIN_STACK_SIZE,
                Builder::MAX_STACK_SIZE,
            ),
            BuildError::Victims { option, value } => {
                write!(f, "victims: {option} must be from 1 to {most}, not {value}")
            }
            BuildError::TaskStack {
                worker,
                stack_size,
                source,
            } => write!(
                f,
                "cannot start worker {worker}: no memory for the task stack that goes with \
                 a stack_size of {stack_size} bytes: {source}; ask for less, or for fewer workers"
            ),
            BuildError::Start {
                worker,
                stack_size,
                source,
            } => write!(
                f,
                "cannot start worker {worker}: no thread with a stack_size of {stack_size} \
                 bytes: {source}; ask for less, or for fewer workers"
            ),
        }
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
