//! Where requests go: a worker's channels, and the way from one to the next.

use std::cell::{RefCell, RefMut};
use std::collections::VecDeque;

use crossbeam_utils::CachePadded;

use super::mailbox::{Id, Mailbox};
use super::request::{Contents, MOST_TASKS, Request, Sent};
use super::strategy::{Experience, Stealing};

/// The worker that knows when all are idle, the root of the tree.
pub(super) const MANAGER: usize = 0;

/// Which of its requests a thief sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// For any task. It goes around.
    Any,
    /// For what descends from a task, to the worker that runs that.
    Leap,
}

/// The number of a request.
pub(super) fn id(thief: usize, kind: Kind) -> Id {
    // There are at most `Builder::MAX_WORKERS`.
    thief as Id * 2 + kind as Id
}

pub(super) fn thief(id: Id) -> usize {
    id as usize / 2
}

pub(super) fn kind(id: Id) -> Kind {
    match id % 2 {
        0 => Kind::Any,
        _ => Kind::Leap,
    }
}

/// A worker's channels, and what it has taken from them.
pub(super) struct Post {
    mailbox: CachePadded<Mailbox>,
    /// One of each [`Kind`]. They also bring the tasks.
    requests: [CachePadded<Request>; 2],
    desk: CachePadded<RefCell<Desk>>,
}

// SAFETY: the desk is used on the worker's own thread only; the rest is `Sync`.
unsafe impl Sync for Post {}
// SAFETY: nothing is tied to a thread before the worker starts.
unsafe impl Send for Post {}

/// What a worker has before it.
pub(super) struct Desk {
    /// Requests that it could not answer yet.
    pub(super) requests: VecDeque<Id>,
    /// Tasks that it was sent and has not begun.
    pub(super) tasks: VecDeque<Sent>,
    pub(super) experience: Experience,
    /// Whether the manager should hear of its next push.
    pub(super) is_news: bool,
}

impl Post {
    pub(super) fn new(stealing: Stealing) -> Post {
        let request = |most| CachePadded::new(Request::new(most));
        Post {
            mailbox: CachePadded::new(Mailbox::new()),
            requests: [request(MOST_TASKS), request(1)],
            desk: CachePadded::new(RefCell::new(Desk {
                requests: VecDeque::new(),
                tasks: VecDeque::with_capacity(MOST_TASKS),
                experience: Experience::new(stealing),
                is_news: false,
            })),
        }
    }

    /// On the worker's own thread, which must not come back here meanwhile.
    pub(super) fn desk(&self) -> RefMut<'_, Desk> {
        self.desk.borrow_mut()
    }

    pub(super) fn request(&self, kind: Kind) -> &Request {
        &self.requests[kind as usize]
    }

    pub(super) fn has_mail(&self) -> bool {
        !self.mailbox.is_empty()
    }
}

/// The workers that send each other requests.
pub(super) trait Network {
    fn workers(&self) -> usize;

    fn post(&self, worker: usize) -> &Post;

    /// Whether it seems to have something to run. A hint: who asks one that has
    /// not, wakes it for nothing.
    fn is_active(&self, worker: usize) -> bool;

    /// Has a worker look into its mailbox, soon.
    fn notify(&self, worker: usize);
}

pub(super) fn request(network: &impl Network, id: Id) -> &Request {
    network.post(thief(id)).request(kind(id))
}

/// Sends a request, which is the caller's, to a worker.
pub(super) fn send(network: &impl Network, id: Id, to: usize) {
    if network.post(to).mailbox.send(id, request(network, id)) {
        network.notify(to);
    }
}

/// Puts what is in the mailbox of `me` on its desk, the oldest first.
pub(super) fn receive(network: &impl Network, me: usize, desk: &mut Desk) {
    let before = desk.requests.len();
    let mailbox = &network.post(me).mailbox;
    mailbox.receive(|id| request(network, id), |id| desk.requests.push_back(id));
    desk.requests.make_contiguous()[before..].reverse();
}

/// What a worker does while it has a request in hand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Situation {
    /// It runs something, and may have tasks soon.
    Running,
    /// It waits, mostly for a worker that runs something.
    Blocked(Option<usize>),
    Idle,
}

/// Sends on a request for any task that `me` cannot answer. False if this is
/// where it rests.
pub(super) fn pass(network: &impl Network, me: usize, id: Id, situation: Situation) -> bool {
    let request = request(network, id);
    // SAFETY: it is in our hands.
    let next =
        unsafe { request.with(|contents| next(network, me, thief(id), contents, situation)) };
    let Some(next) = next.filter(|&next| next != thief(id)) else {
        return false;
    };
    request.unregister();
    send(network, id, next);
    true
}

fn next(
    network: &impl Network,
    me: usize,
    thief: usize,
    contents: &mut Contents,
    situation: Situation,
) -> Option<usize> {
    let workers = network.workers();
    let is_busy = |&other: &usize| other != me && other != thief && network.is_active(other);
    // Another for each thief, so that they do not all rest with the same.
    let others = |first: usize| (0..workers).map(move |i| (first + i) % workers);
    contents.note_asked(me);
    if !contents.is_resting {
        let mut unasked = others(me + 1).filter(|&other| !contents.has_asked(other));
        if let Some(next) = unasked.find(is_busy) {
            return Some(next);
        }
    }
    match situation {
        Situation::Running if contents.is_resting => None,
        Situation::Running => {
            contents.is_resting = true;
            ancestors(thief).find(is_busy)
        }
        Situation::Blocked(holder) => holder,
        Situation::Idle if me == MANAGER => {
            let next = others(me + 1 + thief).find(is_busy)?;
            contents.begin_anew(workers);
            contents.note_asked(me);
            Some(next)
        }
        Situation::Idle => {
            contents.is_resting = true;
            Some(ancestors(thief).find(is_busy).unwrap_or(MANAGER))
        }
    }
}

/// The workers above this one in the tree.
fn ancestors(worker: usize) -> impl Iterator<Item = usize> {
    let parent = |worker: &usize| Some(worker.checked_sub(1)? / 2);
    std::iter::successors(parent(&worker), parent)
}

/// For the manager, while it is idle: whether all others are, and there is
/// nothing from outside.
///
/// It has every request in hand, and each was idle before it looked outside and
/// still is. A thief that had anything to run in between has changed the colour of
/// its request, and only the manager makes it a registered one again.
pub(super) fn is_quiet(
    network: &impl Network,
    desk: &Desk,
    nothing_outside: impl FnOnce() -> bool,
) -> bool {
    use super::request::Colour::RegisteredIdle;
    let mut requests = desk.requests.iter().map(|&id| request(network, id));
    desk.requests.len() == network.workers() - 1
        && desk.requests.iter().all(|&id| kind(id) == Kind::Any)
        && requests.clone().all(Request::register)
        && nothing_outside()
        && requests.all(|request| request.colour() == RegisteredIdle)
}
