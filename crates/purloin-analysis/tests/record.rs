//! Recordings of programs, in memory and in files.

#[path = "../../purloin/tests/common/mod.rs"]
mod common;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, ThreadId};
use std::time::Duration;

use common::{busy, fib};
use purloin::Worker;
use purloin_analysis::{Mark, Program, Recording, RecordingError, record};

struct Fib(u32);

impl Program for Fib {
    fn run<W: Worker>(&mut self, w: W) {
        std::hint::black_box(fib(w, self.0));
    }
}

/// A program with one task of each kind.
struct Kinds;

impl Program for Kinds {
    fn run<W: Worker>(&mut self, mut w: W) {
        w.finish(|scope| scope.spawn(|_| ()));
        let first = w.future(|_| 1);
        let second = w.future(|_| 2);
        w.join(|_| (), |_| ());
        let sum = w.get(second) + w.get(first);
        std::hint::black_box(sum);
    }
}

/// A program whose tasks and bodies panic, and that catches each panic.
struct Panics;

fn panics() {
    resume_unwind(Box::new("on purpose"));
}

impl Program for Panics {
    fn run<W: Worker>(&mut self, mut w: W) {
        let mut caught = 0;
        let mut catch = |part: &mut dyn FnMut(&mut W)| {
            let result = catch_unwind(AssertUnwindSafe(|| part(&mut w)));
            caught += u32::from(result.is_err());
        };
        catch(&mut |w| _ = w.join(|_| panics(), |_| ()));
        catch(&mut |w| _ = w.join(|_| (), |_| panics()));
        catch(&mut |w| w.finish(|_| panics()));
        catch(&mut |w| w.finish(|scope| scope.spawn(|_| panics())));
        catch(&mut |w| drop(w.future(|_| ())));
        catch(&mut |w| {
            let future = w.future(|_| panics());
            w.get(future);
        });
        assert_eq!(caught, 5);
    }
}

/// Writes a recording.
fn bytes(recording: &Recording) -> Vec<u8> {
    let mut bytes = Vec::new();
    recording.write(&mut bytes).unwrap();
    bytes
}

#[test]
fn strands_are_in_the_order_of_the_serial_elision() {
    let recording = record("kinds", &mut Kinds).unwrap();
    let marks: Vec<_> = recording.strands().map(|strand| strand.mark).collect();
    let expected = [
        Mark::Finish,
        Mark::Spawn,
        Mark::Spawned,
        Mark::Finished,
        Mark::Future,
        Mark::FutureDone,
        Mark::Future,
        Mark::FutureDone,
        Mark::Join,
        Mark::Second,
        Mark::Joined,
        Mark::Got(1),
        Mark::Got(0),
        Mark::End,
    ];
    assert_eq!(marks, expected);
    assert_eq!(recording.tasks(), 4);
}

#[test]
fn a_recording_of_a_program_that_panics_is_complete() {
    use Mark::*;
    let recording = record("panics", &mut Panics).unwrap();
    let marks: Vec<_> = recording.strands().map(|strand| strand.mark).collect();
    let joins = [Join, Second, Joined, Join, Second, Joined];
    let finishes = [Finish, Finished, Finish, Spawn, Spawned, Finished];
    let futures = [Future, FutureDone, Future, FutureDone, Got(1), End];
    assert_eq!(marks, [joins, finishes, futures].concat());
    assert!(recording.span() <= recording.work());
    let again = Recording::from_bytes(&bytes(&recording)).unwrap();
    assert_eq!(again, recording);
}

#[test]
fn the_strands_together_take_as_long_as_the_serial_elision() {
    let recording = record("fib", &mut Fib(22)).unwrap();
    let sum: f64 = recording.strands().map(|strand| strand.nanoseconds).sum();
    let work = recording.work().as_nanos() as f64;
    assert!((sum / work - 1.0).abs() < 1e-3, "{sum} of {work}");
    assert!(recording.span() < recording.work() / 10);
    assert_eq!(recording.tasks(), 28656);
    let cost = recording.task_nanoseconds();
    assert!((0.0..=1000.0).contains(&cost), "{cost}");
    // A join has three strands, and on average a strand takes less than three bytes.
    assert!(bytes(&recording).len() < 28656 * 3 * 3);
}

#[test]
fn a_recording_comes_back_as_it_was_written() {
    let recording = record("kinds, with an ä", &mut Kinds).unwrap();
    let again = Recording::from_bytes(&bytes(&recording)).unwrap();
    assert_eq!(again.name(), recording.name());
    assert_eq!(again.work(), recording.work());
    assert_eq!(again.task_nanoseconds(), recording.task_nanoseconds());
    assert_eq!(again.tasks(), recording.tasks());
    assert_eq!(again.on_all_cores(), recording.on_all_cores());
    assert!(again.strands().eq(recording.strands()));
    assert_eq!(bytes(&again), bytes(&recording));
}

#[test]
fn truncated_and_damaged_recordings_are_refused() {
    let bytes = bytes(&record("kinds", &mut Kinds).unwrap());
    for len in 0..bytes.len() {
        let error = Recording::from_bytes(&bytes[..len]).unwrap_err();
        match error {
            RecordingError::NotARecording => assert!(len < 8),
            RecordingError::Truncated => {}
            error => panic!("{len}: {error}"),
        }
    }
    for place in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[place] ^= 1 << (place % 8);
        assert!(Recording::from_bytes(&damaged).is_err(), "{place}");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(matches!(
        Recording::from_bytes(&longer),
        Err(RecordingError::Damaged)
    ));
    let mut newer = bytes;
    newer[8] = 4;
    let error = Recording::from_bytes(&newer).unwrap_err();
    assert!(error.to_string().contains("version 4"), "{error}");
}

/// Tasks that take four times as long if two workers run them, as if they competed for a cache line.
#[derive(Default)]
struct Competing {
    /// The thread that has run the first task of this run.
    first: Mutex<Option<ThreadId>>,
    /// Whether two threads have run tasks of one run. From then on, all tasks are slow: so the test does not depend on whether
    /// other programs leave both cores to this one.
    is_shared: AtomicBool,
}

impl Program for Competing {
    fn prepare(&mut self) {
        *self.first.get_mut().unwrap() = None;
    }

    fn run<W: Worker>(&mut self, mut w: W) {
        let Competing { first, is_shared } = &*self;
        w.finish(|scope| {
            for _ in 0..32 {
                scope.spawn(|_| {
                    let own = thread::current().id();
                    if *first.lock().unwrap().get_or_insert(own) != own {
                        is_shared.store(true, Relaxed);
                    }
                    let is_shared = is_shared.load(Relaxed);
                    busy(Duration::from_micros(if is_shared { 800 } else { 200 }));
                });
            }
        });
    }
}

#[test]
fn the_times_on_all_cores_show_that_tasks_slow_each_other_down() {
    let recording = record("competing", &mut Competing::default()).unwrap();
    let measured = recording.on_all_cores();
    let cores = thread::available_parallelism().unwrap().get();
    assert_eq!(measured.workers as usize, cores);
    assert!(measured.runs >= 5 && measured.seconds > 0.0, "{measured:?}");
    let inflation = measured.application / recording.work().as_secs_f64();
    assert!(cores == 1 || inflation > 2.0, "{measured:?}");
}
