//! Profiles of programs whose work and span are known.

#[path = "../../purloin/tests/common/mod.rs"]
mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use common::{busy, fib};
use purloin::{Pool, Worker};
use purloin_analysis::{Counted, Profile, Profiler, Program};

/// Each test holds this lock while it measures, because other tests would disturb it.
static ALONE: Mutex<()> = Mutex::new(());

fn profile(workers: usize, program: &mut impl Program) -> Profile {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let pool = Pool::builder().workers(workers);
    Profiler::new(pool).profile(program).unwrap()
}

struct Fib(u32);

impl Program for Fib {
    fn run<W: Worker>(&mut self, w: W) {
        assert!(fib(w, std::hint::black_box(self.0)) > 0);
    }
}

/// A balanced tree of the given height.
struct Tree(u32);

/// Duration of a leaf of a [`Tree`].
const LEAF: Duration = Duration::from_micros(20);

fn tree<W: Worker>(mut w: W, height: u32) {
    match height {
        0 => busy(LEAF),
        _ => {
            w.join(|w| tree(w, height - 1), |w| tree(w, height - 1));
        }
    }
}

impl Program for Tree {
    fn run<W: Worker>(&mut self, w: W) {
        tree(w, self.0);
    }
}

fn assert_near(measured: f64, expected: f64, tolerance: f64) {
    assert!(
        (measured / expected - 1.0).abs() < tolerance,
        "{measured} is not near {expected}"
    );
}

#[test]
fn work_and_span_of_a_balanced_tree_have_closed_forms() {
    let profile = profile(2, &mut Tree(8));
    assert_eq!(profile.tasks, 255);
    assert!(profile.is_filtered);
    let leaf = LEAF.as_secs_f64();
    assert_near(profile.work, 256.0 * leaf, 0.1);
    assert_near(profile.ideal.span, leaf, 0.1);
    assert_near(profile.burdened.span, leaf + 8.0 * 1e-6, 0.1);
    assert_near(profile.ideal.parallelism, 256.0, 0.1);
}

#[test]
fn the_breakdown_sums_to_the_wall_time() {
    for workers in [1, 2, 4] {
        let profile = profile(workers, &mut Tree(9));
        // The times of spare workers come last.
        assert!((workers..=2 * workers).contains(&profile.times.len()));
        for times in &profile.times[..workers] {
            assert_near(
                times.total().as_secs_f64(),
                profile.wall.as_secs_f64(),
                0.03,
            );
        }
        let application: Duration = profile
            .times
            .iter()
            .map(|times| times.application + times.application_in_join)
            .sum();
        let per_run = application.as_secs_f64() / profile.runs as f64;
        // With fewer cores than workers, a preempted worker still counts as running.
        assert!(
            per_run > 0.9 * profile.work,
            "{per_run} of {}, {workers} workers",
            profile.work
        );
    }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "it takes long without optimisation")]
fn the_parallelism_of_tiny_tasks_is_visible_despite_noise() {
    let parallelism = || profile(1, &mut Fib(25)).ideal.parallelism;
    let seen = [parallelism(), parallelism(), parallelism()];
    // All strands take about the same time, and the span has about two strands for each level. A
    // disturbance makes the span longer, never shorter.
    let ideal = 3.0 * 242_785.0 / (2.0 * 25.0);
    let most = seen.into_iter().fold(0.0, f64::max);
    assert!((ideal / 10.0..ideal).contains(&most), "{seen:?}, {ideal}");
}

#[test]
fn the_expected_speed_up_lies_between_its_bounds() {
    let profile = profile(2, &mut Tree(6));
    let (low, high) = profile.expected_speed_up(2);
    assert!((1.8..=2.0).contains(&low) && high == 2.0, "{low} {high}");
    let (low, high) = profile.expected_speed_up(1_000_000);
    assert!(low < high && high == profile.ideal.parallelism);
}

/// A program that is too short for any clock.
struct Nothing;

impl Program for Nothing {
    fn run<W: Worker>(&mut self, _: W) {}
}

#[test]
fn a_program_without_tasks_has_no_parallelism() {
    let profile = profile(2, &mut Nothing);
    assert_eq!(profile.tasks, 0);
    assert!(profile.warning().unwrap().contains("w.join"));
    assert_eq!(profile.ideal.parallelism, 1.0);
    assert_eq!(profile.burdened.parallelism, 1.0);
    let (low, high) = profile.expected_speed_up(2);
    assert!(0.6 < low && high == 1.0, "from {low} to {high}");
    assert!(profile.speed_up().is_finite());
    assert_eq!(profile.steals(), 0.0);
    assert_eq!(profile.steal_interval(), None);
}

