//! A discrete-event simulator of work stealing, for machines of up to sixteen million cores.
//!
//! A simulation takes a program ([`Workload`]), a machine ([`Machine`]) and a policy ([`Policy`]).
//! Its [`Outcome`] says how long the program takes and how many tasks are stolen. One core of a
//! present-day computer simulates a million cores in seconds or minutes, depending on the policy.
//!
//! ```
//! use purloin_sim::{Machine, Tree, simulate};
//!
//! let (machine, tree) = (Machine::wool(256), Tree::wool(256));
//! let random = simulate(&tree, &machine, "random".parse()?, 1);
//! let sampling = simulate(&tree, &machine, "sampling:2".parse()?, 1);
//! assert!(sampling.steals < random.steals);
//! # Ok::<(), purloin_sim::PolicyError>(())
//! ```
//!
//! Source: Wool, section 4.
#![deny(missing_docs)]

mod engine;
mod machine;
mod policy;
mod random;
mod statistics;
mod time;
mod workload;

pub use engine::{Outcome, simulate};
pub use machine::{Latency, Machine, MachineError};
pub use policy::{Depth, Policy, PolicyError, Protocol, SampleTime, Share, Victims, Waiting};
pub use random::Random;
pub use statistics::Estimate;
pub use time::{Time, TimeError};
pub use workload::{CutOff, Loop, Recorded, RecordingTooLong, Step, Tree, Uts, Workload};
