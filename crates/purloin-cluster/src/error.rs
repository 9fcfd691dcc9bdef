//! What can go wrong before tasks run: [`Error`].

use std::fmt;

/// Why a job cannot begin.
///
/// What goes wrong later, such as a task that panics, ends the job on all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// MPI was initialized before, in this process.
    Initialized,
    /// A rank has no memory for its part of a window.
    Window {
        /// Which rank.
        rank: usize,
        /// How much this rank wanted.
        bytes: usize,
        /// What the system or MPI says.
        reason: String,
    },
    /// Ranks were started with different arguments.
    Disagreement {
        /// The first rank whose arguments are not those of rank 0.
        rank: usize,
        /// What the arguments are for.
        about: String,
    },
    /// An option is out of range.
    Option {
        /// Its name.
        name: &'static str,
        /// What it was.
        value: String,
        /// What it may be.
        range: &'static str,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Initialized => f.write_str("MPI is initialized already in this process"),
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
                "rank {rank} has other {about} than rank 0; start all ranks with the same"
            ),
            Error::Option { name, value, range } => {
                write!(f, "{name} must be {range}, not {value}")
            }
        }
    }
}

impl std::error::Error for Error {}
