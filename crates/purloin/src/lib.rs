//! Work stealing with joins that cost about a nanosecond: expose all the parallelism that a program
//! has, and tune nothing.
//!
//! Purloin runs the independent parts of a program on all cores: the two halves of a recursion,
//! spawned tasks, futures, the iterations of a loop. A task is so cheap that a program can create
//! one wherever its parts are independent, down to a few nanoseconds of work. There is no cut-off,
//! grain size or chunk size to choose.
//!
//! ```
//! fn sort(numbers: &mut [u32]) {
//!     if numbers.len() > 1 {
//!         let middle = numbers.len() / 2;
//!         let (lower, _, upper) = numbers.select_nth_unstable(middle);
//!         purloin::join(|| sort(lower), || sort(upper));
//!     }
//! }
//!
//! let mut numbers = [3, 1, 4, 1, 5, 9, 2, 6];
//! sort(&mut numbers); // on all cores
//! assert_eq!(numbers, [1, 1, 2, 3, 4, 5, 6, 9]);
//! ```
//!
//! Such a program runs on a global pool. A program may also make its own [`Pool`]. [`Pool::run`] gives the code that it
//! runs there a token, `w`, which creates parallelism, too. Each closure receives a token of its own. A program that is
//! generic over its token, a [`Worker`], runs under every scheduler, and serially:
//!
//! ```
//! use purloin::{Pool, Serial, Worker};
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
//! assert_eq!(fib(Serial, 20), 6_765);
//! # Ok::<(), purloin::BuildError>(())
//! ```
//!
//! # What to call
//!
//! | to | with a token | without |
//! |---|---|---|
//! | run two closures in parallel | [`Worker::join`] | [`join`] |
//! | spawn tasks, and wait for all of them | [`Worker::finish`], [`Scope::spawn`] | [`finish`] |
//! | drop tasks that are not needed any more | [`Scope::cancel`] | [`Scope::cancel`] |
//! | end loops and scopes from anywhere, or after some time | [`Cancel`] | [`Cancel`] |
//! | start a task with a result | [`Worker::future`] | [`future`] |
//! | wait for its result | [`Worker::get`] | [`Handle::get`] |
//! | give a result to several tasks | [`Scope::shared_future`] | [`Handle::share`] |
//! | run tasks that depend on each other | [`Scope::after`] | [`Scope::after`] |
//! | run a loop in parallel | [`Worker::par`] | [`par`](prelude::Parallel::par), [`par_mut`](prelude::ParallelMut::par_mut), [`into_par`](prelude::IntoParallel::into_par) |
//! | run a loop over an iterator of unknown length | [`Worker::par`] with [`bridge`] | [`par_bridge`](prelude::ParBridge::par_bridge) |
//! | sort a slice | [`Worker::sort`], [`Worker::sort_unstable`] | [`par_sort`](prelude::ParallelSort::par_sort), [`par_sort_unstable`](prelude::ParallelSort::par_sort_unstable) |
//! | give each worker a buffer or an accumulator | [`PerWorker`] | [`PerWorker`] |
//! | see why a program is not faster, or what it waits for | [`span`], [`Pool::trace`], [`Pool::state`] | [`span`] |
//! | see how far a loop is | [`Progress`] | [`Progress`] |
//! | hand a task to a pool without waiting for it | | [`Pool::spawn`], [`Pool::spawn_background`] |
//! | do parallel work in an asynchronous program | | [`Pool::run_async`] |
//! | wait for a lock, a file or a channel in a task | [`blocking`] | |
//!
//! A loop is a chain of methods, as with the standard library's iterators:
//!
//! ```
//! use purloin::prelude::*;
//!
//! let prices = [3.0, 4.5, 1.0];
//! let total: f64 = prices.par().filter(|price| **price < 4.0).sum();
//! assert_eq!(total, 4.0);
//! ```
//!
//! | to | call, on a [parallel iterator](iter::Par) |
//! |---|---|
//! | run a body for each item | [`for_each`](iter::Par::for_each) |
//! | compute a sum, a maximum or the like | [`sum`](iter::Par::sum), [`max`](iter::Par::max), [`reduce`](iter::Par::reduce) |
//! | count into a map, or the like | [`fold`](iter::Par::fold) |
//! | collect results | [`collect`](iter::Par::collect), [`collect_into`](iter::Par::collect_into) |
//! | search, or stop at the first error | [`find_first`](iter::Par::find_first), [`try_for_each`](iter::Par::try_for_each) |
//! | keep a buffer from item to item | [`map_init`](iter::Par::map_init), [`PerWorker`] |
//! | pass a token to the body | [`for_each_with_token`](iter::Par::for_each_with_token), [`map_with_token`](iter::Par::map_with_token) |
//!
//! [`for_each`] and [`map_reduce`] are shorthands, with a token and without.
//!
//! # What is promised
//!
//! - **A join never runs unrelated work.** A worker that waits for a stolen task runs only
//!   descendants of that task, unless the program asks for more: by a [broadcast](Pool::broadcast), or by
//!   [an option](Builder::run_anything_while_blocked). So a program may hold a lock across a join, and a stack is only as
//!   deep as the program's own recursion.
//! - **A blocked worker never idles a core.** If it finds no descendant to run, a
//!   [spare worker](Builder::spare_workers) runs other work in its place.
//! - **A task that no thief takes costs plain instructions only**: some stores and two predictable
//!   branches. It needs no atomic read-modify-write, no fence and no allocation.
//! - **Idle workers sleep**, and use no processor time.
//! - **A panic reaches the caller**, after everything that was started has ended. That includes the
//!   panic of a future whose result is never fetched. The pool can be used again.
//! - **One source runs under every scheduler.** A program is generic over its [`Worker`], and
//!   [`Serial`] turns it into the same program without parallelism.
//!
//! # How to make small tasks fast
//!
//! Most programs need nothing more. Two habits help where a task takes only a few nanoseconds:
//!
//! - **Let closures own their captures** (`move`) if the captures are a few words. The closure is
//!   then written into the task itself. A capture by reference costs an indirection, and keeps the
//!   variable in memory.
//! - **Put a tiny base case into an `#[inline]` function**, which calls the recursive rest. Then
//!   the compiler sees the base case where the task is created.
//!
//! ```
//! # use purloin::Worker;
//! #[inline]
//! fn fib<W: Worker>(w: W, n: u32) -> u64 {
//!     if n < 2 { n.into() } else { sum(w, n) }
//! }
//!
//! fn sum<W: Worker>(mut w: W, n: u32) -> u64 {
//!     let (a, b) = w.join(move |w| fib(w, n - 1), move |w| fib(w, n - 2));
//!     a + b
//! }
//! # assert_eq!(fib(purloin::Serial, 20), 6765);
//! ```
//!
//! # Features
//!
//! - `tracing`: with a subscriber of the crate `tracing`, the caller's span is current in tasks, whichever thread runs
//!   them, and the subscriber gets the spans of [`span`]. Off by default.
//!
//! # Where to look next
//!
//! - [`Worker`]: the programming model, with tokens, panics and loops.
//! - [`iter::Par`]: parallel iterators.
//! - [`Pool`] and [`Builder`]: threads and options.
//! - [`Stats`] and [`Times`]: what the workers have done, and where their time has gone.
//! - [`ReturnBarrier`]: the default scheduler. The crate `purloin-schedulers` has others, and
//!   [`scheduler`] explains how to write one.
//! - [`Sampling`] and [`Sets`]: victim selection for machines with many cores.
//! - The crate `purloin-analysis`: a profiler that tells why a program is not faster, from its work
//!   and span, and recordings to simulate a program on other machines.
//! - [`implement`]: for implementors of [`Worker`].

