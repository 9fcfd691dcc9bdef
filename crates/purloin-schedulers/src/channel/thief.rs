//! Thieves: they send requests, and run the tasks that they are sent.
//!
//! What a victim does with the requests is in [`super::victim`].

use purloin::scheduler::sync::{Ordering, fence};
use purloin::scheduler::{Backoff, Count, Search, Slept, State, StateWord, Stolen};

use super::network::{self, Kind, MANAGER, Network, Post, Situation};
use super::request::{Awaited, Colour, Request, Sent};
use super::victim::{dismiss, poll};
use super::{Channel, ChannelSlot, Worker};

/// The workers of a pool.
impl Network for [Worker] {
    fn workers(&self) -> usize {
        self.len()
    }

    fn post(&self, worker: usize) -> &Post {
        &self[worker].task_pool().post
    }

    fn is_active(&self, worker: usize) -> bool {
        self[worker].is_active()
    }

    fn notify(&self, worker: usize) {
        self[worker].task_pool().notify();
        self[worker].unpark();
    }
}

pub(super) fn before_outside_work(me: &Worker) {
    // The requests of others must not stay with one who seems idle.
    poll(me, Situation::Idle);
    // Before it takes anything, so that the manager does not believe it idle.
    network::withdraw(me.peers(), network::id(me.index(), Kind::Any));
}

pub(super) fn look(search: &mut Search<'_, Channel>) -> Option<Stolen<Channel>> {
    let me = search.me;
    poll(me, Situation::Idle);
    let pool = me.peers();
    let own = post(me).request(Kind::Any);
    let stolen = begin_received(me, true).or_else(|| match own.colour() {
        Colour::Answered => {
            let begin = me.attempt_began();
            receive_tasks(me);
            let stolen = begin_received(me, false);
            match &stolen {
                Some(_) => me.time_steal(begin),
                None => search.backoff.missed_offer(),
            }
            stolen
        }
        Colour::Home => {
            ask_anyone(me, Colour::Idle);
            None
        }
        _ if std::mem::take(&mut search.has_timed_out) => {
            ask_another(me);
            None
        }
        _ => {
            if own.want() {
                if me.is_wait_standing_by_now() {
                    pool[MANAGER].unpark();
                }
            } else if own.colour() == Colour::Home {
                // Sent home just now.
                ask_anyone(me, Colour::Idle);
            }
            None
        }
    });
    if stolen.is_none()
        && me.index() == MANAGER
        && let Some(asked) = me.standing_wait()
        && network::is_quiet(pool, || !me.has_outside_work())
    {
        me.end_waits(asked);
    }
    stolen
}

/// Messages wake it. But if its request is with a worker that runs and runs,
/// it had better take it elsewhere, after a while; and if all that it gets has
/// been taken back before it comes, it does without for a while.
pub(super) fn sleep(search: &mut Search<'_, Channel>) -> Slept {
    let me = search.me;
    let own = post(me).request(Kind::Any);
    match search.backoff.nap_time() {
        Some(time) => {
            network::withdraw(me.peers(), network::id(me.index(), Kind::Any));
            // As many as have nothing to run might do the same.
            let idle = me.idle_workers().max(1) as u32;
            search.sleep(Some(time * idle), || own.colour() == Colour::Answered);
            Slept::Woken
        }
        None => {
            let time = search.sleep_limit();
            search.sleep(time, || own.colour() == Colour::Answered)
        }
    }
}

pub(super) fn leapfrog(
    me: &Worker,
    holder: &Worker,
    outcome: &StateWord,
    backoff: &mut Backoff,
) -> Option<Stolen<Channel>> {
    let own = post(me).request(Kind::Leap);
    match own.colour() {
        Colour::Home => {
            // SAFETY: this worker is the request's thief, and the request is home, so no other
            // worker touches its contents.
            unsafe { own.with(|contents| contents.awaited = Some(Awaited::new(outcome))) };
            own.depart(Colour::Idle);
            me.count(Count::StealAttempts);
            backoff.requested_anew();
            network::send(
                me.peers(),
                network::id(me.index(), Kind::Leap),
                holder.index(),
            );
            None
        }
        Colour::Answered => {
            let sent = take_leap(own)?;
            if claim(sent.slot, me.index(), || !outcome.is_done()) {
                // SAFETY: `claim` has taken the task, and has said so in its slot.
                return Some(unsafe { Stolen::new(sent.slot, holder) });
            }
            backoff.missed_offer();
            None
        }
        _ => None,
    }
}

pub(super) fn has_leapfrog_answer(me: &Worker) -> bool {
    post(me).request(Kind::Leap).colour() == Colour::Answered
}

