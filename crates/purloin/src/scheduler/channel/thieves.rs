//! Thieves who send requests, and owners who answer them.

use super::mailbox::Id;
use super::post::{self, Desk, Kind, MANAGER, Network, Post, Situation};
use super::request::{Awaited, Colour, MOST_TASKS, Request, Sent};
use super::stack::is_unbegun;
use super::{Channel, Slot};
use crate::pool::Shared;
use crate::scheduler::direct::{self, Stack, State, StateWord, Stolen, Thieves};
use crate::stats::Count;
use crate::sync::{Ordering, fence};
use crate::wait::{Patience, Search, Slept};

type Member = direct::Member<Channel>;

/// The thieves of [`Channel`].
pub struct ByMessage(());

impl Network for Shared<Channel> {
    fn workers(&self) -> usize {
        self.members.len()
    }

    fn post(&self, worker: usize) -> &Post {
        &self.members[worker].tasks.stack.post
    }

    fn is_active(&self, worker: usize) -> bool {
        self.members[worker].is_active()
    }

    fn notify(&self, worker: usize) {
        self.members[worker].tasks.stack.notify();
        self.sleep.unpark(worker);
    }
}

impl Thieves<Channel> for ByMessage {
    const DETECTS_QUIET: bool = true;
    // The manager counts workers.
    const LENDS: bool = false;

    fn answer(member: &Member) {
        poll(member, Situation::Running);
    }

    fn close(member: &Member) {
        let stack = &member.tasks.stack;
        stack.close();
        if stack.is_asked() {
            poll(member, Situation::Running);
        }
    }

    fn askers(member: &Member) -> usize {
        post(member).for_any().count()
    }

    fn turns_outside(me: &Member) {
        // The requests of others must not stay with one who seems idle.
        poll(me, Situation::Idle);
        // Before it takes anything, so that the manager does not believe it idle.
        post::withdraw(me.pool(), post::id(me.index, Kind::Any));
    }

    fn look(search: &mut Search<'_, Channel>) -> Option<Stolen<Channel>> {
        let me = search.me;
        poll(me, Situation::Idle);
        let pool = me.pool();
        let own = post(me).request(Kind::Any);
        let stolen = begin_received(me, true).or_else(|| match own.colour() {
            Colour::Answered => {
                let begin = me.timer().attempt();
                receive_tasks(me);
                let stolen = begin_received(me, false);
                match &stolen {
                    Some(_) => me.timer().stolen(begin),
                    None => search.patience.asked_in_vain(),
                }
                stolen
            }
            Colour::Home => {
                ask_anyone(me, Colour::Idle);
                None
            }
            _ if std::mem::take(&mut search.has_dozed) => {
                ask_another(me);
                None
            }
            _ => {
                if own.want() {
                    if pool.barrier.is_awaited_by_now() {
                        pool.sleep.unpark(MANAGER);
                    }
                } else if own.colour() == Colour::Home {
                    // Sent home just now.
                    ask_anyone(me, Colour::Idle);
                }
                None
            }
        });
        if stolen.is_none()
            && me.index == MANAGER
            && let Some(asked) = pool.barrier.awaited()
            && post::is_quiet(pool, || !pool.has_injected())
        {
            pool.barrier.end(asked);
        }
        stolen
    }

    /// Messages wake it. But if its request is with a worker that runs and runs,
    /// it had better take it elsewhere, after a while; and if all that it gets has
    /// been taken back before it comes, it does without for a while.
    fn sleep(search: &mut Search<'_, Channel>) -> Slept {
        let me = search.me;
        let own = post(me).request(Kind::Any);
        match search.patience.nap() {
            Some(time) => {
                post::withdraw(me.pool(), post::id(me.index, Kind::Any));
                // As many as have nothing to run might do the same.
                let idle = me.pool().sleep.idle().max(1) as u32;
                search.sleep(Some(time * idle), || own.colour() == Colour::Answered);
                Slept::Woken
            }
            None => {
                let time = search.doze();
                search.sleep(time, || own.colour() == Colour::Answered)
            }
        }
    }

    fn attend(me: &Member, holder: Option<&Member>) {
        let holder = holder.map(|holder| holder.index);
        poll(me, Situation::Blocked(holder));
    }

    fn help(
        me: &Member,
        holder: &Member,
        outcome: &StateWord,
        patience: &mut Patience,
    ) -> Option<Stolen<Channel>> {
        let own = post(me).request(Kind::Leap);
        match own.colour() {
            Colour::Home => {
                // SAFETY: it is home.
                unsafe { own.with(|contents| contents.awaited = Some(Awaited::new(outcome))) };
                own.depart(Colour::Idle);
                me.count(Count::StealAttempts);
                patience.requested_anew();
                post::send(me.pool(), post::id(me.index, Kind::Leap), holder.index);
                None
            }
            Colour::Answered => {
                let sent = take_leap(own)?;
                if claim(sent.slot, me.index, || !outcome.is_done()) {
                    return Some(Stolen::new(sent.slot, holder));
                }
                patience.asked_in_vain();
                None
            }
            _ => None,
        }
    }

    fn last_look_at(me: &Member, _holder: &Member) -> bool {
        post(me).request(Kind::Leap).colour() == Colour::Answered
    }

    fn turns_away(me: &Member) {
        if post::withdraw(me.pool(), post::id(me.index, Kind::Leap)) == Colour::Answered {
            // Too late, so its owner has the task back by now.
            take_leap(post(me).request(Kind::Leap));
        }
    }

