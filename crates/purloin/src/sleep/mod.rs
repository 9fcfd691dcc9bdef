//! Waiting: how a worker spins, sleeps and wakes while it has nothing to run.
//!
//! There are two kinds of worker without work:
//!
//! - An **idle** worker has an empty stack and takes any task from any worker
//!   ([`main_loop`](crate::pool::worker::main_loop)).
//! - A **blocked** worker waits in a join, at the end of a finish or for a future, and takes only
//!   descendants of the awaited task, unless the program asks for
//!   [more](crate::Builder::run_anything_while_blocked) ([`wait`](mod@crate::pool::worker::wait)).
//!
//! Both first spin for some tens of microseconds ([`Backoff`]). Meanwhile they ask their victims
//! for tasks, and in the end take tasks by force. Then they sleep ([`protocol`]), and leave their
//! requests pending. A blocked worker that sleeps hands off its processor to another worker
//! ([`handoff`]). An idle worker that is woken for tasks soon after it fell asleep spins for longer
//! the next time.
//!
//! In a pool that has nothing to do, timers run for a millisecond, or an eighth of a second if the thread of a
//! worker has ended. Then sleeping costs
//! nothing. While another worker is active, a sleeper wakes up now and then and looks for tasks:
//! after two milliseconds, four, and so on up to an eighth of a second.
//!
//! # No wake-up is lost
//!
//! Every sleeper and every waker follows Dekker's pattern: *change, full fence, look*.
//!
//! - A thief that goes to sleep **registers**, then leaves its requests and looks once more for
//!   tasks. A worker that **publishes** makes its tasks public, and then looks for sleepers. So at
//!   least one of the two sees the other.
//! - A worker that becomes **active** sets its flag, and then looks for sleepers. If there are any,
//!   it posts a request to itself on their behalf. It does so for searchers, too, because their own
//!   requests may come only after its first push.
//! - A worker that publishes wakes no sleeper while another worker is **searching**, because the
//!   searcher will find the tasks. When a searcher finds work, it stops searching. If no other worker
//!   searches, it then **passes on** the search: on behalf of the sleepers it posts new requests to
//!   active workers, because the old ones have been answered. It does so until it has found a worker
//!   with tasks that a thief could take, public or by force, and wakes a sleeper for them. Each woken
//!   worker passes on in turn. So sleepers wake one after the other while there is work, and the worker that
//!   publishes pays for only one wake-up.
//! - If another worker searches, that one passes on when it finds work. If it finds none, it looks once
//!   more after it has registered as a sleeper.
//! - Under the default scheduler, a search, a last look before a sleep, and a worker that passes on visit
//!   only workers that have [announced](offers) themselves, unless the look is thorough. Every other
//!   active worker has an unanswered request, and announces itself when it answers.
//! - A blocked worker that sleeps until its holder publishes also relies on searchers: one of them may
//!   take the answer to its request. So a worker that passes on asks each announced worker anew that is
//!   awaited.
//! - A blocked worker also passes on when it has taken a task, and when it was woken for a task but
//!   the awaited task was already done.
//! - No worker sleeps without a limit while there is a task that it could take by force. If a
//!   request has been pending for a while, the last look also counts private tasks. If the request
//!   is new, the victim may have pushed a task a moment ago and be in a leaf. So the first sleep of
//!   each search is a **timed sleep** of a millisecond. After it the worker looks once more, and
//!   takes the task by force.
//!
//! # The end of a pool
//!
//! A pool that was dropped is **stopping**. Its idle workers end as soon as no worker is active, and no
//! job or mail is left: until then a running task, or a job that it leaves, may need them. So a worker that becomes **inactive** wakes all workers
//! if the pool is stopping, and an idle worker sleeps only if the pool is not stopping or a worker
//! is active.
//!
//! The thread that drops the pool sets `stopping`, and then unparks every worker. An unparked
//! sleeper registers again, executes a full fence, and checks whether a worker is active. A worker
//! that becomes inactive clears its flag, executes a full fence, and checks `stopping`. If the
//! worker's fence comes first, the sleeper sees that the worker is inactive. If the sleeper's fence
//! comes first, the worker sees `stopping`, and wakes the sleeper.
//!
//! Every job that was left before the pool was dropped runs, and finds all workers there. So an
//! idle worker loads `stopping` before it looks into the inbox, and ends only if the pool was
//! stopping and the inbox empty. A worker that takes a job becomes active first. So a worker that
//! finds the job gone sees that its taker is active.
//!
//! A running job may leave another job and end, between an idle worker's looks at the inbox and at the
//! workers. So the idle worker looks at the workers first and then at the queues, and ends only if
//! no worker has taken anything meanwhile (`Shared::is_over`).
//!
//! # A build without timers
//!
//! A sleep with a time limit could hide a lost wake-up. So a build with `--cfg purloin_untimed`,
//! which is for tests, has no timed sleeps and no naps.
//!
//! A timed sleep covers one race by design: a push checks for requests just before a thief posts a
//! request and falls asleep. To exclude this race, the fast path would need a fence. In a build
//! without timers every push checks twice, and a thief that falls asleep makes every processor
//! execute a fence.
//!
//! The watcher of a rescue (`pool/rescue.rs`) keeps its timer in every build. A thread
//! that waits outside the pool checks for a missing watcher only if the watcher was missing before the
//! thread's first sleep.
//!
//! # Naps
//!
//! A program may answer every request with a task so small that its owner takes it back before the
//! thief is awake. Waking a thief each time would disturb the program for ever. So a searcher that
//! gets answers but no tasks does not go to sleep. It takes a **nap** instead, first of a tenth of
//! a millisecond, doubling up to two milliseconds. During a nap it still counts as searching, so no
//! other worker is woken, and a larger task waits for at most two milliseconds. A blocked worker
//! naps in the same way.
//!
//! Under a scheduler that sends tasks, a thief can miss a task in another way: the owner takes the
//! sent task back before the thief starts it. After eight missed tasks in one search the thief naps
//! at once. During the nap its request is not under way, and it counts as asleep.
//!
//! # Rests
//!
//! A steal costs thief and victim some hundred nanoseconds. A program may offer nothing but tasks
//! that are shorter: loops of a few additions, one after the other. So under the default scheduler
//! a thief that was idle **rests** after sixteen such tasks in a row, for a microsecond at first,
//! and for twice as long after each further one. A resting worker counts neither as active nor as
//! searching, as if its task were still running.
//!
//! A worker that has waited for sixteen such tasks in a row waits for 400 ns before it leapfrogs, and
//! for twice as long after each further one, up to 4 us. A request would make the next tiny task longer,
//! because the thief would split it again.

mod backoff;
mod handoff;
mod latch;
#[cfg(all(loom, test))]
mod models;
mod offers;
mod parker;
mod protocol;
mod sleepers;
mod thread_indices;

pub use backoff::Backoff;
pub(crate) use backoff::{SpinTime, TinyTasks, UNTIMED, recheck_interval};
pub(crate) use latch::{Latch, Waiter};
pub use offers::Visits;
pub use protocol::{Sleep, Slept};
