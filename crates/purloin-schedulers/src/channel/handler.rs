//! How a worker handles the messages in its mailbox, and the messages that it sends by itself.
//!
//! The functions are written for any [`Peers`], so that the loom models run them, too.

use purloin::scheduler::Count;

use super::Own;
use super::manager::MANAGER;
use super::messages::{
    Channels, Colour, Kind, LeapfrogRequest, Message, Outside, Peers, SentTask, Situation,
    StealRequest, WorkerState, capacity,
};
use super::strategy::Amount;
use super::tasks::{channels, is_unclaimed};

/// Handles all messages in the mailbox of `me`, and looks at the requests that it keeps. Leaves its
/// floor raised if it still keeps any.
pub(super) fn handle_messages<P: Peers + ?Sized>(
    peers: &P,
    me: usize,
    own: &mut WorkerState,
    situation: Situation,
) {
    let situation = situation.after_push(&mut own.is_splitting);
    let mailbox = &peers.channels(me).mailbox;
    let mut handler = Handler {
        peers,
        me,
        own,
        situation,
    };
    // Two blocked workers may wait for each other for a moment: one of the tasks has just ended. Each sends the requests of
    // other workers to the other one, and they come back before the mailbox is empty. So a worker handles what was there
    // at the start, and then looks whether its own wait is over.
    let mut left = capacity(peers.workers());
    loop {
        while left > 0
            && let Some(message) = mailbox.receive()
        {
            left -= 1;
            handler.handle(message);
        }
        handler.look_at_kept_requests();
        if left == 0 {
            // Messages may be left. They came after the start, so their senders have unparked this worker since.
            return peers.set_floor(me, true);
        }
        let keeps_any = !handler.own.kept.is_empty() || !handler.own.kept_leapfrogs.is_empty();
        peers.set_floor(me, keeps_any);
        // A sender that is still writing its message raises the floor afterwards.
        if keeps_any || !mailbox.has_message() {
            return;
        }
    }
}

/// Returns the number of requests that a worker keeps, so that its loop is split for each. If there is any,
/// the next push is a part of the loop.
pub(super) fn begin_split(own: &mut WorkerState) -> usize {
    let thieves = own.kept.len() + own.kept_leapfrogs.len();
    own.is_splitting = thieves > 0;
    thieves
}

/// Sends the request of `me` for any task to a first victim.
pub(super) fn send_request<P: Peers + ?Sized>(
    peers: &P,
    me: usize,
    own: &mut WorkerState,
    colour: Colour,
    victim: usize,
) {
    let request = StealRequest {
        thief: me,
        colour,
        amount: own.strategy.amount(),
        asked: 0,
        last: victim,
    };
    own.sent = Some(colour);
    peers.count(me, Count::StealAttempts);
    if colour == Colour::Working {
        peers.count(me, Count::EarlyRequests);
    }
    peers.send(victim, Message::Steal(request));
}

/// Tells the manager, if necessary, that `me` is about to run work from outside.
pub(super) fn begin_outside_work<P: Peers + ?Sized>(peers: &P, me: usize, own: &mut WorkerState) {
    if me != MANAGER && own.outside == Outside::Nothing && own.sent == Some(Colour::Idle) {
        own.outside = Outside::Begun;
        peers.send_control(me, MANAGER, Message::OutsideBegun { thief: me });
    }
}

/// Tells the manager, if necessary, that `me` is idle again.
pub(super) fn end_outside_work<P: Peers + ?Sized>(peers: &P, me: usize, own: &mut WorkerState) {
    if own.outside == Outside::Noted {
        own.outside = Outside::Nothing;
        peers.send_control(me, MANAGER, Message::OutsideEnded { thief: me });
    }
}

/// Manager: returns whether all other workers are idle and there is no work outside. The manager is
/// itself idle, and has handled its messages.
///
/// A worker sends the manager a message before it takes work from outside, and before it wakes a
/// registered worker by an answer. So if the mailbox is empty after the look outside, no worker has
/// begun anything since the manager has counted it.
pub(super) fn is_quiescent<P: Peers + ?Sized>(
    peers: &P,
    own: &WorkerState,
    has_no_outside_work: impl FnOnce() -> bool,
) -> bool {
    own.manager.are_all_registered()
        && has_no_outside_work()
        && peers.channels(MANAGER).mailbox.is_empty()
}

