//! The thief: a worker that sends requests, and runs the tasks that it receives.
//!
//! A worker sends its request for any task when it is idle, or ahead of time. It sends its leapfrog
//! request when it is blocked.

use purloin::scheduler::sync::{Ordering, fence};
use purloin::scheduler::{Backoff, Count, Search, Slept, StateWord, Stolen};

use super::forward::{is_quiescent, next_victim};
use super::network::{Network, RequestId};
use super::protocol::{Kind, MANAGER, SentTask, Situation};
use super::request::{Awaited, Request, RequestState};
use super::tasks::{channels, claim, claim_received};
use super::victim::{cancel_leapfrogs, check_mailbox};
use super::{Channel, Own, Worker};

// An idle worker.

pub(super) fn before_outside_work(me: Own<'_>) {
    // Withdraws the request before the worker takes any work, so that the manager does not count
    // the worker as idle.
    withdraw(me, Kind::Any);
    // The requests of other thieves must not stay with a worker that seems idle.
    check_mailbox(me, Situation::Idle);
}

pub(super) fn look(search: &mut Search<'_, Channel>) -> Option<Stolen<Channel>> {
    let me = search.me;
    check_mailbox(me, Situation::Idle);
    let own = channels(&me).request(Kind::Any);
    let stolen = claim_next(me, true).or_else(|| match own.state() {
        RequestState::Answered => {
            let began = me.attempt_began();
            receive_tasks(me);
            let stolen = claim_next(me, false);
            match &stolen {
                Some(_) => me.time_steal(began),
                None => search.backoff.missed_offer(),
            }
            stolen
        }
        RequestState::Unsent => {
            send_request(me, RequestState::Idle);
            None
        }
        _ if std::mem::take(&mut search.has_timed_out) => {
            send_request_elsewhere(me);
            None
        }
        _ => {
            if own.mark_idle() {
                if me.is_wait_standing_by_now() {
                    me.peers()[MANAGER].unpark();
                }
            } else if own.state() == RequestState::Unsent {
                // A handler has cancelled the request just now.
                send_request(me, RequestState::Idle);
            }
            None
        }
    });
    if stolen.is_none()
        && me.index() == MANAGER
        && let Some(wait) = me.standing_wait()
        && is_quiescent(me.peers(), || !me.has_outside_work())
    {
        me.end_waits(wait);
    }
    stolen
}

/// Sleeps until a message arrives. If the sleep has a limit and reaches it, the next
/// [`look`] sends the request to another worker. A thief that keeps losing its tasks to their
/// owners naps instead, with its request withdrawn.
pub(super) fn sleep(search: &mut Search<'_, Channel>) -> Slept {
    let me = search.me;
    let is_answered = || channels(&me).request(Kind::Any).state() == RequestState::Answered;
    match search.backoff.nap_time() {
        Some(time) => {
            withdraw(me, Kind::Any);
            // All idle workers may lose their tasks like this one. So each of them naps longer when
            // there are more of them.
            let idle = me.idle_workers().max(1) as u32;
            search.sleep(Some(time * idle), is_answered);
            Slept::Woken
        }
        None => {
            // Its last answer may have brought only a task that the owner has taken back. Nothing wakes
            // a thief without a request, and the manager does not register it.
            if channels(&me).request(Kind::Any).state() == RequestState::Unsent {
                send_request(me, RequestState::Idle);
            }
            let limit = search.sleep_limit();
            search.sleep(limit, is_answered)
        }
    }
}

pub(super) fn became_active(me: Own<'_>) {
    if me.peers().len() == 1 {
        return;
    }
    if withdraw(me, Kind::Any) == RequestState::Answered {
        receive_tasks(me);
    }
    // Dekker's pattern: the worker becomes active, and looks for registered requests at its first
    // push. The manager registers a request, and looks for active workers.
    fence(Ordering::SeqCst);
    channels(&me).worker_state().is_newly_active = true;
    me.task_pool().keep_floor_raised();
}

// A blocked worker.

pub(super) fn leapfrog(
    me: Own<'_>,
    holder: &Worker,
    outcome: &StateWord,
    backoff: &mut Backoff,
) -> Option<Stolen<Channel>> {
    let own = channels(&me).request(Kind::Leapfrog);
    match own.state() {
        RequestState::Unsent => {
            // SAFETY: this worker is the request's thief, and the request is UNSENT.
            unsafe { own.with(|contents| contents.awaited = Some(Awaited::new(outcome))) };
            own.begin(RequestState::Idle);
            me.count(Count::StealAttempts);
            backoff.requested_again();
            let id = RequestId::new(me.index(), Kind::Leapfrog);
            me.peers().send(id, holder.index());
            None
        }
        RequestState::Answered => {
            let sent = receive_descendant(own)?;
            if claim(sent.slot, me.index(), || !outcome.is_done()) {
                channels(&me).worker_state().strategy.leapfrogged();
                // SAFETY: `claim` has taken the task, and has written the thief to its slot.
                return Some(unsafe { Stolen::new(sent.slot, holder) });
            }
            backoff.missed_offer();
            None
        }
        _ => None,
    }
}

