//! The machine as a clock: what operations cost, and that a run depends on its seed alone.

use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::time::Duration;

use purloin_virtual::sync::{AtomicUsize, Condvar, Instant, Mutex, spend, spin_loop, thread};
use purloin_virtual::{Allocator, Failure, Machine, Report, Run};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

fn machine() -> Machine {
    Machine::named("epyc-7763").unwrap()
}

fn spawn(f: impl FnOnce() + Send + 'static) -> thread::JoinHandle<()> {
    thread::Builder::new().spawn(f).unwrap()
}

/// Runs threads that count to 200 together.
fn count(seed: u64, threads: usize) -> Report<usize> {
    let machine = machine();
    let run = Run::new(&machine).seed(seed);
    let report = run.run(|| {
        let counter = Arc::new(AtomicUsize::new(0));
        let others: Vec<_> = (0..threads)
            .map(|_| {
                let counter = Arc::clone(&counter);
                spawn(move || {
                    while counter.fetch_add(1, Relaxed) < 200 {
                        spend(Duration::from_nanos(10));
                    }
                })
            })
            .collect();
        others.into_iter().for_each(|other| other.join().unwrap());
        counter.load(Relaxed)
    });
    report.unwrap()
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let first = count(3, 20);
    for _ in 0..3 {
        let again = count(3, 20);
        assert_eq!((again.time, again.tally), (first.time, first.tally.clone()));
    }
    assert_ne!(count(4, 20).tally.fingerprint, first.tally.fingerprint);
}

#[test]
fn a_contended_word_costs_more_than_one_of_a_core_alone() {
    assert!(count(1, 64).time > 2 * count(1, 1).time);
}

#[test]
fn a_line_that_another_core_has_modified_takes_the_latency_of_the_machine() {
    let machine = machine();
    let report = Run::new(&machine).work(0.0).run(|| {
        let word = Arc::new(AtomicUsize::new(0));
        let other = {
            let word = Arc::clone(&word);
            spawn(move || word.store(1, Release))
        };
        other.join().unwrap();
        let before = Instant::now();
        let value = word.load(Acquire);
        (value, before.elapsed())
    });
    let (value, time) = report.unwrap().answer;
    assert_eq!(value, 1);
    // The clock is read twice. The other thread ran in another cluster.
    let nanos = time.as_nanos() as f64;
    assert!(
        nanos >= machine.latency.socket && nanos < machine.latency.socket + 60.0,
        "{nanos}"
    );
}

#[test]
fn threads_that_share_a_core_take_turns() {
    let machine = machine().with_cores(1).unwrap();
    let report = Run::new(&machine).run(|| {
        let word = Arc::new(AtomicUsize::new(0));
        let other = {
            let word = Arc::clone(&word);
            spawn(move || word.store(1, Release))
        };
        // The other thread gets the core when the time slice is over.
        while word.load(Acquire) == 0 {
            spin_loop();
        }
        other.join().unwrap();
    });
    let time = report.unwrap().time.as_nanos() as f64;
    assert!(
        time >= machine.system.slice && time < 2.0 * machine.system.slice,
        "{time}"
    );
}

#[test]
fn threads_that_wait_for_each_other_are_named() {
    let machine = machine();
    let run = Run::new(&machine).run(|| {
        let (lock, changed) = (Mutex::new(false), Condvar::new());
        let mut is_set = lock.lock().unwrap();
        while !*is_set {
            is_set = changed.wait(is_set).unwrap();
        }
    });
    let failure = run.unwrap_err();
    assert!(matches!(failure, Failure::Hang(_)));
    let text = failure.to_string();
    assert!(
        text.contains("main waits for a condition variable"),
        "{text}"
    );
}

#[test]
fn a_run_ends_at_its_limit() {
    let machine = machine();
    let run = Run::new(&machine).limit(Duration::from_millis(1));
    let failure = run
        .run(|| {
            let word = AtomicUsize::new(0);
            while word.load(Relaxed) == 0 {
                spin_loop();
            }
        })
        .unwrap_err();
    assert!(matches!(failure, Failure::OutOfTime { .. }), "{failure}");
}

#[test]
fn a_wait_with_a_time_limit_ends() {
    let machine = machine();
    let report = Run::new(&machine).run(|| {
        let (lock, changed) = (Mutex::new(()), Condvar::new());
        let guard = lock.lock().unwrap();
        let (_, result) = changed
            .wait_timeout(guard, Duration::from_millis(3))
            .unwrap();
        thread::sleep(Duration::from_millis(2));
        result.timed_out()
    });
    let report = report.unwrap();
    assert!(report.answer);
    assert_eq!(report.time.as_millis(), 5);
}

#[test]
#[should_panic(expected = "from the main thread")]
fn a_panic_of_the_main_thread_reaches_the_caller() {
    let machine = machine();
    let _ = Run::new(&machine).run(|| panic!("from the main thread"));
}

#[test]
fn the_panic_of_a_thread_reaches_the_thread_that_joins_it() {
    let machine = machine();
    let report = Run::new(&machine).run(|| {
        let word = Arc::new(AtomicUsize::new(1));
        let other = spawn(move || {
            word.fetch_add(1, AcqRel);
            panic!("from another thread");
        });
        other.join().unwrap_err().downcast_ref::<&str>().copied()
    });
    assert_eq!(report.unwrap().answer, Some("from another thread"));
}
