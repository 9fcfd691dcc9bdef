//! The adversary: which reorderings of stores it shows, and which it must not.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release, SeqCst};

use purloin_virtual::sync::{AtomicUsize, fence, membarrier, thread};
use purloin_virtual::{Machine, Run, Weather};

/// Runs `program` under this many schedules. Returns how often it returned true.
fn count(schedules: u64, program: fn() -> bool) -> u64 {
    let machine = Machine::named("two-cores").unwrap();
    let run = |seed| {
        let run = Run::new(&machine).seed(seed).weather(Weather::default());
        u64::from(run.run(program).unwrap().answer)
    };
    (0..schedules).map(run).sum()
}

/// Runs `one` and `other` on two threads, which share two words. Returns their results.
fn beside<R: Send + 'static>(
    one: fn(&[AtomicUsize; 2]) -> R,
    other: fn(&[AtomicUsize; 2]) -> R,
) -> [R; 2] {
    let words = Arc::new([const { AtomicUsize::new(0) }; 2]);
    let threads = [one, other].map(|f| {
        let words = Arc::clone(&words);
        thread::Builder::new().spawn(move || f(&words)).unwrap()
    });
    threads.map(|thread| thread.join().unwrap())
}

/// Dekker's pattern: each thread stores its word, calls its function, and looks at the other word. Counts the schedules
/// in which neither thread sees the other one's store.
macro_rules! missed {
    ($one:expr, $other:expr) => {
        count(2_000, || {
            [0, 0]
                == beside(
                    |words| dekker(words, 0, $one),
                    |words| dekker(words, 1, $other),
                )
        })
    };
}

fn dekker(words: &[AtomicUsize; 2], mine: usize, between: fn()) -> usize {
    words[mine].store(1, Relaxed);
    between();
    words[1 - mine].load(Relaxed)
}

#[test]
fn two_threads_may_miss_each_other_without_a_fence() {
    let missed = missed!(|| (), || ());
    assert!(missed > 10, "{missed}");
}

#[test]
fn two_threads_do_not_miss_each_other_with_fences() {
    assert_eq!(missed!(|| fence(SeqCst), || fence(SeqCst)), 0);
}

#[test]
fn a_membarrier_is_a_fence_on_both_sides() {
    assert_eq!(missed!(|| (), || assert!(membarrier())), 0);
}

/// Total store order: stores of one thread are seen in their order.
#[test]
fn stores_are_seen_in_order() {
    let wrong = count(2_000, || {
        let [_, seen] = beside(
            |words| {
                words[0].store(1, Relaxed);
                words[1].store(1, Release);
                (0, 0)
            },
            |words| (words[1].load(Relaxed), words[0].load(Relaxed)),
        );
        seen == (1, 0)
    });
    assert_eq!(wrong, 0);
}

#[test]
fn a_thread_sees_its_own_stores() {
    let wrong = count(500, || {
        let results = beside(
            |words| {
                words[0].store(7, Relaxed);
                words[0].load(Relaxed)
            },
            |words| {
                words[1].store(7, Relaxed);
                words[1].load(Relaxed)
            },
        );
        results != [7, 7]
    });
    assert_eq!(wrong, 0);
}

#[test]
fn refused_threads_are_an_error() {
    let machine = Machine::named("two-cores").unwrap();
    let weather = Weather {
        refused_threads: 1,
        ..Weather::default()
    };
    let run = Run::new(&machine).weather(weather);
    let report = run.run(|| thread::Builder::new().spawn(|| ()).is_err());
    assert!(report.unwrap().answer);
}
