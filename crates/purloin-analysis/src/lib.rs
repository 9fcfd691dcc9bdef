//! Tools that show why a program is not faster, and how fast it would be on other machines.
//!
//! | question | use | it runs the program |
//! |---|---|---|
//! | Why does my program not scale? | [`profile()`] | serially with and without a clock, then on all workers |
//! | How many tasks does it have? | [`Counted`] | once, under the worker that it wraps |
//! | How fast would it be on another machine? | [`record()`], then `purloin predict` | serially with and without a clock, and on one worker |
//!
//! Each of these runs the program with a [`Worker`](purloin::Worker) of its own, so the program
//! must be generic over its worker.
//!
//! # Why does my program not scale?
//!
//! A profile compares the program's parallelism with the number of workers, and shows where the
//! workers' time goes. For options, see [`Profiler`].
//!
//! ```
//! use purloin::Worker;
//! use purloin_analysis::{Program, profile};
//!
//! struct Sum(Vec<u64>);
//!
//! impl Program for Sum {
//!     fn run<W: Worker>(&mut self, w: W) {
//!         std::hint::black_box(sum(w, &self.0));
//!     }
//! }
//!
//! fn sum<W: Worker>(mut w: W, numbers: &[u64]) -> u64 {
//!     if numbers.len() <= 100 {
//!         return numbers.iter().sum();
//!     }
//!     let (left, right) = numbers.split_at(numbers.len() / 2);
//!     let (a, b) = w.join(|w| sum(w, left), |w| sum(w, right));
//!     a + b
//! }
//!
//! let profile = profile(&mut Sum((0..10_000).collect()))?;
//! println!("work {:.0} µs, span {:.0} µs", profile.work * 1e6, profile.ideal.span * 1e6);
//! println!("parallelism {:.0}", profile.ideal.parallelism);
//! println!("speed-up {:.2} on {} workers", profile.speed_up(), profile.workers);
//! # assert_eq!(profile.tasks, 127);
//! # Ok::<(), purloin::BuildError>(())
//! ```
//!
//! # How many tasks does it have?
//!
//! ```
//! use std::sync::atomic::AtomicU64;
//! use purloin::{Serial, Worker};
//! use purloin_analysis::Counted;
//!
//! let tasks = AtomicU64::new(0);
//! Counted::new(Serial, &tasks).finish(|scope| {
//!     for _ in 0..10 {
//!         scope.spawn(|_| ());
//!     }
//! });
//! assert_eq!(tasks.into_inner(), 10);
//! ```
//!
//! # How fast would it be on another machine?
//!
//! A recording says where the program forks and joins, how long it computes in between, and how long
//! it takes on all cores of this machine. The command `purloin predict` and the crate `purloin-sim`
//! simulate it. The command first compares its prediction for this machine with the measured time.
//!
//! ```
//! use purloin::Worker;
//! use purloin_analysis::{Program, Recording, record};
//!
//! struct Tree(u32);
//!
//! impl Program for Tree {
//!     fn run<W: Worker>(&mut self, w: W) {
//!         tree(w, self.0);
//!     }
//! }
//!
//! fn tree<W: Worker>(mut w: W, height: u32) {
//!     if height > 0 {
//!         w.join(|w| tree(w, height - 1), |w| tree(w, height - 1));
//!     }
//! }
//!
//! let recording = record("tree", &mut Tree(6))?;
//! let mut file = Vec::new(); // or `std::fs::File::create("tree.dag")?`
//! recording.write(&mut file)?;
//! assert_eq!(Recording::from_bytes(&file)?.tasks(), 63);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod counted;
mod data;
mod display;
mod finish;
mod parallel;
mod profile;
mod record;
mod sorts;
mod strands;
mod warning;

pub use counted::Counted;
pub use profile::{Profile, Profiler, Span, profile};
pub use record::{OnAllCores, Recording, RecordingError, record};
pub use strands::{Mark, Program, Strand};
