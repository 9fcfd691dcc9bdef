//! Tests of every kind of victim selection, with few workers and with many.

use crate::common::{busy, fib};
use purloin::{Pool, Random, ReturnBarrier, Sampling, Scheduler, Sets, VictimSelection, Worker};
use purloin_schedulers::{
    Channel, ChaseLev, DefaultWs, DirectStack, OneField, ReturnBarrierWs, TwoFields,
};
use std::time::Duration;

/// Runs a lopsided tree and returns the number of its leaves. The leaves take some time, so that
/// thieves get tasks.
fn tree<W: Worker>(mut w: W, depth: u32) -> u64 {
    if depth == 0 {
        busy(Duration::from_micros(20));
        return 1;
    }
    let (a, b) = w.join(
        move |w| tree(w, depth - 1),
        move |w| tree(w, depth.saturating_sub(3)),
    );
    a + b
}

/// Returns the number of leaves of a tree.
fn leaves(depth: u32) -> u64 {
    if depth == 0 {
        return 1;
    }
    leaves(depth - 1) + leaves(depth.saturating_sub(3))
}

fn check<S: Scheduler + Default>(victims: impl VictimSelection + Clone) {
    for workers in [1, 2, 7, 16, 63] {
        let pool = Pool::builder()
            .workers(workers)
            .victims(victims.clone())
            .scheduler(S::default())
            .build()
            .unwrap();
        for _ in 0..3 {
            assert_eq!(pool.run(|w| tree(w, 15)), leaves(15), "{workers} workers");
            assert_eq!(pool.run(|w| fib(w, 18)), 2584, "{workers} workers");
        }
    }
}

fn check_all<S: Scheduler + Default>() {
    check::<S>(Random);
    check::<S>(<Sampling>::default());
    check::<S>(<Sampling>::default().samples(63));
    check::<S>(Sets::default());
    // The sets are so small that thieves may have only each other as victims.
    check::<S>(Sets::default().least(1).multiplicity(1));
    check::<S>(Sampling::new(Sets::default()));
    check::<S>(Sampling::new(Sets::default().least(2).multiplicity(1)).samples(2));
}

#[test]
fn every_selection_finds_tasks_under_the_return_barrier() {
    check_all::<ReturnBarrier>();
}

#[test]
fn every_selection_finds_tasks_under_the_direct_stack() {
    check_all::<DirectStack<OneField>>();
}

#[test]
fn every_selection_finds_tasks_under_the_direct_stack_of_two_fields() {
    check_all::<DirectStack<TwoFields>>();
}

#[test]
fn every_selection_finds_tasks_under_chase_lev_deques() {
    check_all::<ChaseLev>();
}

#[test]
fn every_selection_finds_tasks_under_channels() {
    check_all::<Channel>();
}

#[test]
fn options_out_of_range_are_named_in_the_error() {
    let error = |victims: Sampling<Sets>| {
        let pool = Pool::builder().workers(1).victims(victims).build();
        pool.unwrap_err().to_string()
    };
    assert_eq!(
        error(Sampling::new(Sets::default().least(0))),
        "victims: least must be from 1 to 4096, not 0"
    );
    assert_eq!(
        error(Sampling::new(Sets::default().multiplicity(5000))),
        "victims: multiplicity must be from 1 to 4096, not 5000"
    );
    assert_eq!(
        error(Sampling::new(Sets::default()).samples(0)),
        "victims: samples must be from 1 to 4096, not 0"
    );
}

/// Each steal interrupts its victim, so none is free.
#[test]
fn no_steal_is_free_without_a_barrier() {
    let pool = Pool::builder().workers(4).scheduler(DefaultWs);
    let pool = pool.build().unwrap();
    let start = std::time::Instant::now();
    while pool.stats().steals < 200 {
        assert!(start.elapsed() < Duration::from_secs(60));
        pool.run(|w| tree(w, 12));
        // Idle workers sleep, and leave their requests with their victims.
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(pool.stats().free_steals, 0, "{:?}", pool.stats());
}

/// The paper's two systems have no force, even for a victim in a long leaf.
#[test]
fn thieves_of_the_papers_systems_wait_for_a_victim_in_a_long_leaf() {
    fn check(scheduler: impl Scheduler) {
        let pool = Pool::builder().workers(2).scheduler(scheduler);
        let pool = pool.build().unwrap();
        let leaf = || busy(Duration::from_millis(2));
        for _ in 0..20 {
            pool.run(|mut w| w.join(|_| leaf(), |_| leaf()));
        }
        assert_eq!(pool.stats().forced_steals, 0, "{:?}", pool.stats());
    }

    check(DefaultWs);
    check(ReturnBarrierWs);
}

/// The first of the tasks that a victim offers at once is never free, also with a barrier.
#[test]
fn the_steal_of_a_single_task_is_not_free() {
    let pool = Pool::builder().workers(3).build().unwrap();
    let start = std::time::Instant::now();
    while pool.stats().steals < 50 {
        assert!(start.elapsed() < Duration::from_secs(60));
        let half = || busy(Duration::from_micros(200));
        pool.run(|mut w| w.join(|_| half(), |_| half()));
    }
    assert_eq!(pool.stats().free_steals, 0, "{:?}", pool.stats());
}

/// Of the tasks that a victim offers at once, the first steal is not free.
#[test]
fn a_steal_is_free_if_its_victim_was_not_interrupted_for_it() {
    let pool = Pool::builder().workers(3).build().unwrap();
    let start = std::time::Instant::now();
    while pool.stats().steals < 200 {
        assert!(start.elapsed() < Duration::from_secs(60));
        pool.run(|w| tree(w, 12));
    }
    let stats = pool.stats();
    let interrupting = stats.steals - stats.free_steals;
    assert!(
        interrupting <= stats.publications + stats.forced_steals,
        "{stats:?}"
    );
}
