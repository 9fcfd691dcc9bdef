//! The operations of the running fibre on its machine, called through [`with`](super::with) and [`at`](super::at).

use std::cmp::Reverse;
use std::collections::VecDeque;

use super::adversary::Adversary;
use super::fibre::{Doing, Fibre, Reason};
use super::lines::Access;
use super::turns::{NEVER, Time};
use super::{Engine, Timer, Woken};
use crate::report::{Cost, Operation, Tally};
use crate::sync::Values;
use crate::work;

impl Engine {
    /// Adds the work that was counted since the last event to the time.
    #[inline]
    pub(super) fn charge_work(&mut self) {
        let units = work::take();
        if units == 0 {
            return;
        }
        let picoseconds = match self.fibres[self.fibre].runs_program {
            true => {
                self.tally.work += units;
                self.work
            }
            false => self.library_work,
        };
        self.now += (units as f64 * picoseconds) as Time;
    }

    /// Sets whether the running fibre runs the program's own code from now on. Returns whether it did so far.
    pub(crate) fn runs_program(&mut self, is_program: bool) -> bool {
        self.charge_work();
        std::mem::replace(&mut self.fibres[self.fibre].runs_program, is_program)
    }

    /// Begins an event. Returns whether the fibre must be suspended first.
    #[inline]
    pub(super) fn begin_event(&mut self) -> bool {
        self.charge_work();
        self.tally.events += 1;
        match &mut self.adversary {
            None => self.now > self.limit,
            Some(_) => self.adversary_interrupts(),
        }
    }

    /// Accesses memory: adds the time that it takes.
    #[inline]
    pub(crate) fn access(&mut self, address: usize, access: Access) {
        if self.adversary.is_some() {
            return;
        }
        let operation = self.fibres[self.fibre].operation.number;
        let mut begin = self.now;
        if access == Access::Modify {
            begin = begin.max(self.cores[self.core].stored_at);
        }
        let found = self
            .lines
            .access(self.core, address, access, begin, operation);
        match access {
            // The store waits in the core's buffer for its line. Later stores wait behind it.
            Access::Write if found.is_transfer => {
                let core = &mut self.cores[self.core];
                core.stored_at = core.stored_at.max(found.end);
                self.now += self.costs.fence.min(1000);
            }
            _ => self.now = found.end,
        }
        let cost = &mut self.fibres[self.fibre].operation.cost;
        cost.transfers += u64::from(found.is_transfer);
        cost.lines += u64::from(found.is_foreign);
        self.tally.mix(self.fibre as u64, self.now);
    }

    /// Executes a full fence.
    pub(crate) fn fence(&mut self) {
        match self.adversary.is_some() {
            true => self.drain_stores(self.fibre),
            false => {
                let stored_at = self.cores[self.core].stored_at;
                self.now = self.now.max(stored_at) + self.costs.fence;
            }
        }
    }

    /// Executes a full fence on every core that runs a thread.
    pub(crate) fn membarrier(&mut self) {
        self.fence();
        if self.adversary.is_some() {
            (0..self.fibres.len()).for_each(|fibre| self.drain_stores(fibre));
            return;
        }
        let mut interrupts = 0;
        for core in 0..self.cores.len() {
            let time = self.turns.of(core);
            if core != self.core && time != NEVER {
                self.turns.set(core, time + self.costs.interrupted);
                interrupts += 1;
            }
        }
        self.now += self.costs.membarrier + interrupts * self.costs.interrupt;
        self.fibres[self.fibre].operation.cost.interrupts += interrupts;
    }

    /// Spins for a moment.
    pub(crate) fn pause(&mut self) {
        self.now += self.costs.pause;
        self.adversary_spins();
    }

    /// Returns the time, and adds what the look at the clock takes.
    pub(crate) fn look_at_clock(&mut self) -> Time {
        self.now += self.costs.clock;
        self.now
    }

    /// Lets other threads run on this core.
    pub(crate) fn yield_now(&mut self) {
        self.now += self.costs.yield_now;
        self.cores[self.core].slice_end = 0;
        self.limit = self.limit.min(self.cores[self.core].end_of_slice());
        self.adversary_spins();
    }

    /// Begins an operation of the library. Returns the operation that it interrupts.
    pub(crate) fn begin_operation(&mut self) -> Doing {
        self.operations = self.operations.wrapping_add(1).max(1);
        let doing = Doing {
            number: self.operations,
            since: self.now,
            cost: Cost::default(),
        };
        std::mem::replace(&mut self.fibres[self.fibre].operation, doing)
    }

