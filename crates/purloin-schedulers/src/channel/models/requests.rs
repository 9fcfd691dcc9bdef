//! Requests on their way, their answers, and tasks that were sent.

use std::sync::atomic::Ordering::Relaxed;

use loom::thread;

use super::*;

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
                unsafe { network::request(&*model, id).with(|c| assert!(c.has_asked(id / 2))) };
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
        assert!(stack.post.mailbox.is_empty() || stack.is_requested());
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
        assert!(stack.post.mailbox.is_empty() || stack.is_requested());
    });
}

/// Nor by one who lets the floor down to where there is no task that stays any
/// more.
#[test]
fn no_request_is_overlooked_where_slots_are_opened() {
    check(2, 0b01, |model| {
        let stack = &model.stacks[0];
        models::set_spawn_top(stack.stack(), stack.stack().first().wrapping_add(2));
        stack.close();
        models::set_spawn_top(stack.stack(), stack.stack().first());
        let thief = {
            let model = model.clone();
            thread::spawn(move || model.ask(1, 0))
        };
        stack.reopen(stack.stack().top());
        thief.join().unwrap();
        assert!(stack.is_requested());
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
            if !model.stacks[0].is_requested() {
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
            thread::spawn(move || model.begin(1, slot as *mut ChannelSlot))
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
                let slot = slot as *mut ChannelSlot;
                if claim(slot, 1, || done.load(Ordering::Acquire) == 0) {
                    // SAFETY: ours until it is done.
                    let task = unsafe { models::read_number(slot) };
                    assert_eq!(task, 0, "what it waited for was done before that");
                    model.run(task);
                    // SAFETY: as above.
                    unsafe { (*slot).header().finish_stolen() };
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
        let slot = model.stacks[0].stack().top() as usize;
        // Begun before the push, which must reach them by the slot alone.
        let leap = thread::spawn(move || {
            claim(slot as *mut ChannelSlot, 1, || false);
        });
        let thief = {
            let model = model.clone();
            thread::spawn(move || model.begin(2, slot as *mut ChannelSlot))
        };
        model.push(0, 0);
        model.send(0);
        model.join(0, slot as *mut ChannelSlot, 0);
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
                let (id, own) = (
                    network::id(1, Kind::Leap),
                    model.post(1).request(Kind::Leap),
                );
                for _ in 0..2 {
                    let outcome = StateWord::new(State::stolen(0));
                    if own.colour() == Colour::Home {
                        // SAFETY: this worker is the request's thief, and the request is home, so no other
                        // worker touches its contents.
                        unsafe { own.with(|c| c.awaited = Some(Awaited::new(&outcome))) };
                        own.depart(Colour::Idle);
                        network::send(&*model, id, 0);
                    }
                    network::withdraw(&*model, id);
                    // As the frame is used for something else.
                    outcome.set(State::EMPTY, Ordering::Relaxed);
                }
            })
        };
        let mailbox = &model.post(0).mailbox;
        for _ in 0..2 {
            for id in mailbox.iter() {
                let request = network::request(&*model, id);
                if mailbox.take(id) && request.hold().is_some() {
                    // SAFETY: the request is out of every mailbox and held by this worker, so its
                    // contents are this worker's alone.
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
                match network::withdraw(&*model, network::id(1, Kind::Any)) {
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
        let id = network::id(2, Kind::Any);
        let own = model.post(2).request(Kind::Any);
        if network::take_back(&*model, id) {
            assert_eq!(own.colour(), Colour::Home);
            // SAFETY: this worker is the request's thief, and the request is home, so no other
            // worker touches its contents.
            unsafe { own.with(|contents| contents.begin_anew()) };
        }
        others.into_iter().for_each(|other| other.join().unwrap());
        let places = [0, 1].map(|worker| usize::from(!model.post(worker).mailbox.is_empty()));
        let is_home = own.colour() == Colour::Home;
        assert_eq!(places[0] + places[1] + usize::from(is_home), 1);
    });
}
