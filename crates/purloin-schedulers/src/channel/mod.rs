//! Work stealing by explicit communication: private task pools, and messages.
//!
//! # The idea
//!
//! No worker reaches into another's task pool. A worker without work, the **thief**, sends a
//! **steal request** to a **victim**. A victim looks into its **mailbox** when it pushes or pops,
//! and answers with the addresses of tasks; the tasks stay where they are. A victim without tasks
//! does not refuse a request, but **forwards** it to the next worker, until a worker answers it or
//! all active workers were asked. Then it becomes a **work-sharing request**: it stays with an
//! active worker, by preference an ancestor of the thief in a binary tree of the workers, and that
//! worker answers as soon as it has a task. So an idle worker sends no more messages, and sleeps.
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
//! 3. [`request`]: a steal request, its states and contents.
//! 4. [`network`]: mailboxes; sending, recalling and withdrawing a request.
//! 5. [`forward`]: the next worker for a request, and the manager.
//! 6. [`tasks`]: the task pool, and the claim of a task that was sent.
//! 7. [`victim`]: how a worker handles the requests in its mailbox.
//! 8. [`thief`]: how a worker without work sends requests and receives tasks.
//!
//! [`strict`] is a protocol of its own over the same tasks; [`protocol`] is the seam between the two.
//!
//! # Channels
//!
//! | channel | from, to | capacity | content |
//! |---|---|---|---|
//! | mailbox ([`network`]) | many, one | one bit for each request of the pool | steal requests |
//! | request ([`request`]) | one at a time, one | one answer of up to 256 tasks | tasks for the thief that sent the request |
//! | [future](purloin::scheduler) | one, one | one message | a result |
//!
//! All channels are made with the pool. None can be full: each worker has two requests, and each
//! request is in one place at a time.
//!
//! # The states of a request
//!
//! A request lies in its thief's memory. The message is its number. At any time at most one worker
//! **has** the request and may use its contents: the thief while the request is UNSENT or ANSWERED,
//! and otherwise the worker that has **taken** it out of a mailbox, its **handler**. A worker that
//! puts a request into a mailbox gives it up. The thief may also take its own request out of the
//! mailbox; it has then **recalled** the request.
//!
//! The state is not part of the contents: thief, handler and manager change it by atomic exchange.
//!
//! | from | to | by | when |
//! |---|---|---|---|
//! | UNSENT | IDLE | thief | it has nothing to run |
//! | UNSENT | WORKING | thief | it asks ahead, while it still has something to run |
//! | WORKING, WITHDRAWN | IDLE | thief | it has run out of work |
//! | IDLE | REGISTERED IDLE | manager | it has no worker to forward the request to, and marks the thief as idle |
//! | REGISTERED IDLE | IDLE | manager | it forwards the request |
//! | IDLE, WORKING, REGISTERED IDLE, WITHDRAWN | UNSENT | thief | it recalls the request |
//! | IDLE, WORKING, REGISTERED IDLE | WITHDRAWN | thief | it has something to run, and cannot recall the request because the request has a handler |
//! | WITHDRAWN | UNSENT | handler | |
//! | IDLE, WORKING, REGISTERED IDLE | HELD | handler | it is about to answer |
//! | HELD | ANSWERED | handler | the answer has tasks |
//! | HELD | the state before | handler | the handler has no task for it |
//! | HELD | UNSENT | handler | the task that the thief waits for is done |
//! | IDLE, WORKING, WITHDRAWN | UNSENT | handler | no worker is left to ask: the next one would be the thief itself |
//! | ANSWERED | UNSENT | thief | it has read the answer |
//!
//! A request is HELD for a few instructions. While it is, the thief cannot turn away from tasks
//! that it is about to get, and the handler may look at the task that the thief waits for. The
//! states are the source's colours, and WITHDRAWN is its *update*.
//!
//! A thief asks ahead if its last task was a leaf, see [`strategy`].
//!
//! # Where a request waits
//!
//! See [`forward::forward`]. The handler's situation decides:
//!
//! - A worker that **runs** something keeps a request that it cannot answer, once all active
//!   workers were asked. Its floor stays raised, and so its next push answers the request.
//! - A worker that runs a **loop** keeps the request. A loop counts as a task: the worker splits it
//!   once per request in its mailbox, so no two requests get the same part. A request that is about
//!   to get a part gets no task that was sent before. The worker forwards the requests only when
//!   one iteration is left.
//! - A **blocked** worker forwards it to the worker that runs the task it waits for.
//! - An **idle** worker forwards it to the nearest active ancestor of the thief, or to the
//!   **manager**, which is worker 0.
//! - The **manager**, if it is idle itself, forwards it to any active worker. If there is none, it
//!   **registers** the request. The request's thief sleeps without a timer.
//!
//! Without forwarding ([`Channel::forward`]), a worker that cannot answer a request sends it back to
//! the thief's own mailbox, until all active workers were asked. The thief finds it there, and sends
//! it to the next worker; from then on it is a work-sharing request, and travels as above. If the thief
//! has something to run meanwhile, it keeps the request, UNSENT.
//!
//! A worker that becomes active looks into the manager's mailbox at its first push, and its floor
//! stays raised as long as there are registered requests. It answers one of them, wakes the manager
//! if the manager sleeps, and leaves the other requests to the thief that it has woken. No worker
//! looks into another's mailbox on any other occasion. The race between such a worker and the
//! manager is Dekker's pattern: the worker *says that it is active, fences, and looks for
//! registered requests*; the manager *registers a request, fences, and looks for active workers*.
//!
//! A thief whose request waits for a worker in a long leaf recalls it and sends it elsewhere: after
//! 1 ms, 2 ms, 4 ms, and so on up to 128 ms. A thief that keeps losing its received tasks to their
//! owners naps for a while with its request UNSENT, because its requests would only slow the owners
//! down.
//!
//! # Tasks that were sent
//!
//! A slot is EMPTY while its task is private. It is TASK once its address was sent, then BUSY and
//! STOLEN(thief) when the thief claims it, then DONE. Until a thief has claimed a task, **the owner
//! may take it back**, and does so when it reaches the join. The owner may also **send it again**,
//! to another thief, if it has nothing else to send. So no worker waits for a task that lies
//! unclaimed with a busy thief, and a victim can send half of its tasks. The source has neither
//! rule.
//!
//! An address may be out of date when the thief uses it: the owner may have taken back the task,
//! and pushed another task to the slot. If the new task was sent, to any thief, this thief may run
//! it, because any thief may run a task that was sent. If the new task was not sent, the slot's
//! state is EMPTY.
//!
//! The bottom of the stack, which only the owner uses here, is the oldest task that was not sent.
//! The fast path pops the slot of a join only if the slot lies above the bottom.
//!
//! # Leapfrogging
//!
//! A blocked worker sends its second request to the thief of the task that it waits for, and to no
//! other worker. The thief answers with its own oldest task. That task descends from the awaited
//! task, unless the awaited task is done. The thief never answers with tasks that it was sent
//! itself. The blocked worker may be late, so it checks once more, while it holds the slot, whether
//! the awaited task is done. Before a worker ends a stolen task, it cancels the leapfrog requests
//! that wait for that task.
//!
//! # Why no message is lost
//!
//! **The floor.** A sender puts the request into the mailbox and then raises the floor, both by an
//! exchange. The owner lowers the floor by an exchange and then looks into the mailbox. The later
//! of the two exchanges of the floor sees the other side: either the owner finds the request, or
//! the floor stays raised.
//!
//! **Sleep.** A sender unparks the receiver, and so does a worker that answers a thief. If the
//! wake-up comes before the sleep, the sleep ends at once. Every sleep is in a loop that looks into
//! the mailbox before it sleeps again. A thief sends its request before it sleeps, unless it naps: no
//! worker wakes a thief whose request is UNSENT, and the manager does not register it. Only the manager
//! keeps its own request, while no worker is active.
//!
//! # Termination
//!
//! The manager ends the task barrier of a pool ([`Pool::wait`](purloin::Pool::wait)) in three
//! steps, while it is itself idle: it finds the requests of all other workers IDLE and registers
//! them; it finds no work outside; and it finds all requests still REGISTERED IDLE. A thief that
//! has worked in between has changed the state of its request *before* it took work from outside,
//! and only the manager registers a request again. A task ends only after all tasks that it has
//! spawned, so it is enough to know that all workers are idle, and the pool needs no counter of
//! tasks.
//!
//! The manager always learns that all workers are idle: a worker that becomes idle sends its own
//! request and forwards the requests that wait with it. All of these end at the manager, and each
//! of them wakes it.
//!
//! The tasks of a finish need none of this: the frame that has spawned a task also joins it, see
//! [`purloin::scheduler`].
//!
//! # What differs from the source
//!
//! [`StrictChannel`] has the first three points and the sixth as in the source.
//!
//! - A request lies in its thief's memory, and a mailbox is a set of bits. In the source, a request is
//!   copied from one FIFO channel to the next. So here a thief can recall its request, and no channel
//!   can be full (`docs/decisions/channel-requests-as-bits.md`).
//! - Thief, handler and manager change the state of a request, the source's colour, by atomic exchange.
//!   In the source the colour travels with the request, and messages update it.
//! - A worker sees which other workers are active, as a hint. In the source it knows only what it was
//!   sent.
//! - The owner may take back a task that was sent, and may send it again: see above.
//! - For the adaptive strategy, a stolen task counts as one task, or as two if it has children. In the
//!   source, a thief counts all tasks that it runs.
//! - A worker that becomes active looks into the manager's mailbox at its first push.
//! - `ASYNC` is `Scope::spawn`, with the differences that [`strict`] describes. `Pool::spawn` gives the
//!   job to the pool, not to the worker's own tasks.
//!
//! # Limits
//!
//! A victim in a long leaf answers no request, and no thief can take its tasks. A program hangs if
//! one of its tasks waits, other than in a join, for a thief to steal another task from the same
//! worker.
//!
//! Source: Channel, all of it (forwarding, stealing strategies, coloured requests, lazy splitting
//! by requests).

