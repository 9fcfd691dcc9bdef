//! The hooks of a worker in a pool: when it looks into its mailbox, asks for tasks, and sleeps.

use purloin::scheduler::{Backoff, Count, Point, Protocol, Search, Slept, StateWord, Stolen};

use super::handler::{
    begin_outside_work, begin_split, cancel_leapfrogs, end_outside_work, handle_messages,
    is_quiescent, send_request,
};
use super::manager::MANAGER;
use super::messages::{Colour, Kind, Leapfrog, LeapfrogRequest, Message, Peers, Situation};
use super::tasks::{channels, claim, claim_received};
use super::{Channel, Own, Worker};

// SAFETY: a worker uses its own task pool, and the channels of the others.
unsafe impl Protocol<Channel> for Channel {
    /// Only the worker itself can send its tasks, and it cannot while it sleeps.
    const SERVES_ASLEEP: bool = false;

    #[inline]
    fn answer(me: Own<'_>, point: Point<'_, Self>) -> usize {
        match point {
            Point::Join => check_mailbox(me, Situation::Running),
            Point::Spawn { .. } => {
                if me.task_pool().close_below_spawn() {
                    check_mailbox(me, Situation::Running);
                }
            }
            Point::Loop => return check_mailbox_in_loop(me),
            Point::Blocked(holder) => {
                check_mailbox(me, Situation::Blocked(holder.map(Worker::index)));
            }
            Point::Sleep => check_mailbox(me, Situation::Blocked(None)),
            Point::LeapfrogEnd => stop_leapfrogging(me),
            Point::OutsideWork => {
                begin_outside_work(&me, me.index(), &mut channels(&me).worker_state());
            }
            // The worker may keep requests, or may have messages that it did not look at.
            Point::Active => me.task_pool().keep_floor_raised(),
            Point::StolenBegin => begin_stolen(me),
            Point::StolenEnd(outcome) => end_stolen(me, outcome),
        }
        0
    }

    fn look(search: &mut Search<'_, Self>) -> Option<Stolen<Self>> {
        let me = search.me;
        // Before the requests that this worker has kept: the manager would send them back.
        end_outside_work(&me, me.index(), &mut channels(&me).worker_state());
        check_mailbox(me, Situation::Idle);
        if let Some(stolen) = claim_next(me, true) {
            return Some(stolen);
        }
        let began = me.attempt_began();
        if receive_tasks(me) {
            let stolen = claim_next(me, false);
            match &stolen {
                Some(_) => me.time_steal(began),
                None => search.backoff.missed_offer(),
            }
            if stolen.is_some() {
                return stolen;
            }
        } else {
            ask_for_tasks(me, Colour::Idle);
        }
        let own = &mut *channels(&me).worker_state();
        end_outside_work(&me, me.index(), own);
        if me.index() == MANAGER
            && let Some(wait) = me.standing_wait()
            && is_quiescent(&me, own, || !me.has_outside_work())
        {
            me.end_waits(wait);
        }
        None
    }

    /// Sleeps until a message or an answer arrives. A thief that keeps losing its tasks to their owners
    /// naps before it sends its next request.
    fn sleep(search: &mut Search<'_, Self>) -> Slept {
        let me = search.me;
        let is_unsent = channels(&me).worker_state().sent.is_none();
        let nap = is_unsent.then(|| search.backoff.nap_time()).flatten();
        if nap.is_none() {
            // Nothing wakes a thief without a request.
            ask_for_tasks(me, Colour::Idle);
        }
        let slept = search.sleep(nap, || {
            channels(&me).answer(Kind::Any).is_full() || channels(&me).mailbox.has_message()
        });
        match nap {
            Some(_) => Slept::Woken,
            None => slept,
        }
    }

