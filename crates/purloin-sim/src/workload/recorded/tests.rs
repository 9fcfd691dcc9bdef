//! Simulations of recorded programs.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use purloin::{Handle, Worker};

use purloin_analysis::{Program, record};

use super::*;
use crate::{Machine, Random, simulate};

/// A program with joins, finishes, loops and futures.
struct Everything {
    /// Whether each frame gets its own futures, the newest first.
    is_nested: bool,
}

impl Program for Everything {
    fn run<W: Worker>(&mut self, w: W) {
        everything(w, self.is_nested, 4);
    }
}

fn everything<W: Worker>(mut w: W, is_nested: bool, depth: u32) {
    let Some(next) = depth.checked_sub(1) else {
        std::hint::black_box((0..1000).sum::<u64>());
        return;
    };
    w.join(
        |w| everything(w, is_nested, next),
        |mut w| {
            w.finish(|scope| {
                for _ in 0..3 {
                    scope.spawn(|w| everything(w, is_nested, next));
                }
            });
            w.for_each(0..10, |i| {
                std::hint::black_box(i);
            });
        },
    );
    let a = w.future(move |w| everything(w, is_nested, next));
    let b = w.future(move |w| everything(w, is_nested, next));
    if is_nested {
        w.get(b);
        w.get(a);
        return;
    }
    let c = w.future(move |mut w| {
        w.join(|w| everything(w, is_nested, next), |_| ());
        w.get(a);
    });
    let _dropped = w.future(move |w| everything(w, is_nested, next));
    w.join(
        |w| everything(w, is_nested, next),
        move |mut w| {
            w.get(b);
            everything(w, is_nested, next);
        },
    );
    w.get(c);
}

#[test]
fn a_recording_is_simulated_completely_under_every_policy() {
    for (is_nested, policies) in [
        (
            true,
            ["random", "half+spare", "leapfrog", "forward+residual:2"],
        ),
        (
            false,
            [
                "spare",
                "half+spare",
                "near+forward+spare+residual:2",
                "sampling:2+spare+residual:3+adaptive",
            ],
        ),
    ] {
        let recording = record("everything", &mut Everything { is_nested }).unwrap();
        let recorded = Recorded::new(&recording).unwrap();
        assert_eq!(recorded.needs_spares(), !is_nested);
        let machines = [1, 2, 5, 40].map(Machine::wool);
        let fixed = [2, 16].map(Machine::shared_memory);
        for policy in policies {
            for machine in machines.iter().chain(&fixed).chain(&[Machine::ideal(4)]) {
                for seed in 0..3 {
                    let policy = policy.parse().unwrap();
                    let outcome = simulate(&recorded, machine, policy, seed);
                    assert_eq!(outcome.work, recorded.work(), "{policy} {machine:?}");
                    assert_eq!(
                        outcome.tasks,
                        recording.tasks() + recording.splits(),
                        "{policy} {machine:?}"
                    );
                }
            }
        }
    }
}

fn spin() {
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(2) {}
}

/// One of three programs with futures. Their strands take the same time or none.
struct Futures(u32);

impl Program for Futures {
    fn run<W: Worker>(&mut self, mut w: W) {
        match self.0 {
            // Another frame gets the future before it computes.
            0 => {
                let future = w.future(|_| spin());
                w.join(
                    move |mut w| {
                        w.get(future);
                        spin();
                    },
                    |_| (),
                );
            }
            // The frame gets one future while the other runs.
            1 => {
                let short = w.future(|_| ());
                let long = w.future(|_| spin());
                w.get(short);
                spin();
                w.get(long);
            }
            // A frame returns its future, and ends only when the future has ended.
            _ => {
                let (future, ()) = w.join(|mut w| w.future(|_| spin()), |_| ());
                spin();
                w.get(future);
            }
        }
    }
}