mod forward;
#[cfg(all(loom, test))]
mod models;
mod network;
mod protocol;
mod request;
mod strategy;
mod strict;
mod tasks;
mod thief;
mod victim;

use purloin::scheduler::{
    Backoff, Me, Point, Protocol, Remote, Scheduler, Search, Slept, StateWord, Stolen, TaskStack,
};

use self::network::Channels;
use self::protocol::Situation;
pub use self::strategy::{Adaptive, Amount, Stealing};
pub use self::strict::StrictChannel;
use self::tasks::{ChannelTasks, Messages};

type Worker = Remote<Channel>;
type Own<'w> = Me<'w, Channel>;

/// Work stealing by messages: thieves send requests, and victims answer with tasks.
///
/// A victim forwards a request that it cannot answer. In the end the request waits with a worker
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
/// A [victim selection](purloin::Builder::victims) decides which victim a thief asks first. Its
/// samples are not used, because no worker looks into another worker's task pool.
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

    /// Sets whether a worker that cannot answer a request sends it to the next worker. The default
    /// is true.
    ///
    /// If false, it sends the request back, and the thief asks the next worker itself. Each victim
    /// without tasks then costs two messages instead of one. Use it only for experiments.
    ///
    /// Source: Channel, "Forwarding steal requests".
    pub fn forward(mut self, forwards: bool) -> Self {
        self.forwards = forwards;
        self
    }
}

