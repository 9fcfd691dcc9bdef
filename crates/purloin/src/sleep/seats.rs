//! Seats: a number below the number of regular workers for each worker that runs, also for spare
//! ones.
//!
//! Programs index arrays with the number of a thread, so a number must belong to one running thread
//! at a time. A regular worker has the **seat** with its own number. A spare worker, which runs in
//! place of another, has none until the program asks ([`Token::seat`](crate::Token::seat)). Then it
//! is **bound** to a seat that nobody uses, until it has ended the task or job that it took: the
//! program may have remembered the number.
//!
//! So several workers may be bound to a seat, of which one at most **uses** it. A worker leaves its
//! seat when it hands off its processor, because it is blocked, and takes it again when it resumes.
//! If another worker uses the seat then, it waits, and its processor stays handed off. A spare worker
//! that is not bound waits if nobody leaves a seat.
//!
//! An idle regular worker is on its seat, but gives it up: if it is asleep or in the reserve, another
//! worker just takes the seat. The idle worker stays in the reserve until the seat is free again. If
//! it is not asleep, it looks for workers that wait for a seat between two tasks
//! ([`Sleep::yield_seat`]).
//!
//! All of this happens under the lock of the sleepers, so no worker moves meanwhile.
//!
//! # Limit
//!
//! A wait that the pool does not see keeps a seat: in a lock, for example. A task that asks for the
//! number of its worker, and then waits for a lock that is held by a blocked task of the same seat,
//! waits for ever: that task cannot resume.

use super::sleepers::{Sleep, Sleepers};
use crate::sync::Ordering;

/// Who uses the seats of a pool, and who waits for one.
pub(super) struct Seats {
    /// The worker that uses each seat.
    users: Vec<Option<usize>>,
    /// The spare workers that are bound to a seat, each with its seat.
    bound: Vec<(usize, usize)>,
    /// Workers that wait for a seat.
    waiting: Vec<usize>,
}

impl Seats {
    pub(super) fn new(workers: usize) -> Seats {
        Seats {
            users: (0..workers).map(Some).collect(),
            bound: Vec::new(),
            waiting: Vec::new(),
        }
    }

    /// Returns the seat to which a worker is bound.
    fn of(&self, worker: usize) -> Option<usize> {
        if worker < self.users.len() {
            return Some(worker);
        }
        let bound = self.bound.iter().find(|(bound, _)| *bound == worker);
        bound.map(|(_, seat)| *seat)
    }

    /// Returns whether a worker that is not running may begin to run: nobody else uses its seat.
    pub(super) fn may_run(&self, worker: usize) -> bool {
        let seat = self.of(worker).map(|seat| self.users[seat]);
        seat.is_none_or(|user| user.is_none_or(|user| user == worker))
    }

    /// Lets a worker use its seat, if it has one. The caller has checked that it may.
    pub(super) fn sit(&mut self, worker: usize) {
        if let Some(seat) = self.of(worker) {
            self.users[seat] = Some(worker);
        }
    }

    /// Lets a worker leave its seat, if it uses one.
    pub(super) fn leave(&mut self, worker: usize) {
        if let Some(seat) = self.of(worker)
            && self.users[seat] == Some(worker)
        {
            self.users[seat] = None;
        }
    }

    /// Returns the workers that wait for a seat, for [`Sleep::call_unseated`].
    pub(super) fn waiting(&self) -> Vec<usize> {
        self.waiting.clone()
    }
}

impl Sleep {
    /// Returns the seat of a worker, which runs and calls this. Binds a spare worker to a seat if it
    /// is not bound.
    pub(crate) fn seat(&self, worker: usize) -> usize {
        let mut sleepers = self.lock();
        if let Some(seat) = sleepers.seats.of(worker) {
            return seat;
        }
        let mut found = 0;
        sleepers = self.wait_for_seat(sleepers, worker, |sleep, sleepers| {
            let seats = 0..sleepers.seats.users.len();
            let seat = seats.into_iter().find(|&seat| sleep.vacate(sleepers, seat));
            found = seat.unwrap_or(0);
            seat.is_some()
        });
        sleepers.seats.bound.push((worker, found));
        sleepers.seats.sit(worker);
        // Relaxed: only the worker's own thread reads it.
        self.parkers[worker].is_seated.store(1, Ordering::Relaxed);
        self.rebalance(&mut sleepers);
        found
    }