impl Recorded {
    /// Rounds the times of strands to zero or a fixed time, which removes disturbances of the
    /// recording.
    fn round(&mut self) {
        let unit = 2_000_000_000;
        for part in &mut self.strands {
            part.time = if part.time > unit / 2 { unit } else { 0 };
        }
        let times = self.strands.iter().map(|part| part.time);
        self.work = Time::from_picoseconds(times.sum());
    }
}

/// The expected times are the times of two real workers whose programs sleep instead of computing.
#[test]
fn a_frame_waits_for_a_future_where_it_gets_the_result() {
    for (program, expected) in [(0, 1.0), (1, 0.5), (2, 1.0)] {
        let recording = record("futures", &mut Futures(program)).unwrap();
        let mut recorded = Recorded::new(&recording).unwrap();
        recorded.round();
        let policy = "spare".parse().unwrap();
        let outcome = simulate(&recorded, &Machine::shared_memory(2), policy, 1);
        let relative = outcome.time.seconds() / recorded.work().seconds();
        assert!((relative - expected).abs() < 0.01, "{program}: {relative}");
    }
}

/// A diamond: one task, two that begin after it, and one that begins after both. Beside it, two tasks get
/// one shared result.
struct Diamond;

impl Program for Diamond {
    fn run<W: Worker>(&mut self, mut w: W) {
        w.finish(|scope| {
            let top = scope.shared_future(|_| spin());
            let sides = [(); 2].map(|()| scope.after([&top]).shared_future(|_| spin()));
            scope.after(&sides).spawn(|_| spin());
            for _ in 0..2 {
                let top = top.clone();
                scope.spawn(move |_| {
                    top.get();
                    spin();
                });
            }
        });
    }
}

#[test]
fn several_frames_may_get_one_result() {
    let recording = record("diamond", &mut Diamond).unwrap();
    assert_eq!(recording.tasks(), 6);
    let mut recorded = Recorded::new(&recording).unwrap();
    recorded.round();
    assert_eq!(recorded.work(), Time::from_picoseconds(12_000_000_000));
    for policy in ["spare", "half+spare", "near+forward+spare+residual:2"] {
        for cores in [1, 2, 4, 40] {
            let policy = policy.parse().unwrap();
            let machine = Machine::shared_memory(cores);
            let outcome = simulate(&recorded, &machine, policy, 1);
            assert_eq!(outcome.work, recorded.work(), "{policy} {cores}");
            assert_eq!(outcome.tasks, 6, "{policy} {cores}");
            // The span is half of the work.
            let relative = outcome.time.seconds() / recorded.work().seconds();
            assert!(
                (0.49..1.01).contains(&relative),
                "{policy} {cores}: {relative}"
            );
            if (policy.to_string().as_str(), cores) == ("spare", 4) {
                assert!(relative < 0.51, "{relative}");
            }
        }
    }
}

/// A random program that makes and gets futures anywhere, through a shared list. It is only correct
/// if each task runs as soon as it is spawned, so [`Shared`] runs it only under the serial elision.
struct Anything {
    seed: u64,
    run: Mutex<(Random, Vec<Handle<()>>)>,
}

impl Anything {
    fn below(&self, most: u32) -> u32 {
        self.run.lock().unwrap().0.below(most)
    }

    fn go_on<W: Worker>(self: &Arc<Self>, mut w: W, depth: u32) {
        for _ in 0..self.below(5) {
            let Some(next) = depth.checked_sub(1) else {
                std::hint::black_box((0..self.below(2000)).sum::<u32>());
                continue;
            };
            match self.below(5) {
                0 => {
                    let this = self.clone();
                    let future = w.future(move |w| this.go_on(w, next));
                    self.run.lock().unwrap().1.push(future);
                }
                1 => w.finish(|scope| {
                    for _ in 0..self.below(4) {
                        scope.spawn(|w| self.go_on(w, next));
                    }
                }),
                2 => {
                    w.join(|w| self.go_on(w, next), |w| self.go_on(w, next));
                }
                _ => {
                    let (random, futures) = &mut *self.run.lock().unwrap();
                    if !futures.is_empty() {
                        let place = random.below(futures.len() as u32);
                        w.get(futures.swap_remove(place as usize));
                    }
                }
            }
        }
    }
}

