//! The channels: each worker's mailbox and requests, and how a request travels between them.

use std::cell::{RefCell, RefMut};
use std::collections::VecDeque;

use crossbeam_utils::CachePadded;

use super::protocol::{Kind, MANAGER, MAX_TASKS, SentTask};
use super::request::{Request, RequestState};
use super::strategy::{Stealing, Strategy};
use super::tasks::channels;
use super::{Channel, Worker};
use purloin::scheduler::sync::{AtomicUsize, Ordering};

/// The number of a request. It stands for the request in messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RequestId(usize);

impl RequestId {
    pub(super) fn new(thief: usize, kind: Kind) -> RequestId {
        RequestId(thief * 2 + kind as usize)
    }

    pub(super) fn thief(self) -> usize {
        self.0 / 2
    }

    pub(super) fn kind(self) -> Kind {
        match self.0 % 2 {
            0 => Kind::Any,
            _ => Kind::Leapfrog,
        }
    }
}

const BITS: usize = usize::BITS as usize;

/// The channel by which requests reach a worker. It has many senders and one receiver.
///
/// Each number belongs to one request, so a mailbox has one bit for each request of the pool. It
/// cannot be full, and it allocates nothing. A thief can take its own request out again. The
/// requests in a mailbox have no order.
pub(super) struct Mailbox(Box<[AtomicUsize]>);

impl Mailbox {
    fn new(requests: usize) -> Mailbox {
        let words = requests.div_ceil(BITS);
        Mailbox((0..words).map(|_| AtomicUsize::new(0)).collect())
    }

    /// Puts a request in. The caller has the request, and gives it up.
    pub(super) fn put(&self, RequestId(id): RequestId) {
        // Release: publishes the caller's writes to the request. An exchange by another sender
        // continues the release sequence.
        let before = self.0[id / BITS].fetch_or(1 << (id % BITS), Ordering::Release);
        debug_assert!(
            before & 1 << (id % BITS) == 0,
            "a request is in one place at a time"
        );
    }

    /// Takes a request out. Returns whether the mailbox had the request; if so, the caller has it
    /// now.
    pub(super) fn take(&self, RequestId(id): RequestId) -> bool {
        // Acquire: makes the sender's writes to the request visible.
        self.0[id / BITS].fetch_and(!(1 << (id % BITS)), Ordering::Acquire) & 1 << (id % BITS) != 0
    }

    /// Returns the requests that this thread sees in the mailbox, in the order of their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = RequestId> {
        self.0.iter().enumerate().flat_map(|(i, word)| {
            let mut bits = word.load(Ordering::Relaxed);
            std::iter::from_fn(move || {
                let lowest = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                Some(RequestId(i * BITS + lowest))
            })
        })
    }

    /// Returns the requests for any task that this thread sees in the mailbox.
    pub(super) fn iter_any(&self) -> impl Iterator<Item = RequestId> {
        self.iter().filter(|id| id.kind() == Kind::Any)
    }

    /// Returns whether this thread sees no request in the mailbox.
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| word.load(Ordering::Relaxed) == 0)
    }
}

/// A worker's channels, and the state that it keeps between messages.
pub struct Channels {
    pub(super) mailbox: CachePadded<Mailbox>,
    /// One request of each [`Kind`]. They also bring the tasks.
    requests: [CachePadded<Request>; 2],
    own: CachePadded<RefCell<WorkerState>>,
    /// Whether workers without tasks pass requests on: see [`Network::forwards`].
    forwards: bool,
}

// SAFETY: only the worker's own thread uses `own`: the callers of `Channels::worker_state` see to
// that. The other fields are `Sync`.
unsafe impl Sync for Channels {}
// SAFETY: no field is tied to a thread before the worker starts.
unsafe impl Send for Channels {}

/// State that only the worker's own thread uses.
pub(super) struct WorkerState {
    /// Tasks that victims have sent to this worker and that it has not claimed, the oldest first.
    pub(super) received: VecDeque<SentTask<Channel>>,
    pub(super) strategy: Strategy,
    /// Whether the worker has become active and has not looked for registered requests since.
    pub(super) is_newly_active: bool,
    /// Whether the worker is about to split a loop, so that its next push is the share of one
    /// request.
    pub(super) is_splitting: bool,
}

impl Channels {
    /// Returns the channels of one worker in a pool of this many.
    pub(super) fn new(workers: usize, stealing: Stealing, forwards: bool) -> Channels {
        let request = |max_tasks| CachePadded::new(Request::new(workers, max_tasks));
        Channels {
            mailbox: CachePadded::new(Mailbox::new(2 * workers)),
            requests: [request(MAX_TASKS), request(1)],
            own: CachePadded::new(RefCell::new(WorkerState {
                received: VecDeque::with_capacity(MAX_TASKS),
                strategy: Strategy::new(stealing),
                is_newly_active: false,
                is_splitting: false,
            })),
            forwards,
        }
    }

    /// Borrows the worker's state. Only the worker's own thread may call this, and only while it
    /// has no other borrow.
    pub(super) fn worker_state(&self) -> RefMut<'_, WorkerState> {
        self.own.borrow_mut()
    }

    pub(super) fn request(&self, kind: Kind) -> &Request {
        &self.requests[kind as usize]
    }
}

/// The operations on a pool's workers that messages need. The loom models implement them, too.
pub(super) trait Network {
    /// The number of workers.
    fn workers(&self) -> usize;

    fn channels(&self, worker: usize) -> &Channels;

    /// Returns, as a hint, whether a worker runs something. A wrong answer does no harm: the
    /// request wakes an idle worker for nothing.
    fn is_active(&self, worker: usize) -> bool;

    /// Makes a worker look into its mailbox soon.
    fn notify(&self, worker: usize);

    /// Returns whether a worker that cannot answer a request sends it to the next worker. Otherwise
    /// it sends it back to the thief, which asks the next worker itself.
    fn forwards(&self) -> bool {
        self.channels(MANAGER).forwards
    }

    fn request(&self, id: RequestId) -> &Request {
        self.channels(id.thief()).request(id.kind())
    }

    /// Sends a request, which the caller has, to a worker.
    fn send(&self, id: RequestId, to: usize) {
        self.request(id).set_destination(to);
        self.channels(to).mailbox.put(id);
        self.notify(to);
    }

    /// Thief: takes its request, which is under way, out of the mailbox that has it. Returns false
    /// if no mailbox has it, because its handler is about to answer or forward it.
    fn recall(&self, id: RequestId) -> bool {
        let request = self.request(id);
        let is_recalled = self.channels(request.destination()).mailbox.take(id);
        if is_recalled {
            request.end();
        }
        is_recalled
    }

    /// Thief: withdraws its request, because it has something to run. Returns the resulting state:
    /// UNSENT, WITHDRAWN, or ANSWERED if the answer came first.
    fn withdraw(&self, id: RequestId) -> RequestState {
        let request = self.request(id);
        match request.state() {
            RequestState::Unsent => RequestState::Unsent,
            _ if self.recall(id) => RequestState::Unsent,
            _ => request.withdraw(),
        }
    }
}

impl Network for [Worker] {
    fn workers(&self) -> usize {
        self.len()
    }

    fn channels(&self, worker: usize) -> &Channels {
        channels(&self[worker])
    }

    fn is_active(&self, worker: usize) -> bool {
        self[worker].is_active()
    }

    fn notify(&self, worker: usize) {
        self[worker].task_pool().notify();
        self[worker].unpark();
    }
}
