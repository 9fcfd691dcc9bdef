//! Tests of traces: what they hold, and that it agrees with the pool's other figures.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::common::{self, busy, fib};
use purloin::trace::{Kind, State, StealKind, Timeline, Trace, Verdict};
use purloin::{Pool, Scheduler, Worker};
use purloin_schedulers::Channel;

const EVENTS: usize = 1 << 14;

fn traced(workers: usize) -> Pool {
    Pool::builder()
        .workers(workers)
        .traced(EVENTS)
        .build()
        .unwrap()
}

/// A tree with 2^`depth` leaves that take `leaf` each.
fn tree<W: Worker>(mut w: W, depth: u32, leaf: Duration) {
    match depth {
        0 => busy(leaf),
        _ => _ = w.join(|w| tree(w, depth - 1, leaf), |w| tree(w, depth - 1, leaf)),
    }
}

fn timelines(trace: &Trace) -> Vec<Timeline> {
    let pool = &trace.pools[0];
    pool.tracks
        .iter()
        .map(|track| Timeline::of(pool, track))
        .collect()
}

fn check_steals_and_times<S: Scheduler>(pool: &Pool<S>) {
    pool.run(|mut w| {
        w.lend(|w| tree(w, 8, Duration::from_micros(200)));
        w.finish(|scope| {
            for _ in 0..20 {
                scope.spawn(|_| busy(Duration::from_micros(100)));
            }
        });
    });
    let (stats, times) = (pool.stats(), pool.times());
    let trace = pool.trace().expect("the pool is traced");
    let timelines = timelines(&trace);
    assert_eq!(trace.lost(), 0);
    // The workers are idle, so they count no more steals.
    let steals = timelines.iter().map(|timeline| timeline.steals.len());
    assert_eq!(steals.sum::<usize>() as u64, stats.steals);
    let is_forced = |kind| kind == StealKind::Forced;
    let forced = timelines.iter().flat_map(|timeline| &timeline.steals);
    let forced = forced.filter(|steal| is_forced(steal.kind)).count() as u64;
    assert_eq!(forced, stats.forced_steals);
    for (timeline, times) in timelines.iter().zip(times) {
        let totals = timeline.totals();
        let states = [
            (State::Running, times.application),
            (State::RunningWhileBlocked, times.application_in_join),
            (State::Stealing, times.stealing + times.stealing_in_join),
        ];
        // Nothing runs between the two readings. The scale of the clock is measured anew for the trace.
        for (state, time) in states {
            let (traced, counted) = (totals[state as usize], time.as_nanos() as u64);
            assert!(
                traced.abs_diff(counted) <= counted / 100 + 10_000,
                "{state:?} {traced} {counted}"
            );
        }
    }
}

#[test]
fn the_steals_and_the_times_of_a_trace_are_those_of_the_pool() {
    check_steals_and_times(&traced(3));
    let channel = Pool::builder()
        .workers(3)
        .traced(EVENTS)
        .scheduler(Channel::default());
    check_steals_and_times(&channel.build().unwrap());
}

#[test]
fn the_states_of_a_worker_fill_the_life_of_its_thread() {
    let pool = traced(2);
    pool.run(|w| tree(w, 6, Duration::from_micros(100)));
    let trace = pool.trace().unwrap();
    for (track, timeline) in trace.pools[0].tracks.iter().zip(timelines(&trace)) {
        let life = trace.pools[0].end - track.events[0].time;
        assert_eq!(timeline.totals().iter().sum::<u64>(), life);
        let pairs = timeline.intervals.windows(2);
        assert!(pairs.into_iter().all(|pair| pair[0].end == pair[1].begin));
    }
}

#[test]
fn spans_are_in_the_trace_of_their_worker_also_after_a_panic() {
    let pool = traced(1);
    pool.run(|_| {
        purloin::span("outer", || {
            let panic =
                std::panic::catch_unwind(|| purloin::span("fails", || panic!("on purpose")));
            assert!(panic.is_err());
            purloin::span("inner", || busy(Duration::from_micros(50)));
        });
    });
    let spans = &timelines(&pool.trace().unwrap())[0].spans;
    let names: Vec<_> = spans.iter().map(|span| (span.name, span.depth)).collect();
    assert_eq!(names, [("fails", 1), ("inner", 1), ("outer", 0)]);
    assert!(spans[1].end - spans[1].begin >= 49_000);
    assert!(spans[2].begin <= spans[1].begin && spans[1].end <= spans[2].end);
}

