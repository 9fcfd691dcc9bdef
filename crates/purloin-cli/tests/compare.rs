//! `purloin compare`, and the pages of bench, as users and scripts rely on them.
#![allow(missing_docs)]

mod common;

use std::path::Path;

use common::{json, purloin, refusal, temporary};
use serde_json::{Value, json};

/// Returns nine times around `seconds`, within two per cent.
fn runs(seconds: f64) -> Vec<f64> {
    (0..9)
        .map(|run| seconds * (0.98 + 0.005 * f64::from(run)))
        .collect()
}

/// Returns a cell as `purloin bench --json` writes it.
fn cell(scheduler: &str, workers: usize, seconds: &[f64], serial: f64) -> Value {
    let mut sorted = seconds.to_vec();
    sorted.sort_by(f64::total_cmp);
    json!({
        "kernel": "fib", "input": "40", "scheduler": scheduler, "workers": workers, "seconds": seconds,
        "median_seconds": sorted[sorted.len() / 2], "vs_serial": sorted[sorted.len() / 2] / serial,
        "spread": 0.01, "answer": "102334155", "verified": true, "stats": { "tasks": 1 },
    })
}

fn wrong(mut cell: Value) -> Value {
    cell["verified"] = json!(false);
    cell
}

/// Writes a report of a machine with this number of cores; returns the path.
fn report(directory: &Path, name: &str, cores: usize, cells: Vec<Value>) -> String {
    let machine = json!({
        "processor": "a processor", "cores": cores, "architecture": "x86_64", "system": "linux", "purloin": "0.1.0",
    });
    let file = directory.join(name);
    std::fs::write(
        &file,
        json!({ "machine": machine, "cells": cells }).to_string(),
    )
    .unwrap();
    file.to_str().unwrap().to_string()
}

#[test]
fn each_cell_gets_a_verdict_that_allows_for_noise() {
    let directory = temporary("compare");
    let noisy = [0.6, 0.7, 0.8, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5];
    let a = report(
        &directory,
        "a.json",
        2,
        vec![
            cell("serial", 1, &runs(1.0), 1.0),
            cell("return-barrier", 1, &runs(1.0), 1.0),
            cell("return-barrier", 2, &runs(1.0), 1.0),
            cell("chili", 1, &noisy, 1.0),
            cell("chili", 2, &[1.0, 1.0, 1.0], 1.0),
            cell("rayon", 1, &runs(1.0), 1.0),
            wrong(cell("forks", 1, &runs(1.0), 1.0)),
        ],
    );
    let b = report(
        &directory,
        "b.json",
        2,
        vec![
            cell("serial", 1, &runs(1.001), 1.001),
            cell("return-barrier", 1, &runs(0.9), 1.001),
            cell("return-barrier", 2, &runs(1.1), 1.001),
            cell("chili", 1, &noisy.map(|time| 1.03 * time), 1.001),
            cell("chili", 2, &[2.0, 2.0, 2.0], 1.001),
            cell("channel", 1, &runs(1.0), 1.001),
            cell("forks", 1, &runs(1e6), 1.001),
        ],
    );
    let output = purloin(&["compare", &a, &b, "--json", "-"]);
    let compared = json(&output);
    let cells = compared["cells"].as_array().unwrap();
    let verdicts = cells
        .iter()
        .map(|cell| (cell["verdict"].as_str().unwrap(), cell["reason"].as_str()));
    let expected = [
        ("same", None),
        ("faster", None),
        ("slower", None),
        ("cannot-tell", Some("noise")),
        ("cannot-tell", Some("few-runs")),
        ("cannot-tell", Some("wrong-answer")),
    ];
    assert!(verdicts.eq(expected), "{compared}");
    let mean = compared["summary"]["geometric_mean"].as_f64().unwrap();
    assert!((1.0..2.0).contains(&mean), "a wrong answer counts: {mean}");
    let high = cells[1]["high"].as_f64().unwrap();
    assert!(
        cells[1]["low"].as_f64().unwrap() < 0.9 && high > 0.9 && high < 1.0,
        "{}",
        cells[1]
    );
    assert!(cells[4]["low"].is_null());
    assert_eq!(
        compared["only_in_a"],
        json!(["fib=40 under rayon, 1 worker"])
    );
    assert_eq!(
        compared["only_in_b"],
        json!(["fib=40 under channel, 1 worker"])
    );
    assert_eq!(compared["warnings"], json!([]));

    let page = directory.join("compare.html");
    let output = purloin(&["compare", &a, &b, "--html", page.to_str().unwrap()]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("cannot tell: 3 runs; use --runs 9 or more"),
        "{text}"
    );
    let summary = text.lines().last().unwrap();
    let counts = "Of 6 cells, 1 is faster, 1 is slower, 1 is the same and 3 cannot be told; the geometric mean of B/A \
                  is 1.1";
    assert!(summary.starts_with(counts), "{summary}");
    assert!(std::fs::read_to_string(page).unwrap().contains(counts));

    let output = purloin(&["compare", &a, &b, "--fail-if-slower"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("1 of 6 cells is slower in "), "{text}");
    assert!(text.contains("by more than 2 %"), "{text}");
    // The other way round, that cell is faster, and the faster one is slower.
    let output = purloin(&["compare", &b, &a, "--margin", "20", "--fail-if-slower"]);
    assert!(
        output.status.success(),
        "a difference within the margin is none"
    );
}

/// The machine may have been slower, and the program the same.
#[test]
fn a_cell_that_changes_as_its_serial_elision_does_has_no_verdict() {
    let directory = temporary("compare-serial");
    let report = |name: &str, serial: f64, parallel: f64| {
        let cells = vec![
            cell("serial", 1, &runs(serial), serial),
            cell("rayon", 2, &runs(parallel), serial),
            cell("chili", 2, &runs(1.0), serial),
        ];
        report(&directory, name, 2, cells)
    };
    let (a, b) = (report("a.json", 1.0, 1.0), report("b.json", 1.1, 1.1));
    let output = purloin(&["compare", &a, &b, "--json", "-"]);
    let cells = serde_json::from_slice::<Value>(&output.stdout).unwrap()["cells"].clone();
    let verdicts = cells.as_array().unwrap().iter();
    let verdicts: Vec<_> = verdicts
        .map(|cell| (cell["verdict"].as_str().unwrap(), cell["reason"].as_str()))
        .collect();
    let expected = [
        ("slower", None),
        ("cannot-tell", Some("serial-elision")),
        ("same", None),
    ];
    assert_eq!(verdicts, expected);
    let text = String::from_utf8(purloin(&["compare", &a, &b]).stdout).unwrap();
    assert!(text.contains("cannot tell: so may serial"), "{text}");
}

#[test]
fn only_cells_beyond_the_margin_fail() {
    let directory = temporary("compare-fail");
    let report = |name: &str, serial: f64, parallel: f64| {
        let cells = vec![
            cell("serial", 1, &runs(serial), serial),
            cell("rayon", 2, &runs(parallel), serial),
        ];
        report(&directory, name, 2, cells)
    };
    let a = report("a.json", 1.0, 1.0);
    let b = report("b.json", 1.2, 1.03);
    // The whole interval is above 1, and not above 1.02. The serial elision does not count.
    let compare = ["compare", &a, &b, "--fail-if-slower"];
    let output = purloin(&compare);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("Of 2 cells, 2 are slower;"), "{text}");
    assert!(output.status.success());
    let output = purloin(&[&compare[..], &["--margin", "0"]].concat());
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("1 of 2 cells is slower"), "{text}");
}

