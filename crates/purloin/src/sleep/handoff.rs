//! Handoff: another worker uses the processor of a blocked worker.
//!
//! A pool has one **processor** for each regular worker, and spare workers beyond that. Each worker
//! either has a processor or is in the **reserve**.
//!
//! A blocked worker that finds no task that it may run **hands off** its processor to a worker in
//! the reserve. The receiver becomes an idle worker like any other, asleep until there is a task
//! for it. So a handoff costs next to nothing when no task waits, and a spare worker has no thread
//! before it is first woken.
//!
//! When the blocked worker resumes, it **ends the handoff** and needs a processor again. If an idle
//! worker is asleep, it moves to the reserve without waking. If all workers are busy, one extra
//! worker runs until any worker goes idle and moves to the reserve.
//!
//! # The balance
//!
//! Only the number of workers with a processor matters, not their identity. The **balance** is the
//! number of workers with a processor minus the number of processors. A handoff lowers it by one,
//! the end of a handoff raises it by one. Whenever it changes, or an idle worker falls asleep,
//! [`Sleep::rebalance`] brings it as close to zero as it can: it takes workers out of the reserve,
//! or moves sleeping workers there. The balance stays negative while no spare worker is left, which
//! leaves a processor idle. The balance and the reserve change only under the lock of the sleepers.
//!
//! # No wake-up is lost
//!
//! The worker that receives a processor is registered as a sleeper. After a fence, the worker that
//! hands it off looks for tasks on behalf of the receiver, and posts requests to workers that may have some:
//! see [the page on waiting](super). It does so again after each timed sleep, because the receiver
//! itself sleeps without a limit. It does not count the tasks that it would take itself.
//!
//! A searching worker that moves to the reserve passes on, like a worker that has found a task. A
//! worker may also be moved to the reserve between its registration and its last look. It leaves
//! the reserve again if that look finds something. It also leaves the reserve for its
//! [mail](crate::pool), and to end with its pool. But a worker stays in the reserve while another
//! worker uses its [thread index](super::thread_indices).
//!
//! # A thread that cannot be started
//!
//! A spare worker starts its thread when it is first woken. If the system has no thread or no memory
//! for it, all workers without a thread are **set aside**, and only workers with a thread get
//! processors. The [watcher](crate::pool) of the pool returns them to the reserve from time to time
//! while tasks wait. Until the system has threads again, the pool makes one attempt in each interval of
//! the watcher.
//!
//! Source: none. In scheduler activations, and in many systems since, a blocked thread leaves its
//! processor to another thread.

use super::protocol::{Sleep, Slept};
use super::sleepers::{Processors, Sleeper, Sleepers};
use crate::sync::{Ordering, fence};

impl Sleep {
    /// Hands off the processor of a blocked worker. The caller must now look for work on behalf of
    /// the receiver, which is asleep. Returns false if no worker is left to take the processor.
    ///
    /// `worker` is the blocked worker, if another worker may use its [thread
    /// index](super::thread_indices) meanwhile.
    pub(crate) fn hand_off(&self, worker: Option<usize>) -> bool {
        let mut sleepers = self.lock();
        if let Some(worker) = worker {
            sleepers.indices.free(worker);
        }
        sleepers.processors.balance -= 1;
        self.rebalance(&mut sleepers);
        let is_taken = sleepers.processors.balance >= 0;
        let waiting_for_index = match worker {
            Some(worker) => sleepers.indices.waiting_for(worker),
            None => sleepers.indices.waiting.clone(),
        };
        drop(sleepers);
        // Orders the registration of the receiver before the caller's look for tasks.
        fence(Ordering::SeqCst);
        self.wake_waiting(waiting_for_index);
        is_taken
    }

    /// Returns whether a processor was handed off, but no worker was left to take it.
    pub(crate) fn lacks_workers(&self) -> bool {
        self.lock().processors.balance < 0
    }

    /// Ends a handoff: the blocked worker resumes, once it may use its thread index.
    pub(crate) fn end_handoff(&self, worker: Option<usize>) {
        let mut sleepers = match worker {
            Some(worker) => self.reclaim_thread_index(worker),
            None => self.lock(),
        };
        sleepers.processors.balance += 1;
        self.rebalance(&mut sleepers);
    }