#[test]
fn a_full_buffer_keeps_the_newest_events_and_says_how_many_are_lost() {
    let pool = Pool::builder().workers(1).traced(16).build().unwrap();
    pool.run(|_| (0..100).for_each(|_| purloin::span("short", || ())));
    let trace = pool.trace().unwrap();
    assert!(trace.lost() >= 184 && trace.share_held() < 1.0);
    let text = trace.to_string();
    assert!(text.contains("older events had no room"), "{text}");
}

#[test]
fn a_worker_whose_events_are_all_spans_still_runs_the_program() {
    let pool = Pool::builder().workers(1).traced(64).build().unwrap();
    let trace = pool.run(|w| {
        (0..1000).for_each(|_| purloin::span("short", || ()));
        w.pool().trace().unwrap()
    });
    let timeline = &timelines(&trace)[0];
    assert!(timeline.totals()[State::Running as usize] > 0);
    let states: Vec<_> = timeline
        .intervals
        .iter()
        .map(|interval| interval.state)
        .collect();
    assert_eq!(states, [State::Running]);
}

#[test]
fn a_trace_may_be_taken_while_the_workers_write_it() {
    let pool = traced(3);
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            for _ in 0..common::rounds(200) {
                pool.run(|w| fib(w, 12));
                purloin::span("call", || pool.run(|w| tree(w, 4, Duration::ZERO)));
            }
        });
        while !worker.is_finished() {
            let trace = pool.trace().unwrap();
            assert!(timelines(&trace).len() >= 3);
        }
    });
}

#[test]
fn a_pool_without_the_option_has_no_trace() {
    assert!(common::pool(1).trace().is_none());
}

#[test]
fn too_few_events_are_an_error() {
    let error = Pool::builder().traced(3).build().unwrap_err().to_string();
    assert_eq!(
        error,
        "traced must be 0, or from 16 to 1073741824 events for each worker, not 3"
    );
}

#[test]
fn the_verdict_names_the_part_in_which_one_worker_ran_alone() {
    let pool = traced(2);
    pool.run(|mut w| {
        w.lend(|w| tree(w, 6, Duration::from_micros(200)));
        purloin::span("merge", || busy(Duration::from_millis(40)));
    });
    let verdict = Verdict::of(&pool.trace().unwrap());
    // On a busy machine, another program may have the processors for most of the time.
    if verdict.kind != Kind::Oversubscribed {
        assert_eq!(verdict.kind, Kind::Alone, "{verdict:?}");
        assert!(
            verdict.details[0].contains("in the span \"merge\""),
            "{verdict:?}"
        );
    }
}

/// Returns the name of a file for a child process.
fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("purloin-{name}-{}", std::process::id()))
}

/// Runs the test `name` in a child process with a trace. Returns what it wrote to the file and to standard error.
fn child(name: &str, variable: &str, file: &PathBuf) -> (String, String) {
    let path = file
        .to_str()
        .expect("the temporary folder has a plain name");
    let variables = [(variable, path), ("PURLOIN_TRACE_EVENTS", "1024")];
    let output = common::run_in_child(name, &variables);
    let written = fs::read_to_string(file).unwrap_or_default();
    let _ = fs::remove_file(file);
    (
        written,
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

#[test]
fn the_environment_traces_token_free_calls_until_the_process_exits() {
    if common::is_child() {
        let join = || {
            purloin::join(
                || busy(Duration::from_millis(1)),
                || busy(Duration::from_millis(1)),
            )
        };
        purloin::span("read", join);
        std::process::exit(0);
    }
    let name = "traces::the_environment_traces_token_free_calls_until_the_process_exits";
    let (events, _) = child(name, "PURLOIN_TRACE", &file("events"));
    for part in [
        "\"name\":\"read\"",
        "\"name\":\"running\"",
        "\"name\":\"worker 0\"",
    ] {
        assert!(events.contains(part), "{part} is missing");
    }
    assert!(events.trim_end().ends_with("]}"));
    let (report, _) = child(name, "PURLOIN_REPORT", &file("report"));
    assert!(report.starts_with("<!doctype html>") && report.contains("\"names\":[\"read\"]"));
}

#[test]
fn a_file_that_cannot_be_written_costs_a_line_and_not_the_run() {
    let name = "traces::a_file_that_cannot_be_written_costs_a_line_and_not_the_run";
    if common::is_child() {
        assert_eq!(purloin::join(|| 1, || 2), (1, 2));
        return;
    }
    let missing = PathBuf::from("/nonexistent/folder/trace.json");
    let (_, errors) = child(name, "PURLOIN_TRACE", &missing);
    let line = "purloin: PURLOIN_TRACE: cannot write /nonexistent/folder/trace.json:";
    assert!(errors.contains(line), "{errors}");
}