struct Shared(Arc<Anything>);

impl Program for Shared {
    fn prepare(&mut self) {
        *self.0.run.lock().unwrap() = (Random::new(self.0.seed), Vec::new());
    }

    fn run<W: Worker>(&mut self, mut w: W) {
        let has_run = Arc::new(AtomicBool::new(false));
        let ran = has_run.clone();
        let this = std::thread::current().id();
        // On all cores, a thief may run the task just as soon.
        let is_here = move || std::thread::current().id() == this;
        let future = w.future(move |_| ran.store(is_here(), Relaxed));
        let runs_at_once = has_run.load(Relaxed);
        w.get(future);
        for _ in 0..if runs_at_once { 3 } else { 0 } {
            w.join(|w| self.0.go_on(w, 7), |w| self.0.go_on(w, 7));
        }
    }
}

#[test]
fn no_program_deadlocks_under_spare() {
    check_under_spare(0..8);
}

#[test]
#[ignore = "takes a minute: ./x prove random"]
fn none_of_a_hundred_programs_deadlocks_under_spare() {
    check_under_spare(8..100);
}

fn check_under_spare(seeds: Range<u64>) {
    let (mut gets, programs) = (0, seeds.end - seeds.start);
    for seed in seeds {
        let run = Mutex::new((Random::new(seed), Vec::new()));
        let mut program = Shared(Arc::new(Anything { seed, run }));
        let recording = record("anything", &mut program).unwrap();
        let recorded = Recorded::new(&recording).unwrap();
        gets += u64::from(recorded.needs_spares());
        for policy in ["spare", "half+spare", "sampling:2+forward+spare+residual:3"] {
            for machine in [
                Machine::wool(2),
                Machine::wool(9),
                Machine::shared_memory(3),
            ] {
                let outcome = simulate(&recorded, &machine, policy.parse().unwrap(), seed);
                assert_eq!(outcome.work, recorded.work(), "{seed} {policy}");
                assert_eq!(
                    outcome.tasks,
                    recording.tasks() + recording.splits(),
                    "{seed} {policy}"
                );
            }
        }
    }
    assert!(gets > programs / 2, "{gets}");
}

#[test]
#[should_panic(expected = "need the policy spare")]
fn a_program_with_futures_is_refused_without_spare_workers() {
    let recording = record("futures", &mut Futures(0)).unwrap();
    let recorded = Recorded::new(&recording).unwrap();
    simulate(&recorded, &Machine::wool(2), "random".parse().unwrap(), 1);
}

/// A balanced tree of joins whose leaves take the same time.
struct Leaves;

impl Program for Leaves {
    fn run<W: Worker>(&mut self, w: W) {
        leaves(w, 6);
    }
}

fn leaves<W: Worker>(mut w: W, height: u32) {
    match height.checked_sub(1) {
        None => {
            std::hint::black_box((0..1000).sum::<u64>());
        }
        Some(height) => {
            w.join(|w| leaves(w, height), |w| leaves(w, height));
        }
    }
}

#[test]
fn a_cut_off_by_depth_leaves_the_upper_tasks() {
    let recorded = Recorded::new(&record("leaves", &mut Leaves).unwrap()).unwrap();
    for depth in 0..=6 {
        let cut = recorded.with_cut_off(CutOff::Depth(depth));
        assert_eq!(cut.tasks(), (1 << depth) - 1);
        // A strand before, between and after the closures of each join, and those of the leaves.
        let joins = cut.tasks() as usize;
        assert_eq!(cut.strands.len(), 3 * joins + 1, "{depth}");
        let outcome = simulate(&cut, &Machine::wool(3), "random".parse().unwrap(), 1);
        assert_eq!(
            (outcome.work, outcome.tasks),
            (recorded.work(), cut.tasks())
        );
    }
}