// SAFETY: the page above shows that each task is run once, and every race in it has a loom model.
// `ChannelTasks` upholds the rules for task pools.
unsafe impl Scheduler for Channel {
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

impl Messages for Channel {
    type Channels = Channels;
}

// SAFETY: a worker uses its own task pool, and the channels of the others.
unsafe impl Protocol<Channel> for Channel {
    /// Only the worker itself can send its tasks, and it cannot while it sleeps.
    const SERVES_ASLEEP: bool = false;

    #[inline]
    fn answer(me: Own<'_>, point: Point<'_, Self>) -> usize {
        match point {
            Point::Join => victim::check_mailbox(me, Situation::Running),
            Point::Spawn { .. } => {
                if me.task_pool().close_below_spawn() {
                    victim::check_mailbox(me, Situation::Running);
                }
            }
            Point::Loop => return victim::check_mailbox_in_loop(me),
            Point::Blocked(holder) => {
                victim::check_mailbox(me, Situation::Blocked(holder.map(Worker::index)));
            }
            Point::Sleep => victim::check_mailbox(me, Situation::Blocked(None)),
            Point::LeapfrogEnd => thief::stop_leapfrogging(me),
            Point::OutsideWork => thief::before_outside_work(me),
            Point::Active => thief::became_active(me),
            Point::StolenBegin => thief::begin_stolen(me),
            Point::StolenEnd(outcome) => thief::end_stolen(me, outcome),
        }
        0
    }

    fn look(search: &mut Search<'_, Self>) -> Option<Stolen<Self>> {
        thief::look(search)
    }

    fn sleep(search: &mut Search<'_, Self>) -> Slept {
        thief::sleep(search)
    }

    fn leapfrog(
        me: Own<'_>,
        holder: &Worker,
        outcome: &StateWord,
        backoff: &mut Backoff,
    ) -> Option<Stolen<Self>> {
        thief::leapfrog(me, holder, outcome, backoff)
    }

    fn should_stay_awake(me: Own<'_>, _holder: &Worker) -> bool {
        thief::has_leapfrog_answer(me)
    }
}