/// Answers the kept leapfrog requests that `is_over` picks, without tasks.
pub(super) fn cancel_leapfrogs<P: Peers + ?Sized>(
    peers: &P,
    own: &mut WorkerState,
    is_over: impl Fn(&LeapfrogRequest) -> bool,
) {
    own.kept_leapfrogs.retain(|request| {
        let is_over = is_over(request);
        if is_over {
            peers.channels(request.thief).answer(Kind::Leapfrog).send();
            peers.unpark(request.thief);
        }
        !is_over
    });
}

/// A worker while it handles messages.
struct Handler<'a, P: ?Sized> {
    peers: &'a P,
    me: usize,
    own: &'a mut WorkerState,
    situation: Situation,
}

impl<P: Peers + ?Sized> Handler<'_, P> {
    fn handle(&mut self, message: Message) {
        match message {
            Message::Steal(request) if request.thief == self.me => self.take_back(request),
            Message::Steal(mut request) => {
                request.asked = self.others().min(request.asked + 1);
                request.last = self.me;
                self.route(request);
            }
            Message::Leapfrog(request) => self.own.kept_leapfrogs.push(request),
            Message::Withdraw { thief } => {
                cancel_leapfrogs(self.peers, self.own, |request| request.thief == thief);
            }
            Message::Update { thief } => self.own.manager.update(thief),
            Message::OutsideBegun { thief } => {
                self.own.manager.outside_begun(thief);
                self.peers
                    .send_control(self.me, thief, Message::OutsideNoted);
            }
            Message::OutsideNoted => self.own.outside = Outside::Noted,
            Message::OutsideEnded { thief } => self.own.manager.outside_ended(thief),
        }
    }

    fn look_at_kept_requests(&mut self) {
        // Requests that stay are pushed again, behind those that were not looked at yet.
        for _ in 0..self.own.kept.len() {
            let request = self.own.kept.pop_front().expect("it was counted");
            match request.thief == self.me {
                true => self.take_back(request),
                false => self.route(request),
            }
        }
        let mut kept = std::mem::take(&mut self.own.kept_leapfrogs);
        kept.retain(|request| !self.answer_leapfrog(request));
        self.own.kept_leapfrogs = kept;
    }

    /// Returns the number of other workers.
    fn others(&self) -> usize {
        self.peers.workers() - 1
    }

    /// Answers the request of another worker, or passes it on, or keeps it.
    fn route(&mut self, mut request: StealRequest) {
        if self.answer(&request) {
            return;
        }
        let thief = request.thief;
        if self.situation == Situation::InLoop {
            return self.own.kept.push_back(request);
        }
        let next = if request.asked < self.others() {
            match self.own.forwards {
                true => Some(self.after(self.me, thief)),
                false => Some(thief),
            }
        } else if request.colour == Colour::Working {
            Some(thief)
        } else {
            if self.me == MANAGER {
                if self.own.manager.register(thief) {
                    self.peers.count(self.me, Count::IdleRegistrations);
                }
                // Also if the thief runs work from outside: a blocked worker must not send the request
                // back.
                request.colour = Colour::RegisteredIdle;
            }
            match self.situation {
                Situation::Blocked(Some(holder)) if holder != thief => Some(holder),
                _ if self.me == MANAGER => {
                    let runs = self.situation == Situation::Running;
                    let next = self.own.manager.next_active(thief, runs);
                    next.filter(|&next| next != MANAGER)
                }
                Situation::Idle => Some(MANAGER),
                // The manager knows who else may have tasks. It may send the request back, and then
                // this worker keeps it.
                Situation::Blocked(_) if request.colour == Colour::Idle => Some(MANAGER),
                _ => None,
            }
        };
        match next {
            Some(next) => {
                self.peers.count(self.me, Count::Forwards);
                self.peers.send(next, Message::Steal(request));
            }
            None => self.own.kept.push_back(request),
        }
    }

    /// Returns the worker to ask after `last`.
    fn after(&self, last: usize, thief: usize) -> usize {
        let workers = self.peers.workers();
        let next = (last + 1) % workers;
        match next == thief {
            true => (next + 1) % workers,
            false => next,
        }
    }

    /// Takes back the worker's own request, which no worker has answered yet. If the worker is idle,
    /// the request goes on.
    fn take_back(&mut self, mut request: StealRequest) {
        if self.situation != Situation::Idle {
            self.own.sent = None;
            return;
        }
        request.colour = Colour::Idle;
        self.own.sent = Some(Colour::Idle);
        let next = match self.me {
            // Only without forwarding: the last worker has refused.
            _ if request.asked < self.others() => Some(self.after(request.last, self.me)),
            MANAGER => self.own.manager.next_active(MANAGER, false),
            _ => Some(MANAGER),
        };
        match next {
            Some(next) => {
                self.peers.count(self.me, Count::StealAttempts);
                self.peers.send(next, Message::Steal(request));
            }
            None => self.own.kept.push_back(request),
        }
    }

    /// Answers a request for any task, if there is one. Returns whether it has.
    fn answer(&mut self, request: &StealRequest) -> bool {
        let (peers, me, thief) = (self.peers, self.me, request.thief);
        let answer = peers.channels(thief).answer(Kind::Any);
        let received = &mut self.own.received;
        let situation = self.situation;
        // SAFETY: this worker has the request, because it has received the message and has neither
        // sent it on nor answered it.
        let tasks = unsafe {
            answer.write(|tasks| {
                // First passes on tasks that this worker has itself received.
                let count = request.amount.of(received.len());
                while tasks.len() < count
                    && let Some(sent) = received.pop_front()
                {
                    if is_unclaimed(sent.slot) {
                        tasks.push(sent);
                    }
                }
                if tasks.is_empty() {
                    peers.add_own_tasks(me, (Kind::Any, request.amount), situation, tasks);
                }
            })
        };
        if tasks == 0 {
            return false;
        }
        if request.colour == Colour::RegisteredIdle {
            // Before the answer: see `is_quiescent`.
            match me {
                MANAGER => self.own.manager.update(thief),
                _ => {
                    peers.count(me, Count::Updates);
                    peers.send_control(me, MANAGER, Message::Update { thief });
                }
            }
        }
        self.send_answer(Kind::Any, thief);
        true
    }

    /// Answers a leapfrog request, if there is a task. Returns whether it has.
    fn answer_leapfrog(&mut self, request: &LeapfrogRequest) -> bool {
        let (peers, me, situation) = (self.peers, self.me, self.situation);
        let answer = peers.channels(request.thief).answer(Kind::Leapfrog);
        // SAFETY: this worker has the request, because it has received the message and has not
        // answered it.
        let tasks = unsafe {
            answer.write(|tasks| {
                peers.add_own_tasks(me, (Kind::Leapfrog, Amount::One), situation, tasks);
            })
        };
        if tasks > 0 {
            self.send_answer(Kind::Leapfrog, request.thief);
        }
        tasks > 0
    }

    fn send_answer(&self, kind: Kind, thief: usize) {
        self.peers.count(self.me, Count::Publications);
        self.peers.channels(thief).answer(kind).send();
        self.peers.unpark(thief);
    }
}

impl Peers for Own<'_> {
    fn workers(&self) -> usize {
        self.peers().len()
    }

    fn channels(&self, worker: usize) -> &Channels {
        channels(&self.peers()[worker])
    }

    fn unpark(&self, worker: usize) {
        self.peers()[worker].unpark();
    }

    fn notify(&self, worker: usize) {
        self.peers()[worker].task_pool().notify();
        self.peers()[worker].unpark();
    }

    fn set_floor(&self, _me: usize, is_raised: bool) {
        self.task_pool().set_floor(is_raised);
    }

    fn add_own_tasks(
        &self,
        me: usize,
        demand: (Kind, Amount),
        situation: Situation,
        tasks: &mut Vec<SentTask>,
    ) {
        self.task_pool()
            .answer_with_own(me, demand, situation, tasks);
    }

    fn count(&self, _me: usize, count: Count) {
        Own::count(*self, count);
    }
}