#[cfg(not(target_pointer_width = "64"))]
compile_error!(
    "Purloin needs a target with 64-bit addresses: it keeps flags in their upper bits, \
     and reserves more address space than 32 bits have"
);

mod append_vec;
mod asynchronous;
mod call;
mod cancel;
mod error;
mod graph;
mod handle;
pub mod implement;
mod loops;
mod par;
mod per_worker;
mod pool;
mod progress;
mod promise;
mod runtime;
pub mod scheduler;
mod scope;
mod serial;
mod shards;
mod shared_handle;
mod sleep;
mod sort;
mod stats;
mod sync;
mod this_thread;
mod token_free;
mod tracing;
mod tunables;
mod unwind;
mod victim;
mod worker;

pub use asynchronous::{HandleFuture, RunFuture, SharedHandleFuture};
pub use cancel::{Cancel, Cancelled};
pub use error::BuildError;
pub use graph::after::After;
pub use handle::Handle;
pub use loops::{
    ExactIterations, IntoIterations, Iterations, Splitting, bridge, chars, lines, words,
};
pub use per_worker::{Lent, PerWorker};
pub use pool::{
    Builder, Pool, PoolState, WorkerActivity, WorkerStart, WorkerState, configure_global, global,
};
pub use progress::Progress;
pub use runtime::{ReturnBarrier, Token};
#[doc(inline)]
pub use scheduler::Scheduler;
pub use scope::{Scope, Spawner};
pub use serial::Serial;
pub use shared_handle::SharedHandle;
pub use stats::{Stats, Times};
pub use this_thread::blocking;
pub use token_free::{finish, for_each, future, join, map_reduce, when_all, with_token};
pub use tracing::span;
pub use victim::{Random, Sampling, Sets, VictimSelection};
pub use worker::{SendTask, SyncBody, Worker};

/// Parallel iterators, and what they need in scope: `use purloin::prelude::*`.
pub mod prelude {
    pub use crate::par::{IntoParallel, ParBridge, Parallel, ParallelMut, ParallelSort};
    pub use crate::worker::Worker;
}

/// The types of parallel iterators. A program names them where it returns or stores one.
pub mod iter {
    pub use crate::loops::{
        Bridged, CharsOf, Chunks, ChunksExact, ChunksExactMut, ChunksMut, Flat, Integer, LinesOf,
        Owned, Pair, Reversed, ReversibleIterations, Stepped, Taken, Try, Tuple, Windows, WordsOf,
    };
    pub use crate::par::*;
}

/// Traces: [`Trace`](trace::Trace), from [`Pool::trace`], and its evaluation.
pub mod trace {
    pub use purloin_trace::*;
}

/// Runs the examples of the README and of the guides as tests.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/guide.md")]
    struct Guide;
    #[doc = include_str!("../../../docs/cookbook.md")]
    struct Cookbook;
    #[doc = include_str!("../../../docs/tokens.md")]
    struct Tokens;
    #[doc = include_str!("../../../docs/schedulers.md")]
    struct Schedulers;
    #[doc = include_str!("../../../docs/from-rayon.md")]
    struct FromRayon;
    #[doc = include_str!("../../../docs/measuring.md")]
    struct Measuring;
    #[doc = include_str!("../../../docs/simulating.md")]
    struct Simulating;
    #[doc = include_str!("../../../docs/tracing.md")]
    struct Tracing;
}
