//! The channel scheduler close to its source: workers know nothing but what messages tell them.
//!
//! [`Channel`](super::Channel) takes liberties: a thief recalls its request from another worker's
//! mailbox, changes the request's state while another worker has it, and sees which workers are
//! active. Here a request is a value that is copied from one FIFO channel to the next, and nothing
//! about it is shared. Tasks and joins are the same ([`tasks`](super::tasks)).
//!
//! # Where to read
//!
//! 1. This page.
//! 2. [`fifo`]: the channel.
//! 3. [`messages`]: what is sent, and the state of a worker.
//! 4. [`manager`]: what the manager knows.
//! 5. [`handler`]: how a worker handles messages.
//! 6. [`worker`]: when a worker looks into its mailbox, asks for tasks, and sleeps.
//!
//! # The route of a steal request
//!
//! A steal request has a **colour**, which says what its thief does: WORKING if the thief asks ahead,
//! IDLE, or REGISTERED IDLE (the source's `reg_idle`). Worker 0 is the **manager**.
//!
//! 1. The thief sends the request to the worker that the pool's victim selection draws.
//! 2. A worker with tasks answers it. A worker without tasks passes it on to the next worker in the
//!    order of the numbers, until all workers were asked. Without forwarding, it sends it back, and
//!    the thief asks the next worker.
//! 3. A WORKING request that all workers were asked for goes back to its thief. If the thief has
//!    something to run, the request ends there. Otherwise it goes on as an IDLE one.
//! 4. An IDLE request that all workers were asked for goes to the manager. The manager **registers**
//!    it: it counts the thief as idle, and colours the request REGISTERED IDLE.
//! 5. The manager passes it to a worker that it has not counted as idle, each in turn, and that worker
//!    **keeps** it: it answers at its next push. The manager keeps the request itself if there is no
//!    such worker, or if it runs a task and it is its own turn.
//! 6. A worker that has nothing left to run sends the requests that it keeps back to the manager. A
//!    blocked worker sends them to the worker that it waits for. If it does not know that worker, it
//!    sends an IDLE request to the manager, and keeps a REGISTERED IDLE one.
//!
//! So workers that have nothing to do send nothing, and sleep. A worker in a loop keeps all requests,
//! and splits the loop once for each.
//!
//! # Messages to and from the manager
//!
//! | message | from, to | when |
//! |---|---|---|
//! | `Update` | victim, manager | before the victim answers a REGISTERED IDLE request |
//! | `OutsideBegun` | thief, manager | before a thief whose request is IDLE takes work from outside the pool |
//! | `OutsideNoted` | manager, thief | the manager has read `OutsideBegun` |
//! | `OutsideEnded` | thief, manager | the thief is idle again, and has read `OutsideNoted` |
//!
//! The manager stops counting a worker at an `Update` or `OutsideBegun`. After `OutsideBegun` it
//! registers no request of that worker until `OutsideEnded`. The source needs only `Update`, because
//! all its work begins at the master. A pool takes work from any thread, and wakes any idle worker
//! for it.
//!
//! # Termination
//!
//! The manager ends the task barrier ([`Pool::wait`](purloin::Pool::wait)) while it is itself idle:
//! it has registered all other workers; then it finds no work outside; then it finds its mailbox
//! empty. Suppose a worker is active at that moment. If it has taken work from outside, then either
//! its last request was not registered, or it sent `OutsideBegun` before it took the work, and so
//! before the manager found none. If it was sent tasks, the victim sent the `Update` before them, and was
//! itself active. Follow the victims back to the first that is no longer active: it has sent the
//! `Update` before its own next request. Messages to the manager have one order, so the manager has
//! read the `Update` before it registered the victim, and has not registered the thief since.
//!
//! # Why no message is lost
//!
//! A sender writes the message, then raises the receiver's floor by an exchange, then unparks the
//! receiver. The receiver lowers its floor by an exchange, and then looks into its mailbox. The later
//! of the two exchanges sees the other side. Every sleep is in a loop that looks into the mailbox
//! before it sleeps again.
//!
//! # Leapfrogging
//!
//! A blocked worker sends a leapfrog request to the worker that runs the awaited task. The receiver
//! keeps it until it has a task of its own. The thief withdraws the request by a message when it no
//! longer waits, and the receiver then answers without a task. Each request has exactly one answer;
//! until it comes, the thief sends no other leapfrog request, and it ignores an answer to a request
//! that it has withdrawn. A worker that ends a stolen task cancels the requests that wait for it.
//!
//! # What differs from the source
//!
//! - The owner of a task that was sent takes it back if the thief has not claimed it, by an exchange
//!   of the slot's state. In the source, the thief owns what it was sent. It may then hold a task in
//!   its queue while it runs a long one, and a join that waits for that task waits for both. A join
//!   of Purloin would idle meanwhile, because it runs nothing unrelated. For the same reason, a thief
//!   looks at the state of a slot before it passes on a task that it was sent.
//! - For the adaptive strategy, a stolen task counts as one task, or as two if it has children.
//! - A request that all workers were asked for is kept by a worker that may get tasks. In the
//!   source it circulates among the idle workers, which poll.
//! - `ASYNC` is [`Scope::spawn`](purloin::Scope::spawn): it pushes to the stack of the caller, and so
//!   do the tasks that this task spawns in turn. A stolen task ends after its own spawns, and a
//!   `finish` after all tasks in it. In the source, only the task barrier waits for tasks. Where a
//!   join is open, a spawn goes to the queue of the finish, and `Pool::spawn` always gives the job to
//!   the pool: a task on the stack must end before the frames below it.
//! - The floor and the wake-up of a sleeping receiver are a part of sending.
//!
//! # Limits
//!
//! A request waits as long as the worker that has it runs without a push or a pop; the thief cannot
//! recall it. [`Channel`](super::Channel) can.
//!
//! Each mailbox holds the most messages that all workers can send to it, so the memory grows with the
//! square of the number of workers: some half a kilobyte for each pair.
//!
//! A thread of the program cannot be [attached](purloin::WorkerStart::attach): it handles no messages
//! while it runs other code, and it is never idle, so `Pool::wait` would not return.
//!
//! Source: Channel (steal requests, forwarding, extended steal requests, updates, task barrier).

