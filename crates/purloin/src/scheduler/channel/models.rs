//! Loom models of the channels, of forwarding, of resting, and of the manager.
//!
//! With `RUSTFLAGS="--cfg loom" cargo test --release -p purloin --lib`.

use std::sync::atomic::{AtomicUsize as Count, Ordering::Relaxed};

use loom::sync::Arc;
use loom::thread;

use super::Slot;
use super::post::{self, Kind, MANAGER, Network, Post, Situation};
use super::request::{Awaited, Colour, Sent};
use super::stack::TaskStack;
use super::strategy::Stealing;
use super::thieves::claim;
use crate::pool::Barrier;
use crate::scheduler::direct::{Member, Stack, State, StateWord, Taken};
use crate::sync::{AtomicUsize, Mutex, Ordering, fence, lock, yield_now};
use crate::wait::sleep::Sleep;

/// A few workers with their stacks.
struct Model {
    stacks: Vec<TaskStack>,
    /// Which of them run something.
    active: AtomicUsize,
    sleep: Sleep,
    barrier: Barrier,
    /// Jobs from outside.
    outside: Mutex<usize>,
    outside_len: AtomicUsize,
    /// How often each task was run.
    runs: [Count; 3],
}

impl Network for Model {
    fn workers(&self) -> usize {
        self.stacks.len()
    }

    fn post(&self, worker: usize) -> &Post {
        &self.stacks[worker].post
    }

    fn is_active(&self, worker: usize) -> bool {
        self.active.load(Ordering::Relaxed) & 1 << worker != 0
    }

    fn notify(&self, worker: usize) {
        self.stacks[worker].notify();
        self.sleep.unpark(worker);
    }
}

unsafe fn never(_: &Slot, _: &Member<super::Channel>) {
    unreachable!("the models run tasks themselves");
}

fn check(workers: usize, active: usize, model: impl Fn(Arc<Model>) + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let stack = |_| TaskStack::new(4, workers, Stealing::One).unwrap();
        model(Arc::new(Model {
            stacks: (0..workers).map(stack).collect(),
            active: AtomicUsize::new(active),
            sleep: Sleep::for_model(workers, 0),
            barrier: Barrier::new(),
            outside: Mutex::new(0),
            outside_len: AtomicUsize::new(0),
            runs: Default::default(),
        }));
    });
}

impl Model {
    /// Thief: sends its request.
    fn ask(&self, thief: usize, to: usize) {
        let own = self.post(thief).request(Kind::Any);
        // SAFETY: it is home.
        unsafe {
            own.with(|contents| {
                contents.begin_anew();
                contents.note_asked(thief);
            });
        }
        own.depart(Colour::Idle);
        post::send(self, post::id(thief, Kind::Any), to);
    }

    fn run(&self, task: u64) {
        self.runs[task as usize].fetch_add(1, Relaxed);
    }

    fn assert_each_ran_once(&self, tasks: usize) {
        for (task, runs) in self.runs.iter().enumerate() {
            assert_eq!(runs.load(Relaxed), usize::from(task < tasks), "task {task}");
        }
    }

    /// Owner: looks into its mailbox, and answers or sends on what is there.
    fn poll(&self, me: usize, situation: Situation) {
        let (stack, mailbox) = (&self.stacks[me], &self.post(me).mailbox);
        loop {
            for id in mailbox.iter() {
                if !mailbox.take(id) {
                    continue;
                }
                let (thief, request) = (post::thief(id), post::request(self, id));
                if thief == me {
                    request.taken_back();
                } else if let Some(colour) = request.hold() {
                    if stack.unstolen() == 0 {
                        request.let_go(colour);
                        post::pass(self, me, id, situation);
                        continue;
                    }
                    // SAFETY: we hold it.
                    unsafe {
                        request.with(|contents| {
                            stack.give(1, |slot| {
                                contents.tasks.push(Sent { slot, owner: me });
                            });
                        });
                    }
                    request.answer();
                    self.sleep.unpark(thief);
                }
            }
            if !mailbox.is_empty() {
                return stack.keep_asked();
            }
            stack.settle();
            if mailbox.is_empty() {
                return;
            }
        }
    }

