//! Benchmark programs for work stealing, from the papers behind Purloin.
//!
//! Each kernel is written once, generic over [`Worker`](purloin::Worker). The same source runs as
//! its serial elision, under every scheduler and under the profiler, and each kernel verifies its
//! answer. A [`Job`] is a kernel with an input, chosen by name:
//!
//! ```
//! use purloin::{Pool, Serial};
//! use purloin_kernels::Job;
//!
//! let job = Job::parse("nqueens=8")?;
//! let mut instance = job.prepare(); // not timed
//! let answer = Pool::new()?.run(|w| instance.run(w));
//! assert_eq!(answer.to_string(), "92");
//! assert!(instance.verify(&answer));
//!
//! assert_eq!(job.prepare().run(Serial), answer);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Most programs can also be called directly, such as [`fib::fib`].
//!
//! # Stack
//!
//! A kernel recurses as deep as its tree. The deepest tree, `uts=T3L`, fits the 16 MiB stack that
//! a pool gives its workers in a release build. [`Serial`](purloin::Serial) needs a thread with a
//! stack of the same size. Builds without optimisation need several times as much.
#![deny(missing_docs)]

mod barnes_hut;
mod cholesky;
pub mod dense;
mod fft;
pub mod fib;
mod flood;
pub mod floorplan;
mod forks;
pub mod futures;
mod jacobi;
mod job;
mod kernel;
pub mod loops;
mod lud;
pub mod multisort;
pub mod nqueens;
mod producers;
pub mod random;
pub mod skynet;
pub mod sparselu;
pub mod ssf;
mod straggler;
pub mod strassen;
pub mod stress;
pub mod tree;
pub mod uts;
pub mod work;

pub use job::{Error, Instance, Job, KERNELS};
pub use kernel::{Answer, Description, Input, Inputs, Kernel, Range};
