//! Errors that prevent a run: [`Error`].

use std::fmt;

/// The reason why a job or a run cannot begin.
///
/// Later failures, such as a task that panics, end the job on all ranks instead.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// MPI is already initialized in this process.
    AlreadyInitialized,
    /// A rank cannot get the memory for its part of a window.
    Window {
        /// The rank that lacks memory.
        rank: usize,
        /// The size of the reporting rank's part, in bytes.
        bytes: usize,
        /// The explanation of the system or of MPI.
        reason: String,
    },
    /// Two ranks disagree about a value that must be the same on all ranks.
    Disagreement {
        /// The first rank whose value differs from rank 0's value.
        rank: usize,
        /// The name of the value, in the plural.
        about: String,
    },
    /// An option is out of range.
    Option {
        /// The name of the option.
        name: &'static str,
        /// The value that was given.
        value: String,
        /// The range of valid values.
        range: &'static str,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::AlreadyInitialized => {
                f.write_str("MPI is already initialized in this process; initialize it only once")
            }
            Error::Window {
                rank,
                bytes,
                reason,
            } => write!(
                f,
                "rank {rank} cannot allocate its part of a window ({bytes} bytes on this \
                 rank): {reason}; use more nodes, or a smaller problem"
            ),
            Error::Disagreement { rank, about } => write!(
                f,
                "rank {rank} and rank 0 have different {about}; start all ranks with the same \
                 {about}"
            ),
            Error::Option { name, value, range } => {
                write!(f, "{name} must be {range}, not {value}")
            }
        }
    }
}

/// The text of the error: `main` and `unwrap` print errors in this form.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
