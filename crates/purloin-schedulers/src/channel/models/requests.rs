//! Loom models of requests under way, their answers, and tasks that were sent.

use std::sync::atomic::Ordering::Relaxed;

use loom::thread;

use super::*;

#[test]
fn requests_of_two_thieves_are_received_once_each() {
    check(3, 0b001, |model| {
        let thieves: Vec<_> = [1, 2]
            .map(|thief| {
                let model = model.clone();
                thread::spawn(move || model.send_request(thief, 0))
            })
            .into();
        let mailbox = &model.channels(0).mailbox;
        let receive = || {
            let mut received = 0;
            for id in mailbox.iter() {
                assert!(mailbox.take(id));
                // SAFETY: this thread has just taken the request out of a mailbox.
                unsafe { model.request(id).with(|c| assert!(c.was_asked(id.thief()))) };
                received += 1;
            }
            received
        };
        let first = receive();
        thieves.into_iter().for_each(|thief| thief.join().unwrap());
        assert_eq!(first + receive(), 2);
    });
}

/// Otherwise an owner that keeps pushing would never look into its mailbox.
#[test]
fn a_request_in_the_mailbox_leaves_the_floor_raised() {
    check(3, 0b001, |model| {
        let thieves = [1, 2].map(|thief| {
            let model = model.clone();
            thread::spawn(move || model.send_request(thief, 0))
        });
        model.check_mailbox(0, Situation::Running);
        for thief in thieves {
            thief.join().unwrap();
        }
        let tasks = &model.task_pools[0];
        assert!(tasks.channels.mailbox.is_empty() || tasks.is_requested());
    });
}

/// The owner has a task for only the first request.
#[test]
fn a_second_request_leaves_the_floor_raised_after_an_answer() {
    check(3, 0b001, |model| {
        model.push(0, 0);
        let thieves = [1, 2].map(|thief| {
            let model = model.clone();
            thread::spawn(move || model.send_request(thief, 0))
        });
        model.check_mailbox(0, Situation::Running);
        for thief in thieves {
            thief.join().unwrap();
        }
        let tasks = &model.task_pools[0];
        assert!(tasks.channels.mailbox.is_empty() || tasks.is_requested());
    });
}

/// The first part of the loop is sent, but not claimed, when the owner handles the second request.
#[test]
fn two_requests_at_once_get_one_part_of_a_loop_each() {
    check(3, 0b001, |model| {
        let thieves = [1, 2].map(|thief| {
            let model = model.clone();
            thread::spawn(move || {
                model.send_request(thief, 0);
                let own = model.own_request(thief);
                model
                    .sleep
                    .park_until(thief, || own.state() == RequestState::Answered);
                // SAFETY: this thread is the request's thief, and the request is ANSWERED.
                unsafe { own.with(|contents| contents.tasks.pop().unwrap().slot as usize) }
            })
        });
        let (mailbox, mut parts) = (&model.channels(0).mailbox, 0);
        while parts < 2 || !mailbox.is_empty() {
            match model.split(0, parts) {
                true => parts += 1,
                false => yield_now(),
            }
        }
        let slots = thieves.map(|thief| thief.join().unwrap());
        assert_ne!(slots[0], slots[1]);
    });
}

/// The owner lowers the floor after its last spawn has ended, while a request arrives.
#[test]
fn a_request_that_arrives_while_slots_are_opened_leaves_the_floor_raised() {
    check(2, 0b01, |model| {
        let tasks = &model.task_pools[0];
        let stack = tasks.stack();
        models::set_spawn_top(stack, stack.first().wrapping_add(2));
        tasks.close_below_spawn();
        models::set_spawn_top(stack, stack.first());
        let thief = {
            let model = model.clone();
            thread::spawn(move || model.send_request(1, 0))
        };
        tasks.reopen(stack.top());
        thief.join().unwrap();
        assert!(tasks.is_requested());
    });
}