    fn pass_on(_: &Member) {}

    fn became_active(me: &Member) {
        if me.pool().members.len() == 1 {
            return;
        }
        if post::withdraw(me.pool(), post::id(me.index, Kind::Any)) == Colour::Answered {
            receive_tasks(me);
        }
        // Between that we are active and our look for those who sleep, at the first
        // push. The manager, who registers them, does it the other way around.
        fence(Ordering::SeqCst);
        post(me).desk().is_news = true;
        me.tasks.stack.keep_asked();
    }

    fn begins(me: &Member) {
        me.tasks.mark_top();
        let post = post(me);
        let asks_ahead = {
            let desk = post.desk();
            desk.tasks.is_empty() && desk.experience.asks_ahead()
        };
        if asks_ahead && post.request(Kind::Any).colour() == Colour::Home {
            ask_anyone(me, Colour::Working);
        }
    }

    fn ends(me: &Member, outcome: &StateWord) {
        let has_children = !me.tasks.is_top_marked();
        let post = post(me);
        post.desk().experience.ran(has_children);
        if !post.mailbox.is_empty() {
            dismiss(me, outcome);
        }
    }
}

fn post(me: &Member) -> &Post {
    &me.tasks.stack.post
}

/// The owner looks at the requests that have come, answers those it can, and
/// sends on the others, unless they rest here.
fn poll(me: &Member, situation: Situation) {
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
    // SAFETY: we hold it.
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
                    // Those who were sent them have not come to them yet: they
                    // are whoever's is the first.
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
fn dismiss(me: &Member, outcome: &StateWord) {
    let mailbox = &post(me).mailbox;
    for id in mailbox.iter().filter(|&id| post::kind(id) == Kind::Leap) {
        if !mailbox.take(id) {
            continue;
        }
        let request = post::request(me.pool(), id);
        let Some(colour) = request.hold() else {
            continue;
        };
        // SAFETY: we hold it.
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

/// Sends the thief's request to a first victim, or to the manager if there is
/// none.
fn ask_anyone(me: &Member, colour: Colour) {
    let pool = me.pool();
    let victim = {
        let mut walk = me.walk();
        walk.start();
        loop {
            match walk.next() {
                Some(victim) if pool.members[victim].is_active() => break Some(victim),
                Some(_) => walk.met_thief(),
                None => break None,
            }
        }
    };
    let to = match victim {
        Some(victim) => victim,
        None if me.index == MANAGER || colour == Colour::Working => return,
        None => MANAGER,
    };
    me.count(Count::StealAttempts);
    let own = post(me).request(Kind::Any);
    // SAFETY: it is home.
    unsafe {
        own.with(|contents| {
            contents.begin_anew();
            contents.note_asked(me.index);
            contents.portion = post(me).desk().experience.portion();
        });
    }
    own.depart(colour);
    post::send(pool, post::id(me.index, Kind::Any), to);
}

/// Takes the thief's request from a worker that has not answered for long, and
/// sends it to another.
#[cold]
fn ask_another(me: &Member) {
    let (pool, id) = (me.pool(), post::id(me.index, Kind::Any));
    let own = post(me).request(Kind::Any);
    let was = own.at();
    if !post::take_back(pool, id) {
        return;
    }
    // SAFETY: it is home.
    let to = unsafe { own.with(|contents| post::another(pool, me.index, contents, was)) };
    if let Some(to) = to {
        me.count(Count::StealAttempts);
        own.depart(Colour::Idle);
        post::send(pool, id, to);
    }
}

/// Puts the tasks that a request has brought on the desk.
fn receive_tasks(me: &Member) {
    let own = post(me).request(Kind::Any);
    let mut desk = post(me).desk();
    // SAFETY: it is answered.
    unsafe { own.with(|contents| desk.tasks.extend(contents.tasks.drain(..))) };
    own.arrive();
    desk.experience.stole();
}

/// Begins a task that was sent, if there is one that its owner has not taken back.
fn begin_received(me: &Member, is_free: bool) -> Option<Stolen<Channel>> {
    loop {
        let sent = post(me).desk().tasks.pop_front()?;
        if claim(sent.slot, me.index, || true) {
            me.count(Count::Steals);
            if is_free {
                me.count(Count::FreeSteals);
            }
            return Some(Stolen::new(sent.slot, &me.pool().members[sent.owner]));
        }
    }
}

fn take_leap(own: &Request) -> Option<Sent> {
    // SAFETY: it is answered.
    let sent = unsafe { own.with(|contents| contents.tasks.pop()) };
    own.arrive();
    sent
}

/// Makes a task that was sent the thief's, if nobody has begun it and, while it is
/// held, `may_take` allows it.
pub(super) fn claim(slot: *mut Slot, thief: usize, may_take: impl Fn() -> bool) -> bool {
    // SAFETY: slots are there as long as the pool.
    let state = unsafe { &(*slot).header };
    // Acquire: the contents. It may be a newer task than the one that was sent
    // to us, but it is one that was sent.
    if state
        .exchange(State::TASK, State::BUSY, Ordering::Acquire)
        .is_err()
    {
        return false;
    }
    let may = may_take();
    let next = if may {
        State::stolen(thief)
    } else {
        State::TASK
    };
    // Release: what the owner has written passes on to whoever claims it next.
    state.set(next, Ordering::Release);
    may
}
