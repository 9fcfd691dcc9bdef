//! Lending: the processor of a blocked worker goes on working.
//!
//! (Of processors; for the lending of tokens see [`Worker::lend`](crate::Worker::lend).)
//!
//! A pool has as many **processors** as it was asked for workers, and some more
//! workers than that, the spare ones. Each worker has a processor, or **rests**.
//! A worker that is blocked, and finds nothing that it may run, **lends** its
//! processor to one that rests: that becomes an idle worker like any other, asleep
//! until somebody has a task for it. So to lend costs next to nothing where no task
//! is waiting, and a spare worker has no thread before it is first woken. When the
//! blocked one goes on, it **takes back** a processor. If an idle worker
//! is asleep, it is that one's, which rests from then on without noticing. If all
//! are at work, there is one too many until the next of them, whichever, falls
//! idle; it rests.
//!
//! # The balance
//!
//! What counts is how many workers have a processor, not which: the **balance** is
//! how many there are too many. To lend makes it one less, to take back one more;
//! and whenever it changes, or an idle worker falls asleep, it is brought to naught
//! as far as that goes, by waking the rest of one or by putting one to rest. It
//! stays below where no spare worker is left: then a processor is idle. All of
//! this is done with the lock of the sleepers.
//!
//! # No wake-up is lost
//!
//! Who is handed_off a processor is registered as a sleeper, and its lender looks on its
//! behalf, after a fence, for tasks, and asks the others for some: see the page
//! on [waiting](super). The same again whenever it has dozed, as the borrower itself
//! sleeps until it is woken. The lender leaves out what it would take itself. A
//! worker that goes to rest while it searches passes on, as one does that has found
//! something; and one that is put to rest by another between its registration and its
//! last look, but has found something there, does not rest.
//!
//! Source: none; the idea of a blocked worker that leaves its processor to another
//! is that of scheduler activations and of many a system since.

use super::sleepers::{Sleep, Sleeper, Sleepers, Slept};
use crate::sync::{Ordering, fence};

/// Who has a processor.
pub(super) struct Processors {
    /// How many workers have one beyond the number that there is; if negative, how
    /// many processors nobody has.
    balance: isize,
    /// Who has none, and would take one, the next at the end.
    reserve: Vec<usize>,
    /// Workers below this one have a thread, or it was tried to start one.
    started: usize,
    /// Spare workers whose thread could not be started.
    failures: usize,
    /// How many are no spare ones.
    workers: usize,
    /// Nobody rests any more.
    is_stopped: bool,
}

impl Processors {
    pub(super) fn new(workers: usize, spares: usize) -> Processors {
        Processors {
            balance: 0,
            reserve: (workers..workers + spares).rev().collect(),
            started: workers,
            failures: 0,
            workers,
            is_stopped: false,
        }
    }

    pub(super) fn has_thread(&self, worker: usize) -> bool {
        worker < self.started
    }

    /// A worker is to wake up. False if it has no thread yet, which the caller
    /// starts. None is left out: of those without a thread the first gets a processor
    /// first, gives it up last, and is woken first.
    pub(super) fn mark_started(&mut self, worker: usize) -> bool {
        let had_thread = self.has_thread(worker);
        self.started = self.started.max(worker + 1);
        had_thread
    }

    pub(super) fn is_in_reserve(&self, worker: usize) -> bool {
        self.reserve.contains(&worker)
    }

    /// A worker rests no longer. The balance is to be settled.
    pub(super) fn leave_reserve(&mut self, worker: usize) {
        self.reserve.retain(|&other| other != worker);
        self.balance += 1;
    }

    pub(super) fn stop(&mut self) {
        self.is_stopped = true;
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped
    }
}

impl Sleep {
    /// A blocked worker leaves its processor to another. It must look for work
    /// now, on behalf of that one, which is asleep.
    pub(crate) fn hand_off(&self) {
        self.add_to_balance(-1);
        // Between the registration of the borrower and the look.
        fence(Ordering::SeqCst);
    }

    /// Whether a processor is handed_off that no worker is left to take.
    pub(crate) fn lacks_workers(&self) -> bool {
        self.lock().processors.balance < 0
    }

    /// It goes on.
    pub(crate) fn end_handoff(&self) {
        self.add_to_balance(1);
    }

    fn add_to_balance(&self, processors: isize) {
        let mut sleepers = self.lock();
        sleepers.processors.balance += processors;
        self.rebalance(&mut sleepers);
    }

