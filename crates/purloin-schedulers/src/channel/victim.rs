//! The victim: how a worker handles the requests in its mailbox.

use purloin::scheduler::{Count, StateWord};

use super::Own;
use super::forward::{ask_next, forward};
use super::network::{Network, RequestId, WorkerState};
use super::protocol::{Kind, MANAGER, Situation};
use super::request::RequestState;
use super::tasks::{channels, is_unclaimed};

/// Answers the requests in the worker's mailbox, and forwards the requests that it cannot answer.
pub(super) fn check_mailbox(me: Own<'_>, situation: Situation) {
    let began = me.attempt_began();
    empty_mailbox(me, situation);
    if matches!(situation, Situation::Running | Situation::InLoop) {
        me.time_service(began);
    }
}

/// Answers the requests in the mailbox of a worker that runs a loop, and keeps the requests that it
/// cannot answer. Returns the number of thieves that the loop should be split for.
pub(super) fn check_mailbox_in_loop(me: Own<'_>) -> usize {
    check_mailbox(me, Situation::InLoop);
    match me.task_pool().unstolen() {
        0 => begin_split(me.peers(), me.index(), me.has_searchers()),
        _ => 0,
    }
}

/// Returns the number of thieves that a worker's loop should be split for. If there is any, the next push is
/// a part of the loop. `has_searchers` says whether other workers are awake and look for work.
pub(super) fn begin_split(
    network: &(impl Network + ?Sized),
    me: usize,
    has_searchers: bool,
) -> usize {
    let channels = network.channels(me);
    let is_awake = |id: RequestId| {
        id.thief() != me && network.request(id).state() != RequestState::RegisteredIdle
    };
    // Thieves that sleep are woken one by one: see `answer_registered`.
    let thieves = match has_searchers && !channels.mailbox.iter().any(is_awake) {
        true => 0,
        false => thieves_at_hand(network, me),
    };
    channels.worker_state().is_splitting = thieves > 0;
    thieves
}

/// Returns the number of thieves whose requests are in the worker's own mailbox, or registered with the
/// manager.
pub(super) fn thieves_at_hand(network: &(impl Network + ?Sized), me: usize) -> usize {
    let is_other = |id: &RequestId| id.thief() != me;
    let here = network.channels(me).mailbox.iter().filter(is_other).count();
    if me == MANAGER {
        return here;
    }
    let registered = network.channels(MANAGER).mailbox.iter_any();
    here + registered.filter(is_other).count()
}

fn empty_mailbox(me: Own<'_>, situation: Situation) {
    let (tasks, workers) = (me.task_pool(), me.peers());
    let mailbox = &channels(&me).mailbox;
    let own = &mut *channels(&me).worker_state();
    let situation = situation.after_push(&mut own.is_splitting);
    loop {
        for id in mailbox.iter() {
            handle(me, own, id, situation);
        }
        if tasks.unstolen() > 0 || situation == Situation::InLoop {
            wake_manager(me, own);
        }
        if tasks.unstolen() > 0 {
            answer_registered(me, own);
        }
        let manager = &channels(&workers[MANAGER]).mailbox;
        if own.is_newly_active || !mailbox.is_empty() || manager.iter_any().next().is_some() {
            tasks.keep_floor_raised();
            return;
        }
        tasks.take_floor_down();
        if mailbox.is_empty() {
            return;
        }
    }
}

/// Wakes the manager if it has found no worker to ask before this worker became active. The caller
/// has something for thieves.
fn wake_manager(me: Own<'_>, own: &mut WorkerState) {
    let manager = &me.peers()[MANAGER];
    // An idle manager whose own request is UNSENT has found no worker to ask.
    if std::mem::take(&mut own.is_newly_active)
        && me.index() != MANAGER
        && channels(manager).request(Kind::Any).state() == RequestState::Unsent
        && !manager.is_active()
    {
        manager.unpark();
    }
}