    /// Owner: the first half of a join.
    fn push(&self, me: usize, task: u64) -> *mut Slot {
        let stack = &self.stacks[me];
        let slot = stack.base().top();
        let is_open = stack.is_open(slot);
        // SAFETY: the slot at the top is free.
        unsafe { (*slot).write(never, task) };
        stack.push(slot);
        if !is_open {
            self.poll(me, Situation::Running);
        }
        slot
    }

    /// Owner: sends its oldest task to nobody in particular.
    fn send(&self, me: usize) {
        self.stacks[me].give(1, |_| ());
        self.stacks[me].settle();
    }

    /// Owner: the second half.
    fn join(&self, me: usize, slot: *mut Slot, task: u64) {
        let stack = &self.stacks[me];
        if stack.pop(slot) {
            return self.run(task);
        }
        match stack.take_back(slot) {
            Taken::Back => {
                self.poll(me, Situation::Running);
                self.run(task);
            }
            Taken::Stolen => {
                // SAFETY: live until it is released.
                while !unsafe { &(*slot).header }.is_done() {
                    yield_now();
                }
                stack.release(slot);
            }
        }
    }

    /// Thief: takes what its request has brought, and perhaps runs it.
    fn receive(&self, thief: usize) {
        let own = self.post(thief).request(Kind::Any);
        assert_eq!(own.colour(), Colour::Answered);
        // SAFETY: it is answered.
        let sent = unsafe { own.with(|contents| contents.tasks.pop()) };
        own.arrive();
        if let Some(sent) = sent {
            self.begin(thief, sent.slot);
        }
    }

    fn begin(&self, thief: usize, slot: *mut Slot) {
        if claim(slot, thief, || true) {
            // SAFETY: ours until it is done.
            unsafe {
                self.run((*slot).read::<u64>());
                (*slot).header.finish_stolen();
            }
        }
    }
}

#[test]
fn each_request_is_received_once_whoever_sends() {
    check(3, 0b001, |model| {
        let thieves: Vec<_> = [1, 2]
            .map(|thief| {
                let model = model.clone();
                thread::spawn(move || model.ask(thief, 0))
            })
            .into();
        let mailbox = &model.post(0).mailbox;
        let receive = || {
            let mut received = 0;
            for id in mailbox.iter() {
                assert!(mailbox.take(id));
                // SAFETY: taken.
                unsafe { post::request(&*model, id).with(|c| assert!(c.has_asked(id / 2))) };
                received += 1;
            }
            received
        };
        let first = receive();
        thieves.into_iter().for_each(|thief| thief.join().unwrap());
        assert_eq!(first + receive(), 2);
    });
}

/// Else an owner that goes on pushing would never look.
#[test]
fn no_request_is_overlooked() {
    check(3, 0b001, |model| {
        let thieves = [1, 2].map(|thief| {
            let model = model.clone();
            thread::spawn(move || model.ask(thief, 0))
        });
        model.poll(0, Situation::Running);
        for thief in thieves {
            thief.join().unwrap();
        }
        let stack = &model.stacks[0];
        assert!(stack.post.mailbox.is_empty() || stack.is_asked());
    });
}

/// Nor by one who has something to answer the first with.
#[test]
fn no_request_is_overlooked_by_one_who_answers() {
    check(3, 0b001, |model| {
        model.push(0, 0);
        let thieves = [1, 2].map(|thief| {
            let model = model.clone();
            thread::spawn(move || model.ask(thief, 0))
        });
        model.poll(0, Situation::Running);
        for thief in thieves {
            thief.join().unwrap();
        }
        let stack = &model.stacks[0];
        assert!(stack.post.mailbox.is_empty() || stack.is_asked());
    });
}

