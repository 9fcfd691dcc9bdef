//! A deterministic machine of virtual cores.
//!
//! A library that takes its atomics, locks, threads and clocks from [`sync`] runs here as it is: its threads are fibres
//! on one thread of the system, and time is virtual. A [`Machine`] says what each access to shared memory costs. The same
//! seed gives the same run.
//!
//! - As a clock ([`Run::new`]), the machine shows how a program would run on 64 or 256 cores.
//! - As an adversary ([`Run::weather`]), it stops threads at the worst moment, delays their stores and wake-ups, and
//!   finds programs that hang.

mod engine;
mod machine;
mod memory;
mod random;
mod report;
mod run;
pub mod sync;
mod work;

pub use engine::Weather;
pub use machine::{Core, Latency, MAX_CORES, Machine, MachineError, System, Topology};
pub use memory::Allocator;
pub use report::{Cost, Failure, Operation, Report, Tally, Waiting};
pub use run::Run;
pub use work::counted;