    /// Ends an operation. `interrupted` is what [`Self::begin_operation`] has returned.
    pub(crate) fn end_operation(&mut self, kind: Operation, interrupted: Doing) {
        let done = std::mem::replace(&mut self.fibres[self.fibre].operation, interrupted);
        let cost = Cost {
            count: 1,
            picoseconds: self.now - done.since,
            ..done.cost
        };
        self.tally.add(kind, cost);
    }

    /// Returns the counts so far. Operations that have not ended are missing.
    pub(crate) fn tally(&self) -> Tally {
        self.tally.clone()
    }

    /// Returns the number of the running fibre.
    pub(crate) fn current(&self) -> usize {
        self.fibre
    }

    pub(crate) fn name(&self, fibre: usize) -> &str {
        &self.fibres[fibre].name
    }

    /// Returns the thread-local values of the running fibre.
    pub(crate) fn locals(&mut self) -> &mut Values {
        &mut self.fibres[self.fibre].locals
    }

    /// Ends the running fibre: threads that wait for its end may go on.
    pub(crate) fn end_current(&mut self) {
        self.fibres[self.fibre].is_over = true;
    }

    /// Spends time.
    pub(crate) fn spend(&mut self, time: Time) {
        self.now += time;
    }

    /// Returns the number of cores.
    pub(crate) fn cores(&self) -> usize {
        self.cores.len()
    }

    pub(crate) fn is_done(&self, fibre: usize) -> bool {
        self.fibres[fibre].is_over
    }

    /// Returns whether the adversary refuses to start a thread.
    pub(crate) fn refuses_thread(&mut self) -> bool {
        let adversary = self.adversary.as_mut();
        adversary.is_some_and(Adversary::refuses_thread)
    }

    /// Starts a thread, at the time at which the system call is over. Returns its number.
    pub(crate) fn spawn(&mut self, fibre: Fibre) -> usize {
        // The system call is a full fence: the new thread sees what this one has stored.
        self.drain_own();
        self.now += self.costs.start_thread;
        let fibre = self.add(fibre);
        let jitter = self.random.below(self.costs.wake_latency.max(1));
        self.make_ready(fibre, self.now + jitter);
        fibre
    }

    pub(super) fn add(&mut self, fibre: Fibre) -> usize {
        self.fibres.push(fibre);
        if let Some(adversary) = &mut self.adversary {
            adversary.add();
        }
        self.fibres.len() - 1
    }

    /// Lets the running fibre wait. It must be suspended next.
    pub(super) fn begin_wait(&mut self, reason: Reason, time: Option<Time>) {
        self.now += self.costs.park;
        // A system call is a full fence.
        self.drain_own();
        let (number, until) = (
            self.next_timer,
            time.map(|time| self.now.saturating_add(time)),
        );
        self.next_timer += 1;
        let fibre = &mut self.fibres[self.fibre];
        fibre.begin_wait(reason, number);
        if let Some(time) = until {
            let (fibre, wait) = (self.fibre, number);
            self.timers.push(Reverse(Timer {
                time,
                number,
                fibre,
                wait,
            }));
        }
    }

    /// Ends the wait of a fibre.
    pub(super) fn end_wait(&mut self, fibre: usize, woken: Woken, time: Time) {
        if let Some(address) = self.fibres[fibre].end_wait(woken)
            && let Some(queue) = self.waiting.get_mut(&address)
        {
            queue.retain(|&other| other != fibre);
        }
        self.make_ready(fibre, time);
    }

    /// Makes a fibre ready that does not run.
    pub(super) fn make_ready(&mut self, fibre: usize, time: Time) {
        match self.adversary.is_some() {
            true => self.fibres[fibre].set_running(),
            false => self.place(fibre, time),
        }
    }

    /// Wakes a fibre that [waits](wait_at) at this address, and pays for it. Returns false if none does.
    pub(crate) fn wake_at(&mut self, address: usize) -> bool {
        let next = self.waiting.get_mut(&address).and_then(VecDeque::pop_front);
        let Some(fibre) = next else { return false };
        self.wake(fibre);
        true
    }

    pub(super) fn wake(&mut self, fibre: usize) {
        self.now += self.costs.wake;
        self.tally.wakes += 1;
        self.end_wait(fibre, Woken::Signal, self.now);
    }

    /// Ends the current or next [`park`] of a fibre.
    pub(crate) fn unpark(&mut self, fibre: usize) {
        self.fibres[fibre].has_token = true;
        if self.fibres[fibre].is_parked() {
            self.wake(fibre);
        }
    }

    /// Joins the queue of fibres that wait at this address. [`wait_at`] must come next.
    pub(crate) fn enqueue(&mut self, address: usize) {
        let fibre = self.fibre;
        self.waiting.entry(address).or_default().push_back(fibre);
    }
}
