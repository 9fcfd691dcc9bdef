//! Verdicts on runs that are limited in a known way.

use purloin_trace::{
    Activity, Baseline, Event, Kind, PoolTrace, ProcessorTime, Trace, Track, Verdict, What,
};

const MS: u64 = 1_000_000;

/// A trace of `workers` workers for 100 ms, each with its events.
fn trace(workers: Vec<Vec<(u64, What)>>) -> Trace {
    let track = |events: Vec<(u64, What)>| Track {
        events: events
            .into_iter()
            .map(|(time, what)| Event { time, what })
            .collect(),
        ..Track::default()
    };
    Trace {
        cores: 2,
        end: 100 * MS,
        pools: vec![PoolTrace {
            id: 1,
            workers: workers.len(),
            end: 100 * MS,
            tracks: workers.into_iter().map(track).collect(),
            ..PoolTrace::default()
        }],
        ..Trace::default()
    }
}

/// A worker that runs the program in these times, and searches otherwise.
fn runs(times: impl IntoIterator<Item = (u64, u64)>) -> Vec<(u64, What)> {
    let mut events = vec![(0, What::Begins(Activity::Searching))];
    for (begin, end) in times {
        events.push((begin, What::Begins(Activity::Application)));
        events.push((end, What::Begins(Activity::Searching)));
    }
    events
}

/// Sets for how long each worker ran on a processor, and waited for one.
fn processor(mut trace: Trace, ran: u64, waited: u64) -> Trace {
    for track in &mut trace.pools[0].tracks {
        track.processor = Some(ProcessorTime { ran, waited });
    }
    trace
}

#[track_caller]
fn check(trace: &Trace, kind: Kind) -> Verdict {
    let verdict = Verdict::of(trace);
    assert_eq!(verdict.kind, kind, "{verdict:?}");
    verdict
}

fn busy() -> Trace {
    trace(vec![runs([(0, 100 * MS)]), runs([(0, 100 * MS)])])
}

#[test]
fn workers_that_run_all_the_time_are_busy() {
    let verdict = check(&busy(), Kind::Busy);
    assert!(verdict.title.contains("compare with one worker"));
    let baseline = Some(Baseline {
        workers: 1,
        duration: 190 * MS,
        busy: 190 * MS,
    });
    let verdict = check(&Trace { baseline, ..busy() }, Kind::Busy);
    assert!(
        verdict.title.contains("1.9 times as fast as 1 worker"),
        "{}",
        verdict.title
    );
}

#[test]
fn tasks_that_take_longer_than_with_one_worker_share_something() {
    let baseline = Some(Baseline {
        workers: 1,
        duration: 20 * MS,
        busy: 20 * MS,
    });
    let verdict = check(&Trace { baseline, ..busy() }, Kind::SlowerTasks);
    assert!(
        verdict.title.contains("10.0 times as long"),
        "{}",
        verdict.title
    );
}

#[test]
fn one_worker_and_a_short_run_say_so() {
    check(&trace(vec![runs([(0, 100 * MS)])]), Kind::OneWorker);
    check(
        &trace(vec![runs([(0, 1000)]), runs([(0, 1000)])]),
        Kind::Short,
    );
    check(&trace(vec![runs([]), runs([])]), Kind::Nothing);
}

#[test]
fn a_long_part_on_one_worker_is_named_by_its_span() {
    let mut first = runs([(0, 100 * MS)]);
    first.insert(2, (30 * MS, What::SpanBegin("merge")));
    first.insert(3, (90 * MS, What::SpanEnd));
    let verdict = check(&trace(vec![first, runs([(0, 30 * MS)])]), Kind::Alone);
    assert!(verdict.title.contains("70 %"), "{}", verdict.title);
    assert!(
        verdict.details[0].contains("in the span \"merge\""),
        "{}",
        verdict.details[0]
    );
}

#[test]
fn time_without_any_worker_is_outside_of_the_pool() {
    let both = [(0, 20 * MS), (80 * MS, 100 * MS)];
    let verdict = check(&trace(vec![runs(both), runs(both)]), Kind::Outside);
    assert!(verdict.title.contains("60 %"), "{}", verdict.title);
    // The time before the first call counts if the trace covers the program.
    let late = [(70 * MS, 100 * MS)];
    let mut late = trace(vec![runs(late), runs(late)]);
    late.pools[0].begin = 69 * MS;
    check(&late, Kind::Busy);
    late.pools[0].whole_program = Some((0, 100 * MS));
    check(&late, Kind::Outside);
}