    /// Returns whether a seat is free, after this has moved an idle worker from it to the reserve.
    fn vacate(&self, sleepers: &mut Sleepers, seat: usize) -> bool {
        let Sleepers {
            list,
            processors,
            seats,
        } = sleepers;
        match seats.users[seat] {
            None => return true,
            // A spare worker runs.
            Some(user) if user != seat => return false,
            Some(_) => (),
        }
        let idle = list
            .iter()
            .position(|sleeper| sleeper.worker == seat && sleeper.until.is_none());
        if let Some(place) = idle {
            list.swap_remove(place);
            self.asleep.fetch_sub(1, Ordering::Relaxed);
            processors.enter_reserve(seat);
        }
        let is_idle = processors.is_in_reserve(seat);
        if is_idle {
            seats.users[seat] = None;
        }
        is_idle
    }

    /// Blocks `worker` until `take` returns true.
    fn wait_for_seat<'s>(
        &'s self,
        mut sleepers: crate::sync::MutexGuard<'s, Sleepers>,
        worker: usize,
        mut take: impl FnMut(&Sleep, &mut Sleepers) -> bool,
    ) -> crate::sync::MutexGuard<'s, Sleepers> {
        while !take(self, &mut sleepers) {
            sleepers.seats.waiting.push(worker);
            self.unseated.fetch_add(1, Ordering::Relaxed);
            drop(sleepers);
            self.parkers[worker].park();
            sleepers = self.lock();
            sleepers.seats.waiting.retain(|&other| other != worker);
            self.unseated.fetch_sub(1, Ordering::Relaxed);
        }
        sleepers
    }

    /// Lets a worker that resumes take its seat, if it is bound to one. Blocks it until then.
    pub(super) fn sit_again(&self, worker: usize) -> crate::sync::MutexGuard<'_, Sleepers> {
        let sleepers = self.lock();
        let mut sleepers = self.wait_for_seat(sleepers, worker, |sleep, sleepers| {
            match sleepers.seats.of(worker) {
                Some(seat) if !sleepers.seats.may_run(worker) => sleep.vacate(sleepers, seat),
                _ => true,
            }
        });
        sleepers.seats.sit(worker);
        sleepers
    }

    /// Unbinds a spare worker, which has ended what it ran.
    pub(crate) fn give_seat_back(&self, worker: usize) {
        // Relaxed: this thread has set it.
        if self.parkers[worker].is_seated.load(Ordering::Relaxed) == 0 {
            return;
        }
        self.parkers[worker].is_seated.store(0, Ordering::Relaxed);
        let mut sleepers = self.lock();
        let seat = sleepers.seats.of(worker);
        sleepers.seats.leave(worker);
        sleepers.seats.bound.retain(|(bound, _)| *bound != worker);
        self.rebalance(&mut sleepers);
        let waiting = sleepers.seats.waiting();
        drop(sleepers);
        self.call_unseated(waiting);
        // The regular worker may have mail, or the pool may be stopping.
        if let Some(regular) = seat {
            self.unpark(regular);
        }
    }

    /// Called when a worker ends: a spare worker that still runs may use its thread index.
    pub(crate) fn end_with_index(&self, worker: usize) {
        self.give_seat_back(worker);
        let mut sleepers = self.lock();
        sleepers.seats.leave(worker);
        let waiting = sleepers.seats.waiting();
        drop(sleepers);
        self.call_unseated(waiting);
    }

    /// Moves a searching regular worker to the reserve if another worker waits for a seat. If this
    /// returns true, the worker must pass on, as after [`Self::enter_reserve`].
    pub(crate) fn yield_seat(&self, worker: usize) -> bool {
        // Relaxed: this is only a hint. The check under the lock decides.
        if self.unseated.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let mut sleepers = self.lock();
        let seats = &sleepers.seats;
        let wants_it = |other: &usize| seats.of(*other).is_none_or(|seat| seat == worker);
        let is_regular = worker < seats.users.len();
        let is_wanted = is_regular && seats.waiting.iter().any(wants_it);
        if !is_wanted || sleepers.processors.is_stopped() {
            return false;
        }
        sleepers.processors.enter_reserve(worker);
        sleepers.seats.leave(worker);
        // A waiting worker takes the seat, and rebalances.
        let waiting = sleepers.seats.waiting();
        drop(sleepers);
        self.stop_searching();
        self.call_unseated(waiting);
        true
    }

    /// Lets workers that wait for a seat look again.
    pub(super) fn call_unseated(&self, waiting: Vec<usize>) {
        for worker in waiting {
            self.unpark(worker);
        }
    }
}
