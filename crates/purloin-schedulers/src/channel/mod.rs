//! Work stealing by explicit communication: private deques, and messages.
//!
//! # The idea
//!
//! Nobody reaches into the stack of another. A worker without work sends a **steal
//! request** to a victim, which looks for such messages when it pushes or pops,
//! and answers with tasks: their addresses, as the tasks stay where they are. A
//! victim that has none does not say so, but **forwards** the request to the next,
//! until somebody answers, or all who run anything were asked. Then it **rests**
//! as a *work-sharing request*: with the thief's parent in a tree of the workers,
//! who answers when it has a task. So an idle worker is silent, and asleep.
//!
//! The fast path is that of the default scheduler without its fence: a push writes
//! the task and the top, a pop the top, and both compare with the **floor**. Who
//! sends a message raises the floor above everything, and the next push or pop
//! takes its slow path, where the mailbox is.
//!
//! # Channels
//!
//! | channel | from, to | capacity | what |
//! |---|---|---|---|
//! | [`mailbox`] | many, one | a bit for each request that there is | steal requests |
//! | [`request`] | one at a time, one | one message of up to 256 tasks | tasks for the thief whose request it is |
//! | [future](purloin::scheduler) | one, one | one message | a result |
//!
//! All are made with the pool, none can be full: there are two requests for each
//! worker, and each is in one place.
//!
//! # A request's way
//!
//! The request lies in its thief's memory; what is sent is its number. It is in
//! the hands of one worker at a time: its thief while it is home or answered, else
//! whoever **takes** it out of the mailbox in which it is, which may also be its
//! thief, who **takes it back**. To put it into a mailbox is to let it go. All
//! that the request says is for the one who has it in his hands, but for its
//! **colour**:
//!
//! | from | to | by | when |
//! |---|---|---|---|
//! | HOME | IDLE | thief | it has nothing to run |
//! | HOME | WORKING | thief | it asks ahead |
//! | WORKING, UPDATE | IDLE | thief | it has nothing to run any more |
//! | IDLE | REGISTERED IDLE | manager | it has nobody to send it to, and counts it |
//! | REGISTERED IDLE | IDLE | who sends it on | |
//! | IDLE, WORKING, REGISTERED IDLE | HOME | thief | it takes it back |
//! | IDLE, WORKING, REGISTERED IDLE | UPDATE | thief | it has got something elsewhere and cannot take it back, as it is on its way |
//! | UPDATE | HOME | whoever has it in his hands | |
//! | IDLE, WORKING, REGISTERED IDLE | HELD | whoever has it in his hands | it is about to be answered |
//! | HELD | ANSWERED | the same | with tasks |
//! | HELD | what it was | the same | there are none |
//! | HELD | HOME | the same | what its thief waits for is done |
//! | IDLE | HOME | whoever has it in his hands | nobody is left to send it to: it is the manager's own, or has come around to its thief |
//! | ANSWERED | HOME | thief | it has read what came |
//!
//! A request is HELD for a few instructions: so that the thief does not turn away
//! from what it is about to get, and that what it waits for may be looked at. It
//! asks ahead if its last tasks were leaves, see [`strategy`].
//!
//! # Who rests where
//!
//! See [`network::pass`]. A worker that **runs** something keeps what it cannot
//! answer, once all were asked; its floor stays up, and so its next push is the
//! answer. One that is **blocked** passes it on to the worker that it waits for,
//! which runs something. One that is **idle** passes it up the tree, at last to the
//! **manager**, worker 0; and that one, if idle, to anyone who runs something. If
//! there is no one, the manager **registers** it: its thief sleeps for good, without
//! a timer.
//!
//! Whoever begins to run something looks into the manager's mailbox at its first
//! push, and its floor stays up as long as there are registered requests. It
//! answers one of them, wakes the manager if that one sleeps, and leaves the others
//! to those that it has woken. This is the only place where a worker looks into the
//! mailbox of another. Two go by Dekker's pattern: *says that it is active, fence,
//! looks for registered requests*; and *registers, fence, looks who is active*.
//!
//! A thief whose request rests with a worker that runs and runs takes it to
//! another, after a millisecond, two, four, and so on up to an eighth of a second.
//! And one who comes to tasks, again and again, that their owners have taken back
//! by then, does without for a while, its request at home: it would only slow them
//! down.
//!
//! # Tasks that were sent
//!
//! A slot is EMPTY while it is private, TASK from the time when its address was
//! sent, then BUSY and STOLEN(thief) when the thief begins it, then DONE. Until it
//! is begun **its owner may take it back**, and does so if it comes to join with
//! it; and may **send it again**, to another, if it has nothing else to send. So
//! nobody waits for a task that waits in someone's hand, and a thief may be sent
//! half of what there is. In this it goes beyond its source.
//!
//! A thief may come to an address late, when its owner has taken back the task and
//! has another in that slot. If that one was sent, to whomever, the thief may run
//! it: it is a task that anyone may run. If not, its state says so.
//!
//! The bottom of the stack, for the owner alone, is the oldest task that was not
//! sent. Below it lie tasks that were; so the slot of a join is popped by the fast
//! path only if it was not.
//!
//! # Leapfrogging
//!
//! A blocked worker sends its second request to the thief of the task that it
//! waits for, and to no one else. It is answered with that worker's oldest own
//! task, which descends from the awaited one as long as that is not done; of those
//! that it was sent and has not begun, it gives none. The blocked worker may come
//! to the address late, and so it looks once more, while it holds the slot,
//! whether what it waits for is done. Who has run a stolen task first sends home
//! the requests that have come for it.
//!
//! # Why no message is lost
//!
//! **The floor.** A sender puts the request into the mailbox and then raises the
//! floor, both by exchanges. The owner takes the floor down by an exchange and then
//! looks into the mailbox. Whichever exchange of the floor is the later one sees
//! the other's side: either the owner finds the request, or the floor stays up.
//!
//! **Sleep.** A sender unparks the receiver, a worker that answers the thief; and a
//! wake-up that comes before the sleep makes it end at once. Every sleep is in a
//! loop that looks into the mailbox first, after whatever it has run.
//!
//! # Termination
//!
//! The task barrier of a pool ([`Pool::wait`](purloin::Pool::wait)) ends when the
//! manager, itself idle, finds the requests of all others IDLE, and registers them;
//! then finds nothing outside; and then still finds all REGISTERED IDLE. A thief that
//! was anything but idle in between has recoloured its request *before* it took
//! something from outside, and nobody but the manager registers it anew. As a task
//! ends only after all that it has spawned, idle workers are all that there is to
//! know. Nothing is counted.
//!
//! It ends at last: a worker that falls idle sends its request, or passes on those
//! that rest with it, and all end with the manager, who is woken by each.
//!
//! Tasks of a finish need none of this: each is taken back by the frame in which it
//! was spawned, see [`purloin::scheduler`].
//!
//! # What it cannot do
//!
//! A victim in a long leaf answers nobody, and nothing can be taken from it. A
//! program in which a task waits, by other means than a join, until another task
//! is stolen from that very worker, waits for ever.
//!
//! Source: Channel, whole (forwarding, stealing strategies, coloured requests,
//! lazy splitting by requests).