#[test]
fn each_task_is_run_once_while_a_thief_asks_for_one() {
    check(2, 0b01, |model| {
        let received = Arc::new(Count::new(0));
        let thief = {
            let (model, received) = (model.clone(), received.clone());
            thread::spawn(move || {
                model.send_request(1, 0);
                model
                    .sleep
                    .park_until(1, || model.own_request(1).state() == RequestState::Answered);
                model.receive(1);
                received.store(1, Relaxed);
            })
        };
        let first = model.push(0, 0);
        let second = model.push(0, 1);
        model.join(0, second, 1);
        model.join(0, first, 0);
        // If the request has not arrived by now, the next push answers it. If it arrives during
        // that push, the push after it does.
        let own = model.own_request(1);
        let mut pushes = 0;
        while own.state() != RequestState::Answered && received.load(Relaxed) == 0 && pushes < 2 {
            if !model.task_pools[0].is_requested() {
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

/// The owner takes back the task before the thief claims it, and pushes another task to the slot.
#[test]
fn an_outdated_address_gives_no_task_that_was_not_sent() {
    check(2, 0b01, |model| {
        let slot = model.push(0, 0);
        model.send_oldest(0);
        let thief = {
            let (model, slot) = (model.clone(), slot as usize);
            thread::spawn(move || model.claim_and_run(1, slot as *mut Slot<Channel>))
        };
        model.join(0, slot, 0);
        // The owner does not send this task.
        let again = model.push(0, 1);
        assert_eq!(slot, again);
        model.join(0, again, 1);
        thief.join().unwrap();
        model.assert_each_ran_once(2);
    });
}

#[test]
fn a_late_leapfrog_takes_no_unrelated_task() {
    check(2, 0b01, |model| {
        let done = Arc::new(AtomicUsize::new(0));
        let slot = model.push(0, 0);
        model.send_oldest(0);
        let thief = {
            let (model, slot, done) = (model.clone(), slot as usize, done.clone());
            thread::spawn(move || {
                let slot = slot as *mut Slot<Channel>;
                if claim(slot, 1, || done.load(Ordering::Acquire) == 0) {
                    // SAFETY: this thread has claimed the task, so the slot is its own until DONE.
                    let task = unsafe { models::read_number(slot) };
                    assert_eq!(
                        task, 0,
                        "the claimed task does not descend from the awaited task"
                    );
                    model.run(task);
                    // SAFETY: this thread has claimed the task, and slots live as long as the pool.
                    unsafe { (*slot).header().finish_stolen() };
                }
            })
        };
        model.join(0, slot, 0);
        done.store(1, Ordering::Release);
        let slot = model.push(0, 1);
        model.send_oldest(0);
        model.join(0, slot, 1);
        thief.join().unwrap();
        model.assert_each_ran_once(2);
    });
}

/// A blocked worker may not take the task and gives it back. Another thief takes it.
#[test]
fn a_thief_sees_the_contents_of_a_task_that_was_given_back() {
    check(3, 0b001, |model| {
        let slot = model.task_pools[0].stack().top() as usize;
        // Both threads start before the push, so that only the slot's state tells them of it.
        let blocked = thread::spawn(move || {
            claim(slot as *mut Slot<Channel>, 1, || false);
        });
        let thief = {
            let model = model.clone();
            thread::spawn(move || model.claim_and_run(2, slot as *mut Slot<Channel>))
        };
        model.push(0, 0);
        model.send_oldest(0);
        model.join(0, slot as *mut Slot<Channel>, 0);
        blocked.join().unwrap();
        thief.join().unwrap();
        model.assert_each_ran_once(1);
    });
}

/// A worker that holds a leapfrog request looks at the awaited task's state word, which lies in a
/// frame of the thief.
#[test]
fn the_awaited_state_word_lives_while_a_request_is_held() {
    check(2, 0b01, |model| {
        let thief = {
            let model = model.clone();
            thread::spawn(move || {
                let id = RequestId::new(1, Kind::Leapfrog);
                let own = model.request(id);
                for _ in 0..2 {
                    let outcome = StateWord::new(State::stolen(0));
                    if own.state() == RequestState::Unsent {
                        // SAFETY: this thread is the request's thief, and the request is UNSENT.
                        unsafe { own.with(|c| c.awaited = Some(Awaited::new(&outcome))) };
                        own.begin(RequestState::Idle);
                        model.send(id, 0);
                    }
                    model.withdraw(id);
                    // Overwrites the word, as a reuse of the frame would.
                    outcome.set(State::EMPTY, Ordering::Relaxed);
                }
            })
        };
        let mailbox = &model.channels(0).mailbox;
        for _ in 0..2 {
            for id in mailbox.iter() {
                let request = model.request(id);
                if mailbox.take(id) && request.hold().is_some() {
                    // SAFETY: this thread has taken the request out of a mailbox and holds it. So
                    // it alone uses the contents.
                    unsafe { request.with(|c| assert!(!c.awaited.unwrap().is_done())) };
                    request.cancel();
                }
            }
        }
        thief.join().unwrap();
    });
}

/// A thief that has found something to run recalls its request, or receives the answer, or leaves
/// the request to be cancelled. Then it may send the request again.
#[test]
fn a_request_is_withdrawn_or_answered() {
    check(2, 0b01, |model| {
        let thief = {
            let model = model.clone();
            thread::spawn(move || {
                model.send_request(1, 0);
                match model.withdraw(RequestId::new(1, Kind::Any)) {
                    RequestState::Unsent => model.send_request(1, 0),
                    RequestState::Answered => model.receive(1),
                    state => assert_eq!(state, RequestState::Withdrawn),
                }
            })
        };
        let slot = model.push(0, 0);
        model.check_mailbox(0, Situation::Running);
        model.join(0, slot, 0);
        thief.join().unwrap();
        // If the request is in the mailbox now, it is cancelled or answered.
        let own = model.own_request(1);
        let slot = model.push(0, 1);
        model.check_mailbox(0, Situation::Running);
        assert!(matches!(
            own.state(),
            RequestState::Unsent | RequestState::Answered
        ));
        model.join(0, slot, 1);
        model.assert_each_ran_once(2);
    });
}

/// Two workers without tasks forward the request while its thief recalls it.
#[test]
fn a_forwarded_request_is_in_one_place() {
    check(3, 0b011, |model| {
        model.send_request(2, 0);
        let others: Vec<_> = [0, 1]
            .map(|worker| {
                let model = model.clone();
                thread::spawn(move || model.check_mailbox(worker, Situation::Running))
            })
            .into();
        let own = model.own_request(2);
        if model.recall(RequestId::new(2, Kind::Any)) {
            assert_eq!(own.state(), RequestState::Unsent);
            // SAFETY: this thread is the request's thief, and has recalled it, so it is UNSENT.
            unsafe { own.with(|contents| contents.restart()) };
        }
        others.into_iter().for_each(|other| other.join().unwrap());
        let mailboxes =
            [0, 1].map(|worker| usize::from(!model.channels(worker).mailbox.is_empty()));
        let is_unsent = own.state() == RequestState::Unsent;
        assert_eq!(mailboxes[0] + mailboxes[1] + usize::from(is_unsent), 1);
    });
}

/// A worker without tasks refuses the request while its thief recalls it.
#[test]
fn a_refused_request_is_in_one_place() {
    check_with(false, 3, 0b011, |model| {
        model.send_request(2, 0);
        let other = {
            let model = model.clone();
            thread::spawn(move || model.check_mailbox(0, Situation::Running))
        };
        let own = model.own_request(2);
        if model.recall(RequestId::new(2, Kind::Any)) {
            assert_eq!(own.state(), RequestState::Unsent);
        }
        other.join().unwrap();
        let mailboxes =
            [0, 1, 2].map(|worker| usize::from(!model.channels(worker).mailbox.is_empty()));
        let is_unsent = own.state() == RequestState::Unsent;
        assert_eq!(mailboxes.iter().sum::<usize>() + usize::from(is_unsent), 1);
        assert_eq!(mailboxes[1], 0, "only the thief asks the next worker");
    });
}

/// The thief learns of the refusal, also while it falls asleep, and asks a worker that has a task.
#[test]
fn a_thief_asks_the_next_worker_after_a_refusal() {
    check_with(false, 3, 0b011, |model| {
        let slot = model.push(1, 0);
        model.send_request(2, 0);
        let refuser = {
            let model = model.clone();
            thread::spawn(move || model.check_mailbox(0, Situation::Running))
        };
        model.sleep.park_until(2, || {
            model.check_mailbox(2, Situation::Idle);
            !model.channels(1).mailbox.is_empty()
        });
        refuser.join().unwrap();
        model.check_mailbox(1, Situation::Running);
        model.receive(2);
        model.join(1, slot, 0);
        model.assert_each_ran_once(1);
    });
}
