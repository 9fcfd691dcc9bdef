//! Why a program is not faster, and what it would do on other machines.
//!
//! - [`profile()`] measures a program's work and span, and where the workers' time goes.
//! - [`Counted`] counts a program's tasks.
//! - [`record()`] writes down where a program forks and joins, and for how long it computes in
//!   between; `purloin predict` simulates the recording on other machines.
//!
//! Each runs the program, which is generic over its [`Worker`](purloin::Worker), with a worker of
//! its own that measures.

mod counted;
mod profile;
mod record;
mod strands;

pub use counted::Counted;
pub use profile::{Profile, Profiler, Span, profile};
pub use record::{Recording, RecordingError, record};
pub use strands::{Mark, Program, Strand};
