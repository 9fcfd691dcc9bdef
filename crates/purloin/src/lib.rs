//! Work stealing with joins that cost about a nanosecond: expose all the
//! parallelism that a program has, and tune nothing.
//!
//! ```
//! use purloin::{Pool, Worker};
//!
//! fn fib<W: Worker>(mut w: W, n: u32) -> u64 {
//!     if n < 2 {
//!         return n.into();
//!     }
//!     let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
//!     a + b
//! }
//!
//! let pool = Pool::new()?; // one worker for each available core
//! assert_eq!(pool.run(|w| fib(w, 30)), 832_040);
//! # Ok::<(), purloin::BuildError>(())
//! ```
//!
//! # What is promised
//!
//! - **A join never runs unrelated work.** A worker that waits for a stolen
//!   task runs only what descends from that task. So a lock may be held across
//!   a join, and stacks are as deep as the program's own recursion.
//! - **A task that nobody steals costs next to nothing**: some plain stores and
//!   two predictable branches. No atomic read-modify-write, no fence, no
//!   allocation.
//! - **Workers without work sleep**, and use no processor time.
//! - **A panic reaches the caller**, after everything that was started has
//!   ended, even that of a future that nobody gets; the pool goes on.
//! - **One source, every scheduler.** A program is generic over its
//!   [`Worker`]; [`Serial`] is the program without parallelism.
//!
//! # Where to look
//!
//! - [`Worker::join`], [`Worker::finish`], [`Worker::future`],
//!   [`Worker::for_each`] and [`Worker::map_reduce`] create parallelism; [`join`],
//!   [`finish`] and so on do without a token, where one cannot be passed.
//! - [`Pool`] has the threads; [`Pool::builder`] has the options.
//! - [`profile()`] says why a program is not faster: its work and span, and
//!   where the workers' time goes.
//! - [`record()`] writes down what a program does, to be simulated on other machines.
//! - [`Stats`] says what the workers have done, [`Counted`] how many tasks a
//!   program has.
//! - [`ReturnBarrier`] is the scheduler that a pool has unless it is given
//!   another, as [`DirectStack`] or [`ChaseLev`]; [`Sampling`] and [`Sets`] choose victims
//!   where there are many workers.
//!
//! # How to make small tasks fast
//!
//! Small closures that own their captures (`move |w| fib(w, n - 1)`) are
//! written into the task as they are; a capture by reference costs an
//! indirection, and keeps the variable in memory. And where the base case of a
//! recursion is tiny, let the compiler see it at the call: put it into a small
//! `#[inline]` function that calls the recursive rest.
#![deny(
    missing_docs,
    unsafe_op_in_unsafe_fn,
    clippy::undocumented_unsafe_blocks
)]

#[cfg(not(target_pointer_width = "64"))]
compile_error!(
    "Purloin needs a target with 64-bit addresses: it keeps flags in their upper bits, \
     and reserves more address space than 32 bits have"
);

mod free;
mod handle;
pub mod implement;
mod loops;
mod pool;
mod runtime;
pub mod scheduler;
mod serial;
mod sleep;
mod stats;
mod sync;
mod unwind;
mod victim;
mod worker;

pub use free::{finish, for_each, future, join, map_reduce};
pub use handle::Handle;
pub use loops::{Chunks, ChunksMut, IntoIterations, Iterations, Splitting, chunks, chunks_mut};
pub use pool::{BuildError, Builder, Pool, global};
pub use runtime::{ReturnBarrier, Token};
#[doc(inline)]
pub use scheduler::Scheduler;
pub use serial::Serial;
pub use stats::{Stats, Times};
pub use victim::{Random, Sampling, Sets, VictimSelection};
pub use worker::{Scope, Spawner, Worker};

/// The examples of the README and of the guides, as tests.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/guide.md")]
    struct Guide;
    #[doc = include_str!("../../../docs/schedulers.md")]
    struct Schedulers;
    #[doc = include_str!("../../../docs/from-rayon.md")]
    struct FromRayon;
    #[doc = include_str!("../../../docs/measuring.md")]
    struct Measuring;
    #[doc = include_str!("../../../docs/simulating.md")]
    struct Simulating;
}
