//! Loom models of the barrier without forced steals: the owner's slow paths have neither the fence nor
//! the exchange that the models in `purloin` check against a forcing thief.

use loom::thread;

use super::{DefaultWs, ReturnBarrierWs};
use purloin::scheduler::models::*;
use purloin::scheduler::{PublicTasks, Publish, TaskPool};

/// Two thieves ask while the owner answers one of them. Each task that a thief finds was published by
/// a store.
fn an_answer_and_a_newer_request<S: ReachesIn>(scheduler: S) {
    Model::check(3, scheduler, |model| {
        let first = model.push(0);
        let second = model.push(1);
        model.tasks.request();
        let thieves = [1, 2].map(|thief| {
            let model = model.clone();
            thread::spawn(move || {
                if !model.claim(thief) {
                    model.tasks.request();
                }
            })
        });
        let third = model.push(2);
        model.join(third, 2);
        model.join(second, 1);
        model.join(first, 0);
        for thief in thieves {
            thief.join().unwrap();
        }
        model.assert_each_ran_once(3);
    });
}

/// The owner takes back a task while a thief asks for more, and uses the slot again.
fn the_barrier_moves_down_while_a_thief_asks<S: ReachesIn>(scheduler: S) {
    Model::check(3, scheduler, |model| {
        let first = model.push(0);
        let second = model.push(1);
        model.tasks.publish(Publish::All);
        let thief = {
            let model = model.clone();
            thread::spawn(move || {
                if !model.claim(1) {
                    model.tasks.request();
                }
                model.claim(1);
            })
        };
        model.join(second, 1);
        let third = model.push(2);
        model.join(third, 2);
        model.join(first, 0);
        thief.join().unwrap();
        model.assert_each_ran_once(3);
    });
}

/// Without a request, a spawn lies below the barrier and is not public. The owner takes it back without
/// a fence while a thief asks.
fn a_request_and_a_task_below_the_barrier_that_is_not_public<S: ReachesIn>(scheduler: S) {
    Model::check(3, scheduler, |model| {
        let stack = model.tasks.stack();
        let slot = model.push(0);
        set_spawn_top(stack, stack.top());
        model.tasks.publish(Publish::Spawn);
        let thief = {
            let model = model.clone();
            thread::spawn(move || {
                model.tasks.request();
                model.claim(1);
            })
        };
        set_spawn_top(stack, slot);
        model.join(slot, 0);
        // The same slot, private again.
        let slot = model.push(1);
        model.join(slot, 1);
        thief.join().unwrap();
        model.assert_each_ran_once(2);
    });
}

/// Defines a test of each of these models for each scheduler.
macro_rules! models {
    ($($model:ident;)*) => {
        $(mod $model {
            use super::*;

            #[test]
            fn with_a_barrier() {
                super::$model(ReturnBarrierWs);
            }

            #[test]
            fn without_a_barrier() {
                super::$model(DefaultWs);
            }
        })*
    };
}

models! {
    an_answer_and_a_newer_request;
    the_barrier_moves_down_while_a_thief_asks;
    a_request_and_a_task_below_the_barrier_that_is_not_public;
    the_last_public_task_is_run_once;
    a_thief_with_a_stale_bottom_gives_the_task_back;
    the_bottom_moves_up;
    a_late_leapfrog_takes_nothing_unrelated;
    a_sleeping_owner_is_woken_when_its_task_is_done;
    a_thief_that_may_not_take_a_task_leaves_it;
    a_standing_request_is_answered_by_the_next_push;
    each_task_is_run_once_under_an_owner_at_work;
}