#[test]
fn another_machine_and_another_serial_time_are_named() {
    let directory = temporary("compare-machines");
    let a = report(
        &directory,
        "a.json",
        2,
        vec![cell("rayon", 2, &runs(1.0), 1.0)],
    );
    let b = report(
        &directory,
        "b.json",
        4,
        vec![cell("rayon", 2, &runs(1.2), 1.2)],
    );
    let text = String::from_utf8(purloin(&["compare", &a, &b]).stdout).unwrap();
    assert!(
        text.contains("The machines differ: A is from a processor, 2 cores"),
        "{text}"
    );
    assert!(
        text.contains("The serial elision of fib=40 takes 1.20 times as long in B"),
        "{text}"
    );
}

/// Returns the warnings of the comparison of two reports with these cells.
fn warnings(name: &str, a: Vec<Value>, b: Vec<Value>) -> String {
    let directory = temporary(name);
    let a = report(&directory, "a.json", 2, a);
    let b = report(&directory, "b.json", 2, b);
    json(&purloin(&["compare", &a, &b, "--json", "-"]))["warnings"].to_string()
}

#[test]
fn a_warning_about_the_serial_elision_needs_more_than_noise() {
    let kernel = |name: &str, mut cell: Value| {
        cell["kernel"] = json!(name);
        cell
    };
    // One kernel of three has another serial time, and no serial elision has an interval.
    let cells = |serial: f64| {
        vec![
            kernel("fib", cell("rayon", 2, &runs(1.0), serial)),
            kernel("uts", cell("rayon", 2, &runs(1.0), 1.0)),
            kernel("forks", cell("rayon", 2, &runs(1.0), 1.0)),
        ]
    };
    assert_eq!(warnings("elision-noise", cells(1.0), cells(1.1)), "[]");
    // The interval of the serial elision contains 1.
    let noisy = [0.6, 0.7, 0.8, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5];
    let cells = |factor: f64| vec![cell("serial", 1, &noisy.map(|time| factor * time), factor)];
    assert_eq!(warnings("elision-wide", cells(1.0), cells(1.05)), "[]");
    // The serial form of a peer is in another language.
    let peer = |serial: f64| {
        let mut peer = cell("go", 2, &runs(1.0), serial);
        peer["own_baseline"] = json!(true);
        vec![peer]
    };
    assert_eq!(warnings("elision-peer", peer(1.0), peer(2.0)), "[]");
    // Two reports in one file: each cell keeps its own serial time.
    let twice = |first: f64, second: f64| {
        [first, second]
            .map(|serial| cell("rayon", 2, &runs(serial), serial))
            .into()
    };
    assert_eq!(
        warnings("elision-twice", twice(1.0, 1.2), twice(1.2, 1.0)),
        "[]"
    );
    let cells = |serial: f64| vec![cell("serial", 1, &runs(serial), serial)];
    let text = warnings("elision-shift", cells(1.0), cells(1.1));
    assert!(
        text.contains("fib=40 takes 1.10 times as long in B"),
        "{text}"
    );
}