/// Nor by one who lets the floor down to where there is no task that stays any
/// more.
#[test]
fn no_request_is_overlooked_where_slots_are_opened() {
    check(2, 0b01, |model| {
        let stack = &model.stacks[0];
        stack.base().set_live(stack.base().first().wrapping_add(2));
        stack.close();
        stack.base().set_live(stack.base().first());
        let thief = {
            let model = model.clone();
            thread::spawn(move || model.ask(1, 0))
        };
        stack.reopen(stack.base().top());
        thief.join().unwrap();
        assert!(stack.is_asked());
    });
}

#[test]
fn a_task_is_run_once_whether_it_is_sent_or_not() {
    check(2, 0b01, |model| {
        let received = Arc::new(Count::new(0));
        let thief = {
            let (model, received) = (model.clone(), received.clone());
            thread::spawn(move || {
                model.ask(1, 0);
                model.sleep.park_until(1, || {
                    model.post(1).request(Kind::Any).colour() == Colour::Answered
                });
                model.receive(1);
                received.store(1, Relaxed);
            })
        };
        let first = model.push(0, 0);
        let second = model.push(0, 1);
        model.join(0, second, 1);
        model.join(0, first, 0);
        // If it has not come by now, then the next push answers it, or the one
        // after that if it comes just then.
        let own = model.post(1).request(Kind::Any);
        let mut pushes = 0;
        while own.colour() != Colour::Answered && received.load(Relaxed) == 0 && pushes < 2 {
            if !model.stacks[0].is_asked() {
                yield_now();
                continue;
            }
            let third = model.push(0, 2);
            model.join(0, third, 2);
            pushes += 1;
        }
        thief.join().unwrap();
        for task in 0..2 {
            assert_eq!(model.runs[task].load(Relaxed), 1, "task {task}");
        }
        assert_eq!(model.runs[2].load(Relaxed), pushes);
    });
}

/// Of a task that its owner has taken back, the address may come late.
#[test]
fn an_old_address_finds_nothing_but_what_was_sent() {
    check(2, 0b01, |model| {
        let slot = model.push(0, 0);
        model.send(0);
        let thief = {
            let (model, slot) = (model.clone(), slot as usize);
            thread::spawn(move || model.begin(1, slot as *mut Slot))
        };
        model.join(0, slot, 0);
        // Not sent, and so nobody else's.
        let again = model.push(0, 1);
        assert_eq!(slot, again);
        model.join(0, again, 1);
        thief.join().unwrap();
        model.assert_each_ran_once(2);
    });
}

#[test]
fn a_late_leap_takes_nothing_unrelated() {
    check(2, 0b01, |model| {
        let done = Arc::new(AtomicUsize::new(0));
        let slot = model.push(0, 0);
        model.send(0);
        let thief = {
            let (model, slot, done) = (model.clone(), slot as usize, done.clone());
            thread::spawn(move || {
                let slot = slot as *mut Slot;
                if claim(slot, 1, || done.load(Ordering::Acquire) == 0) {
                    // SAFETY: ours until it is done.
                    let task = unsafe { (*slot).read::<u64>() };
                    assert_eq!(task, 0, "what it waited for was done before that");
                    model.run(task);
                    // SAFETY: as above.
                    unsafe { (*slot).header.finish_stolen() };
                }
            })
        };
        model.join(0, slot, 0);
        done.store(1, Ordering::Release);
        let slot = model.push(0, 1);
        model.send(0);
        model.join(0, slot, 1);
        thief.join().unwrap();
        model.assert_each_ran_once(2);
    });
}

/// One may not take it, and gives it back, and another takes it.
#[test]
fn a_task_that_is_given_back_has_its_contents() {
    check(3, 0b001, |model| {
        let slot = model.stacks[0].base().top() as usize;
        // Begun before the push, which must reach them by the slot alone.
        let leap = thread::spawn(move || drop(claim(slot as *mut Slot, 1, || false)));
        let thief = {
            let model = model.clone();
            thread::spawn(move || model.begin(2, slot as *mut Slot))
        };
        model.push(0, 0);
        model.send(0);
        model.join(0, slot as *mut Slot, 0);
        leap.join().unwrap();
        thief.join().unwrap();
        model.assert_each_ran_once(1);
    });
}