/// The unit of work of a graph. The tests allow 10 %: 50 µs for a span of one unit, which is the longest of 16 tasks.
const UNIT: Duration = Duration::from_micros(500);

/// Works for this many units.
fn units(n: u32) {
    busy(n * UNIT);
}

/// Makes a program of the body of a finish, and checks its work and its span, in units.
///
/// A disturbance makes times longer, never shorter. On a busy machine several profiles may be disturbed.
macro_rules! assert_graph {
    (work $work:literal, span $span:literal, $tasks:literal tasks, |$scope:ident| $body:block) => {{
        struct Graph;
        impl Program for Graph {
            fn run<W: Worker>(&mut self, mut w: W) {
                w.finish(|$scope| $body);
            }
        }
        let measure = || {
            let profile = profile(1, &mut Graph);
            assert_eq!(profile.tasks, $tasks);
            [profile.work, profile.ideal.span].map(|time| time / UNIT.as_secs_f64())
        };
        let profiles = (0..10).map(|_| measure());
        let is_near = |measured: &[f64; 2]| {
            let expected = [$work as f64, $span as f64];
            let errors = measured
                .iter()
                .zip(expected)
                .map(|(a, b)| (a / b - 1.0).abs());
            errors.fold(0.0, f64::max) < 0.1
        };
        let mut seen = Vec::new();
        assert!(
            profiles
                .inspect(|&measured| seen.push(measured))
                .any(|measured| is_near(&measured)),
            "{seen:?} instead of work {} and span {}",
            $work,
            $span
        );
    }};
}

#[test]
fn spawned_tasks_run_beside_the_body() {
    assert_graph!(work 6, span 3, 2 tasks, |scope| {
        scope.spawn(|_| units(1));
        scope.spawn(|_| units(2));
        units(3);
    });
}

#[test]
fn independent_shared_futures_run_beside_each_other() {
    assert_graph!(work 16, span 1, 16 tasks, |scope| {
        let tasks: Vec<_> = (0..16).map(|_| scope.shared_future(|_| units(1))).collect();
        tasks.iter().for_each(|task| *task.get());
    });
    assert_graph!(work 16, span 1, 16 tasks, |scope| {
        (0..16).for_each(|_| drop(scope.shared_future(|_| units(1))));
    });
}

#[test]
fn a_task_begins_after_the_longest_of_its_inputs() {
    assert_graph!(work 12, span 6, 5 tasks, |scope| {
        let inputs = [1, 2, 3, 4].map(|n| scope.shared_future(move |_| units(n)));
        scope.after(&inputs).spawn(|_| units(2));
    });
    assert_graph!(work 4, span 4, 4 tasks, |scope| {
        let mut last = scope.shared_future(|_| units(1));
        for _ in 0..3 {
            last = scope.after([&last]).shared_future(|_| units(1));
        }
    });
    // A diamond, beside a body of two units.
    assert_graph!(work 9, span 5, 4 tasks, |scope| {
        let top = scope.shared_future(|_| units(1));
        let left = scope.after([&top]).shared_future(|_| units(2));
        let right = scope.after([&top]).shared_future(|_| units(3));
        scope.after([&left]).and([&right]).spawn(|_| units(1));
        units(2);
    });
}

#[test]
fn tasks_that_get_one_result_wait_for_it_side_by_side() {
    assert_graph!(work 6, span 3, 4 tasks, |scope| {
        let shared = scope.future(|_| units(2)).share();
        for n in [1, 1, 1] {
            let shared = shared.clone();
            scope.spawn(move |_| {
                shared.get();
                units(n);
            });
        }
        // The body gets the result, too, and then takes one unit.
        shared.get();
        units(1);
    });
}

#[test]
fn a_task_of_a_scope_further_out_delays_only_that_scope() {
    assert_graph!(work 4, span 2, 2 tasks, |scope| {
        scope.join(|_| scope.spawn(|_| units(2)), |_| ());
        units(2);
    });
    assert_graph!(work 4, span 2, 2 tasks, |scope| {
        let (shared, ()) = scope.join(|_| scope.shared_future(|_| units(2)), |_| ());
        units(2);
        shared.get();
    });
    assert_graph!(work 4, span 2, 2 tasks, |scope| {
        scope.spawn(|mut w| {
            w.finish(|_| scope.spawn(|_| units(2)));
            units(2);
        });
    });
    // The task after another one does not wait for what that one has spawned.
    assert_graph!(work 5, span 3, 3 tasks, |scope| {
        let first = scope.shared_future(|_| {
            scope.spawn(|_| units(3));
        });
        scope.after([&first]).spawn(|_| units(2));
    });
}

