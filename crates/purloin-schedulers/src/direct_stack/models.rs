//! Loom models of the stack of public tasks, in both forms.

use loom::thread;

use super::{DirectStack, OneField, TwoFields};
use purloin::scheduler::models::{self, Model};
use purloin::scheduler::{Claim, Reclaimed, Scheduler, TaskPool};

/// An owner that pushes and pops the same places again and again, and a thief
/// that comes twice.
fn an_owner_at_work_and_a_thief<S: Scheduler>(scheduler: S) {
    Model::check(3, scheduler, |model| {
        let thief = {
            let model = model.clone();
            thread::spawn(move || {
                for _ in 0..2 {
                    if !model.claim(1) {
                        model.tasks.request();
                    }
                }
            })
        };
        let first = model.push(0);
        let second = model.push(1);
        model.join(second, 1);
        let third = model.push(2);
        model.join(third, 2);
        model.join(first, 0);
        thief.join().unwrap();
        model.assert_each_ran_once(3);
    });
}

/// One thief gives the task back, and another takes it from there.
fn what_was_given_back_goes_to_the_next_thief<S: Scheduler>(scheduler: S) {
    Model::check(4, scheduler, |model| {
        let refuses = {
            let model = model.clone();
            thread::spawn(move || {
                let claim = model.tasks.claim(1, false, || false);
                assert!(!matches!(claim, Claim::Stolen(_)));
            })
        };
        let takes = {
            let model = model.clone();
            thread::spawn(move || model.claim(2))
        };
        // After the thieves were started, so that nothing but the state tells
        // them of it.
        let slot = model.push(0);
        model.join(slot, 0);
        refuses.join().unwrap();
        takes.join().unwrap();
        model.assert_each_ran_once(1);
    });
}

/// Two thieves hold the task, one after the other, and give it back.
fn two_thieves_leave_a_task<S: Scheduler>(scheduler: S) {
    Model::check(4, scheduler, |model| {
        let thieves = [1, 2].map(|thief| {
            let model = model.clone();
            thread::spawn(move || {
                let claim = model.tasks.claim(thief, false, || false);
                assert!(!matches!(claim, Claim::Stolen(_)));
            })
        });
        let slot = model.push(0);
        model.join(slot, 0);
        for thief in thieves {
            thief.join().unwrap();
        }
        model.assert_each_ran_once(1);
    });
}

/// A blocked owner runs a descendant above the stolen task, as in leapfrogging.
fn a_blocked_owner_works_above_what_is_stolen<S: Scheduler>(scheduler: S) {
    Model::check(3, scheduler, |model| {
        let thieves = [1, 2].map(|thief| {
            let model = model.clone();
            thread::spawn(move || model.claim(thief))
        });
        let first = model.push(0);
        if model.tasks.pop(first) || model.tasks.reclaim(first) == Reclaimed::Owned {
            model.run(0);
        } else {
            let second = model.push(1);
            assert_ne!(second, first);
            model.join(second, 1);
            model.join(first, 0);
        }
        let third = model.push(2);
        assert_eq!(third, first);
        model.join(third, 2);
        for thief in thieves {
            thief.join().unwrap();
        }
    });
}

/// The owner opens its stack while a thief asks: the request is not lost.
fn a_request_outlives_a_reopening<S: Scheduler>(scheduler: S) {
    Model::check(3, scheduler, |model| {
        let base = model.tasks.stack();
        let slot = model.push(0);
        models::set_spawn_top(base, base.top());
        model.tasks.publish_spawn();
        models::set_spawn_top(base, slot);
        model.join(slot, 0);
        // The floor is above the top now.
        assert!(!model.tasks.is_open(slot));
        let thief = {
            let model = model.clone();
            thread::spawn(move || model.tasks.request())
        };
        model.tasks.reopen(slot);
        assert!(thief.join().unwrap());
        assert!(!model.tasks.request(), "it still stands");
    });
}

/// Slots below a live spawn are closed, and open again when it has gone.
fn slots_below_a_spawn_are_closed<S: Scheduler>(scheduler: S) {
    Model::check(1, scheduler, |model| {
        let base = model.tasks.stack();
        let spawn = model.push(0);
        let top = base.top();
        models::set_spawn_top(base, top);
        assert_eq!(model.tasks.publish_spawn(), 0, "nobody asks");
        assert!(model.tasks.is_open(top) && !model.tasks.is_open(spawn));
        // With a request, too.
        assert!(model.tasks.request());
        model.tasks.reopen(top);
        assert!(!model.tasks.is_open(top), "the request stands");
        assert_eq!(model.tasks.publish_on_request(), 1);
        assert!(model.tasks.is_open(top) && !model.tasks.is_open(spawn));
        assert_eq!(model.tasks.publish_on_request(), 0, "nobody asks");
        models::set_spawn_top(base, spawn);
        model.join(spawn, 0);
        model.tasks.reopen(spawn);
        assert!(model.tasks.is_open(spawn));
        assert!(model.tasks.request());
        assert_eq!(
            model.tasks.publish_on_request(),
            0,
            "there is nothing to offer"
        );
        assert!(!model.tasks.request(), "so it stands");
    });
}

macro_rules! for_both_forms {
    ($($model:path => $one:ident, $two:ident;)*) => {
        $(
            #[test]
            fn $one() {
                $model(DirectStack::<OneField>::new());
            }

            #[test]
            fn $two() {
                $model(DirectStack::<TwoFields>::new());
            }
        )*
    };
}

for_both_forms! {
    what_was_given_back_goes_to_the_next_thief
        => what_was_given_back_one_field, what_was_given_back_two_fields;
    two_thieves_leave_a_task
        => two_thieves_one_field, two_thieves_two_fields;
    a_blocked_owner_works_above_what_is_stolen
        => a_blocked_owner_one_field, a_blocked_owner_two_fields;
    a_request_outlives_a_reopening
        => a_request_one_field, a_request_two_fields;
    slots_below_a_spawn_are_closed
        => a_spawn_one_field, a_spawn_two_fields;
    models::the_bottom_moves_up
        => the_bottom_one_field, the_bottom_two_fields;
    models::a_late_leapfrog_takes_nothing_unrelated
        => a_late_leapfrog_one_field, a_late_leapfrog_two_fields;
    an_owner_at_work_and_a_thief
        => an_owner_at_work_one_field, an_owner_at_work_two_fields;
    models::the_last_public_task_is_run_once
        => the_last_task_one_field, the_last_task_two_fields;
    models::a_thief_with_a_stale_bottom_gives_the_task_back
        => a_stale_bot_one_field, a_stale_bot_two_fields;
    models::a_thief_that_may_not_take_a_task_leaves_it
        => a_thief_that_may_not_one_field, a_thief_that_may_not_two_fields;
    models::a_standing_request_is_answered_by_the_next_push
        => a_standing_request_one_field, a_standing_request_two_fields;
    models::a_sleeping_owner_is_woken_when_its_task_is_done
        => a_sleeping_owner_one_field, a_sleeping_owner_two_fields;
}
