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
fn each_cell_gets_a_verdict_that_knows_noise() {
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
        ],
    );
    let output = purloin(&["compare", &a, &b, "--json", "-"]);
    let compared = json(&output);
    let cells = compared["cells"].as_array().unwrap();
    let verdicts: Vec<_> = cells
        .iter()
        .map(|cell| cell["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(
        verdicts,
        ["same", "faster", "slower", "cannot-tell", "cannot-tell"]
    );
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
    let counts = "1 faster, 1 slower, 1 the same, 2 cannot tell; geometric mean of B/A 1.1";
    assert!(
        summary.starts_with(counts) && summary.ends_with(" over 5 cells."),
        "{summary}"
    );
    assert!(std::fs::read_to_string(page).unwrap().contains(counts));

    let output = purloin(&["compare", &a, &b, "--fail-if-slower"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("1 of 5 cells are slower"), "{text}");
    // The other way round, that cell is faster, and the faster one is slower.
    let output = purloin(&["compare", &b, &a, "--margin", "20", "--fail-if-slower"]);
    assert!(
        output.status.success(),
        "a difference within the margin is none"
    );
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

#[test]
fn a_page_needs_a_file_that_can_be_written() {
    for command in [&["bench", "--kernel", "fib=40"][..], &["sim"]] {
        let text = refusal(&[command, &["--html", "-"]].concat());
        assert!(text.contains("--html needs the name of a file"), "{text}");
        let text = refusal(&[command, &["--html", "/nowhere/page.html"]].concat());
        assert!(text.contains("cannot write /nowhere/page.html"), "{text}");
    }
}
