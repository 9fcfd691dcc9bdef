//! The manager: requests at rest, those who sleep for good, and termination.

use loom::thread;

use super::*;

/// A request rests with a worker, who falls idle: it goes up to the manager, who
/// sleeps; or the worker has a task for it, after all.
#[test]
fn a_request_at_rest_reaches_the_manager() {
    check(3, 0b010, |model| {
        model.ask(2, 1);
        let worker = {
            let model = model.clone();
            thread::spawn(move || {
                model.poll(1, Situation::Running);
                model.poll(1, Situation::Idle);
            })
        };
        // Asleep until it comes; and as worker 1 counts as active, it goes there
        // again.
        let mut is_there = false;
        model.sleep.park_until(MANAGER, || {
            is_there |= !model.post(MANAGER).mailbox.is_empty();
            is_there
        });
        worker.join().unwrap();
    });
}

/// One of them sees the other, and so a thief who sleeps for good is not forgotten.
#[test]
fn who_begins_to_run_something_finds_those_who_sleep() {
    check(3, 0, |model| {
        model.ask(2, MANAGER);
        let manager = {
            let model = model.clone();
            thread::spawn(move || model.poll(MANAGER, Situation::Idle))
        };
        model.active.store(0b010, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let is_found = model.post(MANAGER).for_any().next().is_some();
        manager.join().unwrap();
        assert!(is_found || !model.post(1).mailbox.is_empty());
    });
}

/// When all are idle the manager's own request is nowhere.
#[test]
fn the_manager_s_request_comes_home() {
    check(2, 0, |model| {
        model.ask(MANAGER, 1);
        let worker = {
            let model = model.clone();
            thread::spawn(move || model.poll(1, Situation::Idle))
        };
        if network::take_back(&*model, network::id(MANAGER, Kind::Any)) {
            let own = model.post(MANAGER).request(Kind::Any);
            // SAFETY: this worker is the request's thief, and the request is home, so no other
            // worker touches its contents.
            unsafe { own.with(|contents| contents.begin_anew()) };
        }
        worker.join().unwrap();
        assert!(model.post(1).mailbox.is_empty());
        let own = model.post(MANAGER).request(Kind::Any);
        assert_eq!(own.colour(), Colour::Home);
    });
}

impl Model {
    fn spawn(&self) {
        let mut jobs = lock(&self.outside);
        *jobs += 1;
        self.outside_len.store(*jobs, Ordering::Relaxed);
    }

    fn take_job(&self) -> bool {
        let mut jobs = lock(&self.outside);
        let is_there = *jobs > 0;
        *jobs = jobs.saturating_sub(1);
        self.outside_len.store(*jobs, Ordering::Release);
        is_there
    }

    /// A worker that has slept with its request at the manager's: it looks for
    /// jobs, and is idle again.
    fn work(&self, me: usize, job: impl Fn(usize)) {
        let mut number = 0;
        while self.outside_len.load(Ordering::Acquire) > 0 {
            network::withdraw(self, network::id(me, Kind::Any));
            if self.take_job() {
                job(number);
                number += 1;
            }
        }
        let own = self.post(me).request(Kind::Any);
        match own.colour() {
            Colour::Home => self.ask(me, MANAGER),
            _ => {
                if own.want() {
                    if self.barrier.is_awaited_by_now() {
                        self.sleep.unpark(MANAGER);
                    }
                } else if own.colour() == Colour::Home {
                    self.ask(me, MANAGER);
                }
            }
        }
    }

    /// The manager, idle, until it has said that everything is done.
    fn manage(&self) {
        self.sleep.park_until(MANAGER, || {
            self.poll(MANAGER, Situation::Idle);
            let Some(asked) = self.barrier.awaited() else {
                return false;
            };
            let is_quiet =
                network::is_quiet(self, || self.outside_len.load(Ordering::Acquire) == 0);
            if is_quiet {
                self.barrier.end(asked);
            }
            is_quiet
        });
    }
}

/// Never early: not before the job is done. And at last: or else the manager
/// sleeps for ever.
#[test]
fn the_manager_knows_when_all_is_done() {
    check(2, 0, |model| {
        model.ask(1, MANAGER);
        model.spawn();
        let manager = {
            let model = model.clone();
            thread::spawn(move || model.manage())
        };
        let worker = {
            let model = model.clone();
            thread::spawn(move || model.work(1, |_| model.run(0)))
        };
        model.barrier.wait_for_end(|| model.sleep.unpark(MANAGER));
        model.assert_each_ran_once(1);
        manager.join().unwrap();
        worker.join().unwrap();
    });
}

/// And who waits for it sees what the job has done.
#[test]
fn what_was_done_is_seen_by_who_waits() {
    check(2, 0, |model| {
        let effect = Arc::new(loom::cell::UnsafeCell::new(0));
        model.ask(1, MANAGER);
        model.spawn();
        let manager = {
            let model = model.clone();
            thread::spawn(move || model.manage())
        };
        let worker = {
            let (model, effect) = (model.clone(), effect.clone());
            thread::spawn(move || {
                // SAFETY: loom finds a race, if there is one.
                model.work(1, |_| effect.with_mut(|effect| unsafe { *effect = 1 }));
            })
        };
        model.barrier.wait_for_end(|| model.sleep.unpark(MANAGER));
        // SAFETY: as above.
        effect.with(|effect| assert_eq!(unsafe { *effect }, 1));
        manager.join().unwrap();
        worker.join().unwrap();
    });
}

/// The job leaves another, and the worker seems idle in between.
#[test]
fn the_manager_knows_of_jobs_that_jobs_have_left() {
    check(2, 0, |model| {
        model.ask(1, MANAGER);
        model.spawn();
        let manager = {
            let model = model.clone();
            thread::spawn(move || model.manage())
        };
        let worker = {
            let model = model.clone();
            thread::spawn(move || {
                model.work(1, |number| {
                    if number == 0 {
                        model.spawn();
                    }
                    model.run(number as u64);
                });
            })
        };
        model.barrier.wait_for_end(|| model.sleep.unpark(MANAGER));
        model.assert_each_ran_once(2);
        manager.join().unwrap();
        worker.join().unwrap();
    });
}