mod fifo;
mod handler;
mod manager;
mod messages;
#[cfg(all(loom, test))]
mod models;
mod worker;

use purloin::scheduler::{Me, Remote, Scheduler, StateWord, TaskStack};

use super::strategy::Stealing;
use super::tasks::ChannelTasks;

use messages::Channels;

type Worker = Remote<StrictChannel>;
type Own<'w> = Me<'w, StrictChannel>;

/// Work stealing by messages alone: [`Channel`](crate::Channel) as its source describes it, for
/// comparisons.
///
/// A worker knows of the others only what messages have told it. Requests are copied from one FIFO
/// channel to the next, and carry the colours by which worker 0 detects that all workers are idle. A
/// thief cannot recall a request, so a worker in a long leaf delays the requests that it was sent.
///
/// ```
/// use purloin::{Pool, Worker};
/// use purloin_schedulers::StrictChannel;
///
/// let pool = Pool::builder().scheduler(StrictChannel::default()).build()?;
/// assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), purloin::BuildError>(())
/// ```
///
/// A [victim selection](purloin::Builder::victims) decides which worker a thief asks first, busy or
/// not. Its samples are not used.
///
/// Pools with this scheduler have no [spare workers](purloin::Builder::spare_workers). If all workers of
/// two such pools wait for calls of the other pool at the same time, they wait for ever.
///
/// Source: Channel, all of it.
#[derive(Clone, Debug)]
pub struct StrictChannel {
    stealing: Stealing,
    forwards: bool,
}

impl Default for StrictChannel {
    fn default() -> Self {
        StrictChannel {
            stealing: Stealing::default(),
            forwards: true,
        }
    }
}

impl StrictChannel {
    /// Sets how many tasks a victim sends to a thief at once. The default is
    /// [`Stealing::Adaptive`].
    pub fn steal(mut self, stealing: Stealing) -> Self {
        self.stealing = stealing;
        self
    }

    /// Sets whether a worker without tasks sends a request to the next worker. The default is true.
    ///
    /// If false, it sends the request back, as an acknowledgement, and the thief asks the next worker
    /// itself.
    ///
    /// Source: Channel, "Forwarding steal requests".
    pub fn forward(mut self, forwards: bool) -> Self {
        self.forwards = forwards;
        self
    }
}

// SAFETY: tasks are shared as in `Channel`: `ChannelTasks` upholds the rules for task pools. The
// messages only carry addresses of tasks.
unsafe impl Scheduler for StrictChannel {
    type Header = StateWord;
    type TaskPool = ChannelTasks<Self>;
    type Protocol = Self;

    const DETECTS_QUIESCENCE: bool = true;
    // The manager counts the workers, so there must be no spare workers.
    const HANDS_OFF: bool = false;

    purloin::slow_paths!();

    fn task_pool(&self, stack: TaskStack<Self>, workers: usize) -> ChannelTasks<Self> {
        let channels = Channels::new(workers, self.stealing, self.forwards);
        ChannelTasks::new(stack, channels)
    }
}