pub(super) fn stop_leapfrogging(me: &Worker) {
    if network::withdraw(me.peers(), network::id(me.index(), Kind::Leap)) == Colour::Answered {
        // Too late, so its owner has the task back by now.
        take_leap(post(me).request(Kind::Leap));
    }
}

pub(super) fn became_active(me: &Worker) {
    if me.peers().len() == 1 {
        return;
    }
    if network::withdraw(me.peers(), network::id(me.index(), Kind::Any)) == Colour::Answered {
        receive_tasks(me);
    }
    // Between that we are active and our look for those who sleep, at the first
    // push. The manager, who registers them, does it the other way around.
    fence(Ordering::SeqCst);
    post(me).desk().is_news = true;
    me.task_pool().keep_requested();
}

pub(super) fn begin_stolen(me: &Worker) {
    me.mark_top();
    let post = post(me);
    let asks_ahead = {
        let desk = post.desk();
        desk.tasks.is_empty() && desk.experience.asks_ahead()
    };
    if asks_ahead && post.request(Kind::Any).colour() == Colour::Home {
        ask_anyone(me, Colour::Working);
    }
}

pub(super) fn end_stolen(me: &Worker, outcome: &StateWord) {
    let has_children = !me.is_top_marked();
    let post = post(me);
    post.desk().experience.ran(has_children);
    if !post.mailbox.is_empty() {
        dismiss(me, outcome);
    }
}

pub(super) fn post(me: &Worker) -> &Post {
    &me.task_pool().post
}

/// Sends the thief's request to a first victim, or to the manager if there is
/// none.
fn ask_anyone(me: &Worker, colour: Colour) {
    let pool = me.peers();
    let victim = me.first_victim().map(Worker::index);
    let to = match victim {
        Some(victim) => victim,
        None if me.index() == MANAGER || colour == Colour::Working => return,
        None => MANAGER,
    };
    me.count(Count::StealAttempts);
    let own = post(me).request(Kind::Any);
    // SAFETY: this worker is the request's thief, and the request is home, so no other
    // worker touches its contents.
    unsafe {
        own.with(|contents| {
            contents.begin_anew();
            contents.note_asked(me.index());
            contents.portion = post(me).desk().experience.portion();
        });
    }
    own.depart(colour);
    network::send(pool, network::id(me.index(), Kind::Any), to);
}

/// Takes the thief's request from a worker that has not answered for long, and
/// sends it to another.
#[cold]
fn ask_another(me: &Worker) {
    let (pool, id) = (me.peers(), network::id(me.index(), Kind::Any));
    let own = post(me).request(Kind::Any);
    let was = own.at();
    if !network::take_back(pool, id) {
        return;
    }
    // SAFETY: this worker is the request's thief, and the request is home, so no other
    // worker touches its contents.
    let to = unsafe { own.with(|contents| network::another(pool, me.index(), contents, was)) };
    if let Some(to) = to {
        me.count(Count::StealAttempts);
        own.depart(Colour::Idle);
        network::send(pool, id, to);
    }
}

/// Puts the tasks that a request has brought on the desk.
fn receive_tasks(me: &Worker) {
    let own = post(me).request(Kind::Any);
    let mut desk = post(me).desk();
    // SAFETY: this worker is the request's thief. The request is answered, so its
    // victim has left the contents to this worker.
    unsafe { own.with(|contents| desk.tasks.extend(contents.tasks.drain(..))) };
    own.arrive();
    desk.experience.stole();
}

/// Begins a task that was sent, if there is one that its owner has not taken back.
fn begin_received(me: &Worker, is_free: bool) -> Option<Stolen<Channel>> {
    loop {
        let sent = post(me).desk().tasks.pop_front()?;
        if claim(sent.slot, me.index(), || true) {
            me.count(Count::Steals);
            if is_free {
                me.count(Count::FreeSteals);
            }
            // SAFETY: `claim` has taken the task, and has said so in its slot.
            return Some(unsafe { Stolen::new(sent.slot, &me.peers()[sent.owner]) });
        }
    }
}

fn take_leap(own: &Request) -> Option<Sent> {
    // SAFETY: this worker is the request's thief. The request is answered, so its
    // victim has left the contents to this worker.
    let sent = unsafe { own.with(|contents| contents.tasks.pop()) };
    own.arrive();
    sent
}

/// Makes a task that was sent the thief's, if nobody has begun it and, while it is
/// held, `may_take` allows it.
pub(super) fn claim(slot: *mut ChannelSlot, thief: usize, may_take: impl Fn() -> bool) -> bool {
    // SAFETY: slots are there as long as the pool.
    let state = unsafe { &*slot }.header();
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
