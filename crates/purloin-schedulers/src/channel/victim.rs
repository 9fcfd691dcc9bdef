//! The victim: how a worker handles the requests in its mailbox.

use purloin::scheduler::{Count, StateWord, TaskPool};

use super::Worker;
use super::forward::{MANAGER, Situation, forward};
use super::network::{Kind, Network, RequestId, WorkerState};
use super::request::{MAX_TASKS, RequestState, SentTask};
use super::tasks::{channels, is_unclaimed};

/// Answers the requests in the worker's mailbox, and forwards the requests that it cannot answer.
pub(super) fn check_mailbox(me: &Worker, situation: Situation) {
    let began = me.attempt_began();
    empty_mailbox(me, situation);
    if situation == Situation::Running {
        me.time_service(began);
    }
}

fn empty_mailbox(me: &Worker, situation: Situation) {
    let (tasks, workers) = (me.task_pool(), me.peers());
    let mailbox = &channels(me).mailbox;
    let own = &mut *channels(me).worker_state();
    loop {
        for id in mailbox.iter() {
            handle(me, own, id, situation);
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

/// Answers one of the requests that the manager has registered. Their thieves sleep without a
/// timer. The caller has a task.
fn answer_registered(me: &Worker, own: &mut WorkerState) {
    let workers = me.peers();
    let is_newly_active = std::mem::take(&mut own.is_newly_active);
    if me.index() == MANAGER {
        return;
    }
    let manager = &workers[MANAGER];
    let mailbox = &channels(manager).mailbox;
    // An idle manager whose own request is UNSENT has found no worker to ask.
    if is_newly_active
        && channels(manager).request(Kind::Any).state() == RequestState::Unsent
        && !manager.is_active()
    {
        manager.unpark();
    }
    // One request is enough: the thief that wakes up answers the next one with the tasks that it
    // gets.
    if !me.has_searchers()
        && let Some(id) = mailbox.iter_any().find(|id| id.thief() != me.index())
        && mailbox.take(id)
    {
        debug_assert!(me.task_pool().unstolen() > 0);
        if let Some(state) = try_answer(me, own, id) {
            workers.request(id).release(state);
            mailbox.put(id);
        }
    }
}

/// Takes a request out of the worker's mailbox and answers it, forwards it, or ends it if its
/// thief no longer wants it.
fn handle(me: &Worker, own: &mut WorkerState, id: RequestId, situation: Situation) {
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
    if !channels(me).mailbox.take(id) {
        return;
    }
    if id.thief() == me.index() {
        // No other worker could answer it.
        return request.end();
    }
    if let Some(state) = try_answer(me, own, id) {
        request.release(state);
        match id.kind() {
            Kind::Any => forward(workers, me.index(), id, situation),
            Kind::Leapfrog => channels(me).mailbox.put(id),
        }
    }
}

/// Answers a request, which this worker has taken out of a mailbox, or cancels it if its thief no
/// longer wants it. If there is no task for it, leaves it HELD and returns its previous state.
fn try_answer(me: &Worker, own: &mut WorkerState, id: RequestId) -> Option<RequestState> {
    let tasks = me.task_pool();
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
                let owner = me.index();
                let count = contents.amount.of(tasks.unstolen()).min(MAX_TASKS);
                tasks.send_oldest(count, |slot| contents.tasks.push(SentTask { slot, owner }));
                if count == 0 && id.kind() == Kind::Any {
                    // These tasks were sent to other thieves, which have not claimed them yet. The
                    // first thief to claim a task gets it.
                    let sent = tasks.unclaimed().map(|slot| SentTask { slot, owner });
                    contents.tasks.extend(sent.take(MAX_TASKS));
                    let surplus = contents.tasks.len() - contents.amount.of(contents.tasks.len());
                    contents.tasks.drain(..surplus);
                }
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
pub(super) fn cancel_leapfrogs(me: &Worker, outcome: &StateWord) {
    let mailbox = &channels(me).mailbox;
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
