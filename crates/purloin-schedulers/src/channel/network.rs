//! Where requests go: a worker's channels, and the way from one to the next.

use std::cell::{RefCell, RefMut};
use std::collections::VecDeque;

use crossbeam_utils::CachePadded;

use super::mailbox::{Id, Mailbox};
use super::request::{Colour, Contents, MAX_TASKS, Request, Sent};
use super::strategy::{Experience, Stealing};
use purloin::scheduler::sync::{Ordering, fence};

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
    thief * 2 + kind as Id
}

pub(super) fn thief(id: Id) -> usize {
    id / 2
}

pub(super) fn kind(id: Id) -> Kind {
    match id % 2 {
        0 => Kind::Any,
        _ => Kind::Leap,
    }
}

/// A worker's channels, and what it has taken from them.
pub(super) struct Post {
    pub(super) mailbox: CachePadded<Mailbox>,
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
    /// Tasks that it was sent and has not begun.
    pub(super) tasks: VecDeque<Sent>,
    pub(super) experience: Experience,
    /// Whether to look, at the next push, for those who sleep for good.
    pub(super) is_news: bool,
}

impl Post {
    /// That of one of so many workers.
    pub(super) fn new(workers: usize, stealing: Stealing) -> Post {
        let request = |most| CachePadded::new(Request::new(workers, most));
        Post {
            mailbox: CachePadded::new(Mailbox::new(2 * workers)),
            requests: [request(MAX_TASKS), request(1)],
            desk: CachePadded::new(RefCell::new(Desk {
                tasks: VecDeque::with_capacity(MAX_TASKS),
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

    /// The requests for any task that are there.
    pub(super) fn for_any(&self) -> impl Iterator<Item = Id> {
        self.mailbox.iter().filter(|&id| kind(id) == Kind::Any)
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

pub(super) fn request(network: &(impl Network + ?Sized), id: Id) -> &Request {
    network.post(thief(id)).request(kind(id))
}

/// Sends a request, which is the caller's, to a worker.
pub(super) fn send(network: &(impl Network + ?Sized), id: Id, to: usize) {
    request(network, id).set_at(to);
    network.post(to).mailbox.put(id);
    network.notify(to);
}

/// The thief of a request that is under way takes it back from where it is. False
/// if it is on its way, or about to be answered.
pub(super) fn take_back(network: &(impl Network + ?Sized), id: Id) -> bool {
    let request = request(network, id);
    let is_taken = network.post(request.at()).mailbox.take(id);
    if is_taken {
        request.taken_back();
    }
    is_taken
}

/// The thief has something to run, so that its request is for nothing. Returns
/// what has become of that.
pub(super) fn withdraw(network: &(impl Network + ?Sized), id: Id) -> Colour {
    let request = request(network, id);
    match request.colour() {
        Colour::Home => Colour::Home,
        _ if take_back(network, id) => Colour::Home,
        _ => request.unwant(),
    }
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

/// Sends on a request for any task that `me` has taken out of its mailbox and
/// cannot answer, or puts it back, if this is where it rests.
pub(super) fn pass(network: &(impl Network + ?Sized), me: usize, id: Id, situation: Situation) {
    let request = request(network, id);
    let is_kept_for_good = me == MANAGER && situation == Situation::Idle;
    loop {
        // SAFETY: it is in our hands.
        let next =
            unsafe { request.with(|contents| next(network, me, thief(id), contents, situation)) };
        if let Some(next) = next {
            if next == thief(id) {
                return request.send_home();
            }
            send(network, id, next);
            if is_kept_for_good {
                // It may have gone to sleep when there was nobody to ask.
                network.notify(thief(id));
            }
            return;
        }
        network.post(me).mailbox.put(id);
        if !is_kept_for_good {
            return;
        }
        request.register();
        // Who has something to run says that first, and then looks for those who
        // sleep, at its first push. So either it finds this, or we find it.
        fence(Ordering::SeqCst);
        let mut others = (0..network.workers()).filter(|&other| other != me && other != thief(id));
        if !others.any(|other| network.is_active(other)) || !network.post(me).mailbox.take(id) {
            return;
        }
        request.unregister();
    }
}

fn next(
    network: &(impl Network + ?Sized),
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
            contents.begin_anew();
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

/// To whom a thief sends its request that has got nothing where it was: one that
/// runs something, and was not asked.
pub(super) fn another(
    network: &(impl Network + ?Sized),
    me: usize,
    contents: &mut Contents,
    was: usize,
) -> Option<usize> {
    let workers = network.workers();
    let find = |contents: &Contents| {
        let mut others = (1..workers).map(|i| (was + i) % workers);
        others.find(|&other| other != me && network.is_active(other) && !contents.has_asked(other))
    };
    contents.note_asked(was);
    contents.is_resting = false;
    find(contents).or_else(|| {
        contents.begin_anew();
        find(contents)
    })
}

/// For the manager, while it is idle: whether all others are, and there is
/// nothing from outside.
///
/// Each request was an idle worker's before it looked outside, and still is. A
/// thief that had anything to run in between has changed the colour of its request,
/// and only the manager makes it a registered one again.
pub(super) fn is_quiet(
    network: &(impl Network + ?Sized),
    nothing_outside: impl FnOnce() -> bool,
) -> bool {
    let mut requests = (0..network.workers())
        .filter(|&worker| worker != MANAGER)
        .map(|worker| network.post(worker).request(Kind::Any));
    requests.clone().all(Request::register)
        && nothing_outside()
        && requests.all(|request| request.colour() == Colour::RegisteredIdle)
}
