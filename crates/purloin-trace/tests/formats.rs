//! Reads the two formats of a trace back.

use std::collections::BTreeMap;

use purloin_trace::{Activity, Baseline, Event, Kind, PoolTrace, Trace, Track, Verdict, What};
use serde_json::Value;

/// A run of two workers: worker 1 is woken, steals a task and runs a span in it; worker 0 waits for it.
fn trace() -> Trace {
    let first = [
        (0, What::Begins(Activity::Searching)),
        (100, What::Begins(Activity::Application)),
        (200, What::SpanBegin("</script> \"all\"")),
        (300, What::Wake { pool: 1, worker: 1 }),
        (900_000, What::Begins(Activity::SearchingInJoin)),
        (1_000_000, What::Begins(Activity::Application)),
        (1_100_000, What::SpanEnd),
        (1_200_000, What::Begins(Activity::Searching)),
    ];
    let steal = What::Steal {
        victim: 0,
        depth: 1,
    };
    let second = [
        (50, What::Begins(Activity::Searching)),
        (60, What::Asleep),
        (3_000, What::Awake),
        (4_900, What::Stole { since: 3_900 }),
        (4_950, What::Begins(Activity::Application)),
        (5_000, steal),
        (6_000, What::SpanBegin("part")),
        (800_000, What::SpanEnd),
        (990_000, What::TaskEnd),
        (990_001, What::Begins(Activity::Searching)),
    ];
    let track = |name: &str, events: &[(u64, What)]| Track {
        name: name.into(),
        events: events
            .iter()
            .map(|&(time, what)| Event { time, what })
            .collect(),
        ..Track::default()
    };
    Trace {
        program: "test".into(),
        cores: 2,
        end: 2_000_000,
        pools: vec![PoolTrace {
            id: 1,
            workers: 2,
            begin: 0,
            end: 2_000_000,
            tracks: vec![track("worker 0", &first), track("worker 1", &second)],
            whole_program: None,
        }],
        threads: vec![track(
            "thread main",
            &[(10, What::SpanBegin("run")), (20, What::SpanEnd)],
        )],
        ..Trace::default()
    }
}

fn events(trace: &Trace) -> Vec<Value> {
    let mut text = Vec::new();
    trace.write_events(&mut text).unwrap();
    let all: Value = serde_json::from_slice(&text).unwrap();
    all["traceEvents"].as_array().unwrap().clone()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// Returns the begin and the end of an event, in nanoseconds. An event without a length ends where it begins.
fn times(event: &Value) -> (u64, u64) {
    let nanoseconds = |value: &Value| (value.as_f64().unwrap_or(0.0) * 1000.0).round() as u64;
    let begin = nanoseconds(&event["ts"]);
    (begin, begin + nanoseconds(&event["dur"]))
}

#[test]
fn slices_on_one_thread_nest() {
    let mut threads = BTreeMap::<(u64, u64), Vec<(u64, u64)>>::new();
    let events = events(&trace());
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let thread = (
            event["pid"].as_u64().unwrap(),
            event["tid"].as_u64().unwrap(),
        );
        threads.entry(thread).or_default().push(times(event));
    }
    assert_eq!(
        threads.len(),
        5,
        "two threads for each worker, and one outside"
    );
    for mut slices in threads.into_values() {
        slices.sort_by_key(|&(begin, end)| (begin, u64::MAX - end));
        let mut open: Vec<u64> = Vec::new();
        for (begin, end) in slices {
            while open.last().is_some_and(|&last| last <= begin) {
                open.pop();
            }
            assert!(open.last().is_none_or(|&last| end <= last));
            open.push(end);
        }
    }
}

