//! Tests of what a pool says about itself: its state, and the watchdog.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use crate::common::{self, eventually, pool};
use purloin::{Pool, Worker, WorkerActivity};

#[test]
fn a_state_says_for_what_each_worker_waits() {
    let pool = Pool::builder().workers(2).timed(true).build().unwrap();
    let (other, started) = (common::pool(1), AtomicUsize::new(0));
    let (release, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let wait = || {
        started.fetch_add(1, Ordering::Relaxed);
        let _ = gate.lock().unwrap().recv();
    };
    thread::scope(|scope| {
        scope.spawn(|| pool.run(|mut w| w.join(|_| other.run(|_| wait()), |_| wait())));
        eventually("both closures run", || started.load(Ordering::Relaxed) == 2);
        let both = |state: &purloin::PoolState| {
            let does: Vec<_> = state.workers.iter().map(|worker| worker.does).collect();
            does.contains(&WorkerActivity::Runs) && does.contains(&WorkerActivity::WaitsForOther)
        };
        eventually("the first closure waits", || both(&pool.state()));
        let state = pool.state();
        assert!(state.workers.iter().all(|worker| worker.since.is_some()));
        let text = state.to_string();
        assert!(text.contains("waits for another pool"), "{text}");
        assert!(text.contains("runs a task"), "{text}");
        drop(release);
    });
    let is_idle = || {
        pool.state()
            .workers
            .iter()
            .all(|worker| worker.does == WorkerActivity::Idle)
    };
    eventually("all workers are idle", is_idle);
}

#[test]
fn a_worker_that_joins_a_stolen_task_names_its_thief() {
    let pool = pool(2);
    let (stolen, seen) = (AtomicUsize::new(0), AtomicUsize::new(0));
    pool.run(|mut w| {
        let own = w.index();
        w.join(
            |_| {
                eventually("the second closure runs", || {
                    stolen.load(Ordering::Relaxed) > 0
                })
            },
            |w| {
                stolen.store(1, Ordering::Relaxed);
                let waits = || w.pool().state().workers[own].does;
                eventually("the owner waits", || {
                    waits() == WorkerActivity::WaitsForTask(w.index())
                });
                seen.store(1, Ordering::Relaxed);
            },
        );
    });
    assert_eq!(seen.into_inner(), 1);
}

#[test]
fn work_that_no_worker_has_begun_counts() {
    let pool = pool(1);
    pool.run(|mut w| {
        w.pool().spawn(|_| ());
        let state = w.join(|w| w.pool().state(), |_| ()).0;
        assert_eq!((state.waiting, state.workers[0].tasks), (1, 1));
        assert!(
            state.to_string().contains("1 of its tasks has not begun"),
            "{state}"
        );
    });
}

/// Runs the test `name` in a child process with the watchdog. Returns what it wrote to standard error.
fn watched(name: &str) -> String {
    let output = common::run_in_child(name, &[("PURLOIN_WATCHDOG", "200ms")]);
    assert!(output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_watchdog_says_where_a_stuck_program_waits() {
    if common::is_child() {
        let (pool, lock) = (pool(2), Mutex::new(()));
        let held = lock.lock().unwrap();
        let wait = || purloin::span("update the account", || drop(lock.lock().unwrap()));
        thread::scope(|scope| {
            scope.spawn(|| pool.run(|mut w| w.join(|_| wait(), |_| wait())));
            thread::sleep(Duration::from_millis(1500));
            drop(held);
        });
        return;
    }
    let text = watched("states::the_watchdog_says_where_a_stuck_program_waits");
    if cfg!(target_os = "linux") {
        assert!(text.contains("has made no progress for"), "{text}");
        assert!(
            text.contains("are blocked inside tasks, on a lock, a channel"),
            "{text}"
        );
        assert!(
            text.contains("in the span \"update the account\""),
            "{text}"
        );
        assert_eq!(text.matches("no progress").count(), 1, "{text}");
    }
}

#[test]
fn the_watchdog_counts_the_jobs_that_could_end_the_wait() {
    if common::is_child() {
        let pool = Pool::builder().workers(2).spare_workers(0).build().unwrap();
        let (send, receive) = mpsc::channel::<()>();
        let (receive, begun) = (Mutex::new(receive), AtomicUsize::new(0));
        let wait = || {
            begun.fetch_add(1, Ordering::Relaxed);
            let _ = receive.lock().unwrap().recv();
        };
        thread::scope(|scope| {
            scope.spawn(|| pool.run(|mut w| w.join(|_| wait(), |_| wait())));
            eventually("both closures run", || begun.load(Ordering::Relaxed) == 2);
            let last = send.clone();
            pool.spawn(move |_| drop(last));
            thread::sleep(Duration::from_millis(1500));
            // One for each closure.
            send.send(()).unwrap();
            send.send(()).unwrap();
        });
        return;
    }
    let text = watched("states::the_watchdog_counts_the_jobs_that_could_end_the_wait");
    if cfg!(target_os = "linux") {
        assert!(text.contains("1 call or job has not begun"), "{text}");
        assert!(text.contains("raise Builder::spare_workers"), "{text}");
    }
}

#[test]
fn the_watchdog_is_silent_while_a_program_computes_or_rests() {
    if common::is_child() {
        let pool = pool(2);
        pool.run(|_| common::busy(Duration::from_millis(800)));
        thread::sleep(Duration::from_millis(600));
        return;
    }
    let text = watched("states::the_watchdog_is_silent_while_a_program_computes_or_rests");
    assert!(!text.contains("progress"), "{text}");
}