#[test]
fn compare_names_each_mistake() {
    let directory = temporary("compare-mistakes");
    let a = report(
        &directory,
        "a.json",
        2,
        vec![cell("rayon", 2, &runs(1.0), 1.0)],
    );
    let other = report(
        &directory,
        "other.json",
        2,
        vec![cell("chili", 2, &runs(1.0), 1.0)],
    );
    let empty = report(&directory, "empty.json", 2, Vec::new());
    let broken = report(
        &directory,
        "broken.json",
        2,
        vec![cell("rayon", 2, &[-1.0], 1.0)],
    );
    let backwards = report(
        &directory,
        "backwards.json",
        2,
        vec![cell("rayon", 2, &[1.0], -1.0)],
    );
    let write = |name: &str, text: &str| {
        let file = directory.join(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_string()
    };
    let (text, sim) = (
        write("text", "fib=40"),
        write("sim.json", r#"{"cells":[{"cores":64}]}"#),
    );
    for (b, culprit) in [
        ("/nowhere/b.json", "/nowhere/b.json: No such file"),
        (&a, "are the same report"),
        (&other, "have no cell in common"),
        (&empty, "has no cells"),
        (&broken, "has no times"),
        (&backwards, "has a vs_serial that is not above 0"),
        (&text, "not JSON"),
        (&sim, "not a report of purloin bench"),
    ] {
        let text = refusal(&["compare", &a, b]);
        assert!(text.contains(culprit), "{text}");
    }
    let text = refusal(&["compare", &a]);
    assert!(text.contains("<B.json>"), "{text}");
    let text = refusal(&["compare", &a, &other, "--margin", "200"]);
    assert!(text.contains("from 0 to 50"), "{text}");
}

#[test]
fn bench_compares_with_itself_and_writes_a_page() {
    let directory = temporary("pages");
    let file = |name: &str| directory.join(name).to_str().unwrap().to_string();
    let bench = |json: &str| {
        let kernels = [
            "--kernel",
            "fib=15",
            "--kernel",
            "nqueens=6",
            "--workers",
            "1,2",
            "--runs",
            "4",
        ];
        let outputs = ["--json", json, "--html", &file("bench.html")];
        assert!(
            purloin(&[&["bench"][..], &kernels, &outputs].concat())
                .status
                .success()
        );
    };
    let (a, b) = (file("a.json"), file("b.json"));
    bench(&a);
    bench(&b);
    let page = std::fs::read_to_string(file("bench.html")).unwrap();
    for part in [
        "On 2 workers, ",
        "fib=15",
        "class=\"dot\"",
        "serial time / time",
        "has the lowest times:",
        ">ideal</li>",
        " tasks · serial elision: ",
        "× serial",
        "purloin bench --kernel",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let compared = json(&purloin(&["compare", &a, &b, "--json", "-"]));
    assert_eq!(compared["cells"].as_array().unwrap().len(), 2 * (1 + 4 * 2));
    assert!(
        compared["cells"][0]["low"].is_f64(),
        "four runs have an interval"
    );
}

/// The page has the command line, whose arguments need not be UTF-8.
#[test]
#[cfg(target_os = "linux")]
fn a_page_may_have_any_name() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let page = temporary("any-name").join(OsStr::from_bytes(b"page-\xff.html"));
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_purloin"))
        .args([
            "bench",
            "--kernel",
            "fib=10",
            "--workers",
            "1",
            "--json",
            "-",
            "--html",
        ])
        .arg(&page)
        .output()
        .unwrap();
    assert!(!json(&output)["cells"].as_array().unwrap().is_empty());
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("page-\u{fffd}.html"), "{page}");
}

#[test]
fn a_page_needs_a_file_that_can_be_written() {
    for command in [&["bench", "--kernel", "fib=40"][..], &["sim"]] {
        let text = refusal(&[command, &["--html", "-"]].concat());
        assert!(text.contains("--html needs the name of a file"), "{text}");
        let text = refusal(&[command, &["--html", "/nowhere/page.html"]].concat());
        assert!(text.contains("cannot write /nowhere/page.html"), "{text}");
    }
}
