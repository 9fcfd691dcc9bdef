//! Work stealing by explicit communication: private task pools, and messages.
//!
//! # The idea
//!
//! A worker touches no more of another's task pool than the slots whose addresses it was sent, and the
//! floor (see below) when it sends a message. It knows about another worker only what messages have told
//! it. A worker without work, the **thief**, sends a **steal request** to a **victim**. A victim looks
//! into its **mailbox** when it pushes or pops, and answers with the addresses of tasks; the tasks stay
//! where they are. A victim without tasks does not refuse a request, but passes it on. In the end the
//! request waits with a worker that may get tasks, so an idle worker sends no more messages, and sleeps.
//!
//! The fast path is the same as in the default scheduler, but without the light fence: a push
//! writes the task and the top, a pop writes the top, and both compare the slot with the **floor**.
//! The sender of a message raises the floor above everything. The next push or pop then takes its
//! slow path, which looks into the mailbox.
//!
//! # Where to read
//!
//! 1. This page.
//! 2. [`strategy`]: how many tasks a thief asks for, and when.
//! 3. [`tasks`]: the task pool, and the claim of a task that was sent.
//! 4. [`fifo`]: the channel.
//! 5. [`messages`]: what is sent, and the state of a worker.
//! 6. [`manager`]: what the manager knows.
//! 7. [`handler`]: how a worker handles messages.
//! 8. [`worker`]: when a worker looks into its mailbox, asks for tasks, and sleeps.
//!
//! # Channels
//!
//! | channel | from, to | capacity | content |
//! |---|---|---|---|
//! | mailbox ([`fifo`]) | many, one | the most messages that all workers can have under way | requests, withdrawals, and messages to and from the manager |
//! | answers ([`messages`]) | one at a time, one | one answer of up to 256 tasks, or of one task for a leapfrog request | tasks for a thief |
//! | [future](purloin::scheduler) | one, one | one message | a result |
//!
//! The first two are made with the pool.
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
//! 3. A WORKING request that has visited all workers goes back to its thief. If the thief is idle, the
//!    request goes on as an IDLE one. Otherwise the request ends there.
//! 4. With an IDLE request that has visited all workers, the last of them does what its situation says. If
//!    the worker runs something, it **keeps** the request, and answers it at its next push. If it is blocked,
//!    it sends the request to the worker that it waits for, or to the manager if it does not know that
//!    worker. If it is idle, it sends the request to the manager.
//! 5. The manager **registers** the request: it counts the thief as idle, and colours the request REGISTERED
//!    IDLE. Then it passes the request to a worker that is not registered; these take turns. If there is no
//!    such worker, the manager keeps the request. While the manager runs a task, it takes its own turn.
//! 6. A worker whose situation changes looks again at the requests that it keeps, by the same rules. If it is
//!    blocked and does not know for which worker it waits, it keeps a REGISTERED IDLE request.
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
//! # Tasks that were sent
//!
//! While a task is private, its slot is EMPTY, or DONE from an earlier task. The slot is TASK once its
//! address was sent, then BUSY and STOLEN(thief) when the thief claims the task, then DONE. Until a
//! thief has claimed a task, **the owner may take it back**, and does so when it reaches the join. The
//! owner may also **send it again**, to another thief, if it has nothing else to send. So no worker
//! waits for a task that lies unclaimed with a busy thief, and a victim can send half of its tasks. The
//! source has neither rule.
//!
//! An address may be out of date when the thief uses it: the owner may have taken back the task,
//! and pushed another task to the slot. If the new task was sent, to any thief, this thief may run
//! it, because any thief may run a task that was sent. If the new task was not sent, the slot's
//! state is not TASK, so the claim fails.
//!
//! The bottom of the stack, which only the owner uses here, is the oldest task that was not sent.
//! The fast path pops the slot of a join only if the slot is at or above the floor, which is never below the
//! bottom.
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
//! A victim in a long leaf answers no request, and no thief can take the victim's tasks, or recall the
//! request that it has sent there. A program hangs if one of its tasks waits, other than in a join, for
//! a thief to steal another task from the same worker.
//!
//! Each mailbox has room for all messages that workers can have under way to it, so the memory grows with the
//! square of the number of workers: some half a kilobyte for each pair.
//!
//! A thread of the program cannot be [attached](purloin::WorkerStart::attach): it handles no messages
//! while it runs other code, and it is never idle, so `Pool::wait` would not return.
//!
//! Source: Channel, all of it (forwarding, stealing strategies, coloured requests, updates, task barrier,
//! lazy splitting by requests).

mod fifo;
mod handler;
mod manager;
mod messages;
#[cfg(all(loom, test))]
mod models;
mod strategy;
mod tasks;
mod worker;

use purloin::scheduler::{Me, Remote, Scheduler, StateWord, TaskStack};

use self::messages::Channels;
pub use self::strategy::{Adaptive, Amount, Stealing};
use self::tasks::ChannelTasks;

type Worker = Remote<Channel>;
type Own<'w> = Me<'w, Channel>;

/// Work stealing by messages: thieves send requests, and victims answer with tasks.
///
/// A victim passes on a request that it cannot answer. In the end the request waits with a worker
/// that will answer it, so idle workers are silent. A victim answers when it pushes or pops. A
/// victim in a long sequential leaf answers no request, and its tasks stay in its stack.
///
/// ```
/// use purloin::{Pool, Worker};
/// use purloin_schedulers::{Channel, Stealing};
///
/// let scheduler = Channel::default().steal(Stealing::Half);
/// let pool = Pool::builder().scheduler(scheduler).build()?;
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
pub struct Channel {
    stealing: Stealing,
    forwards: bool,
}

impl Default for Channel {
    fn default() -> Self {
        Channel {
            stealing: Stealing::default(),
            forwards: true,
        }
    }
}

impl Channel {
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

// SAFETY: the page above shows that each task is run once, and every race in it has a loom model.
// `ChannelTasks` upholds the rules for task pools. The messages only carry addresses of tasks.
unsafe impl Scheduler for Channel {
    type Header = StateWord;
    type TaskPool = ChannelTasks;
    type Protocol = Self;

    const DETECTS_QUIESCENCE: bool = true;
    // The manager counts the workers, so there must be no spare workers.
    const HANDS_OFF: bool = false;

    purloin::slow_paths!();

    fn task_pool(&self, stack: TaskStack<Self>, workers: usize) -> ChannelTasks {
        let channels = Channels::new(workers, self.stealing, self.forwards);
        ChannelTasks::new(stack, channels)
    }
}
