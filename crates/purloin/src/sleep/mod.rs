//! Waiting: what a worker does that has nothing to run.
//!
//! There are two kinds of worker without work. An **idle** one has an empty
//! stack and takes anything from anyone ([`idle`](crate::pool::idle)). A **blocked** one waits in
//! a join, at the end of a finish or for a future, and takes only what descends
//! from the task that it waits for ([`blocked`](crate::pool::blocked)). Both first spin for some tens of
//! microseconds, asking their victims for tasks all the while and in the end
//! forcing their way in; then they sleep ([`sleepers`]), leaving their requests
//! standing. Sleeping costs nothing: after the first millisecond no timer runs
//! in a pool that has nothing to do. Beside an active worker a sleeper looks up
//! now and then, after two milliseconds, four, and so on up to an eighth of a
//! second. The processor of a blocked worker that sleeps is handed_off to another
//! ([`handoff`]).
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
//!   by. A searcher that has found work stops searching first, and then **passes
//!   on**: on behalf of those that sleep he asks every active worker anew, as
//!   an answered request is gone, and if one has tasks that could be got,
//!   public or by force, he wakes a sleeper. So does each that has been woken:
//!   sleepers wake one after the other, as long as there is work, and the
//!   publisher pays for one wake-up only.
//! - A blocked worker passes on, too, when it has taken a task, and when it was
//!   woken for one but what it waits for was done.
//! - Nobody goes to sleep for good beside a task that could be had by force.
//!   The last look counts private tasks as well, where a request has stood for
//!   a while. Where it is new, the victim may have pushed a task a moment ago
//!   and be in a leaf; so the first sleep of each search is a **doze** of a
//!   millisecond, after which the worker looks once more, and forces its way.
//!
//! # A build without timers
//!
//! Every sleep that ends by itself could hide a wake-up that is lost. So in a build with
//! `--cfg purloin_untimed`, which is for tests, none does: there are no dozes and no naps. A
//! doze covers one race by design, a push that has looked for requests before a thief asks
//! and falls asleep, as a fence there would be one on the fast path. In this build every push
//! looks once more, and a thief that falls asleep has every processor execute a fence. Two
//! things still sleep for a time: workers under [`Channel`](crate::Channel), whose thieves
//! take their requests elsewhere when a victim does not answer, but not in this build; and
//! threads outside, which look whether the pool is stalled.
//!
//! # Naps
//!
//! A program may answer every request with a task so small that its owner has
//! it back before a thief is awake. Waking one each time would be a disturbance
//! without end. So a searcher whose requests are answered but who gets nothing
//! does not go to sleep but takes a nap, doubling from a tenth of a
//! millisecond to two, while it still counts as searching: nobody else is
//! woken, and a larger task waits for two milliseconds at most. A blocked worker
//! naps likewise. Where tasks are sent, and have been taken back before their thief
//! has come to them eight times in one search, it naps at once; it has its request
//! at home meanwhile, and counts as asleep.

mod backoff;
mod handoff;
#[cfg(all(loom, test))]
mod models;
mod parker;
mod sleepers;

pub use backoff::Backoff;
pub(crate) use backoff::{UNTIMED, recheck_interval};
pub use sleepers::{Sleep, Slept};
