//! `purloin profile`, as users and scripts rely on it.
#![allow(missing_docs)]

mod common;

use common::{json, purloin, refusal, temporary};
use serde_json::Value;

#[test]
fn profile_reports_work_span_and_where_the_time_goes() {
    let report = json(&purloin(&[
        "profile",
        "fib=24",
        "--workers",
        "2",
        "--json",
        "-",
    ]));
    assert_eq!(report["kernel"], "fib");
    assert_eq!(report["verified"], true);
    assert_eq!(report["tasks"], 75_024);
    assert_eq!(report["spans"][1]["stealing_cost_ns"], 1000);
    let number = |value: &Value| value.as_f64().unwrap();
    assert!(
        number(&report["spans"][0]["parallelism"]) > number(&report["spans"][1]["parallelism"])
    );
    let wall = number(&report["wall_seconds"]);
    // One entry for each regular worker; spare workers are in spare_breakdown.
    let breakdown = report["breakdown"].as_array().unwrap();
    assert_eq!(breakdown.len(), 2);
    for worker in breakdown {
        let sum: f64 = worker.as_object().unwrap().values().map(number).sum();
        // A thread may lose its processor between the readings of the clocks.
        let time_slices = 0.012;
        assert!(
            (sum - wall).abs() < 0.03 * wall + time_slices,
            "{sum} of {wall}"
        );
    }
}

#[test]
fn profile_writes_a_report_and_events_of_one_run() {
    let directory = temporary("profiles");
    let file = |name: &str| directory.join(name).to_str().unwrap().to_string();
    let (html, events) = (file("report.html"), file("events.json"));
    assert!(
        purloin(&["profile", "fib=24", "--html", &html, "--trace", &events])
            .status
            .success()
    );
    for (file, part) in [
        (html, "\"speedup\":{\"work\":"),
        (events, "\"name\":\"running\""),
    ] {
        assert!(std::fs::read_to_string(&file).unwrap().contains(part));
    }
    let text = refusal(&["profile", "fib=9", "--html", "-"]);
    assert!(text.contains("need the name of a file"), "{text}");
    let text = refusal(&["profile", "fib=9", "--html", "/nonexistent/report.html"]);
    assert!(
        text.contains("cannot write /nonexistent/report.html"),
        "{text}"
    );
}

#[test]
fn a_short_run_is_repeated_and_the_profile_says_so() {
    let output = purloin(&["profile", "fib=5", "--scheduler", "direct-stack"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("too short to be timed alone"), "{text}");
}

#[test]
fn profile_names_each_mistake() {
    let refusal = |args: &[&str], culprit: &str| {
        let text = refusal(args);
        assert!(text.contains(culprit), "{text}");
    };
    refusal(&["profile"], "KERNEL");
    refusal(&["profile", "fib=99"], "from 0 to 60");
    refusal(&["profile", "fib=9", "--cost", "5"], "1000ns");
    refusal(&["profile", "fib=9", "--scheduler", "chili"], "chili");
    refusal(
        &["profile", "fib=9", "--scheduler", "return-barrier:api=free"],
        "api=free cannot be profiled; use one of return-barrier, direct-stack",
    );
}
