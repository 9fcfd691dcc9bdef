//! What a worker did, from its events.

use purloin_trace::{
    Activity, Event, Interval, PoolTrace, State, StealKind, Timeline, Track, What,
};

fn timeline(events: &[(u64, What)], end: u64) -> Timeline {
    let events = events.iter().map(|&(time, what)| Event { time, what });
    let track = Track {
        events: events.collect(),
        ..Track::default()
    };
    let pool = PoolTrace {
        end,
        ..PoolTrace::default()
    };
    Timeline::of(&pool, &track)
}

#[test]
fn the_states_of_a_worker_follow_each_other_without_gaps() {
    let steal = What::Steal {
        victim: 1,
        depth: 3,
    };
    let timeline = timeline(
        &[
            (0, What::Begins(Activity::Searching)),
            (10, What::Asleep),
            (30, What::Awake),
            (45, What::Stole { since: 40 }),
            (46, What::Begins(Activity::Application)),
            (47, steal),
            (50, What::Begins(Activity::SearchingInJoin)),
            (55, What::HandoffBegin),
            (70, What::HandoffEnd),
            (71, What::Begins(Activity::Application)),
            (90, What::TaskEnd),
            (90, What::Begins(Activity::Searching)),
        ],
        100,
    );
    let states: Vec<_> = timeline
        .intervals
        .iter()
        .map(|i| (i.begin, i.state))
        .collect();
    let expected = [
        (0, State::Searching),
        (10, State::Asleep),
        (30, State::Searching),
        (40, State::Stealing),
        (45, State::Searching),
        (46, State::Running),
        (50, State::Blocked),
        (55, State::HandedOff),
        (70, State::Blocked),
        (71, State::Running),
        (90, State::Searching),
    ];
    assert_eq!(states, expected);
    assert_eq!(timeline.totals().iter().sum::<u64>(), 100);
    let steal = timeline.steals[0];
    assert_eq!(
        (steal.cost, steal.run, steal.kind),
        (5, 43, StealKind::Public)
    );
}

#[test]
fn spans_nest_and_an_open_one_ends_with_the_trace() {
    let timeline = timeline(
        &[
            (1, What::SpanBegin("outer")),
            (2, What::SpanBegin("inner")),
            (5, What::SpanEnd),
        ],
        9,
    );
    let spans: Vec<_> = timeline
        .spans
        .iter()
        .map(|s| (s.name, s.begin, s.end, s.depth))
        .collect();
    assert_eq!(spans, [("inner", 2, 5, 1), ("outer", 1, 9, 0)]);
}

#[test]
fn a_track_without_its_oldest_events_begins_with_the_first_known_activity() {
    let events = [
        Event {
            time: 50,
            what: What::TaskEnd,
        },
        Event {
            time: 60,
            what: What::Begins(Activity::Application),
        },
    ];
    let track = Track {
        events: events.to_vec(),
        lost: 7,
        ..Track::default()
    };
    let pool = PoolTrace {
        end: 80,
        ..PoolTrace::default()
    };
    let timeline = Timeline::of(&pool, &track);
    let only = Interval {
        begin: 60,
        end: 80,
        state: State::Running,
    };
    assert_eq!(timeline.intervals, [only]);
    assert!(timeline.steals.is_empty());
}

#[test]
fn a_forced_steal_and_a_leapfrog_say_so() {
    let steal = What::Steal {
        victim: 0,
        depth: 0,
    };
    let timeline = timeline(
        &[
            (4, What::Forced),
            (5, What::Stole { since: 4 }),
            (6, steal),
            (7, What::TaskEnd),
            (8, What::Begins(Activity::SearchingInJoin)),
            (9, steal),
        ],
        10,
    );
    let kinds: Vec<_> = timeline
        .steals
        .iter()
        .map(|steal| (steal.kind, steal.cost))
        .collect();
    assert_eq!(kinds, [(StealKind::Forced, 1), (StealKind::Leapfrog, 0)]);
}

#[test]
fn an_inner_handoff_does_not_end_the_outer_one() {
    let timeline = timeline(
        &[
            (0, What::Begins(Activity::Application)),
            (2, What::HandoffBegin),
            (3, What::HandoffBegin),
            (5, What::HandoffEnd),
            (7, What::HandoffEnd),
            (9, What::ThreadEnd),
        ],
        20,
    );
    let states: Vec<_> = timeline
        .intervals
        .iter()
        .map(|i| (i.begin, i.end, i.state))
        .collect();
    let expected = [
        (0, 2, State::Running),
        (2, 7, State::HandedOff),
        (7, 9, State::Running),
    ];
    assert_eq!(states, expected);
}