#[test]
fn each_arrow_leads_from_the_victim_or_the_waker_to_the_thief_or_the_woken_worker() {
    let events = events(&trace());
    let ends = |phase: &str, name: &str| {
        let is_one = |event: &&Value| event["ph"] == phase && event["name"] == name;
        let found: Vec<_> = events.iter().filter(is_one).collect();
        assert_eq!(found.len(), 1);
        (
            found[0]["id"].clone(),
            found[0]["tid"].as_u64().unwrap(),
            times(found[0]).0,
        )
    };
    // Worker 0 has the threads 0 and 1, and worker 1 the threads 2 and 3.
    let (steal, stolen) = (ends("s", "steal"), ends("f", "steal"));
    assert_eq!((steal.0 == stolen.0, steal.1, stolen.1), (true, 0, 3));
    assert_eq!((steal.2, stolen.2), (4_000, 5_000)); // from the begin of the task, less what the steal took
    let (wake, woken) = (ends("s", "wake-up"), ends("f", "wake-up"));
    assert_eq!((wake.0 == woken.0, wake.1, woken.1), (true, 0, 2));
    assert_eq!((wake.2, woken.2), (300, 3_000));
}

#[test]
fn names_and_states_are_those_of_the_run() {
    let events = events(&trace());
    let has = |name: &str| {
        events
            .iter()
            .any(|event| event["ph"] == "X" && text(&event["name"]) == name)
    };
    for name in [
        "running",
        "searching",
        "blocked",
        "asleep",
        "stealing",
        "stolen task",
        "part",
        "run",
    ] {
        assert!(has(name), "{name} is missing");
    }
    assert!(has("</script> \"all\""));
}

/// Returns the data of the report.
fn data(trace: &Trace) -> Value {
    let mut page = Vec::new();
    trace.write_report(&mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    let (_, data) = page.split_once("id=\"data\">").unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    serde_json::from_str(data).unwrap()
}

#[test]
fn the_report_has_the_same_times_as_the_trace() {
    let data = data(&trace());
    let pool = &data["pools"][0];
    let tracks = pool["tracks"].as_array().unwrap();
    for track in tracks {
        let numbers = |name: &str| -> Vec<f64> {
            let numbers = track[name].as_array().unwrap().iter();
            numbers.map(|number| number.as_f64().unwrap()).collect()
        };
        let lengths: f64 = numbers("intervals")
            .chunks(3)
            .map(|interval| interval[1])
            .sum();
        let totals: f64 = numbers("totals").iter().sum();
        assert!((lengths - totals).abs() < 0.01, "{lengths} {totals}");
    }
    let running: f64 = [0, 1]
        .iter()
        .map(|&at: &usize| tracks[at]["totals"][0].as_f64().unwrap())
        .sum();
    assert!(
        (running - (899.9 + 200.0 + 985.051)).abs() < 0.01,
        "{running}"
    );
    let expected = serde_json::json!([5, 1, 0, 1, 985, 1, 0]);
    assert_eq!(pool["steals"], expected);
    assert_eq!(pool["matrix"], serde_json::json!([[0, 0], [1, 0]]));
    let delays = serde_json::json!({ "median": 2.7, "slowest": 2.7 });
    assert_eq!(pool["delays"], delays);
    let parallelism: f64 = pool["parallelism"]["running"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| n.as_f64().unwrap())
        .sum();
    let step = pool["parallelism"]["step"].as_f64().unwrap();
    assert!(
        (parallelism * step - running).abs() < 2.0,
        "{parallelism} * {step}"
    );
}

#[test]
fn a_trace_without_pools_is_a_page_too() {
    let data = data(&Trace::default());
    assert_eq!(data["verdict"]["kind"], "nothing");
    assert_eq!(events(&Trace::default()), [] as [Value; 0]);
    assert!(
        Trace::default()
            .to_string()
            .starts_with(&Verdict::of(&Trace::default()).title)
    );
}

#[test]
fn another_run_reads_the_first_line_and_compares() {
    let mut text = Vec::new();
    trace().write_events(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let line = text.lines().next().unwrap();
    let written = Baseline::of(&trace()).unwrap();
    assert_eq!(Baseline::read(line), Some(written));
    assert_eq!(Baseline::read("{\"traceEvents\":[]}"), None);

    let with = |busy| {
        let baseline = Some(Baseline {
            workers: 1,
            busy,
            duration: busy,
        });
        Verdict::of(&Trace {
            baseline,
            ..trace()
        })
    };
    let slower = with(written.busy / 3);
    assert_eq!(slower.kind, Kind::SlowerTasks);
    assert!(
        slower
            .title
            .contains("ran 3.0 times as long as with 1 worker"),
        "{}",
        slower.title
    );
    assert_ne!(with(written.busy).kind, Kind::SlowerTasks);
}
