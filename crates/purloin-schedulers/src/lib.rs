//! Published work-stealing schedulers for [Purloin](purloin), to compare with its default
//! scheduler.
//!
//! | scheduler | protocol | source |
//! |---|---|---|
//! | [`DirectStack`] | all tasks are public; owner and thieves synchronise on each task | Wool, section 3 |
//! | [`Channel`] | no worker reaches into another's task pool; thieves send requests, victims answer | Channel |
//! | [`DefaultWs`] | tasks are private; each steal interrupts its victim, which offers one task | Return barrier, section 2.4 |
//! | [`ReturnBarrierWs`] | the same, but after an answer more tasks lie below a barrier, and are stolen for free | Return barrier, section 5 |
//! | [`ChaseLev`] | each worker has a concurrent deque, of `crossbeam-deque` | Channel (its comparisons) |
//!
//! A program runs under each scheduler unchanged:
//!
//! ```
//! use purloin::{Pool, Worker};
//! use purloin_schedulers::Channel;
//!
//! let pool = Pool::builder().scheduler(Channel::default()).build()?;
//! assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
//! # Ok::<(), purloin::BuildError>(())
//! ```
//!
//! To write a scheduler of your own, read [`purloin::scheduler`] and take `chase_lev.rs` in this
//! crate as an example.

mod channel;
mod chase_lev;
mod direct_stack;
mod floor;
mod return_barrier;

pub use channel::{Adaptive, Amount, Channel, Stealing};
pub use chase_lev::ChaseLev;
pub use direct_stack::{DirectStack, Fields, OneField, TwoFields};
pub use return_barrier::{DefaultWs, ReturnBarrierWs};