    fn leapfrog(
        me: Own<'_>,
        holder: &Worker,
        outcome: &StateWord,
        backoff: &mut Backoff,
    ) -> Option<Stolen<Self>> {
        let leapfrog = channels(&me).worker_state().leapfrog;
        if leapfrog == Leapfrog::Unsent {
            channels(&me).worker_state().leapfrog = Leapfrog::SentTo(holder.index());
            me.count(Count::StealAttempts);
            backoff.requested_again();
            let request = LeapfrogRequest::new(me.index(), outcome);
            me.send(holder.index(), Message::Leapfrog(request));
            return None;
        }
        let answer = channels(&me).answer(Kind::Leapfrog);
        let sent = answer.receive(|tasks| tasks.pop())?;
        channels(&me).worker_state().leapfrog = match (leapfrog, sent) {
            (Leapfrog::SentTo(_), None) => Leapfrog::Cancelled,
            _ => Leapfrog::Unsent,
        };
        // The owner of the tasks that this worker drops takes them back, or sends them again.
        let sent = sent.filter(|_| leapfrog != Leapfrog::Withdrawn)?;
        if claim(sent.slot, me.index(), || !outcome.is_done()) {
            channels(&me).worker_state().strategy.leapfrogged();
            // SAFETY: `claim` has taken the task, and has written the thief to its slot.
            return Some(unsafe { Stolen::new(sent.slot, holder) });
        }
        backoff.missed_offer();
        None
    }

    fn should_stay_awake(me: Own<'_>, _holder: &Worker) -> bool {
        channels(&me).answer(Kind::Leapfrog).is_full()
    }
}

/// Handles the messages in the worker's mailbox.
fn check_mailbox(me: Own<'_>, situation: Situation) {
    let began = me.attempt_began();
    let own = &mut *channels(&me).worker_state();
    handle_messages(&me, me.index(), own, situation);
    if matches!(situation, Situation::Running | Situation::InLoop) {
        me.time_service(began);
    }
}

/// Handles the messages in the mailbox of a worker that runs a loop. Returns for how many thieves it
/// should split the loop.
fn check_mailbox_in_loop(me: Own<'_>) -> usize {
    check_mailbox(me, Situation::InLoop);
    if me.task_pool().unstolen() > 0 {
        return 0;
    }
    begin_split(&mut channels(&me).worker_state())
}

fn stop_leapfrogging(me: Own<'_>) {
    let own = &mut *channels(&me).worker_state();
    match own.leapfrog {
        Leapfrog::SentTo(holder) => {
            own.leapfrog = Leapfrog::Withdrawn;
            let thief = me.index();
            me.send_control(thief, holder, Message::Withdraw { thief });
        }
        Leapfrog::Cancelled => own.leapfrog = Leapfrog::Unsent,
        Leapfrog::Unsent | Leapfrog::Withdrawn => {}
    }
}

fn begin_stolen(me: Own<'_>) {
    me.task_pool().mark_top();
    let asks_ahead = {
        let own = channels(&me).worker_state();
        own.received.is_empty() && own.strategy.asks_ahead()
    };
    if asks_ahead {
        ask_for_tasks(me, Colour::Working);
    }
}

fn end_stolen(me: Own<'_>, outcome: &StateWord) {
    let has_children = me.task_pool().has_pushed();
    channels(&me)
        .worker_state()
        .strategy
        .count_task(has_children);
    // The blocked workers that wait for this task are about to go on.
    if me.task_pool().is_requested() {
        check_mailbox(me, Situation::Running);
        let own = &mut *channels(&me).worker_state();
        cancel_leapfrogs(&me, own, |request| request.awaits(outcome));
    }
}

/// Sends the worker's request for any task, if it is not under way. The pool's victim selection
/// decides which worker is asked first, busy or not.
fn ask_for_tasks(me: Own<'_>, colour: Colour) {
    let own = &mut *channels(&me).worker_state();
    if own.sent.is_none()
        && let Some(victim) = me.drawn_victim()
    {
        send_request(&me, me.index(), own, colour, victim.index());
    }
}

/// Receives the tasks that the worker's request for any task has brought. Returns whether there
/// were any.
fn receive_tasks(me: Own<'_>) -> bool {
    let own = &mut *channels(&me).worker_state();
    let answer = channels(&me).answer(Kind::Any);
    let is_answered = answer.receive(|tasks| own.received.extend(tasks.drain(..)));
    if is_answered.is_some() {
        own.sent = None;
        own.strategy.was_answered();
    }
    is_answered.is_some()
}

/// Claims the oldest received task that its owner has not taken back. The steal `is_free` if the
/// worker has not sent a request for it.
fn claim_next(me: Own<'_>, is_free: bool) -> Option<Stolen<Channel>> {
    let next = || channels(&me).worker_state().received.pop_front();
    let stolen = claim_received(me, is_free, next)?;
    channels(&me).worker_state().strategy.claimed();
    Some(stolen)
}