/// Work in a loop, in a sort, and in one join of the loop's body.
struct Loops;

impl Program for Loops {
    fn run<W: Worker>(&mut self, mut w: W) {
        let in_body = |mut w: W::Token<'_>, n: u32| match n {
            7 => w.join(|_| n, |_| n).0,
            n => std::hint::black_box(n),
        };
        let sum: u32 = w.par(0..5000_u32).map_with_token(in_body).sum();
        let mut numbers: Vec<u32> = (0..50_000_u32)
            .map(|n| n.wrapping_mul(sum) % 65_537)
            .collect();
        w.sort_unstable(&mut numbers);
        w.sort_by_key(&mut numbers, |n| !n);
        assert!(numbers.is_sorted_by(|a, b| a >= b));
    }
}

#[test]
fn loops_and_sorts_count_as_no_tasks() {
    let profile = profile(1, &mut Loops);
    assert_eq!(profile.tasks, 1);
    assert_eq!(profile.warning(), None);
    assert!(profile.splits > 1023, "{}", profile.splits);
    assert!(profile.ideal.parallelism > 4.0, "{:?}", profile.ideal);
    for workers in [1, 2] {
        let tasks = AtomicU64::new(0);
        let pool = Pool::builder().workers(workers).build().unwrap();
        pool.run(|w| Loops.run(Counted::new(w, &tasks)));
        assert_eq!(tasks.into_inner(), 1);
    }
}

/// A program that ignores its token.
struct TokenFree(fn());

impl Program for TokenFree {
    fn run<W: Worker>(&mut self, _: W) {
        (self.0)();
    }
}

#[test]
fn a_program_without_tokens_is_refused() {
    let programs: [fn(); 5] = [
        || _ = purloin::join(|| 1, || 2),
        || purloin::finish(|scope| scope.spawn(|_| ())),
        || purloin::for_each(0..10, |_| ()),
        || _ = purloin::future(|| 1),
        || purloin::global().unwrap().run(|_| ()),
    ];
    for program in programs {
        let measure = || profile(1, &mut TokenFree(program));
        let panic = catch_unwind(AssertUnwindSafe(measure)).unwrap_err();
        let message = common::message(panic);
        assert!(message.contains("w.join"), "{message}");
    }
    // Afterwards the thread may use its pool again.
    assert_eq!(purloin::join(|| 1, || 2), (1, 2));
}

/// Reads serially, and parses with four tasks, of which one takes half of the time.
struct Phases;

impl Program for Phases {
    fn run<W: Worker>(&mut self, mut w: W) {
        purloin::span("read", || busy(6 * LEAF));
        purloin::span("parse", || {
            w.finish(|scope| {
                for size in [1, 2, 8, 5] {
                    scope.spawn(move |_| purloin::span("tokens", || busy(size * LEAF)));
                }
            });
        });
        w.join(|w| tree(w, 3), |_| busy(LEAF));
    }
}

#[test]
fn the_critical_path_names_spans_and_lines() {
    let profile = profile(2, &mut Phases);
    let path = &profile.critical_path;
    let rows = path.rows();
    let row = |name: &str| rows.iter().find(|row| row.name.contains(name)).unwrap();
    assert_eq!(rows[0].name, "the program");
    assert_near(rows[0].time, profile.burdened.span, 0.001);
    assert_near(rows[0].work, profile.work, 0.001);
    let (read, parse, tokens) = (row("\"read\""), row("\"parse\""), row("\"tokens\""));
    let leaf = LEAF.as_secs_f64();
    assert_near(read.time, 6.0 * leaf, 0.1);
    assert_near(tokens.time, 8.0 * leaf, 0.1);
    assert_near(tokens.parallelism(), 2.0, 0.1);
    assert_eq!((read.depth, parse.depth, tokens.depth), (1, 1, 2));
    assert_near(read.parallelism(), 1.0, 0.01);
    let forked: Vec<_> = rows
        .iter()
        .filter(|row| row.name.contains("forked"))
        .collect();
    assert!(
        forked.iter().all(|row| row.name.contains("profile.rs:")),
        "{path}"
    );
    assert_near(forked.iter().map(|row| row.time).sum(), leaf, 0.2);
    assert!(profile.to_string().contains("span \"read\""), "{profile}");
    let data = serde_json::to_value(&profile).unwrap();
    assert_eq!(data["critical_path"][0]["name"], "the program");
    assert_eq!(data["workers"], 2);
}