    /// Brings the balance to naught, as far as that goes.
    pub(super) fn rebalance(&self, sleepers: &mut Sleepers) {
        let Sleepers { list, processors } = sleepers;
        while processors.balance < 0
            && let Some(worker) = processors.reserve.pop()
        {
            list.push(Sleeper {
                worker,
                until: None,
            });
            self.asleep.fetch_add(1, Ordering::Relaxed);
            processors.balance += 1;
        }
        // Rather spare workers than others.
        while processors.balance > 0
            && !processors.is_stopped
            && let Some(place) = (0..list.len())
                .filter(|&place| list[place].until.is_none())
                .max_by_key(|&place| list[place].worker)
        {
            let sleeper = list.swap_remove(place);
            self.asleep.fetch_sub(1, Ordering::Relaxed);
            processors.reserve.push(sleeper.worker);
            processors.balance -= 1;
        }
        let surplus = processors.balance.max(0);
        self.surplus.store(surplus as usize, Ordering::Relaxed);
    }

    /// Puts an idle worker that searches to rest, if there is no processor for it.
    /// Then others have counted on it in vain, and it must see that they need not.
    pub(crate) fn retire(&self, worker: usize) -> bool {
        // Relaxed: at a glance. The lock orders.
        if self.surplus.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let mut sleepers = self.lock();
        let processors = &mut sleepers.processors;
        if processors.balance <= 0 || processors.is_stopped {
            return false;
        }
        processors.reserve.push(worker);
        processors.balance -= 1;
        self.rebalance(&mut sleepers);
        drop(sleepers);
        self.stop_searching();
        true
    }

    /// Rests, until there is a processor and something to do; the worker then counts
    /// as searching.
    pub(crate) fn wait_for_processor(&self, worker: usize) {
        let until = None;
        self.end_sleep(Sleeper { worker, until }, Slept::Woken, false);
    }

    /// A worker that was to wake up has got no thread.
    pub(super) fn start_failed(&self) {
        let mut sleepers = self.lock();
        sleepers.processors.failures += 1;
        sleepers.processors.balance -= 1;
        self.rebalance(&mut sleepers);
        drop(sleepers);
        // It counted as searching. Its waker tries the next.
        self.stop_searching();
    }

    /// Whether as many have a processor as there are, so many rest, and nobody is
    /// registered as a sleeper.
    #[cfg(all(loom, test))]
    pub(super) fn is_balanced(&self, reserve: usize) -> bool {
        let Sleepers { list, processors } = &*self.lock();
        processors.balance == 0 && processors.reserve.len() == reserve && list.is_empty()
    }

    /// How many spare workers have a thread.
    pub(crate) fn spares(&self) -> usize {
        let processors = &self.lock().processors;
        processors.started - processors.workers - processors.failures
    }

    /// How many have none, as it could not be started.
    pub(crate) fn failures(&self) -> usize {
        self.lock().processors.failures
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn who_falls_asleep_beside_a_surplus_rests() {
        let sleep = Sleep::new(2, 1, Box::new(|_| Ok(())));
        sleep.hand_off();
        sleep.wake_one(0);
        assert_eq!(sleep.spares(), 1);
        sleep.end_handoff();
        assert!(sleep.retire_would_succeed());
        sleep.start_searching();
        sleep.sleep_idle(1, None, || {
            assert!(sleep.lock().processors.is_in_reserve(1));
            assert!(!sleep.retire_would_succeed());
            sleep.stop();
            false
        });
    }

    #[test]
    fn who_sleeps_rests_without_noticing() {
        let sleep = Sleep::new(1, 2, Box::new(|_| Ok(())));
        sleep.hand_off();
        assert_eq!(sleep.idle(), 1);
        assert!(sleep.lock().processors.is_in_reserve(2));
        sleep.end_handoff();
        assert_eq!(sleep.idle(), 0);
        assert!(sleep.lock().processors.is_in_reserve(1));
        // It never had anything to do.
        assert_eq!(sleep.spares(), 0);
    }

    #[test]
    fn the_next_is_tried_later_where_one_cannot_be_started() {
        let start = |worker| match worker {
            3 => Ok(()),
            _ => Err(io::ErrorKind::OutOfMemory.into()),
        };
        let sleep = Sleep::new(1, 3, Box::new(start));
        sleep.hand_off();
        for expected in [(0, 1), (0, 2), (1, 2)] {
            assert!(!sleep.has_searchers());
            sleep.injected();
            assert_eq!((sleep.spares(), sleep.failures()), expected);
        }
        assert!(sleep.is_only_searcher());
    }

    #[test]
    fn a_processor_stays_idle_where_none_can_be_started() {
        let sleep = Sleep::new(1, 2, Box::new(|_| Err(io::ErrorKind::OutOfMemory.into())));
        sleep.hand_off();
        sleep.injected();
        sleep.injected();
        assert_eq!((sleep.spares(), sleep.failures()), (0, 2));
        assert_eq!(sleep.idle(), 0);
        sleep.end_handoff();
        // Nobody is one too many.
        assert!(!sleep.retire_would_succeed());
    }

    impl Sleep {
        fn retire_would_succeed(&self) -> bool {
            self.surplus.load(Ordering::Relaxed) > 0
        }
    }
}
