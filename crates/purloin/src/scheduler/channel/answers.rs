//! The owner's side: what becomes of the requests that come to a worker.

use super::Channel;
use super::mailbox::Id;
use super::post::{self, Desk, Kind, MANAGER, Network, Situation};
use super::request::{Colour, MOST_TASKS, Sent};
use super::stack::is_unbegun;
use super::thieves::{Member, post};
use crate::pool::Shared;
use crate::runtime::{Stack, StateWord};
use crate::stats::Count;

/// The owner looks at the requests that have come, answers those it can, and
/// sends on the others, unless they rest here.
pub(super) fn poll(me: &Member, situation: Situation) {
    let begin = me.timer().attempt();
    look_into_mailbox(me, situation);
    if situation == Situation::Running {
        me.timer().served(begin);
    }
}

fn look_into_mailbox(me: &Member, situation: Situation) {
    let (stack, pool) = (&me.tasks.stack, me.pool());
    let post = post(me);
    let desk = &mut *post.desk();
    loop {
        for id in post.mailbox.iter() {
            serve(me, desk, id, situation);
        }
        if stack.unstolen() > 0 {
            invite(me, desk);
        }
        if desk.is_news || !post.mailbox.is_empty() || pool.has_sleeping_thieves() {
            stack.keep_asked();
            return;
        }
        stack.settle();
        if post.mailbox.is_empty() {
            return;
        }
    }
}

impl Shared<Channel> {
    /// Whether there are requests with the manager, of thieves who sleep for good.
    fn has_sleeping_thieves(&self) -> bool {
        self.post(MANAGER).for_any().next().is_some()
    }
}

/// There is something for those who sleep for good, whose requests are with the
/// manager, and for the manager.
fn invite(me: &Member, desk: &mut Desk) {
    let (stack, pool) = (&me.tasks.stack, me.pool());
    let is_news = std::mem::take(&mut desk.is_news);
    if me.index == MANAGER {
        return;
    }
    let manager = &pool.members[MANAGER];
    if is_news && post(manager).request(Kind::Any).colour() == Colour::Home && !manager.is_active()
    {
        pool.sleep.unpark(MANAGER);
    }
    // One after the other: whom we wake invites the next to what it has got.
    if !pool.sleep.is_anyone_searching()
        && let Some(id) = post(manager)
            .for_any()
            .find(|&id| post::thief(id) != me.index)
        && post(manager).mailbox.take(id)
    {
        debug_assert!(stack.unstolen() > 0);
        if let Some(colour) = answer(me, desk, id) {
            post::request(pool, id).let_go(colour);
            post(manager).mailbox.put(id);
        }
    }
}

/// Answers a request, sends it on, or finds that nobody wants it.
fn serve(me: &Member, desk: &mut Desk, id: Id, situation: Situation) {
    let (stack, pool) = (&me.tasks.stack, me.pool());
    let (thief, kind, request) = (post::thief(id), post::kind(id), post::request(pool, id));
    if me.index == MANAGER && request.colour() == Colour::RegisteredIdle {
        // It sleeps for good; and while another looks for work, let it.
        if stack.unstolen() == 0 || pool.sleep.is_anyone_searching() {
            return;
        }
    }
    if !post(me).mailbox.take(id) {
        return;
    }
    if thief == me.index {
        // It has gone around for nothing.
        return request.taken_back();
    }
    if let Some(colour) = answer(me, desk, id) {
        request.let_go(colour);
        match kind {
            Kind::Any => post::pass(pool, me.index, id, situation),
            Kind::Leap => post(me).mailbox.put(id),
        }
    }
}

/// Answers a request, which is in our hands, or sends it home if nobody wants it.
/// If there is nothing to answer it with, it is held, and was of this colour.
fn answer(me: &Member, desk: &mut Desk, id: Id) -> Option<Colour> {
    let (stack, pool) = (&me.tasks.stack, me.pool());
    let (kind, request) = (post::kind(id), post::request(pool, id));
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
                let owner = me.index;
                let portion = contents.portion.of(stack.unstolen()).min(MOST_TASKS);
                stack.give(portion, |slot| contents.tasks.push(Sent { slot, owner }));
                if portion == 0 && kind == Kind::Any {
                    // Those who were sent these have not come to them yet. Whoever
                    // comes first has them.
                    let sent = stack.unbegun().map(|slot| Sent { slot, owner });
                    contents.tasks.extend(sent.take(MOST_TASKS));
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
            pool.sleep.unpark(post::thief(id));
        }
    }
    None
}

/// Sends home the requests of those that wait for this task, which is about to
/// be done.
#[cold]
pub(super) fn dismiss(me: &Member, outcome: &StateWord) {
    let mailbox = &post(me).mailbox;
    for id in mailbox.iter().filter(|&id| post::kind(id) == Kind::Leap) {
        if !mailbox.take(id) {
            continue;
        }
        let request = post::request(me.pool(), id);
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
