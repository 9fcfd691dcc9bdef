//! Work stealing on machines that nobody owns yet: a discrete-event simulator.
//!
//! A simulation has a program ([`Workload`]), a machine ([`Machine`]) and a policy ([`Policy`]),
//! and says how long the program takes, and how much was stolen ([`Outcome`]). A million cores
//! need some seconds on one of yours, or some minutes, depending on the policy.
//!
//! ```
//! use purloin_sim::{Machine, Tree, simulate};
//!
//! let (machine, tree) = (Machine::wool(256), Tree::wool(256));
//! let random = simulate(&tree, &machine, "random".parse()?, 1);
//! let sampling = simulate(&tree, &machine, "sampling:2".parse()?, 1);
//! assert!(sampling.steals < random.steals);
//! # Ok::<(), purloin_sim::UnknownPolicy>(())
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
pub use machine::{Machine, NoMachine, Reach};
pub use policy::{Policy, Share, UnknownPolicy, Victims, Waiting, Way};
pub use random::Random;
pub use statistics::Estimate;
pub use time::{NoTime, Time};
pub use workload::{Recorded, Step, TooLong, Tree, Uts, Workload};