pub(super) fn has_leapfrog_answer(me: Own<'_>) -> bool {
    channels(&me).request(Kind::Leapfrog).state() == RequestState::Answered
}

pub(super) fn stop_leapfrogging(me: Own<'_>) {
    if withdraw(me, Kind::Leapfrog) == RequestState::Answered {
        // The worker drops the task without claiming it. The task's owner takes it back, or sends
        // it to another thief.
        receive_descendant(channels(&me).request(Kind::Leapfrog));
    }
}

// A worker that runs a stolen task.

pub(super) fn begin_stolen(me: Own<'_>) {
    me.task_pool().mark_top();
    let channels = channels(&me);
    let asks_ahead = {
        let own = channels.worker_state();
        own.received.is_empty() && own.strategy.asks_ahead()
    };
    if asks_ahead && channels.request(Kind::Any).state() == RequestState::Unsent {
        send_request(me, RequestState::Working);
    }
}

pub(super) fn end_stolen(me: Own<'_>, outcome: &StateWord) {
    let has_children = me.task_pool().has_pushed();
    let channels = channels(&me);
    channels.worker_state().strategy.count_task(has_children);
    if !channels.mailbox.is_empty() {
        cancel_leapfrogs(me, outcome);
    }
}

// Sending and receiving.

/// Sends the worker's request for any task to a first victim. If no worker is active, an idle
/// worker sends it to the manager, and the manager itself keeps its own.
fn send_request(me: Own<'_>, state: RequestState) {
    let victim = match me.first_victim() {
        Some(victim) => victim.index(),
        None if me.index() == MANAGER || state == RequestState::Working => return,
        None => MANAGER,
    };
    me.count(Count::StealAttempts);
    if state == RequestState::Working {
        me.count(Count::EarlyRequests);
    }
    let own = channels(&me).request(Kind::Any);
    let amount = channels(&me).worker_state().strategy.amount();
    // SAFETY: this worker is the request's thief, and the request is UNSENT.
    unsafe {
        own.with(|contents| {
            contents.restart();
            contents.mark_asked(me.index());
            contents.amount = amount;
        });
    }
    own.begin(state);
    let id = RequestId::new(me.index(), Kind::Any);
    me.peers().send(id, victim);
}

/// Recalls the worker's request for any task from a worker that has not answered it for some
/// time, and sends it to another one.
#[cold]
fn send_request_elsewhere(me: Own<'_>) {
    let (workers, id) = (me.peers(), RequestId::new(me.index(), Kind::Any));
    let own = workers.request(id);
    let previous = own.destination();
    if !workers.recall(id) {
        return;
    }
    // SAFETY: this worker is the request's thief, and has recalled it, so it is UNSENT.
    let next = unsafe { own.with(|contents| next_victim(workers, me.index(), contents, previous)) };
    if let Some(next) = next {
        me.count(Count::StealAttempts);
        own.begin(RequestState::Idle);
        workers.send(id, next);
    }
}

/// Withdraws one of the worker's requests. Returns its resulting state.
fn withdraw(me: Own<'_>, kind: Kind) -> RequestState {
    me.peers().withdraw(RequestId::new(me.index(), kind))
}

/// Receives the tasks that the worker's request for any task has brought.
fn receive_tasks(me: Own<'_>) {
    let request = channels(&me).request(Kind::Any);
    let mut own = channels(&me).worker_state();
    debug_assert_eq!(request.state(), RequestState::Answered);
    // SAFETY: this worker is the request's thief, and the request is ANSWERED.
    unsafe { request.with(|contents| own.received.extend(contents.tasks.drain(..))) };
    request.end();
    own.strategy.was_answered();
}

/// Receives the task that a leapfrog request has brought.
fn receive_descendant(own: &Request) -> Option<SentTask<Channel>> {
    debug_assert_eq!(own.state(), RequestState::Answered);
    // SAFETY: the calling worker is the request's thief, and the request is ANSWERED.
    let sent = unsafe { own.with(|contents| contents.tasks.pop()) };
    own.end();
    sent
}

/// Claims the oldest received task that its owner has not taken back. The steal `is_free` if the
/// worker has not sent a request for it.
fn claim_next(me: Own<'_>, is_free: bool) -> Option<Stolen<Channel>> {
    let next = || channels(&me).worker_state().received.pop_front();
    let stolen = claim_received(me, is_free, next)?;
    channels(&me).worker_state().strategy.claimed();
    Some(stolen)
}