/// Whoever holds a request may look at what its thief waits for, which lies in a
/// frame of that one.
#[test]
fn what_a_leap_waits_for_outlives_the_look() {
    check(2, 0b01, |model| {
        let thief = {
            let model = model.clone();
            thread::spawn(move || {
                let (id, own) = (post::id(1, Kind::Leap), model.post(1).request(Kind::Leap));
                for _ in 0..2 {
                    let outcome = StateWord::new(State::stolen(0));
                    if own.colour() == Colour::Home {
                        // SAFETY: it is home.
                        unsafe { own.with(|c| c.awaited = Some(Awaited::new(&outcome))) };
                        own.depart(Colour::Idle);
                        post::send(&*model, id, 0);
                    }
                    post::withdraw(&*model, id);
                    // As the frame is used for something else.
                    outcome.set(State::EMPTY, Ordering::Relaxed);
                }
            })
        };
        let mailbox = &model.post(0).mailbox;
        for _ in 0..2 {
            for id in mailbox.iter() {
                let request = post::request(&*model, id);
                if mailbox.take(id) && request.hold().is_some() {
                    // SAFETY: we hold it.
                    unsafe { request.with(|c| assert!(!c.awaited.unwrap().is_done())) };
                    request.let_go(Colour::Home);
                }
            }
        }
        thief.join().unwrap();
    });
}

/// A thief that has found something elsewhere takes its request back, or gets
/// what it brings, or leaves it to be sent home; and may then ask again.
#[test]
fn a_request_is_withdrawn_or_answered() {
    check(2, 0b01, |model| {
        let thief = {
            let model = model.clone();
            thread::spawn(move || {
                model.ask(1, 0);
                match post::withdraw(&*model, post::id(1, Kind::Any)) {
                    Colour::Home => model.ask(1, 0),
                    Colour::Answered => model.receive(1),
                    colour => assert_eq!(colour, Colour::Update),
                }
            })
        };
        let slot = model.push(0, 0);
        model.poll(0, Situation::Running);
        model.join(0, slot, 0);
        thief.join().unwrap();
        // Whatever is there now is sent home or answered.
        let own = model.post(1).request(Kind::Any);
        let slot = model.push(0, 1);
        model.poll(0, Situation::Running);
        assert!(matches!(own.colour(), Colour::Home | Colour::Answered));
        model.join(0, slot, 1);
        model.assert_each_ran_once(2);
    });
}

/// From a worker with nothing to the next, while the thief takes it back.
#[test]
fn a_request_that_is_passed_on_is_in_one_place() {
    check(3, 0b011, |model| {
        model.ask(2, 0);
        let others: Vec<_> = [0, 1]
            .map(|worker| {
                let model = model.clone();
                thread::spawn(move || model.poll(worker, Situation::Running))
            })
            .into();
        let id = post::id(2, Kind::Any);
        let own = model.post(2).request(Kind::Any);
        if post::take_back(&*model, id) {
            assert_eq!(own.colour(), Colour::Home);
            // SAFETY: it is home.
            unsafe { own.with(|contents| contents.begin_anew()) };
        }
        others.into_iter().for_each(|other| other.join().unwrap());
        let places = [0, 1].map(|worker| usize::from(!model.post(worker).mailbox.is_empty()));
        let is_home = own.colour() == Colour::Home;
        assert_eq!(places[0] + places[1] + usize::from(is_home), 1);
    });
}

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
        if post::take_back(&*model, post::id(MANAGER, Kind::Any)) {
            let own = model.post(MANAGER).request(Kind::Any);
            // SAFETY: it is home.
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
            post::withdraw(self, post::id(me, Kind::Any));
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
            let is_quiet = post::is_quiet(self, || self.outside_len.load(Ordering::Acquire) == 0);
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