#[test]
fn a_cut_off_by_work_leaves_the_depths_whose_tasks_are_long() {
    let mut recorded = Recorded::new(&record("leaves", &mut Leaves).unwrap()).unwrap();
    // Each join has three strands of its own, but the last of one is the first of the next.
    for strand in &mut recorded.strands {
        strand.time = 1_000;
    }
    let all = recorded.strands.len() as u64;
    recorded.work = Time::from_picoseconds(1_000 * all);
    let coarse = Time::ZERO;
    let of_tasks = |least| {
        let cut_off = CutOff::Adaptive { least, coarse };
        recorded.with_cut_off(cut_off).tasks()
    };
    assert_eq!(of_tasks(Time::ZERO), recorded.tasks());
    assert_eq!(of_tasks(recorded.work()), 0);
    assert_eq!(of_tasks(recorded.work().scaled(0.4)), 1);
    assert_eq!(of_tasks(recorded.work().scaled(0.2)), 3);
}

#[test]
fn a_task_is_expected_to_take_the_mean_time_of_its_depth() {
    let recorded = Recorded::new(&record("leaves", &mut Leaves).unwrap()).unwrap();
    let cut = recorded.with_cut_off(CutOff::Adaptive {
        least: Time::ZERO,
        coarse: Time::ZERO,
    });
    let second = |(place, strand): (usize, &Strand)| {
        let first_of_task = cut.strands.get(place + 1);
        (strand.kind == Kind::Second).then(|| first_of_task.unwrap().depth)
    };
    let depths: Vec<_> = cut.strands.iter().enumerate().filter_map(second).collect();
    for depth in 1..=6 {
        let tasks = depths.iter().filter(|&&found| found == depth);
        assert_eq!(tasks.count(), 1 << (depth - 1), "{depth}");
    }
    // Depth 0 is the program, which is no task.
    let means = &cut.profile.as_ref().unwrap().means[1..];
    assert!(
        means.is_sorted_by(|upper, lower| upper > lower),
        "{means:?}"
    );
}

#[test]
fn a_worker_with_long_ready_tasks_does_not_steal_early() {
    let mut recorded = Recorded::new(&record("leaves", &mut Leaves).unwrap()).unwrap();
    for strand in &mut recorded.strands {
        strand.time = 1_000_000;
    }
    recorded.work = Time::from_picoseconds(1_000_000 * recorded.strands.len() as u64);
    let outcome = |coarse, residual: u32, seed| {
        let cut_off = CutOff::Adaptive {
            least: Time::ZERO,
            coarse,
        };
        let policy = format!("residual:{residual}").parse().unwrap();
        simulate(
            &recorded.with_cut_off(cut_off),
            &Machine::wool(3),
            policy,
            seed,
        )
    };
    let enough = recorded.work();
    // If each ready task is too long, a worker steals early only if it has none.
    let short = [0, 1, 2, 3, 4].map(|seed| outcome(Time::ZERO, 2, seed));
    assert_eq!(short, [0, 1, 2, 3, 4].map(|seed| outcome(enough, 1, seed)));
    assert_ne!(short, [0, 1, 2, 3, 4].map(|seed| outcome(enough, 2, seed)));
}

#[test]
fn programs_with_a_cut_off_run_completely_under_every_policy() {
    for (is_nested, policies) in [(true, ["random", "half+residual:2"]), (false, ["spare"; 2])] {
        let recording = record("everything", &mut Everything { is_nested }).unwrap();
        let recorded = Recorded::new(&recording).unwrap();
        for depth in [0, 1, 2, 3, 5, 8, 100] {
            let cut = recorded.with_cut_off(CutOff::Depth(depth));
            for policy in policies {
                for seed in 0..3 {
                    let policy = policy.parse().unwrap();
                    let outcome = simulate(&cut, &Machine::wool(5), policy, seed);
                    assert_eq!(outcome.work, recorded.work(), "{depth} {policy}");
                    assert_eq!(outcome.tasks, cut.tasks(), "{depth} {policy}");
                }
            }
            if depth == 100 {
                assert_eq!(cut.tasks(), recorded.tasks());
            }
        }
    }
}
