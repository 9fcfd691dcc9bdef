//! The owner: what it does with the requests that come to it.

use purloin::scheduler::{Count, StateWord, TaskPool};

use super::Worker;
use super::mailbox::Id;
use super::network::{self, Desk, Kind, MANAGER, Network, Situation};
use super::request::{Colour, MAX_TASKS, Sent};
use super::tasks::is_unbegun;
use super::thief::post;

/// Answers the requests that have come to a running worker.
pub(super) fn serve(me: &Worker) {
    poll(me, Situation::Running);
}

/// Closes the slots below a spawn, and answers the requests that have come.
pub(super) fn spawned(me: &Worker) {
    let tasks = me.task_pool();
    tasks.close();
    if tasks.is_requested() {
        serve(me);
    }
}

/// Returns the number of thieves that have asked this worker for any task.
pub(super) fn requesters(me: &Worker) -> usize {
    post(me).for_any().count()
}

/// Answers the requests that have come to a blocked worker.
pub(super) fn serve_while_blocked(me: &Worker, holder: Option<&Worker>) {
    poll(me, Situation::Blocked(holder.map(|holder| holder.index())));
}

/// The owner looks at the requests that have come, answers those it can, and
/// sends on the others, unless they rest here.
pub(super) fn poll(me: &Worker, situation: Situation) {
    let begin = me.attempt_began();
    look_into_mailbox(me, situation);
    if situation == Situation::Running {
        me.time_service(begin);
    }
}

fn look_into_mailbox(me: &Worker, situation: Situation) {
    let (stack, pool) = (me.task_pool(), me.peers());
    let post = post(me);
    let desk = &mut *post.desk();
    loop {
        for id in post.mailbox.iter() {
            handle(me, desk, id, situation);
        }
        if stack.unstolen() > 0 {
            invite(me, desk);
        }
        if desk.is_news || !post.mailbox.is_empty() || has_sleeping_thieves(pool) {
            stack.keep_requested();
            return;
        }
        stack.settle();
        if post.mailbox.is_empty() {
            return;
        }
    }
}

/// Returns whether the manager has requests of thieves that sleep until they are woken.
fn has_sleeping_thieves(workers: &[Worker]) -> bool {
    workers.post(MANAGER).for_any().next().is_some()
}

/// There is something for those who sleep for good, whose requests are with the
/// manager, and for the manager.
fn invite(me: &Worker, desk: &mut Desk) {
    let (stack, pool) = (me.task_pool(), me.peers());
    let is_news = std::mem::take(&mut desk.is_news);
    if me.index() == MANAGER {
        return;
    }
    let manager = &pool[MANAGER];
    if is_news && post(manager).request(Kind::Any).colour() == Colour::Home && !manager.is_active()
    {
        pool[MANAGER].unpark();
    }
    // One after the other: whom we wake invites the next to what it has got.
    if !me.has_searchers()
        && let Some(id) = post(manager)
            .for_any()
            .find(|&id| network::thief(id) != me.index())
        && post(manager).mailbox.take(id)
    {
        debug_assert!(stack.unstolen() > 0);
        if let Some(colour) = answer(me, desk, id) {
            network::request(pool, id).let_go(colour);
            post(manager).mailbox.put(id);
        }
    }
}

/// Answers a request, sends it on, or finds that nobody wants it.
fn handle(me: &Worker, desk: &mut Desk, id: Id, situation: Situation) {
    let (stack, pool) = (me.task_pool(), me.peers());
    let (thief, kind, request) = (
        network::thief(id),
        network::kind(id),
        network::request(pool, id),
    );
    if me.index() == MANAGER && request.colour() == Colour::RegisteredIdle {
        // It sleeps for good; and while another looks for work, let it.
        if stack.unstolen() == 0 || me.has_searchers() {
            return;
        }
    }
    if !post(me).mailbox.take(id) {
        return;
    }
    if thief == me.index() {
        // It has gone around for nothing.
        return request.taken_back();
    }
    if let Some(colour) = answer(me, desk, id) {
        request.let_go(colour);
        match kind {
            Kind::Any => network::pass(pool, me.index(), id, situation),
            Kind::Leap => post(me).mailbox.put(id),
        }
    }
}

/// Answers a request, which is in our hands, or sends it home if nobody wants it.
/// If there is nothing to answer it with, it is held, and was of this colour.
fn answer(me: &Worker, desk: &mut Desk, id: Id) -> Option<Colour> {
    let (stack, pool) = (me.task_pool(), me.peers());
    let (kind, request) = (network::kind(id), network::request(pool, id));
    let colour = request.hold()?;
    // SAFETY: the request is out of every mailbox and held by this worker, so its
    // contents are this worker's alone.
    let count = unsafe {
        request.with(|contents| {
            if contents.awaited.is_some_and(|awaited| awaited.is_done()) {
                return None;
            }
            contents.tasks.clear();
            if kind == Kind::Any {
                let portion = contents.portion.of(desk.tasks.len());
                while contents.tasks.len() < portion
                    && let Some(sent) = desk.tasks.pop_front()
                {
                    if is_unbegun(sent.slot) {
                        contents.tasks.push(sent);
                    }
                }
            }
            if contents.tasks.is_empty() {
                let owner = me.index();
                let portion = contents.portion.of(stack.unstolen()).min(MAX_TASKS);
                stack.give(portion, |slot| contents.tasks.push(Sent { slot, owner }));
                if portion == 0 && kind == Kind::Any {
                    // Those who were sent these have not come to them yet. Whoever
                    // comes first has them.
                    let sent = stack.unbegun().map(|slot| Sent { slot, owner });
                    contents.tasks.extend(sent.take(MAX_TASKS));
                    let surplus = contents.tasks.len() - contents.portion.of(contents.tasks.len());
                    contents.tasks.drain(..surplus);
                }
            }
            Some(contents.tasks.len())
        })
    };
    match count {
        // What it waits for is done.
        None => request.let_go(Colour::Home),
        Some(0) => return Some(colour),
        Some(_) => {
            me.count(Count::Publications);
            request.answer();
            pool[network::thief(id)].unpark();
        }
    }
    None
}

/// Sends home the requests of those that wait for this task, which is about to
/// be done.
#[cold]
pub(super) fn dismiss(me: &Worker, outcome: &StateWord) {
    let mailbox = &post(me).mailbox;
    for id in mailbox.iter().filter(|&id| network::kind(id) == Kind::Leap) {
        if !mailbox.take(id) {
            continue;
        }
        let request = network::request(me.peers(), id);
        let Some(colour) = request.hold() else {
            continue;
        };
        // SAFETY: the request is out of every mailbox and held by this worker, so its
        // contents are this worker's alone.
        let is_for_this = unsafe {
            request.with(|contents| contents.awaited.is_some_and(|awaited| awaited.is(outcome)))
        };
        match is_for_this {
            true => request.let_go(Colour::Home),
            false => {
                request.let_go(colour);
                mailbox.put(id);
            }
        }
    }
}