    /// Brings the balance as close to zero as it can.
    pub(super) fn rebalance(&self, sleepers: &mut Sleepers) {
        let Sleepers {
            list,
            processors,
            indices,
        } = sleepers;
        while processors.balance < 0
            && let reserve = &mut processors.reserve
            && let Some(place) = reserve.iter().rposition(|&worker| indices.may_run(worker))
        {
            let worker = reserve.remove(place);
            indices.use_own(worker);
            list.push(Sleeper {
                worker,
                until: None,
            });
            self.asleep.fetch_add(1, Ordering::Relaxed);
            processors.balance += 1;
        }
        // Spare workers first.
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

    /// Moves a searching worker to the reserve if there is no processor for it. If this returns
    /// true, the worker must pass on, because other workers counted on its search.
    pub(crate) fn enter_reserve(&self, worker: usize) -> bool {
        // Relaxed: this is only a hint. The check under the lock decides.
        if self.surplus.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let mut sleepers = self.lock();
        let processors = &mut sleepers.processors;
        if processors.balance <= 0 || processors.is_stopped {
            return false;
        }
        processors.enter_reserve(worker);
        self.rebalance(&mut sleepers);
        let waiting_for_index = sleepers.indices.waiting.clone();
        drop(sleepers);
        self.stop_searching();
        self.wake_waiting(waiting_for_index);
        true
    }

    /// Sleeps in the reserve until there is a processor and something to do. After that the worker
    /// counts as searching.
    pub(crate) fn wait_for_processor(&self, worker: usize) {
        let until = None;
        self.end_sleep(Sleeper { worker, until }, Slept::Woken, false);
    }

    /// Sets aside a worker that was about to wake up, because its thread could not be started, and all
    /// other workers without a thread.
    pub(crate) fn start_failed(&self, worker: usize) {
        let mut sleepers = self.lock();
        // The worker counted as searching. Under the lock: the watcher that finds the worker set aside
        // looks for tasks that were left for its search.
        self.searching.fetch_sub(1, Ordering::Relaxed);
        let Sleepers {
            list, processors, ..
        } = &mut *sleepers;
        let Processors {
            balance,
            reserve,
            set_aside,
            has_thread,
            failures,
            ..
        } = processors;
        has_thread[worker] = false;
        *failures += 1;
        *balance -= 1;
        set_aside.extend(reserve.extract_if(.., |worker| !has_thread[*worker]));
        for sleeper in list.extract_if(.., |sleeper| !has_thread[sleeper.worker]) {
            self.asleep.fetch_sub(1, Ordering::Relaxed);
            *balance -= 1;
            set_aside.push(sleeper.worker);
        }
        set_aside.push(worker);
        self.rebalance(&mut sleepers);
        drop(sleepers);
        // Orders the failure before the start of the watcher.
        fence(Ordering::SeqCst);
    }

    /// Returns whether workers are set aside, because a thread could not be started.
    pub(crate) fn has_set_aside(&self) -> bool {
        !self.lock().processors.set_aside.is_empty()
    }

    /// Moves all workers that are set aside back to the reserve. The caller must now look for work on
    /// behalf of the workers that receive a processor.
    pub(crate) fn retry_set_aside(&self) {
        let mut sleepers = self.lock();
        let Processors {
            reserve, set_aside, ..
        } = &mut sleepers.processors;
        // At the front: workers that have a thread get processors first.
        reserve.splice(0..0, set_aside.drain(..));
        self.rebalance(&mut sleepers);
        drop(sleepers);
        // As in `hand_off`.
        fence(Ordering::SeqCst);
    }

    /// Returns whether the balance is zero, this many workers are in the reserve, and none is
    /// registered as a sleeper.
    #[cfg(all(loom, test))]
    pub(super) fn is_balanced(&self, reserve: usize) -> bool {
        let Sleepers {
            list, processors, ..
        } = &*self.lock();
        processors.balance == 0 && processors.reserve.len() == reserve && list.is_empty()
    }

    /// Returns whether all handoffs have ended: the workers outside of the reserve are those with a processor.
    #[cfg(all(loom, test))]
    pub(crate) fn all_handoffs_have_ended(&self) -> bool {
        let processors = &self.lock().processors;
        let without = processors.reserve.len() + processors.set_aside.len();
        let with = processors.has_thread.len() - without;
        with as isize == processors.workers as isize + processors.balance
    }

    /// Returns the number of spare workers that have a thread.
    pub(crate) fn spares(&self) -> usize {
        let Processors {
            has_thread,
            workers,
            ..
        } = &self.lock().processors;
        has_thread[*workers..].iter().filter(|has| **has).count()
    }

    /// Returns how often the thread of a spare worker could not be started.
    pub(crate) fn failures(&self) -> usize {
        self.lock().processors.failures
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::protocol::Start;
    use super::*;
    use crate::sync::AtomicBool;

    fn start_if(may_start: impl Fn(usize) -> bool + Send + Sync + 'static) -> Start {
        Box::new(move |sleep, worker| {
            let starts = may_start(worker);
            if !starts {
                sleep.start_failed(worker);
            }
            starts
        })
    }

    #[test]
    fn a_worker_that_falls_asleep_beside_a_surplus_moves_to_the_reserve() {
        let sleep = Sleep::new(0, 2, 1, Box::new(|_, _| true));
        sleep.hand_off(None);
        sleep.wake_one(0);
        assert_eq!(sleep.spares(), 1);
        sleep.end_handoff(None);
        assert!(sleep.has_surplus());
        sleep.start_searching();
        sleep.sleep_idle(1, None, || {
            assert!(sleep.lock().processors.is_in_reserve(1));
            assert!(!sleep.has_surplus());
            sleep.stop();
            false
        });
    }

    #[test]
    fn a_sleeping_worker_moves_to_the_reserve_without_noticing() {
        let sleep = Sleep::new(0, 1, 2, Box::new(|_, _| true));
        sleep.hand_off(None);
        assert_eq!(sleep.idle(), 1);
        assert!(sleep.lock().processors.is_in_reserve(2));
        sleep.end_handoff(None);
        assert_eq!(sleep.idle(), 0);
        assert!(sleep.lock().processors.is_in_reserve(1));
        // The spare worker was never woken, so it has no thread.
        assert_eq!(sleep.spares(), 0);
    }

    #[test]
    fn a_processor_stays_idle_if_no_thread_starts() {
        let sleep = Sleep::new(0, 1, 2, start_if(|_| false));
        sleep.hand_off(None);
        sleep.injected();
        sleep.injected();
        // After a failure only the watcher tries again.
        assert_eq!((sleep.spares(), sleep.failures()), (0, 1));
        assert_eq!(sleep.idle(), 0);
        sleep.end_handoff(None);
        // There is no surplus.
        assert!(!sleep.has_surplus());
    }

    #[test]
    fn a_worker_whose_thread_did_not_start_gets_another_chance() {
        static IS_SHORT: AtomicBool = AtomicBool::new(true);
        let sleep = Sleep::new(0, 1, 2, start_if(|_| !IS_SHORT.load(Ordering::Relaxed)));
        sleep.hand_off(None);
        sleep.hand_off(None);
        assert!(!sleep.injected());
        assert!(sleep.lacks_workers() && sleep.has_set_aside());
        sleep.retry_set_aside();
        assert!(!sleep.lacks_workers() && !sleep.has_set_aside());
        assert!(!sleep.injected());
        assert_eq!((sleep.spares(), sleep.failures(), sleep.idle()), (0, 2, 0));
        IS_SHORT.store(false, Ordering::Relaxed);
        sleep.retry_set_aside();
        assert!(sleep.injected());
        assert!(sleep.lock().processors.has_thread[1]);
        assert_eq!((sleep.spares(), sleep.failures(), sleep.idle()), (1, 2, 2));
        sleep.end_handoff(None);
        sleep.end_handoff(None);
        // Worker 2 has moved to the reserve, and worker 1 searches.
        assert!(sleep.has_surplus() && sleep.is_only_searcher());
    }

    impl Sleep {
        fn has_surplus(&self) -> bool {
            self.surplus.load(Ordering::Relaxed) > 0
        }
    }
}
