//! Loom models of the return barrier: every race that its page names.
//!
//! The asymmetric fence is modelled as two sequentially consistent fences, see
//! [`crate::sync::asymmetric`].

use loom::sync::Arc;
use loom::thread;

use super::Model;
use crate::runtime::models;
use crate::runtime::return_barrier::ReturnBarrier;
use crate::runtime::steal::Claim;
use crate::scheduler::{PublicTasks, Publish, TaskPool};

fn check(model: impl Fn(Arc<Model<ReturnBarrier>>) + Sync + Send + 'static) {
    Model::check(3, ReturnBarrier::default(), model);
}

fn force(model: &Model<ReturnBarrier>, thief: usize) -> bool {
    model.run_stolen(model.tasks.force(thief, || true))
}

/// Defines a test for each of these models, which other schedulers share.
macro_rules! shared {
    ($($model:ident;)*) => {
        $(
            #[test]
            fn $model() {
                models::$model(ReturnBarrier::default());
            }
        )*
    };
}

shared! {
    the_last_public_task_is_run_once;
    a_thief_with_a_stale_bottom_gives_the_task_back;
    the_bottom_moves_up;
    a_late_leapfrog_takes_nothing_unrelated;
    a_sleeping_owner_is_woken_when_its_task_is_done;
    a_thief_that_may_not_take_a_task_leaves_it;
    a_standing_request_is_answered_by_the_next_push;
    each_task_is_run_once_under_an_owner_at_work;
}

#[test]
fn the_barrier_moves_down_during_free_steals() {
    check(|model| {
        let first = model.push(0);
        let second = model.push(1);
        model.tasks.publish(Publish::All);
        let thief = {
            let model = model.clone();
            thread::spawn(move || {
                model.claim(1);
                model.claim(1);
            })
        };
        model.join(second, 1);
        // The slot is private again, no matter what has been stolen below it.
        let third = model.push(2);
        model.join(third, 2);
        model.join(first, 0);
        thief.join().unwrap();
        model.assert_each_ran_once(3);
    });
}

#[test]
fn a_forced_steal_and_the_owners_pops() {
    check(|model| {
        let first = model.push(0);
        let thief = {
            let model = model.clone();
            thread::spawn(move || {
                model.tasks.request();
                force(&model, 1);
            })
        };
        let second = model.push(1);
        model.join(second, 1);
        model.join(first, 0);
        // The same slot, popped and pushed again.
        let third = model.push(2);
        model.join(third, 2);
        thief.join().unwrap();
        model.assert_each_ran_once(3);
    });
}

#[test]
fn a_forced_steal_and_a_pop_that_has_seen_the_barrier() {
    // The second half of the protocol, by ordinary fences alone: the request
    // was there before the pop, which therefore needs no asymmetric fence.
    crate::sync::asymmetric::WITHOUT_LIGHT_SIDE.set(true);
    check(|model| {
        let first = model.push(0);
        let second = model.push(1);
        model.tasks.request();
        let thief = {
            let model = model.clone();
            thread::spawn(move || {
                force(&model, 1);
                force(&model, 1);
            })
        };
        model.join(second, 1);
        model.join(first, 0);
        thief.join().unwrap();
        model.assert_each_ran_once(2);
    });
}

#[test]
fn a_forced_steal_while_the_owner_answers_the_same_request() {
    check(|model| {
        let first = model.push(0);
        let second = model.push(1);
        model.tasks.request();
        let thieves = [1, 2].map(|thief| {
            let model = model.clone();
            thread::spawn(move || {
                if !model.claim(thief) {
                    force(&model, thief);
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

#[test]
fn a_thief_that_may_not_take_a_task_by_force_leaves_it() {
    check(|model| {
        let first = model.push(0);
        let thief = {
            let model = model.clone();
            thread::spawn(move || {
                model.tasks.request();
                let claim = model.tasks.force(1, || false);
                assert!(!matches!(claim, Claim::Forced(_)));
            })
        };
        let second = model.push(1);
        model.join(second, 1);
        model.join(first, 0);
        thief.join().unwrap();
        model.assert_each_ran_once(2);
    });
}

#[test]
fn a_forced_steal_and_a_task_below_the_barrier_that_is_not_public() {
    check(|model| {
        let base = model.tasks.stack();
        // The task is like a spawn: no thief has asked for it.
        let slot = model.push(0);
        base.set_spawn_top(base.top());
        model.tasks.publish(Publish::Spawn);
        let thief = {
            let model = model.clone();
            thread::spawn(move || {
                model.tasks.request();
                force(&model, 1);
            })
        };
        base.set_spawn_top(slot);
        model.join(slot, 0);
        // The same slot, private again.
        let slot = model.push(1);
        model.join(slot, 1);
        thief.join().unwrap();
        model.assert_each_ran_once(2);
    });
}
