//! The messages, and the channels that carry them.

use std::cell::{RefCell, RefMut};
use std::collections::VecDeque;

use crossbeam_utils::CachePadded;

use purloin::scheduler::sync::{AtomicBool, Ordering, UnsafeCell};
use purloin::scheduler::{Count, Slot, StateWord};

use super::Channel;
use super::fifo::Fifo;
use super::manager::Manager;
use super::strategy::{Amount, Stealing, Strategy};

/// Maximum number of tasks in one answer.
pub(super) const MAX_TASKS: usize = if cfg!(loom) { 2 } else { 256 };

/// The two requests that each worker has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Asks for any task. Workers that cannot answer it forward it.
    Any,
    /// Asks for a descendant of a stolen task. It goes only to the thief of that task.
    Leapfrog,
}

/// The state of a worker while it handles a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Situation {
    /// It runs something, and may have tasks soon.
    Running,
    /// It runs a loop, and can split it for each request.
    InLoop,
    /// It waits for a stolen task. The named worker runs that task, if it is known.
    Blocked(Option<usize>),
    /// It has nothing to run.
    Idle,
}

impl Situation {
    /// Returns the situation of a worker that handles requests. `is_splitting` says whether the worker has
    /// just pushed a part of a loop, and is cleared. That part is the share of one request; the others get
    /// their own parts.
    pub(super) fn after_push(self, is_splitting: &mut bool) -> Situation {
        match std::mem::take(is_splitting) && self == Situation::Running {
            true => Situation::InLoop,
            false => self,
        }
    }
}

/// A task that was sent to a thief.
#[derive(Clone, Copy)]
pub(super) struct SentTask {
    /// The address of the task.
    pub(super) slot: *mut Slot<Channel>,
    /// The number of the worker in whose stack the task lies.
    pub(super) owner: usize,
}

/// A message in a worker's mailbox.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Message {
    Steal(StealRequest),
    Leapfrog(LeapfrogRequest),
    /// Thief to holder: answer my leapfrog request now, even without a task.
    Withdraw {
        thief: usize,
    },
    /// Victim to manager: I am about to answer the registered request of this thief.
    Update {
        thief: usize,
    },
    /// Thief to manager: I am about to run work from outside, although my request says that I am
    /// idle.
    OutsideBegun {
        thief: usize,
    },
    /// Manager to thief: I have read that you run work from outside.
    OutsideNoted,
    /// Thief to manager: I am idle again.
    OutsideEnded {
        thief: usize,
    },
}

/// The colour of a steal request: what it says about its thief.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Colour {
    /// It had something to run when it sent the request.
    Working,
    /// It has nothing to run.
    Idle,
    /// It has nothing to run, and the manager has counted it.
    RegisteredIdle,
}

/// A request for any task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct StealRequest {
    pub(super) thief: usize,
    pub(super) colour: Colour,
    /// How many of a victim's tasks the thief wants.
    pub(super) amount: Amount,
    /// Number of workers that were asked, up to the number of other workers.
    pub(super) asked: usize,
    /// The worker that was asked last.
    pub(super) last: usize,
}

/// A request for a descendant of the task that its receiver runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LeapfrogRequest {
    pub(super) thief: usize,
    /// The address of the awaited task's state word. Workers only compare it.
    pub(super) awaited: usize,
}

impl LeapfrogRequest {
    pub(super) fn new(thief: usize, outcome: &StateWord) -> Self {
        let awaited = std::ptr::from_ref(outcome).addr();
        LeapfrogRequest { thief, awaited }
    }

    /// Returns whether the thief waits for the task with this state word.
    pub(super) fn awaits(&self, outcome: &StateWord) -> bool {
        self.awaited == std::ptr::from_ref(outcome).addr()
    }
}

/// Returns how many messages may be in one mailbox at a time.
///
/// Of each worker: its steal request; its leapfrog request and two withdrawals, because the receiver
/// reads the first withdrawal before the next request; and at the manager one update, because only
/// the manager registers a request, and two messages about outside work, because the thief sends the
/// second and fourth of these after the manager has read the first and third. Besides, one
/// [`Message::OutsideNoted`].
pub(super) fn capacity(workers: usize) -> usize {
    7 * workers + 1
}

/// The channel that brings one answer at a time to a thief. It has one sender at a time: the worker
/// that has the request.
pub(super) struct Answer {
    /// Whether there is an answer that the thief has not read.
    is_full: AtomicBool,
    tasks: UnsafeCell<Vec<SentTask>>,
}

impl Answer {
    fn new(max_tasks: usize) -> Self {
        Answer {
            is_full: AtomicBool::new(false),
            tasks: UnsafeCell::new(Vec::with_capacity(max_tasks)),
        }
    }

    /// Victim: writes an answer without sending it. Returns the number of its tasks.
    ///
    /// # Safety
    ///
    /// The caller has the request of the thief that reads this channel, and has not answered it.
    pub(super) unsafe fn write(&self, fill: impl FnOnce(&mut Vec<SentTask>)) -> usize {
        self.tasks.with_mut(|tasks| {
            // SAFETY: a request has one answer, and the thief has read the last one before it has
            // sent this request. So no other worker uses the channel.
            let tasks = unsafe { &mut *tasks };
            fill(tasks);
            tasks.len()
        })
    }

    /// Victim: sends what it has written. The caller then no longer has the request.
    pub(super) fn send(&self) {
        // Release: publishes the tasks.
        self.is_full.store(true, Ordering::Release);
    }