mod mailbox;
#[cfg(all(loom, test))]
mod models;
mod network;
mod request;
mod strategy;
mod tasks;
mod thief;
mod victim;

use purloin::scheduler::{Scheduler, Slot, StateWord, TaskStack, WorkerThread};

pub use self::strategy::Stealing;
use self::tasks::ChannelTasks;

type ChannelSlot = Slot<Channel>;
type Worker = WorkerThread<Channel>;

/// Work stealing by messages: thieves send requests, and victims send tasks.
///
/// Requests that a victim cannot answer go on to the next, and at last to rest
/// with one that will; so idle workers are silent. A victim answers when it
/// pushes or pops: one in a long sequential leaf answers nobody, and what it has
/// in its stack stays there.
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
/// Of a [victim selection](purloin::Builder::victims) it takes the order in which
/// victims are asked first; samples are not taken, as nobody looks into the pools
/// of others.
///
/// Source: Channel, whole.
#[derive(Clone, Debug, Default)]
pub struct Channel {
    stealing: Stealing,
}

impl Channel {
    /// How many tasks a thief is sent at once; at first [`Stealing::Adaptive`].
    pub fn steal(mut self, stealing: Stealing) -> Self {
        self.stealing = stealing;
        self
    }
}

// SAFETY: the page above argues that each task is run once, and every race in it has a model.
unsafe impl Scheduler for Channel {
    type Header = StateWord;
    type TaskPool = ChannelTasks;

    const DETECTS_QUIESCENCE: bool = true;
    // The manager counts workers.
    const HANDS_OFF: bool = false;

    fn task_pool(&self, stack: TaskStack<Self>, workers: usize) -> ChannelTasks {
        ChannelTasks::new(stack, workers, self.stealing)
    }
}
