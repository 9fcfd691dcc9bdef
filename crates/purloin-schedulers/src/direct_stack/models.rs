//! Loom models of the stack of public tasks, in both forms.

use loom::thread;

use super::{DirectStack, OneField, TwoFields};
use purloin::scheduler::models::*;
use purloin::scheduler::{Claim, PublicTasks, Publish, Reclaimed, TaskPool};

/// One thief gives the task back, and another thief takes it.
fn a_task_that_was_given_back_goes_to_the_next_thief<S: ReachesIn>(scheduler: S) {
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
        // The push comes after the start of the thieves, so that only the slot's state tells them
        // of the task.
        let slot = model.push(0);
        model.join(slot, 0);
        refuses.join().unwrap();
        takes.join().unwrap();
        model.assert_each_ran_once(1);
    });
}

/// Two thieves hold the task, one after the other, and give it back.
fn the_owner_runs_a_task_that_two_thieves_gave_back<S: ReachesIn>(scheduler: S) {
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
fn a_blocked_owner_pushes_above_the_stolen_task<S: ReachesIn>(scheduler: S) {
    Model::check(3, scheduler, |model| {
        let thieves = [1, 2].map(|thief| {
            let model = model.clone();
            thread::spawn(move || model.claim(thief))
        });
        let first = model.push(0);
        if model.tasks.pop(first, false) || model.tasks.reclaim(first) == Reclaimed::Owned {
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

/// The owner opens its stack while a thief asks. The request is not lost.
fn a_request_outlives_a_reopening<S: ReachesIn>(scheduler: S) {
    Model::check(3, scheduler, |model| {
        let base = model.tasks.stack();
        let slot = model.push(0);
        set_spawn_top(base, base.top());
        model.tasks.publish(Publish::Spawn);
        set_spawn_top(base, slot);
        model.join(slot, 0);
        // The floor is now above the top.
        assert!(!model.tasks.is_open(slot));
        let thief = {
            let model = model.clone();
            thread::spawn(move || model.tasks.request())
        };
        model.tasks.reopen(slot);
        assert!(thief.join().unwrap());
        assert!(!model.tasks.request(), "the request is still pending");
    });
}

/// Slots below a live spawn are closed, and are opened again after the spawn has ended.
fn slots_below_a_spawn_are_closed<S: ReachesIn>(scheduler: S) {
    Model::check(1, scheduler, |model| {
        let base = model.tasks.stack();
        let spawn = model.push(0);
        let top = base.top();
        set_spawn_top(base, top);
        assert_eq!(model.tasks.publish(Publish::Spawn), 0, "no thief asks");
        assert!(model.tasks.is_open(top) && !model.tasks.is_open(spawn));
        // The slots stay closed if a thief asks.
        assert!(model.tasks.request());
        model.tasks.reopen(top);
        assert!(!model.tasks.is_open(top), "the request is pending");
        assert_eq!(model.tasks.publish(Publish::OnRequest), 1);
        assert!(model.tasks.is_open(top) && !model.tasks.is_open(spawn));
        assert_eq!(model.tasks.publish(Publish::OnRequest), 0, "no thief asks");
        set_spawn_top(base, spawn);
        model.join(spawn, 0);
        model.tasks.reopen(spawn);
        assert!(model.tasks.is_open(spawn));
        assert!(model.tasks.request());
        assert_eq!(
            model.tasks.publish(Publish::OnRequest),
            0,
            "there is no task to offer"
        );
        assert!(!model.tasks.request(), "the request is pending");
    });
}

/// Runs each model once for each of the two published forms.
macro_rules! in_both_forms {
    ($($model:ident;)*) => {
        mod one_field {
            use super::*;

            $(
                #[test]
                fn $model() {
                    super::$model(DirectStack::<OneField>::new());
                }
            )*
        }

        mod two_fields {
            use super::*;

            $(
                #[test]
                fn $model() {
                    super::$model(DirectStack::<TwoFields>::new());
                }
            )*
        }
    };
}

in_both_forms! {
    a_task_that_was_given_back_goes_to_the_next_thief;
    the_owner_runs_a_task_that_two_thieves_gave_back;
    a_blocked_owner_pushes_above_the_stolen_task;
    a_request_outlives_a_reopening;
    slots_below_a_spawn_are_closed;
    each_task_is_run_once_under_an_owner_at_work;
    the_bottom_moves_up;
    a_late_leapfrog_takes_nothing_unrelated;
    the_last_public_task_is_run_once;
    a_thief_with_a_stale_bottom_gives_the_task_back;
    a_thief_that_may_not_take_a_task_leaves_it;
    a_standing_request_is_answered_by_the_next_push;
    a_sleeping_owner_is_woken_when_its_task_is_done;
}