#[test]
fn a_worker_without_a_processor_waits_for_one_or_for_something_else() {
    let verdict = check(&processor(busy(), 40 * MS, 58 * MS), Kind::Oversubscribed);
    assert!(verdict.title.contains("60 %"), "{}", verdict.title);
    let verdict = check(&processor(busy(), 40 * MS, 2 * MS), Kind::Waits);
    assert!(
        verdict.title.contains("purloin::blocking"),
        "{}",
        verdict.title
    );
    // The clock of the system is coarse.
    check(&processor(busy(), 95 * MS, 0), Kind::Busy);
}

#[test]
fn small_calls_from_outside_are_not_blocked_joins() {
    let times = || (0..1000).map(|n| (n * MS / 10, n * MS / 10 + 20_000));
    let with = |what: What| {
        let mut events = Vec::new();
        for (time, event) in runs(times()) {
            events.push((time, event));
            if event == What::Begins(Activity::Application) {
                events.push((time, what));
            }
        }
        trace(vec![events, runs([])])
    };
    check(&with(What::Call), Kind::Calls);
    check(&with(What::Published), Kind::Outside);
}

#[test]
fn tiny_stolen_tasks_are_a_matter_of_grain() {
    let mut thief = vec![(0, What::Begins(Activity::Searching))];
    for n in 0..1000 {
        let time = n * MS / 10;
        thief.extend([
            (
                time + 60_000,
                What::Stole {
                    since: time + 20_000,
                },
            ),
            (time + 60_001, What::Begins(Activity::Application)),
            (
                time + 60_001,
                What::Steal {
                    victim: 0,
                    depth: 3,
                },
            ),
            (time + 62_000, What::TaskEnd),
            (time + 62_000, What::Begins(Activity::Searching)),
        ]);
    }
    let verdict = check(&trace(vec![runs([(0, 100 * MS)]), thief]), Kind::Grain);
    assert!(
        verdict.details[0].contains("1000 of 1000 steals"),
        "{verdict:?}"
    );
}

#[test]
fn three_of_four_busy_workers_have_too_few_tasks() {
    let all = || runs([(0, 100 * MS)]);
    let some = || runs([(0, 30 * MS)]);
    check(&trace(vec![all(), all(), some(), some()]), Kind::FewTasks);
}

#[test]
fn a_track_without_its_oldest_events_does_not_count_as_idle() {
    let mut cut = busy();
    let track = &mut cut.pools[0].tracks[1];
    track.events = vec![Event {
        time: 80 * MS,
        what: What::Begins(Activity::Application),
    }];
    track.lost = 1000;
    let verdict = check(&cut, Kind::Busy);
    assert!(
        verdict.details.last().unwrap().contains("20.00 ms"),
        "{verdict:?}"
    );
    assert_eq!(Baseline::of(&cut), None);
}

#[test]
fn of_two_reasons_the_one_that_costs_more_comes_first() {
    // Worker 1 runs for 40 of 100 ms, and no worker for 45.
    let both = trace(vec![
        runs([(0, 50 * MS), (95 * MS, 100 * MS)]),
        runs([(0, 40 * MS)]),
    ]);
    let verdict = check(&both, Kind::Outside);
    assert!(verdict.title.contains("45 %"), "{}", verdict.title);
    // In the time awake, much is stalled. That time is short, so it costs less than the time outside.
    let mut stalled = trace(vec![
        runs([(0, 50 * MS), (95 * MS, 100 * MS)]),
        runs([(0, 45 * MS)]),
    ]);
    for track in &mut stalled.pools[0].tracks {
        track.events.insert(
            3,
            Event {
                time: 50 * MS + 1,
                what: What::Asleep,
            },
        );
    }
    check(&processor(stalled, 30 * MS, 30 * MS), Kind::Outside);
}

#[test]
fn a_run_that_has_lost_events_is_not_compared() {
    let baseline = Some(Baseline {
        workers: 1,
        duration: 20 * MS,
        busy: 20 * MS,
    });
    let mut cut = Trace { baseline, ..busy() };
    cut.pools[0].tracks[0].lost = 1;
    check(&cut, Kind::Busy);
}

#[test]
fn a_part_of_a_trace_keeps_what_each_worker_does_at_its_begin() {
    let whole = trace(vec![runs([(0, 60 * MS)]), runs([(20 * MS, 100 * MS)])]);
    let part = whole.after(50 * MS);
    let busy: Vec<_> = part.pools[0]
        .tracks
        .iter()
        .map(|track| track.events[0])
        .collect();
    let expected = Event {
        time: 0,
        what: What::Begins(Activity::Application),
    };
    assert_eq!(busy, [expected; 2]);
    assert_eq!((part.pools[0].begin, part.end), (0, 50 * MS));
    assert_eq!(Baseline::of(&part).unwrap().busy, 60 * MS);
}
