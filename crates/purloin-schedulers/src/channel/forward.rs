//! Forwarding: the route of a request for any task that its handler cannot answer, and how the
//! manager concludes from the requests that all workers are idle.

use super::network::{Network, RequestId};
use super::protocol::{Kind, MANAGER, Situation};
use super::request::{Contents, Request, RequestState};
use purloin::scheduler::sync::{Ordering, fence};

/// Forwards a request that `me` has taken out of its mailbox and cannot answer, or puts it back
/// if it stays here. Returns whether another worker has it now.
pub(super) fn forward(
    network: &(impl Network + ?Sized),
    me: usize,
    id: RequestId,
    situation: Situation,
) -> bool {
    let request = network.request(id);
    let is_registrar = me == MANAGER && situation == Situation::Idle;
    loop {
        // SAFETY: this worker has taken the request out of its mailbox, and before each further
        // round of the loop it takes the request out again. So it alone uses the contents.
        let (next, is_work_sharing) = unsafe {
            request.with(|contents| {
                let next = next_handler(network, me, id.thief(), contents, situation);
                (next, contents.is_work_sharing)
            })
        };
        if let Some(next) = next {
            if next == id.thief() {
                // It is the manager's own request, and no other worker was active a moment ago. A worker
                // that becomes active from now on finds the request UNSENT, and wakes the manager. If
                // one has become active just before, the manager finds it now.
                request.cancel();
                network.notify(id.thief());
                return false;
            }
            // The manager sends no request back: the thief of a registered request sleeps.
            let is_refused = !network.forwards() && !is_work_sharing && !is_registrar;
            network.send(id, if is_refused { id.thief() } else { next });
            if is_registrar {
                // The thief may sleep without a timer, because there was no worker to ask.
                network.notify(id.thief());
            }
            return true;
        }
        network.channels(me).mailbox.put(id);
        if !is_registrar {
            return false;
        }
        request.register();
        // Dekker's pattern. A worker that gets something to run first becomes active, and at its
        // first push looks for registered requests. So either that worker sees this request, or
        // this worker sees that it is active.
        fence(Ordering::SeqCst);
        let mut others = (0..network.workers()).filter(|&other| other != me && other != id.thief());
        let is_any_active = others.any(|other| network.is_active(other));
        if !is_any_active || !network.channels(me).mailbox.take(id) {
            return false;
        }
        request.unregister();
    }
}

/// Returns the worker to which `me` forwards a request, or `None` if the request stays here.
fn next_handler(
    network: &(impl Network + ?Sized),
    me: usize,
    thief: usize,
    contents: &mut Contents,
    situation: Situation,
) -> Option<usize> {
    let workers = network.workers();
    let is_candidate = |&other: &usize| other != me && other != thief && network.is_active(other);
    let workers_from = |first: usize| (0..workers).map(move |i| (first + i) % workers);
    contents.mark_asked(me);
    if !contents.is_work_sharing && situation != Situation::InLoop {
        let mut unasked = workers_from(me + 1).filter(|&other| !contents.was_asked(other));
        if let Some(next) = unasked.find(is_candidate) {
            return Some(next);
        }
    }
    match situation {
        Situation::InLoop => None,
        Situation::Running if contents.is_work_sharing => None,
        Situation::Running => {
            contents.is_work_sharing = true;
            ancestors(thief).find(is_candidate)
        }
        Situation::Blocked(holder) => holder,
        Situation::Idle if me == MANAGER && thief == MANAGER => {
            // Its own request, which all active workers have refused.
            contents.is_work_sharing = true;
            workers_from(me + 1).find(is_candidate)
        }
        Situation::Idle if me == MANAGER => {
            // The start depends on the thief, so that not all requests go to one worker.
            let next = workers_from(me + 1 + thief).find(is_candidate)?;
            contents.restart();
            contents.mark_asked(me);
            Some(next)
        }
        Situation::Idle => {
            contents.is_work_sharing = true;
            let ancestor = ancestors(thief).find(is_candidate);
            Some(ancestor.unwrap_or_else(|| match thief {
                // The manager has no ancestor. If no worker is active, its request ends.
                MANAGER => workers_from(me + 1).find(is_candidate).unwrap_or(MANAGER),
                _ => MANAGER,
            }))
        }
    }
}

/// Returns the ancestors of a worker in the tree, the parent first.
fn ancestors(worker: usize) -> impl Iterator<Item = usize> {
    let parent = |worker: &usize| Some(worker.checked_sub(1)? / 2);
    std::iter::successors(parent(&worker), parent)
}

/// Thief: sends its own request, which has come back refused, to the next worker. The thief is idle,
/// and has taken the request out of its mailbox. Returns false if no worker is left to ask; the
/// thief then still has the request.
pub(super) fn ask_next(network: &(impl Network + ?Sized), me: usize, id: RequestId) -> bool {
    // SAFETY: this worker has taken the request out of its mailbox, so it alone uses the contents.
    let next = unsafe {
        network
            .request(id)
            .with(|contents| next_handler(network, me, me, contents, Situation::Idle))
    };
    match next.filter(|&next| next != me) {
        Some(next) => {
            network.send(id, next);
            true
        }
        None => false,
    }
}

/// Returns the worker to which thief `me` sends its request after `previous` has not answered it:
/// an active worker, preferably one that was not asked.
pub(super) fn next_victim(
    network: &(impl Network + ?Sized),
    me: usize,
    contents: &mut Contents,
    previous: usize,
) -> Option<usize> {
    let workers = network.workers();
    let find = |contents: &Contents| {
        let mut others = (1..workers).map(|i| (previous + i) % workers);
        others.find(|&other| other != me && network.is_active(other) && !contents.was_asked(other))
    };
    contents.mark_asked(previous);
    contents.is_work_sharing = false;
    find(contents).or_else(|| {
        contents.restart();
        find(contents)
    })
}

/// Returns whether all other workers are idle and there is no work outside. Called by the manager
/// while it is itself idle.
///
/// The requests show that each other worker was idle before the look for work outside, and that it
/// is still idle afterwards. A worker that had something to run in between has changed the state of
/// its request, and only the manager registers a request again.
pub(super) fn is_quiescent(
    network: &(impl Network + ?Sized),
    has_no_outside_work: impl FnOnce() -> bool,
) -> bool {
    let mut requests = (0..network.workers())
        .filter(|&worker| worker != MANAGER)
        .map(|worker| network.channels(worker).request(Kind::Any));
    requests.clone().all(Request::register)
        && has_no_outside_work()
        && requests.all(|request| request.state() == RequestState::RegisteredIdle)
}