/// Answers one of the requests that the manager has registered. Their thieves sleep without a
/// timer. The caller has a task.
fn answer_registered(me: Own<'_>, own: &mut WorkerState) {
    if me.index() == MANAGER {
        return;
    }
    let workers = me.peers();
    let mailbox = &channels(&workers[MANAGER]).mailbox;
    // One request is enough: the thief that wakes up answers the next one with the tasks that it
    // gets.
    if !me.has_searchers()
        && let Some(id) = mailbox.iter_any().find(|id| id.thief() != me.index())
        && mailbox.take(id)
    {
        debug_assert!(me.task_pool().unstolen() > 0);
        if let Some(state) = try_answer(me, own, id, Situation::Running) {
            workers.request(id).release(state);
            mailbox.put(id);
        }
    }
}

/// Takes a request out of the worker's mailbox and answers it, forwards it, or ends it if its
/// thief no longer wants it.
fn handle(me: Own<'_>, own: &mut WorkerState, id: RequestId, situation: Situation) {
    let workers = me.peers();
    let request = workers.request(id);
    // The thief of a registered request sleeps. It may go on sleeping if there is no task for it,
    // or if another worker is awake and looks for work.
    if me.index() == MANAGER
        && request.state() == RequestState::RegisteredIdle
        && (me.task_pool().unstolen() == 0 || me.has_searchers())
    {
        return;
    }
    if !channels(&me).mailbox.take(id) {
        return;
    }
    if id.thief() == me.index() {
        let is_wanted = request.state() != RequestState::Withdrawn;
        let goes_on = !workers.forwards() && situation == Situation::Idle && is_wanted;
        if goes_on && ask_next(workers, me.index(), id) {
            return me.count(Count::StealAttempts);
        }
        // No other worker could answer it, or this worker no longer wants an answer.
        return request.end();
    }
    if let Some(state) = try_answer(me, own, id, situation) {
        request.release(state);
        match id.kind() {
            Kind::Any if forward(workers, me.index(), id, situation) => me.count(Count::Forwards),
            Kind::Any => {}
            Kind::Leapfrog => channels(&me).mailbox.put(id),
        }
    }
}

/// Answers a request, which this worker has taken out of a mailbox, or cancels it if its thief no
/// longer wants it. If there is no task for it, leaves it HELD and returns its previous state.
fn try_answer(
    me: Own<'_>,
    own: &mut WorkerState,
    id: RequestId,
    situation: Situation,
) -> Option<RequestState> {
    let request = me.peers().request(id);
    let state = request.hold()?;
    // SAFETY: this worker has taken the request out of a mailbox and holds it. So it alone uses
    // the contents.
    let count = unsafe {
        request.with(|contents| {
            if contents.awaited.is_some_and(|awaited| awaited.is_done()) {
                return None;
            }
            contents.tasks.clear();
            // First passes on tasks that this worker has itself received.
            if id.kind() == Kind::Any {
                let count = contents.amount.of(own.received.len());
                while contents.tasks.len() < count
                    && let Some(sent) = own.received.pop_front()
                {
                    if is_unclaimed(sent.slot) {
                        contents.tasks.push(sent);
                    }
                }
            }
            if contents.tasks.is_empty() {
                let demand = (id.kind(), contents.amount);
                me.task_pool()
                    .answer_with_own(me.index(), demand, situation, &mut contents.tasks);
            }
            Some(contents.tasks.len())
        })
    };
    match count {
        // The thief waits for a task that is done.
        None => request.cancel(),
        Some(0) => return Some(state),
        Some(_) => {
            me.count(Count::Publications);
            request.answer();
            me.peers()[id.thief()].unpark();
        }
    }
    None
}

/// Cancels the requests of the blocked workers that wait for this task, which is about to be done.
#[cold]
pub(super) fn cancel_leapfrogs(me: Own<'_>, outcome: &StateWord) {
    let mailbox = &channels(&me).mailbox;
    for id in mailbox.iter().filter(|id| id.kind() == Kind::Leapfrog) {
        if !mailbox.take(id) {
            continue;
        }
        let request = me.peers().request(id);
        let Some(state) = request.hold() else {
            continue;
        };
        // SAFETY: this worker has taken the request out of a mailbox and has held it. So it alone
        // uses the contents.
        let awaits_this = unsafe {
            request.with(|contents| contents.awaited.is_some_and(|awaited| awaited.is(outcome)))
        };
        if awaits_this {
            request.cancel();
        } else {
            request.release(state);
            mailbox.put(id);
        }
    }
}
