//! Loom models of the stack of public tasks, in both forms.

use loom::thread;

use super::{DirectStack, OneField, TwoFields};
use crate::scheduler::direct::Direct;
use crate::scheduler::direct::models::{self, Model};

/// An owner that pushes and pops the same places again and again, and a thief
/// that comes twice.
fn an_owner_at_work_and_a_thief<S: Direct>(scheduler: S) {
    Model::check(3, scheduler, |model| {
        let thief = {
            let model = model.clone();
            thread::spawn(move || {
                for _ in 0..2 {
                    if !model.claim(1) {
                        crate::scheduler::direct::Stack::request(&model.stack);
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
    an_owner_at_work_and_a_thief
        => an_owner_at_work_one_field, an_owner_at_work_two_fields;
    models::the_last_public_task_is_run_once
        => the_last_task_one_field, the_last_task_two_fields;
    models::a_stale_bot_is_backed_out_of
        => a_stale_bot_one_field, a_stale_bot_two_fields;
    models::a_thief_that_may_not_take_a_task_leaves_it
        => a_thief_that_may_not_one_field, a_thief_that_may_not_two_fields;
    models::a_standing_request_is_answered_by_the_next_push
        => a_standing_request_one_field, a_standing_request_two_fields;
    models::a_sleeping_owner_is_woken_when_its_task_is_done
        => a_sleeping_owner_one_field, a_sleeping_owner_two_fields;
}
