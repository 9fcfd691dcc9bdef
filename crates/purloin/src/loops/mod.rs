//! Loops as splittable tasks, without a grain size to choose.
//!
//! A loop is a body and the iterations that are left. A worker runs them in **strips**, and checks
//! between two strips whether a thief asks for work. If so, it **splits** the loop by a join: it
//! keeps the front, and the back becomes a task, whose thief runs it in the same way. Without
//! thieves, a loop is a plain loop that reads two words now and then. With thieves, it is split as
//! often as they ask.
//!
//! A loop of at most 16 iterations has neither strips nor parts: the code around it runs the iterations one by one,
//! and looks for thieves before each ([`split`]).
//!
//! Older tasks go first: a worker that has other tasks to offer offers those, and does not split
//! ([`Worker::split_hint`](crate::Worker::split_hint)). A part runs, and splits, in [`split`].
//!
//! # Strips and blocks
//!
//! Within a strip the compiler sees only the body, and may unroll and vectorise it. [`Pace`] chooses
//! strips of about a hundred nanoseconds, or of 128 iterations if that is longer. The overhead of a
//! strip is two or three nanoseconds. Several strips are a **block** of some microseconds. At the
//! end of each block the worker reads the clock, which takes longer, and adapts both lengths to the
//! speed of the loop.
//!
//! The lengths come from past iterations, and the next ones may take a million times as long:
//! masked, sorted and triangular data look like that. So the number of iterations in a strip is
//! bounded, however fast the loop was, and a block ends as soon as a thief asks and it turns out to
//! be slow. The last strips of a part are shorter, so that a few slow iterations at the end of a loop do not all
//! lie in one strip. The part that a thief gets begins with strips of one iteration.
//!
//! # Order
//!
//! The front of a split loop is the first closure of the join, so its result is the left operand.
//! Results are therefore combined in the order of the iterations, and a combination need only be
//! associative. The bracketing depends on chance.
//!
//! The parts of a loop over a [`bridge()`] share an iterator, and have no order (`runtime/shared_loop.rs`).
//!
//! # Panics
//!
//! When an iteration panics, its part of the loop sets a flag, and every other part ends when it
//! next looks at the flag. The results of all parts are dropped, because the panic continues at the
//! joins that split the loop.
//!
//! The destructor of an item that no iteration takes may panic, too: the rest of a longer field of a
//! tuple, for example. All other items and all results are still dropped. But if a function drops a
//! value while its own result is already in the place that its caller has for it, and the destructor
//! panics, then nothing drops the result. So code that has both a result and items **drops the items
//! first**, explicitly, while the result is still in a variable.
//!
//! Source: Channel (splittable tasks; lazy binary, guided and adaptive splitting, in which a victim
//! splits for the thieves that have asked it).

// The files of this folder use both macros, so the macros come first.

/// Implements `IntoIterations` for iterations, which convert into themselves.
macro_rules! into_iterations {
    ($([$($generics:tt)*] $Type:ty,)*) => {
        $(
            impl<$($generics)*> IntoIterations for $Type {
                type Iterations = Self;
                type Item = <Self as Iterations>::Item;

                #[inline]
                fn into_iterations(self) -> Self {
                    self
                }
            }
        )*
    };
}

/// Calls a function with a size. If the size is 2, 3 or 4, the call is a copy in which the compiler
/// knows it. It can then unroll and vectorise a loop over pairs, triples or quadruples, in which the
/// indices are checked otherwise.
macro_rules! with_size {
    ($size:expr, $call:expr) => {
        match $size {
            2 => ($call)(2),
            3 => ($call)(3),
            4 => ($call)(4),
            size => ($call)(size),
        }
    };
}

mod adaptors;
mod attempt;
mod bridge;
mod cancel;
mod chunks;
mod collect;
mod first;
mod folds;
mod iterations;
mod memory;
#[cfg(all(loom, test))]
mod models;
mod owned;
mod pace;
mod portion;
mod ranges;
mod split;
mod text;

pub use adaptors::{Reversed, ReversibleIterations, Stepped, Windows};
pub(crate) use adaptors::{reversed, windows};
pub use attempt::Try;
pub use bridge::{Bridged, bridge};
pub use owned::{Owned, Taken};

pub use cancel::Internal;
pub(crate) use cancel::UntilCancelled;
pub use chunks::{Chunks, ChunksExact, ChunksExactMut, ChunksMut};
pub(crate) use chunks::{chunks, chunks_exact, chunks_exact_mut, chunks_mut};
pub(crate) use collect::{append, append_exact, partition, runs, unzip};
pub(crate) use first::first;
pub(crate) use folds::{fold, for_each, map_reduce, try_fold, try_map_reduce};
pub(crate) use iterations::{Converted, fold_items};
pub use iterations::{ExactIterations, Flat, IntoIterations, Iterations, Pair, Tuple};
pub(crate) use pace::{Pace, Strips};
pub use portion::Splitting;
pub use ranges::Integer;
pub(crate) use split::{Loop, run_block, run_loop};
pub use split::{in_order, in_pieces};
pub use text::{CharsOf, LinesOf, WordsOf, chars, lines, words};
