//! Waiting: what a worker does that has nothing to run.
//!
//! There are two kinds of worker without work. An **idle** one has an empty
//! stack and takes anything from anyone ([`idle`]). A **blocked** one waits in
//! a join or at the end of a finish for a stolen task, and takes only what
//! descends from that ([`blocked`]). Both first spin for some tens of
//! microseconds, asking their victims for tasks all the while and in the end
//! forcing their way in; then they sleep ([`sleep`]), leaving their requests
//! standing. Sleeping costs nothing: no timer runs in a pool that has nothing
//! to do, nor beside a worker that offers nothing.
//!
//! # No wake-up is lost
//!
//! Every sleeper and every waker goes by Dekker's pattern: *change, full
//! fence, look*.
//!
//! - A thief going to sleep **registers**, then leaves its requests and looks
//!   once more for tasks. A worker that **publishes** does so first, and then
//!   looks for sleepers. So one sees the other.
//! - A worker that becomes **active** says so, and then looks for sleepers; if
//!   there are any it asks itself for tasks on their behalf.
//! - Publishing wakes nobody as long as someone is **searching**: he will come
//!   by. A searcher that finds work elsewhere stops searching first and then
//!   looks whether anything is left for others; if so he wakes one. So does
//!   each that has been woken: sleepers wake one after the other, as long as
//!   there is work, and the publisher pays for one wake-up only.
//! - An answered request is gone. Whoever takes a task while others sleep
//!   asks its victim anew, for them.
//!
//! # Naps
//!
//! A program may answer every request with a task so small that its owner has
//! it back before a thief is awake. Waking one each time would be a disturbance
//! without end. So a searcher whose requests are answered but who gets nothing
//! does not go to sleep but takes a nap, doubling from a tenth of a
//! millisecond to two, while it still counts as searching: nobody else is
//! woken, and a larger task waits for two milliseconds at most.

pub(crate) mod blocked;
pub(crate) mod idle;
#[cfg(all(loom, test))]
mod models;
mod patience;
pub(crate) mod sleep;

use patience::Patience;