    /// Thief: returns whether there is an answer.
    pub(super) fn is_full(&self) -> bool {
        // Acquire: the tasks.
        self.is_full.load(Ordering::Acquire)
    }

    /// Thief: reads the answer, if there is one.
    pub(super) fn receive<R>(&self, read: impl FnOnce(&mut Vec<SentTask>) -> R) -> Option<R> {
        if !self.is_full() {
            return None;
        }
        // Relaxed: the thief's next request publishes that the channel is empty.
        self.is_full.store(false, Ordering::Relaxed);
        Some(self.tasks.with_mut(|tasks| {
            // SAFETY: the answer was sent, so its sender no longer has the request, and the thief has
            // not sent another one.
            let tasks = unsafe { &mut *tasks };
            let result = read(tasks);
            tasks.clear();
            result
        }))
    }
}

/// A worker's channels, and the state that it keeps between messages.
pub struct Channels {
    pub(super) mailbox: Fifo<Message>,
    /// One for each [`Kind`] of request.
    answers: [CachePadded<Answer>; 2],
    own: CachePadded<RefCell<WorkerState>>,
}

// SAFETY: only the worker's own thread uses `own`: the callers of `Channels::worker_state` see to
// that. `Answer` says which thread uses its tasks.
unsafe impl Sync for Channels {}
// SAFETY: no field is tied to a thread before the worker starts.
unsafe impl Send for Channels {}

/// State that only the worker's own thread uses.
pub(super) struct WorkerState {
    /// Tasks that victims have sent to this worker and that it has not claimed, the oldest first.
    pub(super) received: VecDeque<SentTask>,
    pub(super) strategy: Strategy,
    /// The colour of the worker's request when the worker last had it, if the request is under way.
    pub(super) sent: Option<Colour>,
    pub(super) leapfrog: Leapfrog,
    /// The requests that the worker keeps until it has tasks for them.
    pub(super) kept: VecDeque<StealRequest>,
    pub(super) kept_leapfrogs: Vec<LeapfrogRequest>,
    pub(super) outside: Outside,
    /// Whether the worker is about to split a loop, so that its next push is the share of one
    /// request.
    pub(super) is_splitting: bool,
    /// Whether workers without tasks pass requests on.
    pub(super) forwards: bool,
    /// The manager's knowledge. Only worker 0 uses it.
    pub(super) manager: Manager,
}

/// A worker's own leapfrog request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Leapfrog {
    Unsent,
    /// It is with this worker.
    SentTo(usize),
    /// The worker has withdrawn it, and ignores the answer that will come.
    Withdrawn,
    /// The holder has answered it without a task, because it ends the awaited task.
    Cancelled,
}

/// The last report of a worker to the manager about outside work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outside {
    /// Nothing: its requests speak for it.
    Nothing,
    /// That it has begun such work.
    Begun,
    /// That it has begun such work, and the manager has read it.
    Noted,
}

impl Channels {
    /// Returns the channels of one worker in a pool of this many.
    pub(super) fn new(workers: usize, stealing: Stealing, forwards: bool) -> Channels {
        Channels {
            mailbox: Fifo::new(capacity(workers)),
            answers: [MAX_TASKS, 1].map(|max_tasks| CachePadded::new(Answer::new(max_tasks))),
            own: CachePadded::new(RefCell::new(WorkerState {
                received: VecDeque::with_capacity(MAX_TASKS),
                strategy: Strategy::new(stealing),
                sent: None,
                leapfrog: Leapfrog::Unsent,
                kept: VecDeque::with_capacity(workers),
                kept_leapfrogs: Vec::with_capacity(workers),
                outside: Outside::Nothing,
                is_splitting: false,
                forwards,
                manager: Manager::new(workers),
            })),
        }
    }

    /// Borrows the worker's state. Only the worker's own thread may call this, and only while it
    /// has no other borrow.
    pub(super) fn worker_state(&self) -> RefMut<'_, WorkerState> {
        self.own.borrow_mut()
    }

    pub(super) fn answer(&self, kind: Kind) -> &Answer {
        &self.answers[kind as usize]
    }
}

/// The operations on a pool's workers that the protocol needs. The loom models implement them, too.
pub(super) trait Peers {
    /// The number of workers.
    fn workers(&self) -> usize;

    fn channels(&self, worker: usize) -> &Channels;

    /// Wakes a worker, if it sleeps.
    fn unpark(&self, worker: usize);

    /// Makes a worker look into its mailbox soon.
    fn notify(&self, worker: usize);

    /// Worker `me`: leaves its floor raised, or lowers it.
    fn set_floor(&self, me: usize, is_raised: bool);

    /// Worker `me`: adds own tasks to an answer, see
    /// [`ChannelTasks::answer_with_own`](super::tasks::ChannelTasks::answer_with_own).
    fn add_own_tasks(
        &self,
        me: usize,
        demand: (Kind, Amount),
        situation: Situation,
        tasks: &mut Vec<SentTask>,
    );

    /// Worker `me`: counts an event.
    fn count(&self, me: usize, count: Count);

    /// Sends a message.
    fn send(&self, to: usize, message: Message) {
        self.channels(to).mailbox.send(message);
        self.notify(to);
    }

    /// Worker `me`: sends a message that is not a steal request.
    fn send_control(&self, me: usize, to: usize, message: Message) {
        self.count(me, Count::ControlMessages);
        self.send(to, message);
    }
}
